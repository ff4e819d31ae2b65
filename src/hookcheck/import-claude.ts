/**
 * A hooks configuration of Claude Code (settings.json, a plugin's hooks.json, or its manifest) → the hooks file that it
 * corresponds to, and a note for everything that has no counterpart. What cannot be carried over is never approximated in
 * silence: it is left out and named, or stands for a program that the operator has yet to put in place, which refuses until then.
 * Pure.
 */
import type { HookPoint } from '../hooks/hook-spec.js'
import { nearest } from '../hooks/nearest.js'
import { isJsonObject, type Json, type JsonObject } from '../json.js'
import { EVENTS, matchTools, OTHER_EVENTS } from './claude-names.js'
import { commandOf, type ImportNote, type ImportPlaces } from './import-command.js'

export interface ImportedHook {
  readonly name: string
  readonly on: HookPoint
  readonly tools?: readonly string[]
  readonly command: readonly string[]
  readonly 'timeout-ms'?: number
}

export interface Imported {
  /** A hooks file, version 1. */
  readonly hooks: readonly ImportedHook[]
  readonly notes: readonly ImportNote[]
}

const TIMEOUT_S = { least: 0.1, most: 600 }

/** Keys of a hook entry whose meaning is carried over, or said in {@link KEY_NOTES}. */
const HANDLED = new Set(['type', 'command', 'args', 'timeout'])

const KEY_NOTES: ReadonlyMap<string, string> = new Map([
  ['async', 'async has no counterpart: the run waits for every hook'],
  ['asyncRewake', 'asyncRewake has no counterpart: the run waits for every hook'],
  [
    'if',
    'a condition on the arguments has no counterpart: the hook runs for every call of its tools and has to look itself',
  ],
  ['once', 'once has no counterpart: the hook runs every time'],
  ['shell', 'no shell is started, so "shell" means nothing'],
  ['statusMessage', 'statusMessage has no counterpart: the record says what runs'],
])

/** Reads `root`, the parsed file. */
export async function importClaude(root: JsonObject, places: ImportPlaces): Promise<Imported> {
  const notes: ImportNote[] = []
  const note = (kind: ImportNote['kind'], where: string, text: string): void => void notes.push({ kind, where, text })
  const events = eventsOf(root, note)
  const hooks: ImportedHook[] = []
  for (const [event, groups] of Object.entries(events)) {
    const meaning = EVENTS.get(event)
    if (meaning?.kind !== 'point') {
      note('left-out', event, withoutPoint(event, groups))
      continue
    }
    if (meaning.note !== undefined) note('changed', event, meaning.note)
    const context = { event, on: meaning.on, notes, places, names: new Set(hooks.map(({ name }) => name)) }
    for (const [at, group] of listOf(groups, event, note).entries()) {
      hooks.push(...(await importGroup(group, `${event}[${at + 1}]`, context)))
    }
  }
  return { hooks, notes: [...differences(hooks), ...notes] }
}

type Note = (kind: ImportNote['kind'], where: string, text: string) => void

/** The table of events, wherever it stands: under `hooks`, or as the file itself. */
function eventsOf(root: JsonObject, note: Note): JsonObject {
  if (root.disableAllHooks === true) {
    note('changed', '', 'disableAllHooks is set: none of these ran there; they are written down all the same')
  }
  const { hooks } = root
  if (isJsonObject(hooks)) return hooks
  if (typeof hooks === 'string' || Array.isArray(hooks)) {
    note('left-out', 'hooks', `the manifest names other files: run this on ${JSON.stringify(hooks)} instead`)
    return {}
  }
  if (hooks !== undefined) note('left-out', 'hooks', 'hooks is no object')
  const isBare = hooks === undefined && Object.keys(root).some(key => EVENTS.has(key) || OTHER_EVENTS.has(key))
  return isBare ? root : {}
}

function withoutPoint(event: string, groups: Json): string {
  const meaning = EVENTS.get(event)
  const count = Array.isArray(groups)
    ? groups.flatMap(group => (isJsonObject(group) && Array.isArray(group.hooks) ? group.hooks : [group])).length
    : 0
  const hooks = count === 1 ? '1 hook' : `${count} hooks`
  if (meaning?.kind === 'none') return `the event has no point here (${hooks}): ${meaning.why}`
  if (OTHER_EVENTS.has(event)) return `the event has no point here (${hooks})`
  const near = nearest(event, [...EVENTS.keys()])
  return `no event is called so (${hooks})${near === null ? '' : `: did you mean ${near}?`}`
}

function listOf(value: Json | undefined, where: string, note: Note): readonly Json[] {
  if (Array.isArray(value)) return value
  note('left-out', where, 'a list is needed')
  return []
}

interface Context {
  readonly event: string
  readonly on: HookPoint
  readonly notes: ImportNote[]
  readonly places: ImportPlaces
  /** Names that are taken. */
  readonly names: Set<string>
}

async function importGroup(group: Json, where: string, context: Context): Promise<ImportedHook[]> {
  const note: Note = (kind, at, text) => void context.notes.push({ kind, where: at, text })
  if (!isJsonObject(group)) {
    note('left-out', where, 'a group with "matcher" and "hooks" is needed')
    return []
  }
  const tools = await toolsOf(group, where, context.on, note)
  const entries = listOf(group.hooks, `${where}.hooks`, note)
  if (tools === 'none') return []
  return entries.flatMap((entry, at) => {
    const hook = importEntry(entry, `${where}.hooks[${at + 1}]`, context)
    return hook === null ? [] : [{ ...hook, ...(tools === null ? {} : { tools }) }].map(ordered)
  })
}

/** Keys in the order in which people write them. */
function ordered({ name, on, tools, command, ...rest }: ImportedHook): ImportedHook {
  return { name, on, ...(tools === undefined ? {} : { tools }), command, ...rest }
}

async function toolsOf(
  { matcher = '' }: JsonObject,
  where: string,
  on: HookPoint,
  note: Note,
): Promise<readonly string[] | null | 'none'> {
  if (typeof matcher !== 'string') {
    note('left-out', where, 'its matcher is no string')
    return 'none'
  }
  if (on === 'stop') {
    if (matcher !== '' && matcher !== '*') note('changed', where, 'a matcher means nothing at the end of a run')
    return null
  }
  const matched = await matchTools(matcher)
  if ('refused' in matched) {
    note('left-out', where, matched.refused)
    return 'none'
  }
  for (const text of matched.notes) note('changed', where, text)
  if (matched.tools?.length !== 0) return matched.tools
  note('left-out', where, `no tool here is matched by ${JSON.stringify(matcher)}`)
  return 'none'
}

function importEntry(entry: Json, where: string, context: Context): ImportedHook | null {
  const note: Note = (kind, at, text) => void context.notes.push({ kind, where: at, text })
  if (!isJsonObject(entry)) {
    note('left-out', where, 'a hook with "type" and "command" is needed')
    return null
  }
  const { type = 'command' } = entry
  if (type !== 'command') {
    const kind = typeof type === 'string' ? type : 'other'
    note('left-out', where, `a hook of type ${kind} has no counterpart: only a program of the operator's can decide`)
    return null
  }
  for (const key of Object.keys(entry).filter(name => !HANDLED.has(name) && entry[name] !== false)) {
    note('changed', where, KEY_NOTES.get(key) ?? `the key ${JSON.stringify(key)} has no counterpart`)
  }
  const command = commandOf(entry, { ...context.places, event: context.event, names: context.names })
  if (command === null) {
    note('left-out', where, 'it has no command')
    return null
  }
  context.names.add(command.name)
  context.notes.push(...command.notes.map(told => ({ ...told, where })))
  const timeoutMs = timeoutOf(entry.timeout, where, note)
  return {
    name: command.name,
    on: context.on,
    command: command.argv,
    ...(timeoutMs === null ? {} : { 'timeout-ms': timeoutMs }),
  }
}

function timeoutOf(timeout: Json | undefined, where: string, note: Note): number | null {
  if (timeout === undefined) return null
  if (typeof timeout !== 'number' || !Number.isFinite(timeout) || timeout <= 0) {
    note('changed', where, `timeout ${JSON.stringify(timeout)} is no time in seconds: left out, so that 60 s hold`)
    return null
  }
  const kept = Math.min(Math.max(timeout, TIMEOUT_S.least), TIMEOUT_S.most)
  const meant = timeout >= 1_000 ? ' (milliseconds were meant, perhaps)' : ''
  const bound = kept === timeout ? '' : `; ${kept} s is as far as it goes here${meant}`
  note('changed', where, `timeout ${timeout} is in seconds: written as timeout-ms ${Math.round(kept * 1_000)}${bound}`)
  return Math.round(kept * 1_000)
}

/** What is true of every hook that was carried over: said once, before all else. */
function differences(hooks: readonly ImportedHook[]): ImportNote[] {
  if (hooks.length === 0) return []
  const texts = [
    'the document on stdin is another: `call.name` and `call.arguments` in the place of tool_name and tool_input, with our names for both; a script that reads the old keys finds nothing',
    'only the exit status decides: 0 goes on, 2 blocks with {"reason"} from stdout; permissionDecision, decision, continue and updatedInput mean nothing',
    'at before-call every other ending refuses the call (there it let the call through); at stop it lets the run end',
    'without timeout-ms a hook has 60 s (there 600 s), and it starts in the folder of the hooks file with a small environment, without CLAUDE_* variables',
  ]
  return texts.map(text => ({ kind: 'changed', where: '', text }))
}
