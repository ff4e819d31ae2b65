/**
 * The operator's terminal: approval questions in its ordinary mode, single keys in raw mode between them, and the
 * terminal as we found it on every way out that can be caught.
 *
 * It is `/dev/tty`, so that a redirected stdout does not swallow a question and stdin stays untouched. Raw mode only
 * while we are the terminal's foreground group: a background process that changes modes is stopped (termios(3)).
 */
import { closeSync, constants, openSync, readFileSync } from 'node:fs'
import { ReadStream, WriteStream } from 'node:tty'
import type { ApprovalTerminal } from '../loop/approval.js'
import { lineTerminal } from '../loop/approval-terminal.js'
import { systemClock } from '../supervise/deadline.js'
import type { Io } from './io.js'
import { type Key, KeyReader } from './keys.js'

export class OperatorTerminal implements ApprovalTerminal {
  readonly #lines: ApprovalTerminal
  #keys: KeyReader | null = null
  #raw = false
  readonly #onData = (bytes: Buffer): void => this.#keys?.push(bytes)

  constructor(
    private readonly input: ReadStream,
    output: WriteStream,
  ) {
    input.on('error', () => undefined)
    output.on('error', () => undefined)
    this.#lines = lineTerminal(input, output)
    this.#rest()
  }

  /** A question is asked in the terminal's ordinary mode, and holds the process until it is answered. */
  async ask(question: string, signal: AbortSignal): Promise<string | null> {
    this.#release()
    this.input.ref()
    try {
      return await this.#lines.ask(question, signal)
    } finally {
      this.#take()
    }
  }

  /**
   * Reads single keys from now on. Suspending is handled here: the terminal is given back, we stop, and take it again
   * when we are continued in the foreground.
   */
  watch(onKey: (key: Exclude<Key, 'suspend'>) => void): void {
    // The whole group, as the terminal itself would: children are in sessions of their own.
    this.#keys = new KeyReader(systemClock, key => (key === 'suspend' ? process.kill(0, 'SIGTSTP') : onKey(key)))
    process.on('SIGTSTP', () => {
      this.#release()
      process.kill(process.pid, 'SIGSTOP')
    })
    process.on('SIGCONT', () => this.#take())
    process.once('exit', () => this.#release())
    this.#take()
  }

  /** Gives the terminal back and reads no more. */
  close(): void {
    this.#release()
    this.#keys = null
  }

  #take(): void {
    if (this.#keys !== null && !this.#raw && inForeground()) {
      this.input.setRawMode(true)
      this.#raw = true
      this.input.on('data', this.#onData)
      this.input.resume()
      this.input.unref()
    } else if (!this.#raw) this.#rest()
  }

  #release(): void {
    if (!this.#raw) return
    this.#raw = false
    this.#keys?.stop()
    this.input.off('data', this.#onData)
    this.input.setRawMode(false)
    this.#rest()
  }

  /** Keys alone hold no process: a run could not end for a terminal that might still be typed on. */
  #rest(): void {
    this.input.pause()
    this.input.unref()
  }
}

/**
 * Null where nobody is in front: stdin and stderr must be terminals (a run in a pipeline has no operator), and `/dev/tty`
 * must open.
 */
export function operatorTerminal(io: Pick<Io, 'stdinIsTerminal' | 'stderrIsTerminal'>): OperatorTerminal | null {
  if (!io.stdinIsTerminal || !io.stderrIsTerminal) return null
  try {
    const input = openSync('/dev/tty', constants.O_RDWR | constants.O_NOCTTY)
    const output = openSync('/dev/tty', constants.O_WRONLY | constants.O_NOCTTY)
    process.once('exit', () => [input, output].forEach(closeQuietly))
    return new OperatorTerminal(new ReadStream(input), new WriteStream(output))
  } catch {
    return null
  }
}

/** Fields 5 (pgrp) and 8 (tpgid) of /proc/self/stat (proc_pid_stat(5)). Elsewhere an open terminal counts as ours. */
function inForeground(): boolean {
  if (process.platform !== 'linux') return true
  try {
    const fields = readFileSync('/proc/self/stat', 'latin1')
      .replace(/^.*\) /s, '')
      .split(' ')
    return fields[2] === fields[5]
  } catch {
    return false
  }
}

function closeQuietly(fd: number): void {
  try {
    closeSync(fd)
  } catch {
    // already closed with its stream
  }
}
