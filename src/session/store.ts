/** Opening sessions: a new one, one to go on with, a copy. */
import { closeSync, ftruncateSync } from 'node:fs'
import { SESSION_BYTES_MAX } from '../bounds.js'
import { Refusal } from '../errors.js'
import { systemRefusal } from '../paths/guarded-folder.js'
import { shown } from '../paths/walk.js'
import type { Item } from '../wires/port.js'
import type { AppendCalls } from './append.js'
import { SessionFolder, unusable } from './folder.js'
import { isSessionId, newSessionId } from './ids.js'
import { type LockHost, lockHost, type SessionLock, takeLock } from './lock.js'
import { readSession, type SessionContent } from './read.js'
import { isItem, type SessionFacts, type SessionRecord } from './records.js'
import { headerLine, nameOf, nowUnix, Session, type SessionNote } from './session.js'
import { readVersion1 } from './version-1.js'

export interface StoreSeams {
  readonly calls?: AppendCalls
  readonly lockHost?: LockHost
}

export interface NewSeams extends StoreSeams {
  /** A legal id that no session has; absent: one is made. */
  readonly id?: string
}

export interface ResumeSeams extends StoreSeams {
  /** Items of the conversation that are gone on with; absent: all. */
  readonly keep?: number
}

/** A new session in `path` (absolute; made where it is missing). Nothing is filed until its first lines are settled. */
export function newSession(path: string, facts: SessionFacts, seams: NewSeams = {}): Session | Refusal {
  const folder = opened(path, 'make')
  if (folder instanceof Refusal) return folder
  return guarded(folder, path, () => {
    const id = seams.id ?? newSessionId()
    const lock = takeLock(folder, id, seams.lockHost ?? lockHost)
    if (lock instanceof Refusal) return lock
    const head = [headerLine(id, facts)]
    return new Session({
      ...{ folder, id, facts, lock, head, file: null, items: [], turns: 0, notes: [], ownsFolder: true },
      ...withCalls(seams),
    })
  })
}

/**
 * The session `id` in `path`, locked, its torn tail cut, to go on with as `facts` say. Refuses `session-unusable`: none of
 * that id, in use, damaged (with the line), or held on another wire. One of version 1 is continued in a file of version 2.
 */
export function resumeSession(
  path: string,
  id: string,
  facts: SessionFacts,
  seams: ResumeSeams = {},
): Session | Refusal {
  if (!isSessionId(id)) return notAnId(id)
  const folder = opened(path, 'null')
  if (folder instanceof Refusal) return folder
  return guarded(folder, path, () => {
    const lock = takeLock(folder, id, seams.lockHost ?? lockHost)
    if (lock instanceof Refusal) return lock
    const session = continued({ folder, id, facts, lock, seams })
    if (session instanceof Refusal) lock.release()
    return session
  })
}

interface Continuing {
  readonly folder: SessionFolder
  readonly id: string
  readonly facts: SessionFacts
  readonly lock: SessionLock
  readonly seams: ResumeSeams
}

function continued({ folder, id, facts, lock, seams }: Continuing): Session | Refusal {
  const stored = readStored(folder, id)
  if (stored instanceof Refusal) return stored
  const { header, records } = stored
  if (header.wire !== facts.wire) return otherWire(folder.pathOf(nameOf(id)), header.wire, facts.wire)
  const turns = turnsOf(records)
  const items = itemsOf(records)
  const kept = seams.keep === undefined || seams.keep >= items.length ? {} : { items: seams.keep }
  const resumed = { kind: 'resumed', ...facts, resumed_unix: nowUnix(), turns, ...kept } as const
  const old = stored.version === 1
  const file = old ? null : reopened(folder, stored)
  if (file instanceof Refusal) return file
  return new Session({
    ...{ folder, id, facts, lock, file, turns, ownsFolder: true, ...withCalls(seams) },
    items: items.slice(0, seams.keep),
    head: old ? [header, ...records, resumed] : [resumed],
    notes: [...notesOf(folder, id, stored), ...otherWorkspace(stored, facts)],
  })
}

export interface StoredSession extends SessionContent {
  readonly version: 1 | 2
  readonly path: string
}

/** The whole of a session, without its torn tail; nothing is changed on disk. Refuses as {@link resumeSession} does. */
export function readStored(folder: SessionFolder, id: string): StoredSession | Refusal {
  // An id becomes a name in the folder, and only a legal one stays in it.
  if (!isSessionId(id)) return notAnId(id)
  for (const version of [2, 1] as const) {
    const name = version === 2 ? nameOf(id) : `${id}.json`
    const bytes = folder.read(name, SESSION_BYTES_MAX)
    if (bytes === null) continue
    if (bytes instanceof Refusal) return bytes
    const path = folder.pathOf(name)
    const read = version === 2 ? readSession(bytes) : readVersion1(bytes)
    if (read.kind === 'damage') return damaged(path, read)
    if (read.header.id !== id) return unusable(path, `holds the session ${read.header.id}: name it ${read.header.id}`)
    return { ...read, version, path }
  }
  return absent(folder.pathOf(nameOf(id)), 'does not exist: harness sessions lists what there is')
}

function damaged(path: string, { line, why }: { readonly line: number; readonly why: string }): Refusal {
  const text = `${shown(path)} is damaged in line ${line}: ${why}; nothing was changed: mend the line, or begin a new session`
  return new Refusal('session-unusable', { path, why, line }, text)
}

/** Cuts what does not count, so that the next line stands where it belongs. */
function reopened(
  folder: SessionFolder,
  { header, keptBytes, torn }: SessionContent,
): { readonly fd: number; readonly size: number } | Refusal {
  const name = nameOf(header.id)
  const opened = folder.openFile(name, 'append')
  if (opened === null) return unusable(folder.pathOf(name), 'is gone')
  if (opened instanceof Refusal) return opened
  const { fd } = opened
  try {
    if (torn !== null) ftruncateSync(fd, keptBytes)
    return { fd, size: keptBytes }
  } catch (error) {
    closeSync(fd)
    return systemRefusal(error, folder.pathOf(name))
  }
}

function notesOf(folder: SessionFolder, id: string, { version, path, torn }: StoredSession): SessionNote[] {
  if (version === 1) {
    const there = shown(folder.pathOf(nameOf(id)))
    return [note(`${shown(path)} is of version 1: it is left as it is, and continued in ${there}`)]
  }
  return torn === null ? [] : [note(`${shown(path)}: cut off ${torn}; what stands before is whole`)]
}

function note(message: string): SessionNote {
  return { code: 'session', message }
}

function otherWorkspace({ header, records }: SessionContent, { workspace }: SessionFacts): SessionNote[] {
  const before = records.findLast(record => record.kind === 'resumed')?.workspace ?? header.workspace
  if (before === workspace) return []
  const message = `the session was held over ${shown(before)}, and this run is over ${shown(workspace)}`
  return [{ code: 'session-workspace', message }]
}

/** A copy of `id` as it stands, under a new id, for going on beside whoever continues it. */
export async function forkSession(
  path: string,
  id: string,
): Promise<{ readonly id: string; readonly path: string } | Refusal> {
  const folder = opened(path, 'null')
  if (folder instanceof Refusal) return folder
  const session = guarded(folder, path, () => {
    const stored = readStored(folder, id)
    return stored instanceof Refusal ? stored : copyOf(folder, stored)
  })
  if (session instanceof Refusal) return session
  const refusal = await session.settle()
  session.close()
  return refusal ?? { id: session.id, path: session.path }
}

function copyOf(folder: SessionFolder, { header, records }: StoredSession): Session {
  const id = newSessionId()
  const { wire, model, base_url, workspace } = header
  const facts = { wire, model, base_url, workspace }
  return new Session({
    ...{ folder, id, facts, file: null, lock: null, items: [], turns: 0, notes: [], ownsFolder: true },
    head: [headerLine(id, facts, { forked_from: header.id }), ...records],
  })
}

/** Items in order, as the loop goes on with them: without what a later run has left behind. */
export function itemsOf(records: readonly SessionRecord[]): readonly Item[] {
  let items: Item[] = []
  for (const record of records) {
    if (isItem(record)) items.push(record)
    else if (record.kind === 'resumed' && record.items !== undefined) items = items.slice(0, record.items)
  }
  return items
}

export function turnsOf(records: readonly SessionRecord[]): number {
  return records.findLast(record => record.kind === 'turn')?.turn ?? 0
}

function otherWire(path: string, was: string, is: string): Refusal {
  return unusable(
    path,
    `was held on the wire ${was}, and this run speaks ${is}: give --wire ${was}, or begin a new session`,
  )
}

/** Opens the folder, or says that there is no session in it. */
export function opened(path: string, whenMissing: 'make' | 'null'): SessionFolder | Refusal {
  return (
    SessionFolder.open(path, whenMissing) ??
    absent(path, 'does not exist, so no session was filed there: name another with --session-dir')
  )
}

function absent(path: string, why: string): Refusal {
  return new Refusal('session-unusable', { path, why, absent: true }, `${shown(path)} ${why}`)
}

function notAnId(id: string): Refusal {
  const text = `${JSON.stringify(id.slice(0, 200))} is no id of a session, which has letters, digits, "-", "_" and single dots: harness sessions lists them`
  return new Refusal('bad-id', { what: 'session id', given: id.slice(0, 200) }, text)
}

function withCalls({ calls }: StoreSeams): { readonly calls?: AppendCalls } {
  return calls === undefined ? {} : { calls }
}

/** Errors of the filesystem as refusals; the folder is closed unless something goes on with it. */
function guarded<Result>(folder: SessionFolder, path: string, act: () => Result | Refusal): Result | Refusal {
  let came: Result | Refusal
  try {
    came = act()
  } catch (error) {
    came = systemRefusal(error, path)
  }
  if (came instanceof Refusal) folder.close()
  return came
}
