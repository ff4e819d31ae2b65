/**
 * Pins kept beside the hooks file instead of in it: `hooks.lock.json` says what each hook's code was when the operator
 * approved it (hookcheck.md §10). `hookcheck --pin` makes it, the run and the audit obey it, and this file is the one reader.
 *
 * A lock that cannot be read, or that was made for other bytes of the hooks file, refuses: unknown is not approved.
 */
import { basename, dirname, join } from 'node:path'
import { HOOKS_LOCK_BYTES_MAX } from '../bounds.js'
import { sha256Of } from '../digest.js'
import { Refusal } from '../errors.js'
import { type FileView, isUnseen, saysAbsent, withOpened } from '../paths/file-view.js'
import { DIGEST, type HookSpec, type HooksDocument } from './hook-spec.js'
import { type Placed, readStrictJson } from './strict-json.js'

export interface LockEntry {
  /** Of the hook, where it has a name; else `index` says which it is. */
  readonly name: string | null
  /** 1-based. */
  readonly index: number
  /** See {@link argvDigest}. */
  readonly argvSha256: string
  /** Members of the closure by absolute path: `sha256:` and 64 hex digits. */
  readonly files: Readonly<Record<string, string>>
  /** RFC 3339. */
  readonly approvedAt: string
  /** Login name of who approved. */
  readonly by: string
}

export interface HooksLock {
  /** Absolute. */
  readonly path: string
  /** Hex, of the bytes of the hooks file that was approved. */
  readonly hooksFileSha256: string
  readonly entries: readonly LockEntry[]
}

type LockRefusal = Refusal<'bad-document'> | Refusal<'file-unreadable'>

/** Levels of a lock document: the object, `entries`, one entry, its `files`. */
const DEPTH_MAX = 4

const HEX = /^[0-9a-f]{64}$/

/** `hooks.json` → `hooks.lock.json`, in the same folder. */
export function lockPathOf(hooksPath: string): string {
  return join(dirname(hooksPath), `${basename(hooksPath).replace(/\.json$/, '')}.lock.json`)
}

/** Hex SHA-256 of an argv: of its JSON, compact. */
export function argvDigest(argv: readonly string[]): string {
  return sha256Of(JSON.stringify(argv))
}

/** The lock of the hooks file at `hooksPath` (absolute); null where there is none. */
export function readLock(hooksPath: string, view: FileView): HooksLock | null | LockRefusal {
  const path = lockPathOf(hooksPath)
  const bytes = withOpened(view, path, file => {
    if (file.facts.type !== 'file') return bad(path, 'it is no plain file')
    if (file.facts.size > HOOKS_LOCK_BYTES_MAX)
      return bad(path, `it has ${file.facts.size} bytes, over the bound of ${HOOKS_LOCK_BYTES_MAX}`)
    return file.read(0, HOOKS_LOCK_BYTES_MAX + 1)
  })
  if (bytes instanceof Refusal) return bytes
  if (!isUnseen(bytes)) return parseLock(bytes, path)
  if (saysAbsent(bytes)) return null
  const details = { path, errno: bytes.errno }
  return new Refusal(
    'file-unreadable',
    details,
    `the lock ${path} cannot be read (${bytes.errno}), and unknown is not approved: make it readable for this user, or remove it`,
  )
}

/** Reads `bytes` as the lock at `path`. Pure. */
export function parseLock(bytes: Uint8Array, path: string): HooksLock | Refusal<'bad-document'> {
  const { root, defects } = readStrictJson(bytes, DEPTH_MAX)
  const [defect] = defects
  if (root === null || defect !== undefined)
    return bad(path, defect?.message ?? 'it is not JSON', defect?.place ?? null)
  const top = keysOf(root, ['version', 'hooksFileSha256', 'entries'])
  if (typeof top === 'string') return bad(path, top, root.place)
  if (top.version?.kind !== 'number' || top.version.value !== 1) return bad(path, '"version" is not 1', root.place)
  const hooksFileSha256 = textOf(top.hooksFileSha256, HEX)
  if (hooksFileSha256 === null) return bad(path, '"hooksFileSha256" is not 64 hex digits', root.place)
  if (top.entries?.kind !== 'array') return bad(path, '"entries" is not a list', root.place)
  const entries: LockEntry[] = []
  for (const item of top.entries.items) {
    const entry = readEntry(item)
    if (typeof entry === 'string') return bad(path, entry, item.place)
    entries.push(entry)
  }
  return { path, hooksFileSha256, entries }
}

function readEntry(item: Placed): LockEntry | string {
  const entry = keysOf(item, ['name', 'index', 'argvSha256', 'files', 'approvedAt', 'by'])
  if (typeof entry === 'string') return entry
  const { name, index } = entry
  if (index?.kind !== 'number' || !Number.isSafeInteger(index.value) || index.value < 1) return '"index" is no position'
  if (name !== undefined && name.kind !== 'string' && name.kind !== 'null') return '"name" is neither a name nor null'
  const argvSha256 = textOf(entry.argvSha256, HEX)
  if (argvSha256 === null) return '"argvSha256" is not 64 hex digits'
  const files = filesOf(entry.files)
  if (typeof files === 'string') return files
  const [approvedAt, by] = [textOf(entry.approvedAt, /^\d{4}-\d\d-\d\dT/), textOf(entry.by, /./)]
  if (approvedAt === null || by === null) return '"approvedAt" and "by" say when and by whom it was approved'
  return { name: name?.kind === 'string' ? name.value : null, index: index.value, argvSha256, files, approvedAt, by }
}

function filesOf(value: Placed | undefined): Readonly<Record<string, string>> | string {
  if (value?.kind !== 'object') return '"files" is no object of digests by path'
  const files: [string, string][] = []
  for (const { name, value: digest } of value.members) {
    const text = textOf(digest, DIGEST)
    if (!name.startsWith('/') || text === null)
      return `"files" holds ${JSON.stringify(name)}, which is not an absolute path with a sha256: digest`
    files.push([name, text])
  }
  return Object.fromEntries(files)
}

function textOf(value: Placed | undefined, form: RegExp): string | null {
  return value?.kind === 'string' && form.test(value.value) ? value.value : null
}

/** The members of an object that has no other keys than `known`; a sentence where it is none. */
function keysOf(value: Placed, known: readonly string[]): Readonly<Record<string, Placed | undefined>> | string {
  if (value.kind !== 'object') return 'an object is needed'
  const unknown = value.members.find(({ name }) => !known.includes(name))
  if (unknown !== undefined) return `unknown key ${JSON.stringify(unknown.name)}: known are ${known.join(', ')}`
  return Object.fromEntries(value.members.map(({ name, value: member }) => [name, member]))
}

function bad(
  file: string,
  why: string,
  place: { readonly line: number; readonly column: number } | null = null,
): Refusal<'bad-document'> {
  const at = place === null ? '' : `:${place.line}:${place.column}`
  const details = place === null ? { file } : { file, place: `${place.line}:${place.column}` }
  return new Refusal(
    'bad-document',
    details,
    `${file}${at}: ${why}; make it again with hookcheck --pin --write, or remove it`,
  )
}

/** The entry for `hook`: by its name where it has one, else by its position; null where the lock has none. */
export function lockEntryOf({ entries }: HooksLock, { name, index }: HookSpec): LockEntry | null {
  return (
    entries.find(entry => (name === null ? entry.name === null && entry.index === index : entry.name === name)) ?? null
  )
}

/** `sha256:` and 64 hex digits by absolute path, as named or landed. */
export type Pins = Readonly<Record<string, string>>

/** What the file pins of `hook`, over what the lock pins. A digest alone is that of `program`, landed; null: none was found. */
export function pinsOf(hook: HookSpec, program: string | null, lock: HooksLock | null): Pins {
  const { digest } = hook
  const locked = lock === null ? {} : (lockEntryOf(lock, hook)?.files ?? {})
  if (typeof digest !== 'string') return { ...locked, ...digest }
  return program === null ? locked : { ...locked, [program]: digest }
}

/**
 * Why `lock` does not speak for `document`; null where it does. Other bytes of the hooks file than the approved ones, a
 * hook without an entry, or another argv: whatever was approved, it was not this.
 */
export function lockMismatch(lock: HooksLock, document: HooksDocument): Refusal<'bad-document'> | null {
  const stale = (why: string): Refusal<'bad-document'> =>
    new Refusal(
      'bad-document',
      { file: lock.path },
      `${lock.path}: ${why}; review the hooks and approve them again with hookcheck --pin --write`,
    )
  if (lock.hooksFileSha256 !== document.sha256) return stale(`${document.path} is not the file that was approved`)
  for (const hook of document.hooks) {
    const entry = lockEntryOf(lock, hook)
    if (entry === null) return stale(`hook ${hook.index} has no entry`)
    if (entry.argvSha256 !== argvDigest(hook.command))
      return stale(`the command of hook ${hook.index} is not the approved one`)
  }
  return null
}
