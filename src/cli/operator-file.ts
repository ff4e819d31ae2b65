/**
 * A file that the operator named on the command line, read whole but never without a bound: a device that has no end would
 * otherwise take all memory, and a named pipe that nobody writes to would be waited for.
 */
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'
import { OPERATOR_FILE_BYTES_MAX } from '../bounds.js'
import { errnoOf, Refusal, unusableFile } from '../errors.js'

/**
 * The bytes of the file at `path`. A pipe of a shell's `<(…)` is read to its end; a named pipe without a writer is empty, as
 * fifo(7) has it. Throws `file-unreadable` and `too-large` with the flag that named the file as `named`.
 */
export function readOperatorFile(path: string, flag: string, named = path): Buffer {
  const opened: number[] = []
  try {
    opened.push(openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY))
    return readWhole(opened, path, (bytes, limit) => {
      const message = `${flag} ${named} has more than ${limit} bytes, which is the bound: give a smaller file`
      return new Refusal('too-large', { path: named, bytes, limit }, message)
    })
  } catch (error) {
    throw unusableFile(error, { path: named, named: `${flag} ${named}`, asked: 'read' })
  } finally {
    for (const fd of opened) closeSync(fd)
  }
}

function readWhole(opened: number[], path: string, tooLarge: (bytes: number, limit: number) => Refusal): Buffer {
  const chunks: Buffer[] = []
  const buffer = Buffer.alloc(64 * 1024)
  for (let length = 0; ; ) {
    const read = readSome(opened, path, buffer)
    if (read === 0) return Buffer.concat(chunks)
    length += read
    if (length > OPERATOR_FILE_BYTES_MAX) throw tooLarge(length, OPERATOR_FILE_BYTES_MAX)
    chunks.push(Buffer.from(buffer.subarray(0, read)))
  }
}

/** A pipe that is empty and has a writer is opened once more, to be waited for; nothing else is. */
function readSome(opened: number[], path: string, buffer: Buffer): number {
  const fd = opened.at(-1) ?? -1
  try {
    return readSync(fd, buffer, 0, buffer.length, null)
  } catch (error) {
    if (errnoOf(error) !== 'EAGAIN' || opened.length > 1 || !fstatSync(fd).isFIFO()) throw error
    opened.push(openSync(path, constants.O_RDONLY))
    return readSome(opened, path, buffer)
  }
}
