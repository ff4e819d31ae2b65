/** Opens the controlling terminal for approval questions (contract §10). Null where nobody can be asked. */
import { closeSync, constants, openSync } from 'node:fs'
import { ReadStream, WriteStream } from 'node:tty'
import type { ApprovalTerminal } from '../loop/approval.js'
import { lineTerminal } from '../loop/approval-terminal.js'
import type { Io } from './io.js'

/**
 * `/dev/tty`, so that a redirected stdout does not swallow the question. Only when stdin and stderr are terminals: a
 * run in a pipeline has nobody in front of it.
 */
export function approvalTerminal(io: Pick<Io, 'stdinIsTerminal' | 'stderrIsTerminal'>): ApprovalTerminal | null {
  if (!io.stdinIsTerminal || !io.stderrIsTerminal) return null
  try {
    const fd = openSync('/dev/tty', constants.O_RDWR | constants.O_NOCTTY)
    const input = new ReadStream(fd)
    input.pause()
    input.unref()
    const output = new WriteStream(openSync('/dev/tty', constants.O_WRONLY | constants.O_NOCTTY))
    process.once('exit', () => closeQuietly(fd))
    return awake(lineTerminal(input, output), input)
  } catch {
    return null
  }
}

/** The terminal holds the process only while somebody is asked: otherwise a run could not end, or would end unasked. */
function awake(terminal: ApprovalTerminal, input: ReadStream): ApprovalTerminal {
  return {
    ask: async (question, signal) => {
      input.ref()
      try {
        return await terminal.ask(question, signal)
      } finally {
        input.unref()
      }
    },
  }
}

function closeQuietly(fd: number): void {
  try {
    closeSync(fd)
  } catch {
    // already closed with its stream
  }
}
