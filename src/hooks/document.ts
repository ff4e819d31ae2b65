/**
 * The hooks file: what it may hold, and every way in which a file is not one. One reader for the run and for the audit, so
 * that what was reviewed is what is obeyed (contract §16.1, hookcheck.md §4.1, §10).
 *
 * A file with only `version`, `hooks`, `on`, `tools` and `command` means what it always meant; the other keys only narrow.
 */
import { dirname } from 'node:path'
import { HOOKS_DEPTH_MAX, HOOKS_FILE_BYTES_MAX, HOOKS_MAX } from '../bounds.js'
import { sha256Of } from '../digest.js'
import { quoted } from '../json.js'
import { HOOK_KEYS, type HookKey, TOP_KEYS } from './document-keys.js'
import {
  type DocumentProblem,
  type DocumentRule,
  HOOK_POINTS,
  type HookPoint,
  type HookSpec,
  type HooksDocument,
  type Place,
} from './hook-spec.js'
import { nearest } from './nearest.js'
import { kindOf, type Member, type Placed, readStrictJson } from './strict-json.js'

export type { DocumentProblem, HookSpec, HooksDocument }

export interface ParsedHooks {
  /**
   * Null where the file cannot be read as hooks of version 1. Where there are problems it holds only the hooks that have
   * none, for an audit to go on with: a run is refused by any problem.
   */
  readonly document: HooksDocument | null
  readonly problems: readonly DocumentProblem[]
}

/** Reads `bytes`, the content of the file at `path` (absolute), and tells everything that is wrong with it. Pure. */
export function parseHooks(bytes: Uint8Array, path: string): ParsedHooks {
  if (bytes.length > HOOKS_FILE_BYTES_MAX) {
    // Who reads it stops one byte past the bound, so that how long it is in all is not known.
    const message = `it has more than ${HOOKS_FILE_BYTES_MAX} bytes, which is the bound`
    return { document: null, problems: [{ rule: 'HC101', message, place: null, hook: null }] }
  }
  const { root, defects } = readStrictJson(bytes, HOOKS_DEPTH_MAX)
  const problems: DocumentProblem[] = defects.map(({ message, place }) => ({
    rule: 'HC101',
    message,
    place,
    hook: place === null || root === null ? null : hookAt(root, place),
  }))
  const hooks = root === null ? null : readTop(root, problems)
  if (hooks === null) return { document: null, problems }
  const sha256 = sha256Of(bytes)
  const broken = new Set(problems.map(({ hook }) => hook))
  const sound = hooks.filter(({ index }) => !broken.has(index))
  return { document: { path, folder: dirname(path), sha256, hooks: sound }, problems }
}

/** The 1-based position of the hook that `place` lies in. */
function hookAt(root: Placed, place: Place): number | null {
  const hooks = root.kind === 'object' ? root.members.find(({ name }) => name === 'hooks')?.value : undefined
  if (hooks?.kind !== 'array') return null
  const before = hooks.items.filter(
    ({ place: at }) => at.line < place.line || (at.line === place.line && at.column < place.column),
  )
  return before.length === 0 ? null : before.length
}

/** The hooks that could be read whole; null where the file is not one of version 1. */
function readTop(root: Placed, problems: DocumentProblem[]): HookSpec[] | null {
  const report = (rule: DocumentRule, message: string, place: Place | null): void => {
    problems.push({ rule, message, place, hook: null })
  }
  if (root.kind !== 'object') {
    report('HC101', `it is ${kindOf(root)}, not an object with "version" and "hooks"`, root.place)
    return null
  }
  for (const member of root.members) {
    const key = TOP_KEYS.get(member.name)
    if (key === undefined) problems.push(unknownKey(member, [...TOP_KEYS.keys()], null))
    else key(member.value, (rule, message) => report(rule, message, member.value.place))
  }
  const value = (name: string): Placed | undefined => root.members.find(member => member.name === name)?.value
  const [version, hooks] = [value('version'), value('hooks')]
  if (version === undefined) report('HC102', 'the key "version" is missing: write "version": 1', root.place)
  if (hooks === undefined) report('HC103', 'the key "hooks" is missing: write a list, [] for none', root.place)
  if (version?.kind !== 'number' || version.value !== 1 || hooks?.kind !== 'array') return null
  if (hooks.items.length > HOOKS_MAX) {
    report('HC101', `there are ${hooks.items.length} hooks, over the bound of ${HOOKS_MAX}`, hooks.place)
    return null
  }
  return readHooks(hooks.items, problems)
}

function readHooks(items: readonly Placed[], problems: DocumentProblem[]): HookSpec[] {
  const names = new Map<string, number>()
  return items.flatMap((item, at) => {
    const hook = readHook(item, at + 1, problems)
    if (hook === null || hook.name === null) return hook === null ? [] : [hook]
    const first = names.get(hook.name)
    if (first !== undefined) {
      const message = `the name ${JSON.stringify(hook.name)} is that of hook ${first} too: names are unique`
      problems.push({ rule: 'HC103', message, place: hook.places.get('name') ?? hook.place, hook: hook.index })
      return []
    }
    names.set(hook.name, hook.index)
    return [hook]
  })
}

function readHook(item: Placed, index: number, problems: DocumentProblem[]): HookSpec | null {
  const before = problems.length
  const report = (rule: DocumentRule, message: string, place: Place, near?: string): void => {
    problems.push({ rule, message, place, hook: index, ...(near === undefined ? {} : { nearest: near }) })
  }
  if (item.kind !== 'object') {
    report('HC103', `it is ${kindOf(item)}, not an object`, item.place)
    return null
  }
  const values: Partial<Record<HookKey, unknown>> = {}
  for (const member of item.members) {
    const key = HOOK_KEYS.get(member.name)
    if (key === undefined) problems.push(unknownKey(member, [...HOOK_KEYS.keys()], index))
    else
      values[member.name as HookKey] = key(member.value, (rule, message, near) =>
        report(rule, message, member.value.place, near),
      )
  }
  requireKeys(item, report)
  refuseTools(item, values, report)
  if (problems.length > before) return null
  const places = new Map(item.members.map(({ name, value }) => [name, value.place]))
  return specOf(values, { index, place: item.place, places })
}

type ReportAt = (rule: DocumentRule, message: string, place: Place) => void

function requireKeys(item: Extract<Placed, { kind: 'object' }>, report: ReportAt): void {
  const has = (name: string): boolean => item.members.some(member => member.name === name)
  if (!has('on')) report('HC104', `the key "on" is missing: write one of ${HOOK_POINTS.join(', ')}`, item.place)
  if (!has('command')) report('HC201', 'the key "command" is missing: write the argument list', item.place)
}

function refuseTools(
  { members }: Extract<Placed, { kind: 'object' }>,
  { on }: Partial<Record<HookKey, unknown>>,
  report: ReportAt,
): void {
  const tools = members.find(({ name }) => name === 'tools')
  if (tools === undefined || (on !== 'stop' && on !== 'transition')) return
  report('HC701', `"tools" at ${on} matches nothing, for no tool is called there: leave it out`, tools.place)
}

function specOf(
  values: Partial<Record<HookKey, unknown>>,
  where: Pick<HookSpec, 'index' | 'place' | 'places'>,
): HookSpec {
  const given = values as Partial<{
    name: string
    on: HookPoint
    tools: readonly string[]
    command: readonly [string, ...string[]]
    'timeout-ms': number
    cwd: string
    env: readonly string[]
    digest: string | Readonly<Record<string, string>>
  }>
  const { on, command } = given
  if (on === undefined || command === undefined) throw new Error('a hook without a point or a command was accepted')
  return {
    ...where,
    name: given.name ?? null,
    on,
    tools: given.tools ?? null,
    command,
    timeoutMs: given['timeout-ms'] ?? null,
    cwd: given.cwd ?? null,
    env: given.env ?? [],
    digest: given.digest ?? null,
  }
}

function unknownKey({ name, place }: Member, known: readonly string[], hook: number | null): DocumentProblem {
  const near = nearest(name, known)
  const meant = near === null ? `known are ${known.join(', ')}` : `did you mean ${JSON.stringify(near)}?`
  const message = `unknown key ${quoted(name)}: ${meant}`
  return { rule: 'HC103', message, place, hook, ...(near === null ? {} : { nearest: near }) }
}
