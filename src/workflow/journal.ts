/**
 * The journal of a walk, beside the sessions of its sections: `<flow>.flow`. A step is believed to be over only once its line is
 * on the disk, so that after any crash nothing is run again that was told to have passed.
 */
import { closeSync, ftruncateSync } from 'node:fs'
import { SESSION_BYTES_MAX } from '../bounds.js'
import { Refusal } from '../errors.js'
import { systemRefusal } from '../paths/guarded-folder.js'
import { shown } from '../paths/walk.js'
import { AppendFile } from '../session/append.js'
import { SessionFolder, unusable } from '../session/folder.js'
import { isSessionId } from '../session/ids.js'
import { lockHost, type SessionLock, takeLock } from '../session/lock.js'
import { parseLine } from '../session/read.js'
import { type FlowHeader, type FlowLine, flowHeaderOf, flowLineOf } from './flow-lines.js'

export interface FlowJournal {
  /** Adds a line; nothing is written yet. */
  push(line: FlowLine): void
  /** Writes what was pushed and waits until it is durable. A refusal ends the walk: no effect goes unrecorded. */
  settle(): Promise<Refusal | null>
}

/** Under `--no-session`: such a flow cannot be resumed. */
export const NO_JOURNAL: FlowJournal = { push: () => {}, settle: async () => null }

/** A journal in use: locked, so that one walk at a time goes on with a flow. */
export interface OpenJournal extends FlowJournal {
  readonly path: string
  /** Gives the lock back. Calling it again does nothing. */
  close(): void
}

export interface StoredFlow {
  readonly header: FlowHeader
  readonly lines: readonly FlowLine[]
  /** What a crash has torn off; null: nothing. */
  readonly torn: string | null
}

function nameOf(flowId: string): string {
  return `${flowId}.flow`
}

/** A new journal in `path` (absolute; made where it is missing). On the disk with the first `settle`. */
export function newJournal(path: string, header: FlowHeader): OpenJournal | Refusal {
  return within(path, 'make', folder => {
    const lock = takeLock(folder, header.flow_id, lockHost, 'flow')
    if (lock instanceof Refusal) return lock
    const file = new AppendFile({ folder, name: nameOf(header.flow_id), file: null })
    file.push(`${JSON.stringify(header)}\n`)
    return new FileJournal({ folder, lock, file, flowId: header.flow_id })
  })
}

/**
 * The journal of `flowId` in `path`, locked, its torn tail cut, to go on with. Refuses `session-unusable`: none of that id, in
 * use, or damaged (with the line).
 */
export function reopenJournal(
  path: string,
  flowId: string,
): (StoredFlow & { readonly journal: OpenJournal }) | Refusal {
  if (!isSessionId(flowId)) {
    const text = `${JSON.stringify(flowId.slice(0, 200))} is no id of a flow: workflow run prints it on stderr, and flow-started holds it`
    return new Refusal('bad-id', { what: 'flow id', given: flowId.slice(0, 200) }, text)
  }
  return within(path, 'null', folder => {
    const lock = takeLock(folder, flowId, lockHost, 'flow')
    if (lock instanceof Refusal) return lock
    const opened = opening(folder, flowId, lock)
    if (opened instanceof Refusal) lock.release()
    return opened
  })
}

function opening(folder: SessionFolder, flowId: string, lock: SessionLock) {
  const name = nameOf(flowId)
  const bytes = folder.read(name, SESSION_BYTES_MAX)
  if (bytes instanceof Refusal) return bytes
  if (bytes === null) {
    const path = folder.pathOf(name)
    const why = 'does not exist: no flow of this id has left a journal there'
    return new Refusal('session-unusable', { path, why, absent: true }, `${shown(path)} ${why}`)
  }
  const read = readFlow(bytes, folder.pathOf(name))
  if (read instanceof Refusal) return read
  const { flow_id } = read.header
  if (flow_id !== flowId) return unusable(folder.pathOf(name), `holds the flow ${flow_id}: name it ${nameOf(flow_id)}`)
  const opened = folder.openFile(name, 'append')
  if (opened === null) return unusable(folder.pathOf(name), 'is gone')
  if (opened instanceof Refusal) return opened
  try {
    if (read.torn !== null) ftruncateSync(opened.fd, read.keptBytes)
  } catch (error) {
    closeSync(opened.fd)
    return systemRefusal(error, folder.pathOf(name))
  }
  const file = new AppendFile({ folder, name, file: { fd: opened.fd, size: read.keptBytes } })
  return { ...read, journal: new FileJournal({ folder, lock, file, flowId }) }
}

/** The whole lines of a journal. A last line that is none was torn by a crash; any other refuses with its number. */
export function readFlow(bytes: Buffer, path: string): (StoredFlow & { readonly keptBytes: number }) | Refusal {
  const lines: FlowLine[] = []
  let header: FlowHeader | null = null
  let start = 0
  for (let number = 1; start < bytes.length; number += 1) {
    const newline = bytes.indexOf(0x0a, start)
    const value = newline === -1 ? undefined : parseLine(bytes.subarray(start, newline))
    if (value === undefined && (newline === -1 || newline === bytes.length - 1)) break
    const line: FlowHeader | FlowLine | string = header === null ? flowHeaderOf(value) : flowLineOf(value)
    if (typeof line === 'string') return damaged(path, number, value === undefined ? 'no JSON' : line)
    if ('version' in line) header = line
    else lines.push(line)
    start = newline + 1
  }
  if (header === null) return damaged(path, 1, 'there is no whole line: the walk that began it was killed')
  const torn = start === bytes.length ? null : `${bytes.length - start} bytes of a line that was not written whole`
  return { header, lines, torn, keptBytes: start }
}

function damaged(path: string, line: number, why: string): Refusal {
  const text = `${shown(path)} is damaged in line ${line}: ${why}; nothing was changed: begin the flow anew`
  return new Refusal('session-unusable', { path, why, line }, text)
}

function within<Result>(
  path: string,
  whenMissing: 'make' | 'null',
  act: (folder: SessionFolder) => Result | Refusal,
): Result | Refusal {
  const folder = SessionFolder.open(path, whenMissing)
  if (folder instanceof Refusal) return folder
  if (folder === null) {
    const why = 'does not exist: no flow has left a journal there'
    return new Refusal('session-unusable', { path, why, absent: true }, `${shown(path)} ${why}`)
  }
  let came: Result | Refusal
  try {
    came = act(folder)
  } catch (error) {
    came = systemRefusal(error, path)
  }
  if (came instanceof Refusal) folder.close()
  return came
}

interface Parts {
  readonly folder: SessionFolder
  readonly lock: SessionLock
  readonly file: AppendFile
  readonly flowId: string
}

class FileJournal implements OpenJournal {
  readonly path: string
  #closed = false
  /** One write at a time: what is pushed meanwhile goes with the next. */
  #settling: Promise<Refusal | null> = Promise.resolve(null)
  readonly #onExit = (): void => this.close()

  constructor(private readonly parts: Parts) {
    this.path = parts.folder.pathOf(nameOf(parts.flowId))
    process.once('exit', this.#onExit)
  }

  push(line: FlowLine): void {
    this.parts.file.push(`${JSON.stringify(line)}\n`)
  }

  settle(): Promise<Refusal | null> {
    this.#settling = this.#settling.then(() => this.parts.file.settle())
    return this.#settling
  }

  close(): void {
    if (this.#closed) return
    this.#closed = true
    process.removeListener('exit', this.#onExit)
    const { file, lock, folder } = this.parts
    file.close(file.made ? 'write' : 'drop')
    lock.release()
    folder.close()
  }
}
