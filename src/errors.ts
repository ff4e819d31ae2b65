/**
 * Refusals: everything the harness declines to do, by a closed code.
 *
 * Three kinds of ending exist. An outcome is returned. A refusal is either returned (where a check is the product: the
 * folder checker, planning a launch) or thrown as this class (parsing, loading, setting up); both carry the same code.
 * A bug is any other error and is caught only in `cli/main`.
 */

/** Every refusal and the facts it carries. Adding a code is adding a row. Codes are kebab-case, without dots. */
export interface RefusalDetails {
  // command line and documents
  'bad-arguments': { readonly argument?: string; readonly nearest?: string }
  'not-built-yet': { readonly option: string }
  'bad-document': { readonly file: string; readonly place?: string }
  'file-unreadable': { readonly path: string; readonly errno?: string }
  'bad-limit': { readonly name: string; readonly given: string }
  'credential-missing': { readonly source: string }
  'provider-unknown': { readonly name: string; readonly known: readonly string[] }
  'model-missing': Record<string, never>
  'profile-unknown': { readonly name: string; readonly known: readonly string[] }
  /** Others than the operator and root can change the configuration file, at `path`. */
  'config-unsafe': { readonly file: string; readonly path: string }
  'config-exists': { readonly path: string }
  'workspace-unusable': { readonly path: string; readonly why: string }
  'terminal-needed': { readonly flag: string }
  'terminal-unavailable': { readonly why: string; readonly fix: string }
  'budget-refused': { readonly name: string; readonly why: string }
  /** `line`, from 1: what stands there is damaged. `absent`: there is nothing of that name. */
  'session-unusable': { readonly path: string; readonly why: string; readonly line?: number; readonly absent?: true }
  'tool-name-clash': { readonly name: string }
  'bad-id': { readonly what: string; readonly given: string }
  'over-bound': { readonly name: string; readonly limit: number; readonly seen: number }
  // folders
  'outside-roots': { readonly path: string; readonly landed: string; readonly roots: readonly string[] }
  'not-a-directory': { readonly path: string }
  'not-a-file': { readonly path: string; readonly is: string }
  missing: { readonly path: string }
  'dangling-link': { readonly path: string; readonly link: string; readonly target: string }
  'too-many-links': { readonly path: string }
  'nul-in-path': { readonly path: string }
  protected: { readonly path: string; readonly landed: string; readonly name: string }
  hidden: { readonly path: string }
  'control-file-inside': { readonly folder: string; readonly file: string; readonly what: string }
  'read-only-mount': { readonly path: string; readonly mount: string }
  'no-permission': { readonly path: string; readonly errno?: string }
  immutable: { readonly path: string }
  'filesystem-root': { readonly path: string }
  'home-folder': { readonly path: string }
  'special-filesystem': { readonly path: string; readonly type: string }
  'crosses-writable-link': { readonly path: string; readonly link: string }
  'changed-while-checked': { readonly path: string }
  'write-scope': { readonly path: string; readonly rule: string; readonly scope: string }
  'no-space': { readonly path: string; readonly errno: string }
  'write-failed': { readonly path: string; readonly errno: string }
  'too-large': { readonly path: string; readonly bytes: number; readonly limit: number }
  'edit-mismatch': { readonly path: string; readonly occurrences: number }
  /** A tool of ours was stopped on its way; the stop itself is the loop's to tell. */
  cancelled: Record<string, never>
  // confinement
  'confinement-off': Record<string, never>
  'boundary-unavailable': {
    readonly boundary: string
    readonly probe: string
    readonly text: string
    readonly fix: string
  }
  'boundary-unknown': { readonly name: string; readonly known: readonly string[] }
  'program-not-allowed': { readonly program: string; readonly allowed: readonly string[] }
  'rule-too-large': { readonly rule: string; readonly mounts: number; readonly limit: number }
  'unsupported-rule': { readonly rule: string; readonly why: string }
  'too-many-words': { readonly words: number; readonly limit: number }
  'inheritable-descriptors': { readonly descriptors: readonly number[] }
  'program-missing': { readonly program: string; readonly searched: readonly string[] }
  'program-not-visible': { readonly program: string; readonly landed: string }
  'program-not-executable': { readonly program: string; readonly landed: string; readonly is: string }
  'argument-too-long': { readonly index: number; readonly bytes: number; readonly limit: number }
  'nul-in-argument': { readonly index: number }
  'grants-overlap': { readonly grant: string; readonly other: string }
  'architecture-unsupported': { readonly arch: string }
  // hooks
  /** A rule of hookcheck by its id; `hook` is the 1-based position, null for the file itself. */
  'hook-unsafe': {
    readonly file: string
    readonly hook: number | null
    readonly rule: string
    readonly path: string | null
  }
  'hook-env-refused': { readonly variable: string; readonly source: string }
  'hooks-need-init': Record<string, never>
  // wires
  'tool-name-unsendable': { readonly name: string }
  'tool-schema-unsendable': { readonly name: string; readonly keyword?: string }
  'item-of-another-wire': { readonly wire: string; readonly from: string }
  // emulator
  'scenario-mismatch': { readonly turn: number; readonly difference: string }
}

export type RefusalCode = keyof RefusalDetails

/**
 * Something was not done, on purpose, and nothing happened in its place.
 * Branch on `code`; show `message` to a person (it says what works instead); read `details` for the facts.
 */
export class Refusal<Code extends RefusalCode = RefusalCode> extends Error {
  override readonly name = 'Refusal'

  constructor(
    readonly code: Code,
    readonly details: RefusalDetails[Code],
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options)
  }
}

/** Narrows an unknown value to a refusal, and to one code where given. */
export function isRefusal<Code extends RefusalCode = RefusalCode>(error: unknown, code?: Code): error is Refusal<Code> {
  return error instanceof Refusal && (code === undefined || error.code === code)
}

/** The errno name of a system error, or undefined. */
export function errnoOf(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null)?.code
  return typeof code === 'string' && /^E[A-Z0-9]+$/.test(code) ? code : undefined
}

const NO_MORE_OPEN = 'raise the limit on open files (ulimit -n)'
const NO_ANSWER = 'what it lies on does not answer: name one that lies elsewhere'

/** By errno (errno(3)) and by what was asked of the file; `other` for every errno that is not named. */
const FIXES: Readonly<Record<'read' | 'write', Readonly<Record<string, string>> & { readonly other: string }>> = {
  read: {
    ENOENT: 'name one that exists',
    ENOTDIR: 'a part of its path is no folder: name one that exists',
    EACCES: 'let this user read it and enter the folders above it, or name another',
    EPERM: 'let this user read it and enter the folders above it, or name another',
    EISDIR: 'it is a folder: name a file',
    ELOOP: 'its links lead to each other: name the real path',
    ENXIO: 'it is a socket or a device that is not there: name a file',
    EMFILE: NO_MORE_OPEN,
    ENFILE: NO_MORE_OPEN,
    EIO: NO_ANSWER,
    ESTALE: NO_ANSWER,
    ETIMEDOUT: NO_ANSWER,
    ENOTCONN: NO_ANSWER,
    other: 'name one that this user can read',
  },
  write: {
    ENOENT: 'make its folder first, or name one in a folder that exists',
    ENOTDIR: 'a part of its path is no folder: name one in a folder that exists',
    EACCES: 'name one in a folder that this user may write',
    EPERM: 'name one in a folder that this user may write',
    EROFS: 'it lies on a read-only mount: name one that lies elsewhere',
    ENOSPC: 'free some space, or name one on another disk',
    EDQUOT: 'free some space, or name one on another disk',
    EISDIR: 'it is a folder: name a file',
    ELOOP: 'it is a link: name the file itself',
    ENXIO: 'nobody reads it: start its reader first, or name a plain file',
    EMFILE: NO_MORE_OPEN,
    ENFILE: NO_MORE_OPEN,
    other: 'name one that this user may write',
  },
}

/** What works instead where the system answered `errno` to reading or writing a file that somebody named; it ends a message. */
export function fixFor(errno: string, asked: 'read' | 'write'): string {
  const fixes = FIXES[asked]
  return (Object.hasOwn(fixes, errno) ? fixes[errno] : undefined) ?? fixes.other
}

/** A file as somebody named it, and what was asked of it. */
export interface NamedFile {
  readonly path: string
  /** As the message names it, e.g. `--log-file PATH`. */
  readonly named: string
  readonly asked: 'read' | 'write'
}

/** The refusal of a file that the system would not open, read or write. Throws `cause` itself where it is no error of the system. */
export function unusableFile(cause: unknown, { path, named, asked }: NamedFile): Refusal<'file-unreadable'> {
  const errno = errnoOf(cause)
  if (errno === undefined) throw cause
  const message = `${named} cannot be ${asked === 'read' ? 'read' : 'written'} (${errno}): ${fixFor(errno, asked)}`
  return new Refusal('file-unreadable', { path, errno }, message, { cause })
}

/** Makes a switch exhaustive: a new variant fails to compile here. */
export function unreachable(value: never): never {
  throw new Error(`unhandled variant: ${JSON.stringify(value)}`)
}
