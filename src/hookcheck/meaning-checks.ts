/** HC701 to HC707: whether a hook can fire, answer in time, prevent anything, and says what it means. */

import { HOOK_CONSULTATION_MS_DEFAULT } from '../bounds.js'
import type { HookSpec } from '../hooks/hook-spec.js'
import type { Family } from '../hooks/interpreters.js'
import { nearest } from '../hooks/nearest.js'
import { nameOf } from '../hooks/wrappers.js'
import { quoted } from '../json.js'
import type { EntryName } from '../tools/catalogue.js'
import type { AuditContext, HookFacts } from './context.js'
import { oncePerAudit } from './per-audit.js'
import { grouped } from './report.js'
import type { Reported } from './rule.js'
import { remarksOf, scriptOf } from './script-facts.js'
import { accidentalTwo } from './tool-programs.js'

const ENTRIES: Readonly<Record<EntryName, 'reads' | 'acts'>> = {
  file_read: 'reads',
  dir_list: 'reads',
  search: 'reads',
  find: 'reads',
  file_write: 'acts',
  file_edit: 'acts',
  run: 'acts',
}

/** Every name that a call can resolve to (contract §8, §16.4). */
export const TOOL_NAMES: readonly string[] = [...Object.keys(ENTRIES), 'answer', 'delegate', 'skill', 'recall']

/** Entries that write files or start programs. */
const ACTING = Object.entries(ENTRIES).flatMap(([name, does]) => (does === 'acts' ? [name] : []))

export function* deadTools({ spec }: Pick<HookFacts, 'spec'>): Iterable<Reported> {
  const place = spec.places.get('tools')
  for (const name of spec.tools ?? []) {
    if (TOOL_NAMES.includes(name)) continue
    const message = `"tools" names ${quoted(name)}, which no tool is called: ${meantTool(name)}`
    yield { about: name, message, ...(place === undefined ? {} : { place }) }
  }
}

function meantTool(name: string): string {
  if (/[,|]/.test(name)) return 'write each name as a string of its own'
  if (/^\*$|\.\*|[*?^$()[\]+]/.test(name))
    return 'patterns mean nothing here, names are compared as they are; leave "tools" out for every tool'
  const near = nearest(name, TOOL_NAMES)
  return near === null ? `known are ${TOOL_NAMES.join(', ')}` : `did you mean ${near}?`
}

/** Milliseconds that a start alone takes on a busy machine, by family (hookcheck.md, HC702). */
const START_MS: Readonly<Partial<Record<Family, number>>> = {
  node: 500,
  bun: 500,
  deno: 500,
  java: 500,
  python: 200,
  pwsh: 1_000,
  ruby: 300,
}
const CALL_WAIT_MS = 60_000

export function* timeouts({ spec, closure }: HookFacts): Iterable<Reported> {
  const { timeoutMs, on } = spec
  if (timeoutMs === null) return
  const place = spec.places.get('timeout-ms')
  const at = { about: 'timeout', ...(place === undefined ? {} : { place }) }
  if (on === 'before-call' && timeoutMs > CALL_WAIT_MS)
    yield { ...at, message: `every call may wait ${timeoutMs} ms for it` }
  const family = closure.code?.family
  const start = family === undefined ? undefined : START_MS[family]
  if (family !== undefined && start !== undefined && timeoutMs < start)
    yield {
      ...at,
      message: `${timeoutMs} ms are short for a start of ${family}, which alone takes up to ${start} ms on a busy machine`,
    }
}

/** Hooks of one call share the time of one consultation: the sum of what they may take against it. */
export function* sharedTime({ hooks }: AuditContext): Iterable<Reported> {
  for (const on of ['before-call', 'after-call'] as const) {
    for (const tool of TOOL_NAMES) {
      const asked = hooks.filter(({ spec }) => spec.on === on && (spec.tools === null || spec.tools.includes(tool)))
      const own = asked.flatMap(({ spec }) => spec.timeoutMs ?? [])
      const patience = Math.max(HOOK_CONSULTATION_MS_DEFAULT, ...own)
      const sum = own.reduce((total, ms) => total + ms, 0)
      if (asked.length < 2 || sum <= patience) continue
      const message = `the ${asked.length} hooks of ${on} for ${tool} may take ${sum} ms together, and a consultation has ${patience}: the last are not asked, which refuses`
      yield { about: `${on} sum`, message }
      break
    }
  }
}

const ENFORCES =
  /(?:^|[^a-z])(?:deny|forbid|guard|block|require|policy|polic(?:e|ing)|secrets?|protect|prevent|enforce|gate|firewall)(?:[^a-z]|$)/i

export function* openGates({ spec, closure }: HookFacts): Iterable<Reported> {
  if (spec.on !== 'stop' && spec.on !== 'after-call') return
  const paths = closure.members.filter(({ role }) => role === 'program' || role === 'argument').map(({ path }) => path)
  const named = [spec.name ?? '', ...[spec.command[0], ...paths].map(nameOf)]
  const word = named
    .map(text => ENFORCES.exec(text.replace(/([a-z])([A-Z])/g, '$1-$2'))?.[0])
    .find(found => found !== undefined)
  if (word === undefined) return
  const means =
    spec.on === 'stop'
      ? 'a stop hook that fails lets the run end, and blocks three times at most'
      : 'at after-call the call has happened'
  yield { about: spec.on, message: `its name says ${JSON.stringify(word.replace(/[^A-Za-z]/g, ''))}, and ${means}` }
}

/** A hook that watches over some of the tools that act, and leaves the way round through another. */
export function* coverage({ spec }: HookFacts, audit: AuditContext): Iterable<Reported> {
  if (spec.on !== 'before-call' || spec.tools === null || !ACTING.some(name => spec.tools?.includes(name))) return
  if (/(?:^|-)only(?:-|$)/.test(spec.name ?? '')) return
  const same = gatesOf(audit).get(JSON.stringify(spec.command)) ?? []
  if (same.some(({ tools }) => tools === null)) return
  const covered = new Set(same.flatMap(({ tools }) => tools ?? []))
  const missing = ACTING.filter(name => !covered.has(name))
  if (missing.length === 0) return
  const place = spec.places.get('tools')
  const message = `it is asked about ${spec.tools.filter(name => ACTING.includes(name)).join(', ')} and not about ${missing.join(', ')}, by which the same can be done`
  yield { about: 'coverage', message, ...(place === undefined ? {} : { place }) }
}

/** Hooks before calls by their command: one program may be named for several tools. */
const gatesOf = oncePerAudit(({ hooks }) =>
  grouped(
    hooks.map(({ spec }) => spec).filter(({ on }) => on === 'before-call'),
    ({ command }) => JSON.stringify(command),
  ),
)

/** Of the file: no gate at all, and entries that are there twice. */
export function* coverageOfFile({ hooks }: AuditContext): Iterable<Reported> {
  if (hooks.length > 0 && !hooks.some(({ spec }) => spec.on === 'before-call'))
    yield { about: 'no gate', severity: 'info', message: 'no hook is asked before a call: nothing is prevented' }
}

export function* doubles({ spec }: HookFacts, audit: AuditContext): Iterable<Reported> {
  const first = firstOf(audit).get(keyOf(spec))
  if (first !== undefined && first !== spec.index)
    yield { about: 'double', message: `it is hook ${first} again: it runs twice` }
}

const firstOf = oncePerAudit(({ hooks }): ReadonlyMap<string, number> => {
  const first = new Map<string, number>()
  for (const { spec } of hooks) if (!first.has(keyOf(spec))) first.set(keyOf(spec), spec.index)
  return first
})

function keyOf({ on, tools, command, cwd, env }: HookSpec): string {
  return JSON.stringify([on, tools === null ? null : [...tools].sort(), command, cwd, env])
}

export function* swallows(hook: HookFacts, audit: AuditContext): Iterable<Reported> {
  const script = scriptOf(hook)
  if (script === undefined) return
  for (const { line, what } of remarksOf(hook, audit).swallowed)
    yield { path: script.path, about: `${script.path} ${what}`, message: `${script.path}:${line}: ${what}` }
}

export function* accidents({ closure }: HookFacts): Iterable<Reported> {
  const what = accidentalTwo(closure.argv, closure.code)
  if (what === null) return
  // An interpreter that answers 2 for a missing script is every script's risk: a note, where a tool as the hook is a warning.
  const own = closure.code === null || closure.code.family === 'tool'
  yield { about: 'status 2', severity: own ? 'warn' : 'info', message: `${what}, which blocks here as a verdict does` }
}

export function* dialects(hook: HookFacts, audit: AuditContext): Iterable<Reported> {
  const script = scriptOf(hook)
  if (script === undefined) return
  const { dialect, one } = remarksOf(hook, audit)
  const [first] = dialect
  if (first !== undefined) {
    const what = [...new Set(dialect.map(remark => remark.what))].join(', ')
    yield { path: script.path, about: 'dialect', message: `${script.path}:${first.line}: it ${what}` }
  }
  if (one === null) return
  const means = hook.gate
    ? 'refuses all the same, as a failed hook, without its reason'
    : 'is a failed hook: at stop the run ends'
  const message = `${script.path}:${one.line}: it ends with 1 and never with 2; 1 ${means}`
  yield { path: script.path, about: 'status 1', severity: hook.gate ? 'info' : 'warn', message }
}
