/** `harness sessions [list]`, `show ID`, `export ID`, `fork ID`: what sessions there are and what stands in them. */
import { Refusal } from '../../errors.js'
import { type SessionDocument, sessionDocument, sessionMarkdown, utc } from '../../session/document.js'
import type { SessionFolder } from '../../session/folder.js'
import { listSessions, type SessionSummary } from '../../session/list.js'
import { forkSession, opened, readStored } from '../../session/store.js'
import type { Io } from '../io.js'
import type { Given } from '../parse.js'
import { printJson } from '../print.js'
import { candidates, sessionFolder, warnOfDamage, warnOfSession } from '../session-options.js'
import { escapeLines, oneLine } from '../terminal-text.js'
import type { Invocation } from './invocation.js'

interface Asked {
  readonly given: Given
  readonly io: Io
  /** Absolute. */
  readonly path: string
}

const ACTIONS: Readonly<Record<string, (asked: Asked, id: string) => Promise<void>>> = {
  show: async ({ given, io, path }, id) => {
    const document = documentOf(path, id, io)
    if (given.has('--json')) printJson(io, jsonText(document))
    else io.out.write(escapeLines(humanText(document)))
  },
  export: async ({ given, io, path }, id) => {
    const document = documentOf(path, id, io)
    // What a tool has printed must not act on the terminal that reads it.
    if (given.one('--format') === 'markdown') io.out.write(escapeLines(sessionMarkdown(document)))
    else printJson(io, jsonText(document))
  },
  fork: async ({ given, io, path }, id) => {
    const copy = await forkSession(path, id)
    if (copy instanceof Refusal) throw copy
    io.out.write(given.has('--json') ? jsonText(copy) : `${copy.id}\n`)
  },
}

export async function sessions({ given, words }: Invocation, io: Io): Promise<number> {
  const asked = { given, io, path: sessionFolder(given, io) }
  const [action = 'list', id, ...rest] = words
  const act = Object.hasOwn(ACTIONS, action) ? ACTIONS[action] : undefined
  if (given.has('--format') && action !== 'export')
    throw new Refusal('bad-arguments', { argument: '--format' }, '--format is for harness sessions export ID')
  if (action === 'list' && id === undefined) list(asked)
  else if (act !== undefined && id !== undefined && rest.length === 0) await act(asked, idOf(asked, id))
  else throw badWords(action)
  return 0
}

function badWords(argument: string): Refusal {
  const known = 'harness sessions, harness sessions show ID, export ID or fork ID (an id, or latest)'
  return new Refusal('bad-arguments', { argument }, `write ${known}`)
}

function idOf({ path, io }: Asked, id: string): string {
  if (id !== 'latest') return id
  const { sessions: known, damaged } = candidates(path)
  for (const one of damaged) warnOfDamage(io, one)
  const [latest] = known
  if (latest !== undefined) return latest.id
  const why = 'holds no session: name another with --session-dir, or run one first'
  throw new Refusal('session-unusable', { path, why }, `${path} ${why}`)
}

/** A folder that is not there yet holds none. */
function list({ given, io, path }: Asked): void {
  const folder = opened(path, 'null')
  if (folder instanceof Refusal && folder.code !== 'session-unusable') throw folder
  const found = folder instanceof Refusal ? whenAbsent(folder) : listed(folder)
  const own = found.sessions.filter(({ parent }) => parent === null)
  if (given.has('--json')) printJson(io, jsonText({ path, sessions: own, damaged: found.damaged }))
  else io.out.write(own.length === 0 ? `no sessions in ${oneLine(path, 4_096)}\n` : own.map(row).join(''))
  if (!given.has('--json')) for (const one of found.damaged) warnOfDamage(io, one)
  if (found.unseen > 0) warnOfSession(io, `${found.unseen} more files were not looked at`)
}

function listed(folder: SessionFolder): ReturnType<typeof listSessions> {
  try {
    return listSessions(folder)
  } finally {
    folder.close()
  }
}

function whenAbsent(refusal: Refusal): ReturnType<typeof listSessions> {
  if ('absent' in refusal.details) return { sessions: [], damaged: [], unseen: 0 }
  throw refusal
}

function row({ id, updated_unix, model, turns }: SessionSummary): string {
  return `${id}  ${utc(updated_unix)}  ${oneLine(model)}  ${turns} turn(s)\n`
}

function documentOf(path: string, id: string, io: Io): SessionDocument {
  const folder = opened(path, 'null')
  if (folder instanceof Refusal) throw folder
  try {
    const stored = readStored(folder, id)
    if (stored instanceof Refusal) throw stored
    const children = listSessions(folder, other => other.startsWith(`${id}.d`))
    for (const one of children.damaged) warnOfDamage(io, one)
    const own = children.sessions.filter(({ parent }) => parent === id)
    return sessionDocument(
      stored,
      own.sort((a, b) => numberOf(a) - numberOf(b)),
    )
  } finally {
    folder.close()
  }
}

/** The `n` of `<id>.d<n>`. */
function numberOf({ id }: SessionSummary): number {
  return Number(id.slice(id.lastIndexOf('.d') + 2))
}

function jsonText(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`
}

function humanText(document: SessionDocument): string {
  const { id, path, model, wire, base_url, workspace, created_unix, turn_count, totals, stop, items } = document
  const rows: readonly (readonly [string, string | null])[] = [
    ['session', id],
    ['file', path],
    ['parent', document.parent ?? null],
    ['forked from', document.forked_from ?? null],
    ['begun', utc(created_unix)],
    ['model', `${model} on ${wire}, ${base_url === '' ? 'in this process' : base_url}`],
    ['workspace', workspace],
    ['turns', `${turn_count}`],
    ['tokens', totals.input_tokens === null ? null : `${totals.input_tokens} in, ${totals.output_tokens ?? 0} out`],
    ['cost', totals.cost_micro_usd === null ? null : `${totals.cost_micro_usd} micro-USD`],
    ['end', stop === null ? 'not recorded: it is going on, or the run was killed' : stop.kind],
    ['torn', document.torn],
  ]
  const head = rows.flatMap(([label, text]) => (text === null ? [] : [`${label}: ${oneLine(text, 4_096)}`]))
  const resumed = document.resumed.map(one => `resumed: ${utc(one.resumed_unix)}, ${oneLine(one.model)}`)
  const withheld = document.withheld.map(({ tool, reason }) => `withheld: ${tool}: ${oneLine(reason)}`)
  const delegates = document.delegates.map(one => `delegate: ${one.id}, ${oneLine(one.model)}, ${one.turns} turn(s)`)
  return `${[...head, ...resumed, ...withheld, ...delegates, '', ...items.map(itemLine)].join('\n')}\n`
}

function itemLine(item: SessionDocument['items'][number]): string {
  switch (item.kind) {
    case 'user-text':
      return `user: ${oneLine(item.text)}`
    case 'assistant-text':
      return `assistant: ${oneLine(item.text)}`
    case 'tool-call':
      return `call ${item.call_id}: ${item.name} ${oneLine(JSON.stringify(item.arguments))}`
    case 'tool-result':
      return `result ${item.call_id}${item.failed ? ' (failed)' : ''}: ${oneLine(JSON.stringify(item.output))}`
    case 'opaque':
      return `(kept for ${item.wire} alone)`
  }
}
