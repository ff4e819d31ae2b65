/**
 * The operator's terminal: approval questions and single keys, in raw mode while we are its foreground group, and the
 * terminal as we found it on every way out that can be caught.
 *
 * It is `/dev/tty`, so that a redirected stdout does not swallow a question and stdin stays untouched. A question is asked
 * in raw mode too, because in the ordinary one Esc is only a character of a line. A background process that changes modes is
 * stopped (termios(3)).
 */

import { constants, openSync } from 'node:fs'
import { ReadStream, WriteStream } from 'node:tty'
import { TYPED_AHEAD_BYTES_MAX } from '../bounds.js'
import type { ApprovalTerminal } from '../loop/approval.js'
import { lineTerminal } from '../loop/approval-terminal.js'
import { systemClock } from '../supervise/deadline.js'
import { inForeground } from './foreground.js'
import type { Io } from './io.js'
import { type Key, KeyReader } from './keys.js'
import { LineEditor } from './line-editor.js'
import { closeQuietly } from './lost-terminal.js'

/** A question that is up: what was asked, what is typed so far, and who waits. */
interface Question {
  readonly text: string
  readonly editor: LineEditor
  readonly settle: (answer: string | null) => void
}

/** A question holds the process also while it is suspended and nothing is read: a timer that does nothing does that. */
const HOLD_MS = 3_600_000

const NEWLINE = 0x0a
const RETURN = 0x0d

export class OperatorTerminal implements ApprovalTerminal {
  readonly #lines: ApprovalTerminal
  #keys: KeyReader | null = null
  #raw = false
  #resting = false
  #gone = false
  #question: Question | null = null
  /** What was typed or pasted beside keys and questions: in its own mode the terminal would have kept it for the next line. */
  #ahead: number[] = []
  readonly #onData = (bytes: Buffer): void => this.#keys?.push(bytes)

  constructor(
    private readonly input: ReadStream,
    private readonly output: WriteStream,
  ) {
    input.on('error', () => undefined)
    output.on('error', () => undefined)
    for (const event of ['end', 'close', 'error'] as const) input.once(event, () => this.#hungUp())
    this.#lines = lineTerminal(input, output)
    this.#rest()
  }

  /** A question holds the process until it is answered. In the background we stop for it, as for every read there. */
  async ask(question: string, signal: AbortSignal): Promise<string | null> {
    if (this.#keys === null) return this.#askLine(question, signal)
    if (!inForeground()) process.kill(0, 'SIGTTIN')
    this.#take()
    return this.#raw ? this.#askKeys(question, signal) : this.#askLine(question, signal)
  }

  async #askLine(question: string, signal: AbortSignal): Promise<string | null> {
    this.#release()
    this.input.ref()
    try {
      return await this.#lines.ask(question, signal)
    } finally {
      this.#take()
    }
  }

  #askKeys(text: string, signal: AbortSignal): Promise<string | null> {
    if (this.#gone || signal.aborted) return Promise.resolve(null)
    return new Promise(resolve => {
      const hold = setInterval(() => undefined, HOLD_MS)
      const settle = (answer: string | null): void => {
        clearInterval(hold)
        this.#question = null
        signal.removeEventListener('abort', onAbort)
        this.output.write('\r\n')
        resolve(answer)
      }
      const onAbort = (): void => settle(null)
      this.#question = { text, editor: new LineEditor(), settle }
      signal.addEventListener('abort', onAbort)
      this.output.write(text)
    })
  }

  #typed(byte: number): void {
    if (this.#question === null) {
      if (this.#ahead.length < TYPED_AHEAD_BYTES_MAX) this.#ahead.push(byte === RETURN ? NEWLINE : byte)
      return
    }
    const edited = this.#question.editor.take(byte)
    if (edited.kind === 'done') this.#question.settle(edited.line)
    else if (edited.echo.length > 0) this.output.write(edited.echo)
  }

  /**
   * Reads single keys from now on. Suspending is handled here: the terminal is given back, we stop, and take it again
   * when we are continued in the foreground.
   */
  watch(onKey: (key: Exclude<Key, 'suspend'>) => void): void {
    // The whole group, as the terminal itself would: children are in sessions of their own.
    const onAnyKey = (key: Key): void => void (key === 'suspend' ? process.kill(0, 'SIGTSTP') : onKey(key))
    this.#keys = new KeyReader(systemClock, onAnyKey, byte => this.#typed(byte))
    process.on('SIGTSTP', () => {
      this.#release()
      process.kill(process.pid, 'SIGSTOP')
    })
    process.on('SIGCONT', () => {
      this.#take()
      if (this.#raw && this.#question !== null) this.output.write(this.#question.text + this.#question.editor.text)
    })
    process.once('exit', () => this.#release())
    this.#take()
  }

  /** Gives the terminal back until {@link work}, also over a suspension: its own mode is for lines that are typed. */
  rest(): void {
    this.#resting = true
    this.#release()
  }

  /** Reads single keys again, where they were read. */
  work(): void {
    this.#resting = false
    this.#take()
  }

  /** What was typed while single keys were read, told once; Enter is a newline, as the terminal's own mode has it. */
  takeTyped(): Uint8Array {
    const typed = Uint8Array.from(this.#ahead)
    this.#ahead = []
    return typed
  }

  /** Gives the terminal back and reads no more. */
  close(): void {
    this.#release()
    this.#keys = null
  }

  /** A terminal that is gone hangs up, whether or not the signal that says so reaches us. */
  #hungUp(): void {
    if (this.#gone) return
    this.#gone = true
    this.#question?.settle(null)
    if (this.#keys !== null) process.kill(process.pid, 'SIGHUP')
  }

  #take(): void {
    if (this.#keys !== null && !this.#resting && !this.#raw && !this.#gone && inForeground()) {
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
    stopReading(this.input)
    this.input.unref()
  }
}

/** What of a stream is not in its interface. */
interface Inner {
  readonly _handle: { reading: boolean; readStop(): void } | null
  readonly _readableState: { reading: boolean }
}

/**
 * A paused stream of Node takes one more read, and a terminal gives each of them to one reader: the line that is typed next would
 * be lost on whoever waits for it. Node stops its own stdin in this way (getStdin in is_main_thread.js).
 */
function stopReading(input: ReadStream): void {
  const { _handle: handle, _readableState: state } = input as unknown as Inner
  if (handle?.reading !== true) return
  state.reading = false
  handle.reading = false
  handle.readStop()
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
