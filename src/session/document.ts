/** A session as one document: for programs (JSON), and to read (Markdown). Pure. */
import { isJsonObject, type Json } from '../json.js'
import { pairItems } from '../loop/conversation.js'
import type { Item } from '../wires/port.js'
import type { SessionSummary } from './list.js'
import type { EndReason, HeaderLine, TurnLine } from './records.js'
import { isItem } from './records.js'
import { itemsOf, type StoredSession, turnsOf } from './store.js'

export interface SessionDocument extends HeaderLine {
  readonly path: string
  /** Of the file it was read from. */
  readonly file_version: 1 | 2
  readonly turns: readonly Omit<TurnLine, 'kind'>[]
  readonly turn_count: number
  /** Sums over the turns that reported one; null where none did. */
  readonly totals: {
    readonly input_tokens: number | null
    readonly output_tokens: number | null
    readonly cost_micro_usd: number | null
  }
  /** The conversation, every call with its one result. */
  readonly items: readonly Item[]
  /** Calls that had no result when the run ended, and were given one that says so. */
  readonly interrupted: readonly string[]
  readonly withheld: readonly { readonly tool: string; readonly reason: string }[]
  readonly resumed: readonly { readonly resumed_unix: number; readonly model: string; readonly workspace: string }[]
  /** How the last run ended; null: it did not say, or it is going on. */
  readonly stop: EndReason | null
  readonly delegates: readonly Pick<SessionSummary, 'id' | 'path' | 'model' | 'turns' | 'stop'>[]
  /** What a crash has torn off and was left out; null: nothing. */
  readonly torn: string | null
}

/** All that is known of a session. `delegates`: the summaries of its children. */
export function sessionDocument(stored: StoredSession, delegates: readonly SessionSummary[]): SessionDocument {
  const { header, records, path, version, torn } = stored
  const turns = records.filter(record => record.kind === 'turn')
  const { items, filled } = pairItems(itemsOf(records))
  const last = records.filter(record => !isItem(record) && record.kind !== 'withheld').at(-1)
  return {
    ...header,
    path,
    file_version: version,
    turns: turns.map(({ turn, model, usage, cost }) => ({ turn, model, usage, cost })),
    turn_count: turnsOf(records),
    totals: {
      input_tokens: sum(turns.map(({ usage }) => usage?.input_tokens ?? null)),
      output_tokens: sum(turns.map(({ usage }) => usage?.output_tokens ?? null)),
      cost_micro_usd: sum(turns.map(({ cost }) => cost)),
    },
    items,
    interrupted: filled,
    withheld: records.findLast(record => record.kind === 'withheld')?.withheld ?? [],
    resumed: records.flatMap(record =>
      record.kind === 'resumed'
        ? [{ resumed_unix: record.resumed_unix, model: record.model, workspace: record.workspace }]
        : [],
    ),
    stop: last?.kind === 'end' ? last.stop : null,
    delegates: delegates.map(({ id, path: at, model, turns: n, stop }) => ({ id, path: at, model, turns: n, stop })),
    torn,
  }
}

function sum(values: readonly (number | null)[]): number | null {
  const known = values.filter(value => value !== null)
  return known.length === 0 ? null : known.reduce((total, value) => total + value, 0)
}

/** The conversation as Markdown; what calls were given and gave stands in fenced blocks. */
export function sessionMarkdown(document: SessionDocument): string {
  const { id, model, workspace, created_unix, turn_count: turns, stop, items } = document
  const head = [
    `# Session ${id}`,
    '',
    `- begun ${utc(created_unix)}`,
    `- model ${model}`,
    `- workspace ${workspace}`,
    `- ${turns} turn(s), ${stop === null ? 'no end recorded' : stop.kind}`,
  ]
  return `${[...head, ...items.flatMap(itemLines)].join('\n')}\n`
}

function itemLines(item: Item): string[] {
  switch (item.kind) {
    case 'user-text':
      return ['', '## User', '', item.text]
    case 'assistant-text':
      return ['', '## Assistant', '', item.text]
    case 'tool-call':
      return ['', `### Call ${item.name} (${item.call_id})`, '', ...fenced(item.arguments)]
    case 'tool-result':
      return ['', `### Result (${item.call_id})${item.failed ? ', failed' : ''}`, '', ...fenced(item.output)]
    case 'opaque':
      return []
  }
}

/** A fence that is longer than any run of backticks inside ends nowhere else (CommonMark, fenced code blocks). */
function fenced(value: Json): string[] {
  const text = textOf(value)
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length))
  const fence = '`'.repeat(longest + 1)
  return [fence, text, fence]
}

function textOf(value: Json): string {
  if (typeof value === 'string') return value
  return JSON.stringify(value, null, isJsonObject(value) || Array.isArray(value) ? 2 : undefined)
}

/** `YYYY-MM-DD hh:mm:ssZ`. Seconds since 1970; what no calendar holds is given as the number. */
export function utc(unix: number): string {
  const date = new Date(unix * 1_000)
  return Number.isNaN(date.getTime()) ? `${unix}` : `${date.toISOString().slice(0, 19).replace('T', ' ')}Z`
}
