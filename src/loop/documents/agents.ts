/**
 * An agent: what a delegate is told, and what it may use. Its document can only take away from what the run has; what would
 * give more means nothing here, and what narrows is never passed over. Pure.
 */
import { createHash } from 'node:crypto'
import type { Withheld } from '../../events.js'
import type { Reach } from '../../tools/port.js'
import { type DocumentText, ignoredKeys, readHead } from './head.js'
import { type Narrowing, narrowingOf, nearNarrowing } from './key-names.js'
import { type Defect, defect, isDefect } from './problems.js'
import { isForModel, notOffered, type Parsed } from './skills.js'
import { allowedTools, type DeclaredTool, deniedTools } from './tool-lists.js'
import { booleanOf, type Field, type Fields, textOf } from './yaml-fields.js'

export interface AgentDocument {
  /** As in the document, with `<plugin>:` before it where a plugin holds it. The one key it is found by. */
  readonly name: string
  readonly description: string
  /** Only these; null: every tool of the run. Of several lists in one document a tool is in all. */
  readonly tools: readonly DeclaredTool[] | null
  /** None of these, whatever `tools` says. */
  readonly disallowedTools: readonly DeclaredTool[]
  /** Name or alias; absent: the run's own. */
  readonly model?: string
  /** Passed on as it is; absent: the run's own. */
  readonly effort?: string
  /** Requests at most, 1 or more; absent: the bound of every delegate. */
  readonly maxTurns?: number
  readonly body: string
  /** SHA-256 of `body`, 64 lower-case hex digits. */
  readonly digest: string
  readonly file: string
}

/**
 * The parent's reach without what the document leaves out: never more than `parent`, the entry names admitted there, and in
 * its order. What is withheld stands in the order of the document.
 */
export function admittedReach(
  { name, tools, disallowedTools }: Pick<AgentDocument, 'name' | 'tools' | 'disallowedTools'>,
  parent: readonly string[],
): Reach {
  const denied = new Set(disallowedTools.map(({ entry }) => entry))
  const asked = tools === null ? null : new Set(tools.map(({ entry }) => entry))
  const admitted = parent.filter(entry => !denied.has(entry) && (asked === null || asked.has(entry)))
  const has = new Set(admitted)
  const withheld = (tools ?? []).flatMap(({ written, entry }): Withheld[] => {
    if (entry !== null && has.has(entry)) return []
    return [
      { tool: entry ?? written, reason: `agent ${name} asks for ${written}: ${whyWithheld(written, entry, denied)}` },
    ]
  })
  return { admitted, withheld }
}

function whyWithheld(written: string, entry: string | null, denied: ReadonlySet<string | null>): string {
  if (entry !== null) return denied.has(entry) ? 'its own document takes it away' : 'this run does not have it'
  return written.includes('(')
    ? 'a part of a tool cannot be granted, write its name alone'
    : 'there is no such tool here'
}

const READ: ReadonlySet<string> = new Set(['name', 'description', 'model', 'effort'])
const WORD = /^[A-Za-z0-9._:/-]{1,256}$/

export function parseAgent(source: DocumentText): Parsed<AgentDocument> | Defect {
  const head = readHead(source)
  if (isDefect(head)) return head
  const { name, description, body, fields } = head
  const { file } = source
  const near = fields.all.find(({ key }) => nearNarrowing(key) !== null)
  if (near !== undefined) {
    const meant = nearNarrowing(near.key) ?? ''
    return defect(
      near.line,
      `the key ${near.key} may mean ${meant}, which takes tools away`,
      `write ${meant}, or take it out`,
    )
  }
  const limits = limitsOf(fields)
  if (isDefect(limits)) return limits
  const settings = settingsOf(fields)
  const ignored = fields.all.filter(({ key }) => !READ.has(key) && narrowingOf(key) === null).map(({ key }) => key)
  const { isOffered, ...narrowed } = limits
  const digest = createHash('sha256').update(body).digest('hex')
  return {
    document: isOffered ? { name, description, ...narrowed, ...settings.values, body, digest, file } : null,
    problems: [
      ...head.problems,
      ...ignoredKeys(file, [...ignored, ...settings.unread]),
      ...(isOffered ? [] : [notOffered(file, name)]),
    ],
  }
}

interface Limits extends Pick<AgentDocument, 'tools' | 'disallowedTools' | 'maxTurns'> {
  readonly isOffered: boolean
}

/** What writes or starts something: taken away from an agent that is to read only. */
const EFFECTS: readonly DeclaredTool[] = ['file_write', 'file_edit', 'run'].map(entry => ({ written: entry, entry }))

/** Each key that narrows, onto what was narrowed so far. A value that cannot be read refuses: it may have taken anything. */
const NARROWERS: Readonly<Record<Narrowing, (limits: Limits, fields: Fields, field: Field) => Limits | Defect>> = {
  tools: (limits, fields, field) => {
    const tools = allowedTools(fields, field)
    if (isDefect(tools)) return tools
    const both = limits.tools?.filter(({ entry, written }) =>
      tools.some(one => one.entry === entry && (entry !== null || one.written === written)),
    )
    return { ...limits, tools: both ?? tools }
  },
  disallowedTools: (limits, fields, field) => {
    const denied = deniedTools(fields, field)
    return isDefect(denied) ? denied : { ...limits, disallowedTools: [...limits.disallowedTools, ...denied] }
  },
  readonly: (limits, _, field) => {
    const value = booleanOf(field)
    if (value === null) return defect(field.line, `${field.key} is neither true nor false`, 'write true or false')
    return value ? withoutEffects(limits) : limits
  },
  permissionMode: (limits, fields, field) => {
    const mode = textOf(fields, field)
    if (isDefect(mode)) return mode
    // Of the modes in use `plan` alone takes away; the others only save questions, which the run's operator answers.
    return mode?.toLowerCase() === 'plan' ? withoutEffects(limits) : limits
  },
  maxTurns: (limits, fields, field) => {
    const text = textOf(fields, field)
    const turns = typeof text === 'string' && /^\d{1,9}$/.test(text) ? Number(text) : 0
    if (turns >= 1) return { ...limits, maxTurns: Math.min(turns, limits.maxTurns ?? turns) }
    return defect(field.line, `${field.key} is no whole number of 1 or more`, 'write one, or leave it out')
  },
  'disable-model-invocation': (limits, _, field) => {
    const isOffered = isForModel(field.key, field.line, booleanOf(field))
    return isDefect(isOffered) ? isOffered : { ...limits, isOffered: limits.isOffered && isOffered }
  },
}

function withoutEffects(limits: Limits): Limits {
  return { ...limits, disallowedTools: [...limits.disallowedTools, ...EFFECTS] }
}

function limitsOf(fields: Fields): Limits | Defect {
  let limits: Limits = { tools: null, disallowedTools: [], isOffered: true }
  for (const field of fields.all) {
    const narrowing = narrowingOf(field.key)
    const next = narrowing === null ? limits : NARROWERS[narrowing](limits, fields, field)
    if (isDefect(next)) return next
    limits = next
  }
  return limits
}

/** Model and effort; a value that is no such word is left out and told, since nothing is taken away by them. */
function settingsOf(fields: Fields): {
  readonly values: Pick<AgentDocument, 'model' | 'effort'>
  readonly unread: readonly string[]
} {
  const values: { model?: string; effort?: string } = {}
  const unread: string[] = []
  for (const key of ['model', 'effort'] as const) {
    const field = fields.get(key)
    const text = field === undefined ? null : textOf(fields, field)
    if (field === undefined || text === null || text === '' || (key === 'model' && text === 'inherit')) continue
    if (typeof text === 'string' && WORD.test(text)) values[key] = text
    else unread.push(key)
  }
  return { values, unread }
}
