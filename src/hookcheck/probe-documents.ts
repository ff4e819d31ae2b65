/**
 * The documents that a probe hands to a hook (hookcheck.md §8): harmless ones, ones from the future, broken ones, and ones
 * whose text would do something if it were run. Pure: the same hook, the same bytes.
 */
import type { HookPoint, HookSpec } from '../hooks/hook-spec.js'
import type { HookedCall, HookMoment } from '../hooks/port.js'
import {
  afterCallDocument,
  beforeCallDocument,
  type RunIdentity,
  stdinBytes,
  stopDocument,
  transitionDocument,
} from '../hooks/stdin.js'
import type { Json, JsonObject } from '../json.js'

export type ProbeId = 'P1' | 'P2' | 'P3' | 'P4' | 'P5' | 'P6' | 'P7' | 'P8' | 'P9' | 'P10' | 'P11'

export interface ProbeDocument {
  readonly probe: ProbeId
  /** What is particular about it, e.g. `run` or `truncated`. */
  readonly label: string
  readonly bytes: Uint8Array
}

/** Tools that are tried, at most. */
const TOOLS_TRIED_MAX = 5
/** Where a hook names none: one of each kind of effect. */
const TOOLS_DEFAULT = ['run', 'file_write', 'file_edit', 'file_read', 'search']

const ARGUMENTS: Readonly<Record<string, JsonObject>> = {
  file_read: { path: 'README.md' },
  dir_list: { path: '.' },
  search: { pattern: 'hello' },
  find: { glob: '*.md' },
  file_write: { path: 'notes.txt', text: 'hello\n' },
  file_edit: { path: 'README.md', old: 'hello', new: 'good day' },
  run: { argv: ['true'] },
  answer: { text: 'done' },
  delegate: { task: 'count the files' },
  skill: { name: 'greeting' },
  recall: { query: 'greeting' },
}

export interface ProbeSubject {
  readonly hook: Pick<HookSpec, 'on' | 'tools'>
  readonly run: RunIdentity
}

/** P1: a harmless document for each tool (at call points), or the one that the point has. */
export function benign({ hook, run }: ProbeSubject): readonly ProbeDocument[] {
  if (hook.on === 'stop' || hook.on === 'transition')
    return [{ probe: 'P1', label: hook.on, bytes: stdinBytes(documentFor(hook.on, '', run)) }]
  const tools = (hook.tools ?? TOOLS_DEFAULT).slice(0, TOOLS_TRIED_MAX)
  return tools.map(tool => ({ probe: 'P1', label: tool, bytes: stdinBytes(documentFor(hook.on, tool, run)) }))
}

/** The first of {@link benign}, as an object to make others of. */
export function benignDocument({ hook, run }: ProbeSubject): JsonObject {
  const [tool = 'run'] = hook.tools ?? TOOLS_DEFAULT
  return documentFor(hook.on, tool, run)
}

const MOMENT: HookMoment = {
  turn: 1,
  model: 'probe',
  delegate: null,
  signal: new AbortController().signal,
  emit: () => undefined,
}

function documentFor(on: HookPoint, tool: string, run: RunIdentity): JsonObject {
  const call: HookedCall = { call_id: 'probe-1', name: tool, arguments: ARGUMENTS[tool] ?? {}, entry: tool }
  switch (on) {
    case 'before-call':
      return beforeCallDocument(run, call, MOMENT)
    case 'after-call':
      return afterCallDocument(run, call, { output: { text: 'hello' }, failed: false }, MOMENT)
    case 'stop':
      return stopDocument(run, { text: 'It is done.', continuations: 0 }, MOMENT)
    case 'transition':
      return transitionDocument(run, { flow: 'probe', path: 'probe/first', moment: 'enter', attempt: 1, of: 1 }, MOMENT)
  }
}

const LONG_BYTES = 1024 * 1024
const DEEP = 64

/** P3, P4, P5 and P7: valid documents that are unlike the ones of today. */
export function unusual(subject: ProbeSubject): readonly ProbeDocument[] {
  const base = benignDocument(subject)
  const whole = stdinBytes(base)
  return [
    { probe: 'P3', label: 'an unknown point', bytes: stdinBytes({ ...base, hook: 'probe-of-a-later-version' }) },
    {
      probe: 'P4',
      label: 'unknown fields, deep and beyond ASCII',
      bytes: stdinBytes({ ...base, later: { deep: nested(DEEP), text: 'ä 漢字 🙂 \u202e' }, flag: true }),
    },
    {
      probe: 'P5',
      label: 'a string of 1 MiB',
      bytes: stdinBytes(withText(base, 'x'.repeat(LONG_BYTES))),
    },
    { probe: 'P7', label: 'no newline at its end', bytes: whole.subarray(0, -1) },
  ]
}

function nested(depth: number): Json {
  let value: Json = 'end'
  for (let level = 0; level < depth; level++) value = { level: value }
  return value
}

/** P6: what no hook can judge. At a gate none of them may be a yes. */
export function broken(subject: ProbeSubject): readonly ProbeDocument[] {
  const base = benignDocument(subject)
  const whole = stdinBytes(base)
  const wrong: JsonObject = { ...base, call: 7, entry: ['x'], text: false, path: null, workspace: {} }
  const texts: readonly (readonly [label: string, bytes: Uint8Array])[] = [
    ['empty', new Uint8Array(0)],
    ['{}', Buffer.from('{}\n')],
    ['null', Buffer.from('null\n')],
    ['truncated', whole.subarray(0, Math.floor(whole.length / 2))],
    ['of wrong types', stdinBytes(wrong)],
  ]
  return texts.map(([label, bytes]) => ({ probe: 'P6', label, bytes }))
}

/** P8: each form would make the file `marker` if a shell, Python, Node or Perl ran it. */
export function canaries(subject: ProbeSubject, marker: string): readonly ProbeDocument[] {
  const base = benignDocument(subject)
  const touch = `touch ${marker}`
  const forms: readonly (readonly [label: string, text: string])[] = [
    ['$( )', `$(${touch})`],
    ['backticks', `\`${touch}\``],
    [';', `x; ${touch} #`],
    ['|', `x | ${touch}`],
    ['a new line', `x\n${touch}\n`],
    ["' quote", `x'; ${touch}; echo '`],
    ['" quote', `x"; ${touch}; echo "`],
    ['a leading dash', `--use-compress-program=${touch}`],
    ['%s and JSON', `%s%n {"hook":"stop","reason":"$(${touch})"}`],
    ['Python', `__import__('os').system('${touch}')`],
    ['JavaScript', `require('fs').writeFileSync('${marker}','')`],
  ]
  const keep = new Set(['hook', 'workspace', 'run_id'])
  return forms.map(([label, text]) => ({
    probe: 'P8',
    label,
    bytes: stdinBytes(
      Object.fromEntries(
        Object.entries(base).map(([key, value]) => [key, keep.has(key) ? value : replaced(value, text)]),
      ),
    ),
  }))
}

function replaced(value: Json, text: string): Json {
  if (typeof value === 'string') return text
  if (Array.isArray(value)) return value.map(item => replaced(item as Json, text))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, replaced(inner as Json, text)]))
}

/** `base` with `text` for the first string among the arguments of its call, as a further word where none is one, or as its `text`. */
function withText(base: JsonObject, text: string): JsonObject {
  const { arguments: given } = (base.call ?? {}) as { arguments?: JsonObject }
  if (given === undefined) return { ...base, text }
  const first = Object.keys(given).find(key => typeof given[key] === 'string')
  const changed = first === undefined ? { argv: ['true', text] } : { [first]: text }
  return { ...base, call: { ...(base.call as JsonObject), arguments: { ...given, ...changed } } }
}
