/**
 * `harness events`: the record of a run → `metaharness.event/1`, as it comes and in the memory of one line. 0 converted, 1
 * could not. Lines that are no events are named on stderr and cross as `opaque`.
 */
import { createReadStream, fstatSync, openSync, type Stats } from 'node:fs'
import { Socket } from 'node:net'
import { resolve } from 'node:path'
import type { Readable } from 'node:stream'
import { type Refusal, unusableFile } from '../../errors.js'
import { type Converted, MetaharnessConverter } from '../../report/metaharness.js'
import { RecordLines } from '../../report/record-lines.js'
import type { Io } from '../io.js'
import type { Given } from '../parse.js'
import { printJson } from '../print.js'
import { signalStatus } from '../signal-numbers.js'
import { oneLine } from '../terminal-text.js'
import { VERSION } from '../version.js'
import { openWholeFile, type WholeFile } from '../whole-file.js'
import type { Invocation } from './invocation.js'

const COULD_NOT = 1
/** Lines that are told one by one; the rest as a number. */
const GARBAGE_TOLD_MAX = 20

export async function events({ given }: Invocation, io: Io): Promise<number> {
  const source = sourceOf(given, io)
  const out = given.one('--out')
  const file = out === undefined || out === '-' ? null : openWholeFile(resolve(io.cwd, out), '--out', source.stat)
  try {
    // From here on a signal must not leave the file beside its place.
    io.handleSignals()
    io.stop.addEventListener('abort', () => source.stream.destroy(), { once: true })
    await convert(source, file, io)
    if (io.stop.aborted) return stopped(io)
    file?.keep()
    return 0
  } finally {
    file?.discard()
    source.stream.destroy()
  }
}

interface Source {
  readonly stream: Readable
  readonly name: string
  readonly stat: Stats
}

/** A plain file is read by the thread pool; what may keep us waiting is waited for by the event loop, and can be left. */
function sourceOf(given: Given, io: Io): Source {
  const file = given.one('--in')
  if (file === undefined || file === '-') return { stream: process.stdin, name: 'stdin', stat: fstatSync(0) }
  const path = resolve(io.cwd, file)
  try {
    const fd = openSync(path, 'r')
    const stat = fstatSync(fd)
    if (stat.isDirectory()) throw Object.assign(new Error('a folder'), { code: 'EISDIR' })
    const stream = stat.isFIFO() || stat.isSocket() ? new Socket({ fd, readable: true, writable: false }) : null
    return { stream: stream ?? createReadStream('', { fd }), name: file, stat }
  } catch (error) {
    throw unreadable(path, error)
  }
}

function unreadable(path: string, cause: unknown): Refusal {
  return unusableFile(cause, { path, named: `--in ${oneLine(path, 4_096)}`, asked: 'read' })
}

/** Where the end of what was to be read was not reached, nobody may take the output for all of it. */
function stopped(io: Io): number {
  const signal = io.stoppedBy()
  if (signal !== null) return signalStatus(signal)
  return io.outputLost() === null ? 0 : COULD_NOT
}

async function convert({ stream, name }: Source, file: WholeFile | null, io: Io): Promise<void> {
  const converter = new MetaharnessConverter(VERSION)
  const lines = new RecordLines()
  const garbage = new GarbageNotes(name, io)
  const write = async (text: string): Promise<void> => {
    if (file !== null) return file.write(text)
    printJson(io, text)
    // A reader that is slower than we are must not make a queue of the whole record.
    await io.out.flush()
  }
  try {
    for await (const piece of stream as AsyncIterable<Buffer>) {
      let text = ''
      for (const line of lines.push(piece)) text += garbage.noted(converter.convert(line))
      if (text !== '') await write(text)
      if (io.stop.aborted) return
    }
    const last = lines.end()
    if (last !== null) await write(garbage.noted(converter.convert(last)))
  } catch (error) {
    if (io.stop.aborted) return
    throw unreadable(name, error)
  } finally {
    garbage.end()
  }
}

/** Says which lines were no events. */
class GarbageNotes {
  #line = 0
  #told = 0
  #untold = 0

  constructor(
    private readonly name: string,
    private readonly io: Io,
  ) {}

  /** The text of the next line; '' for a blank one. */
  noted(converted: Converted | null): string {
    this.#line += 1
    if (converted === null) return ''
    if (converted.garbage !== null) this.#note(converted.garbage)
    return converted.text
  }

  #note(why: string): void {
    if (this.#told === GARBAGE_TOLD_MAX) {
      this.#untold += 1
      return
    }
    this.#told += 1
    this.io.err.write(`harness: ${oneLine(this.name, 4_096)} line ${this.#line}: ${oneLine(why, 200)}\n`)
  }

  end(): void {
    if (this.#untold > 0) this.io.err.write(`harness: ${this.#untold} more lines are no events\n`)
  }
}
