/**
 * What the events and tools of a Claude Code hooks configuration are called here, and what has no counterpart. Data, and
 * the reading of a matcher: absent, empty and `*` mean every tool, words joined by `|` or `,` are exact names, anything
 * else is a pattern over the name. Pure.
 *
 * Source: the hooks reference of that client (hook events, matcher patterns). `timeout` is in seconds there.
 */
import { isRefusal } from '../errors.js'
import type { HookPoint } from '../hooks/hook-spec.js'
import { regexMatcher } from '../tools/line-matcher.js'

export type EventMeaning =
  | { readonly kind: 'point'; readonly on: HookPoint; readonly note?: string }
  | { readonly kind: 'none'; readonly why: string }

const none = (why: string): EventMeaning => ({ kind: 'none', why })

const COMPACTED = 'no hook is asked before a conversation is made shorter; that it was is in the record (--json)'

/** Event → the point it corresponds to. */
export const EVENTS: ReadonlyMap<string, EventMeaning> = new Map<string, EventMeaning>([
  ['PreToolUse', { kind: 'point', on: 'before-call' }],
  ['PostToolUse', { kind: 'point', on: 'after-call' }],
  [
    'PostToolUseFailure',
    {
      kind: 'point',
      on: 'after-call',
      note: 'after-call also runs after calls that went well: the document says `outcome.failed`',
    },
  ],
  ['Stop', { kind: 'point', on: 'stop' }],
  ['SubagentStop', none('stop is not consulted for delegates')],
  ['SubagentStart', none('before-call on the tool `delegate` is consulted when one is started')],
  ['UserPromptSubmit', none('the task is the operator’s own word; nothing is consulted about it')],
  ['SessionStart', none('give text with --context or --instructions-file, and prepare the machine before the run')],
  ['SessionEnd', none('do what follows a run after the program has ended; its record is --json or --log-file')],
  ['PermissionRequest', none('approvals are given by --approve and on the terminal; before-call runs after them')],
  ['PermissionDenied', none('a denial is in the record (--json)')],
  ['Notification', none('watch the record (--json)')],
  ['PreCompact', none(COMPACTED)],
  ['PostCompact', none(COMPACTED)],
  ['ConfigChange', none('the hooks file is read once, before the run')],
])

/** Events known to that client that nothing is said about beyond having no point here. */
export const OTHER_EVENTS: ReadonlySet<string> = new Set(
  'Setup UserPromptExpansion PostToolBatch StopFailure TeammateIdle TaskCreated TaskCompleted Elicitation ElicitationResult WorktreeCreate WorktreeRemove InstructionsLoaded CwdChanged FileChanged DirectoryAdded PreModelSwitch PostModelSwitch MessageDisplay'.split(
    ' ',
  ),
)

/** Tool → our entry; null: we have no such tool. */
const TOOLS: ReadonlyMap<string, string | null> = new Map<string, string | null>([
  ['Bash', 'run'],
  ['Read', 'file_read'],
  ['Write', 'file_write'],
  ['Edit', 'file_edit'],
  ['MultiEdit', 'file_edit'],
  ['Grep', 'search'],
  ['Glob', 'find'],
  ['LS', 'dir_list'],
  ['Task', 'delegate'],
  ['Agent', 'delegate'],
  ['Skill', 'skill'],
  ['StructuredOutput', 'answer'],
  ...'AskUserQuestion BashOutput EnterPlanMode ExitPlanMode KillShell ListMcpResources Monitor NotebookEdit NotebookRead PowerShell ReadMcpResource SlashCommand TaskCreate TaskOutput TaskStop TaskUpdate TodoWrite ToolSearch WebFetch WebSearch'
    .split(' ')
    .map((name): [string, null] => [name, null]),
])

export interface Matched {
  /** Entry names in the order of the table; null: every tool. Empty: nothing here can match. */
  readonly tools: readonly string[] | null
  /** One sentence each. */
  readonly notes: readonly string[]
}

/** What `matcher` selects here, or why it cannot be told. */
export async function matchTools(matcher: string): Promise<Matched | { readonly refused: string }> {
  if (matcher === '' || matcher === '*') return { tools: null, notes: [] }
  if (/^[\w\s|,-]+$/.test(matcher)) return exactNames(matcher.split(/[|,]/).map(name => name.trim()))
  if (/^\^?\.[*+]\$?$/.test(matcher)) return { tools: null, notes: [] }
  return patternNames(matcher)
}

function exactNames(names: readonly string[]): Matched {
  const absent = names.filter(name => (TOOLS.get(name) ?? null) === null)
  return { tools: entriesOf(names), notes: absent.map(absentNote) }
}

function absentNote(name: string): string {
  if (name === '') return 'an empty name in the matcher selects nothing'
  const other = [...TOOLS.keys()].find(known => known.toLowerCase() === name.toLowerCase())
  const near = other !== undefined && other !== name ? ` (names are compared with their case: ${other}?)` : ''
  return `the tool ${name} does not exist here${near}`
}

/** Tried in linear time, so that a pattern from elsewhere cannot hang the audit. */
async function patternNames(pattern: string): Promise<Matched | { readonly refused: string }> {
  const said = `the matcher ${JSON.stringify(pattern)} is a pattern, which has no counterpart`
  try {
    const { matches } = await regexMatcher(pattern)
    const tools = entriesOf([...TOOLS.keys()].filter(matches))
    const stands = tools.length === 0 ? 'none of ours' : tools.join(', ')
    return { tools, notes: [`${said}: tried on the tools of that client it stands for ${stands}`] }
  } catch (error) {
    if (!isRefusal(error)) throw error
    return { refused: `${said}, and it cannot be read (${error.message})` }
  }
}

function entriesOf(names: readonly string[]): string[] {
  const entries = names.map(name => TOOLS.get(name) ?? null).filter(entry => entry !== null)
  return [...new Set(entries)]
}
