/**
 * What sessions there are, from the first line and the end of each file: a thousand of them cost a thousand small reads.
 * A file that cannot be told is named and stands in nobody's way.
 */
import { closeSync } from 'node:fs'
import { SESSION_BYTES_MAX, SESSION_HEADER_BYTES_MAX, SESSION_TAIL_BYTES, SESSIONS_LISTED_MAX } from '../bounds.js'
import { Refusal } from '../errors.js'
import { readAll } from '../paths/guarded-file.js'
import { systemRefusal } from '../paths/guarded-folder.js'
import { shown } from '../paths/walk.js'
import type { OurFile, SessionFolder } from './folder.js'
import { sessionOfName } from './ids.js'
import { parseLine } from './read.js'
import { type EndLine, type HeaderLine, headerOf, type ResumedLine, recordOf, type TurnLine } from './records.js'
import { turnsOf } from './store.js'
import { readVersion1 } from './version-1.js'

export interface SessionSummary {
  readonly id: string
  readonly path: string
  readonly version: 1 | 2
  readonly wire: HeaderLine['wire']
  /** The one asked last. */
  readonly model: string
  readonly workspace: string
  /** Seconds since 1970. */
  readonly created_unix: number
  /** Seconds since 1970, with the fraction that the filesystem keeps. */
  readonly updated_unix: number
  readonly turns: number
  /** Kind of the stop that the last run ended with; null: it did not say, or it is going on. */
  readonly stop: string | null
  /** Of a delegate. */
  readonly parent: string | null
}

export interface DamagedSession {
  readonly path: string
  readonly why: string
}

export interface SessionList {
  /** Latest first; of the same instant the greater id first. */
  readonly sessions: readonly SessionSummary[]
  readonly damaged: readonly DamagedSession[]
  /** Files over the bound that were not looked at. */
  readonly unseen: number
}

/** Sessions of the folder; `which` leaves out those that do not matter, by id, before they are looked at. */
export function listSessions(folder: SessionFolder, which: (id: string) => boolean = () => true): SessionList {
  const sessions: SessionSummary[] = []
  const damaged: DamagedSession[] = []
  const names = namesOf(folder).filter(({ id }) => which(id))
  for (const found of names.slice(0, SESSIONS_LISTED_MAX)) {
    const summary = summarised(folder, found)
    if (typeof summary === 'string') damaged.push({ path: folder.pathOf(found.name), why: summary })
    else if (summary !== null) sessions.push(summary)
  }
  sessions.sort((a, b) => b.updated_unix - a.updated_unix || (a.id < b.id ? 1 : -1))
  return { sessions, damaged, unseen: Math.max(0, names.length - SESSIONS_LISTED_MAX) }
}

interface Found {
  readonly name: string
  readonly id: string
  readonly version: 1 | 2
}

/** A version-1 file that was continued is told by what continues it. */
function namesOf(folder: SessionFolder): Found[] {
  const names = folder.names().sort()
  const found = names.flatMap(name => {
    const session = sessionOfName(name)
    return session === null ? [] : [{ name, ...session }]
  })
  const continued = new Set(found.flatMap(({ id, version }) => (version === 2 ? [id] : [])))
  return found.filter(({ id, version }) => version === 2 || !continued.has(id))
}

/** A text says why it cannot be told; null: it has gone meanwhile. */
function summarised(folder: SessionFolder, found: Found): SessionSummary | string | null {
  const path = folder.pathOf(found.name)
  try {
    if (found.version === 1) return ofVersion1(folder, found, path)
    const opened = folder.openFile(found.name, 'read')
    if (opened === null) return null
    if (opened instanceof Refusal) return opened.message
    try {
      return ofVersion2(opened, found, path)
    } finally {
      closeSync(opened.fd)
    }
  } catch (error) {
    return systemRefusal(error, path).message
  }
}

function ofVersion1(folder: SessionFolder, { name, id }: Found, path: string): SessionSummary | string | null {
  const bytes = folder.read(name, SESSION_BYTES_MAX)
  if (bytes === null) return null
  if (bytes instanceof Refusal) return bytes.message
  const read = readVersion1(bytes)
  if (read.kind === 'damage') return read.why
  const { header, records, updatedUnix = header.created_unix } = read
  const state = { turns: turnsOf(records), model: header.model, stop: null }
  return summary(header, { id, path, version: 1, updated_unix: updatedUnix, ...state })
}

function ofVersion2({ fd, stat }: OurFile, { id }: Found, path: string): SessionSummary | string {
  const size = Number(stat.size)
  if (size > SESSION_BYTES_MAX) return `it has ${size} bytes, over the bound of ${SESSION_BYTES_MAX}`
  const start = readAll(fd, Math.min(size, SESSION_HEADER_BYTES_MAX))
  const lineEnd = start.indexOf('\n') + 1
  if (lineEnd === 0) return 'it has no whole first line'
  const header = headerOf(parseLine(start.subarray(0, lineEnd)))
  if (typeof header === 'string') return `line 1: ${header}`
  if (header.id !== id) return `it holds the session ${shown(header.id)}`
  const last = lastState(fd, lineEnd, size)
  if (last === 'damaged') return 'its last lines are no lines of a session'
  const updated_unix = Number(stat.mtimeNs) / 1e9
  const { turns, model } = last === null ? { turns: 0, model: header.model } : stateOf(last)
  return summary(header, { id, path, version: 2, updated_unix, turns, model, stop: stopOf(last) })
}

type StateLine = TurnLine | EndLine | ResumedLine

function stateOf(line: StateLine): { readonly turns: number; readonly model: string } {
  return { turns: line.kind === 'turn' ? line.turn : line.turns, model: line.model }
}

function stopOf(line: StateLine | null): string | null {
  return line?.kind === 'end' ? line.stop.kind : null
}

function summary(
  { wire, workspace, created_unix, parent }: HeaderLine,
  rest: Pick<SessionSummary, 'id' | 'path' | 'version' | 'updated_unix' | 'turns' | 'model' | 'stop'>,
): SessionSummary {
  return { wire, workspace, created_unix, parent: parent ?? null, ...rest }
}

/** The last line that says how far the session is, looked for from the end; null: none does. */
function lastState(fd: number, from: number, size: number): StateLine | null | 'damaged' {
  for (let length = SESSION_TAIL_BYTES; ; length *= 8) {
    const start = Math.max(from, size - length)
    const found = stateIn(readAll(fd, size - start, start), start === from)
    if (found !== 'further') return found
  }
}

/** `whole`: the bytes begin with a line, and nothing stands before them. */
function stateIn(bytes: Buffer, whole: boolean): StateLine | null | 'damaged' | 'further' {
  let end = bytes.lastIndexOf('\n')
  for (let unread = 0; end !== -1; ) {
    const before = end === 0 ? -1 : bytes.lastIndexOf('\n', end - 1)
    if (before === -1 && !whole) return 'further'
    const record = recordOf(parseLine(bytes.subarray(before + 1, end + 1)))
    // The very last may be torn, as when the file is read whole.
    if (typeof record === 'string' && unread++ > 0) return 'damaged'
    if (typeof record !== 'string' && isState(record)) return record
    end = before
  }
  return whole ? null : 'further'
}

function isState(record: { readonly kind: string }): record is StateLine {
  return record.kind === 'turn' || record.kind === 'end' || record.kind === 'resumed'
}
