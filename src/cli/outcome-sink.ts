/**
 * `--outcome-fd N` and `--outcome-file PATH`: one JSON line, the outcome record (decisions 5).
 *
 * Node cannot set close-on-exec on a descriptor that came to us, so a given one is opened again through
 * `/proc/self/fd/N` and the original closed; otherwise the confined command would inherit it.
 */
import { closeSync, constants, fsyncSync, openSync, writeSync } from 'node:fs'
import { resolve } from 'node:path'
import { errnoOf, Refusal, unusableFile } from '../errors.js'
import type { JsonObject } from '../json.js'
import type { OutcomeRecord } from '../outcome.js'
import type { Io } from './io.js'
import type { Nowhere } from './nowhere.js'
import type { Given } from './parse.js'

/** What `exec` says of a command that was started, or that could not be. */
export interface EndedRecord extends OutcomeRecord {
  readonly version: 1
  /** Streams of ours that lead nowhere and what was lost there; absent: none. */
  readonly nowhere?: readonly Nowhere[]
}

/** What `exec` says of a command that it declined to start. */
export interface RefusedRecord {
  readonly version: 1
  readonly refused: {
    /** Closed code of the refusal. */
    readonly code: string
    readonly reason: string
    /** The facts of that code. */
    readonly details: JsonObject
  }
}

/** What `exec` says where it was left before it had seen the command end, which dies with it. */
export interface LeftRecord {
  readonly version: 1
  readonly left: {
    /** Exit status of `exec`: 130 on a second Ctrl-C. */
    readonly status: number
    readonly reason: string
  }
}

/** The one line of an outcome record; `native-profiles/outcome.schema.json` describes it. */
export type ExecRecord = EndedRecord | RefusedRecord | LeftRecord

export interface OutcomeSink {
  /**
   * Writes `record` as one line; only the first call writes. What has ended cannot be refused any more: a record that
   * cannot be written (no reader, no space) is said on stderr, and the exit status stays the command's.
   */
  write(record: ExecRecord): void
}

/** Opened before anything is started, so that a record which could not be written refuses the command. */
export function openOutcomeSink(given: Given, io: Pick<Io, 'cwd' | 'err'>): OutcomeSink {
  const file = given.one('--outcome-file')
  const number = given.one('--outcome-fd')
  if (file !== undefined) return sinkOn(openFile(resolve(io.cwd, file)), io.err)
  if (number !== undefined) return sinkOn(reopen(number), io.err)
  return { write: () => {} }
}

function sinkOn(fd: number, err: Io['err']): OutcomeSink {
  let open = true
  const sink: OutcomeSink = {
    write(record) {
      if (!open) return
      open = false
      process.off('exit', left)
      try {
        writeAll(fd, Buffer.from(`${JSON.stringify(record)}\n`))
      } catch (error) {
        const errno = errnoOf(error)
        if (errno === undefined) throw error
        err.write(`harness: the outcome record could not be written (${errno})\n`)
      } finally {
        closeSync(fd)
      }
    },
  }
  // Whoever reads it may be waiting for a line: an empty record is what a KILL of us alone leaves.
  const left = (status: number): void => sink.write({ version: 1, left: { status, reason: LEFT } })
  process.once('exit', left)
  return sink
}

const LEFT = 'left before the command was seen to end: it was killed with everything that it had started'

/** A full disk takes a part of it first and refuses the rest. */
function writeAll(fd: number, bytes: Buffer): void {
  for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at)
}

function openFile(path: string): number {
  try {
    const fd = openSync(
      path,
      constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | constants.O_NOFOLLOW | constants.O_NONBLOCK,
      0o600,
    )
    fsyncSync(fd)
    return fd
  } catch (error) {
    throw unusableFile(error, { path, named: `--outcome-file ${path}`, asked: 'write' })
  }
}

function reopen(text: string): number {
  const fd = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN
  if (!(fd > 2)) throw bad(text, 'give the number of an open descriptor above 2')
  try {
    const again = openSync(`/proc/self/fd/${fd}`, constants.O_WRONLY | constants.O_APPEND)
    closeSync(fd)
    return again
  } catch (error) {
    const errno = errnoOf(error)
    if (errno === undefined) throw error
    if (errno === 'ENXIO') throw bad(text, 'it is a socket, which cannot be opened again: give a pipe or a file')
    throw bad(text, `it is not open for writing (${errno}): open it with ${text}> FILE`)
  }
}

function bad(text: string, why: string): Refusal {
  return new Refusal('bad-arguments', { argument: '--outcome-fd' }, `--outcome-fd ${text}: ${why}`)
}
