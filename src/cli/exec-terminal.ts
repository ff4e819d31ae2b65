/**
 * Our side of `exec --tty`: what is typed here goes to the program's terminal, whose size follows ours. The program never holds
 * a descriptor of our terminal; its bytes are passed on.
 *
 * Where stdin is a terminal, it is in raw mode while we are its foreground group, and every key is the program's but the second
 * Ctrl-] within a second. Anything else on stdin is typed as it comes, then the end-of-file key: a terminal has no other way to
 * say that nothing more comes (termios(3), VEOF).
 */
import { ReadStream, WriteStream } from 'node:tty'
import type { TerminalWish } from '../confinement/spawn-plan.js'
import { systemClock } from '../supervise/deadline.js'
import { type PtyKeys, SIZE_DEFAULT, type TerminalSize } from '../supervise/pty.js'
import { runOnTerminal } from '../supervise/spawn.js'
import { inForeground } from './foreground.js'
import { type Io, isTerminal } from './io.js'
import { LeaveKeys } from './leave-keys.js'
import { ScreenModes } from './screen-modes.js'

/** What a program is told to talk to where our own TERM says nothing. */
const TERM_DEFAULT = 'xterm-256color'

const END_OF_FILE = Buffer.from('\u0004')
const NEWLINE = 0x0a

export interface ExecTerminal {
  readonly wish: TerminalWish & { readonly term: string }
  /** Gives the terminal back as it was found; a second time it does nothing. */
  close(): void
}

type Source = { keys(to: PtyKeys): void; close(): void }

export function execTerminal(io: Io): ExecTerminal {
  const modes = new ScreenModes()
  const follower = new SizeFollower()
  const source = io.stdinIsTerminal ? new OperatorKeys(io, follower) : new TypedInput()
  let closed = false
  return {
    wish: {
      term: io.env.TERM || TERM_DEFAULT,
      size: follower.size(),
      onOpen: keys => {
        follower.follow(keys)
        source.keys(keys)
      },
      ...(isTerminal(1) ? { onShown: bytes => modes.push(bytes) } : {}),
    },
    close: () => {
      if (closed) return
      closed = true
      follower.close()
      source.close()
      const undo = modes.undo()
      if (undo !== '') io.out.write(undo)
    },
  }
}

/** Keeps the program's terminal as large as ours. */
class SizeFollower {
  #keys: PtyKeys | null = null
  readonly #onChange = (): void => this.#keys?.resize(this.size())

  size(): TerminalSize {
    const fd = [1, 0, 2].find(isTerminal)
    return fd === undefined ? SIZE_DEFAULT : sizeOf(fd)
  }

  follow(keys: PtyKeys): void {
    this.#keys = keys
    process.on('SIGWINCH', this.#onChange)
    this.#onChange()
  }

  /** A program redraws when its size changes, and only then; so it changes twice. */
  redraw(): void {
    const { columns, rows } = this.size()
    this.#keys?.resize({ columns, rows: rows === 1 ? 2 : rows - 1 })
    this.#onChange()
  }

  close(): void {
    process.off('SIGWINCH', this.#onChange)
    this.#keys = null
  }
}

/** Asked of the terminal anew; one that does not know its size (0 by 0) is taken as an ordinary one. */
function sizeOf(fd: number): TerminalSize {
  const stream = new WriteStream(fd)
  stream.on('error', () => undefined)
  const { columns, rows } = stream
  stream.destroy()
  return columns > 0 && rows > 0 ? { columns, rows } : SIZE_DEFAULT
}

/** Keys of a person. */
class OperatorKeys implements Source {
  readonly #input = new ReadStream(0)
  readonly #leave: LeaveKeys
  #keys: PtyKeys | null = null
  #raw = false
  readonly #onData = (bytes: Buffer): void => void this.#keys?.type(this.#leave.push(bytes))
  readonly #onSuspend = (): void => {
    this.#release()
    process.kill(process.pid, 'SIGSTOP')
  }
  readonly #onContinue = (): void => {
    this.#take()
    this.follower.redraw()
  }
  readonly #onExit = (): void => this.#release()

  constructor(
    io: Io,
    private readonly follower: SizeFollower,
  ) {
    this.#leave = new LeaveKeys(systemClock.now, () => io.pressed('esc'))
    // A terminal that is gone hangs up, whether or not the signal that says so reaches us.
    const gone = (): void => {
      if (this.#keys !== null) process.kill(process.pid, 'SIGHUP')
    }
    for (const event of ['end', 'error'] as const) this.#input.once(event, gone)
    this.#input.on('error', () => undefined)
    this.#input.pause()
  }

  keys(to: PtyKeys): void {
    this.#keys = to
    process.on('SIGTSTP', this.#onSuspend)
    process.on('SIGCONT', this.#onContinue)
    process.on('exit', this.#onExit)
    this.#take()
  }

  close(): void {
    this.#keys = null
    this.#release()
    process.off('SIGTSTP', this.#onSuspend)
    process.off('SIGCONT', this.#onContinue)
    process.off('exit', this.#onExit)
    this.#input.destroy()
  }

  /** In the background the terminal's own rule holds: we stop, like every program that wants keys there, until "fg". */
  #take(): void {
    if (this.#raw || this.#keys === null) return
    if (!inForeground()) process.kill(0, 'SIGTTIN')
    // Nobody can stop a group that has no shell to continue it; then there are no keys.
    if (!inForeground()) return
    this.#input.setRawMode(true)
    // Node's raw mode goes on turning line feeds into two characters, which the program's own terminal has done or left.
    runOnTerminal('stty', ['-opost'], 0)
    this.#raw = true
    this.#input.on('data', this.#onData)
    this.#input.resume()
  }

  #release(): void {
    if (!this.#raw) return
    this.#raw = false
    this.#input.off('data', this.#onData)
    this.#input.pause()
    this.#input.setRawMode(false)
  }
}

/** Bytes of a pipe, a file or a socket, typed no faster than they are taken. */
class TypedInput implements Source {
  #closed = false

  keys(to: PtyKeys): void {
    const input = process.stdin
    let last = NEWLINE
    input.on('data', (bytes: Buffer) => {
      if (bytes.length === 0) return
      last = bytes[bytes.length - 1] ?? last
      to.type(bytes)
      input.pause()
      void to.typed().then(() => this.#closed || input.resume())
    })
    const over = (): void => {
      // Within a line the key only hands on what there is of it.
      if (last !== NEWLINE) to.type(END_OF_FILE)
      to.type(END_OF_FILE)
    }
    input.once('end', over)
    input.once('error', over)
  }

  close(): void {
    this.#closed = true
    process.stdin.destroy()
  }
}
