/** What a command sees of the outside: two sinks, the environment, and the request to stop. */

import { fstatSync } from 'node:fs'
import { SECOND_INTERRUPT_MS } from '../bounds.js'
import { errnoOf, Refusal } from '../errors.js'
import type { CancelledBy } from '../outcome.js'
import { systemClock } from '../supervise/deadline.js'
import { outliveTerminal } from './lost-terminal.js'
import { isNull, leadsNowhere } from './nowhere.js'
import { openSink, type Sink } from './output.js'
import { defaultActions } from './pid-one.js'

export interface Io {
  readonly out: Sink
  readonly err: Sink
  readonly env: NodeJS.ProcessEnv
  /** Throws the refusal `missing` where the folder has been removed. */
  readonly cwd: string
  /** Folder of the programs: a control file of every run. */
  readonly installation: string
  readonly stdoutIsTerminal: boolean
  readonly stderrIsTerminal: boolean
  readonly stdinIsTerminal: boolean
  /** Aborted with a {@link CancelledBy}: a signal, or `caller` when stdout's reader has gone. */
  readonly stop: AbortSignal
  /** Aborted by a second Esc: what is left of the grace is skipped. That of the part that is open, where one is. */
  readonly kill: AbortSignal
  /** The signal that asked to stop; null when none did. */
  stoppedBy(): NodeJS.Signals | null
  /** The errno of a failed write to stdout; null while all could be written, and where the reader just went away. */
  outputLost(): string | null
  /** Bytes of stdout so far that went nowhere, because it is closed or as good as that; 0 where it leads somewhere. */
  outputNowhere(): number
  /** A key on the operator's terminal: Esc asks to stop, Ctrl-C is the signal it would have been. */
  pressed(key: 'esc' | 'interrupt'): void
  /** Installs the signal handlers; until then the default actions hold. */
  handleSignals(): void
  /** Begins a part of the command that can be stopped by itself. One is open at a time. */
  openPart(): Part
}

/** Until it is closed, Esc and INT stop it and not the command. Whatever stops the command stops it too. */
export interface Part {
  /** Aborted with a {@link CancelledBy}. */
  readonly stop: AbortSignal
  close(): void
}

/** What stops the command, or a part of it. */
/** Its two controllers are made when they are asked for: a command that starts nothing has nothing to be stopped by them. */
class Stopper {
  #stop: AbortController | undefined
  #kill: AbortController | undefined

  get #stopping(): AbortController {
    this.#stop ??= new AbortController()
    return this.#stop
  }

  get #killing(): AbortController {
    this.#kill ??= new AbortController()
    return this.#kill
  }

  get stop(): AbortSignal {
    return this.#stopping.signal
  }

  get kill(): AbortSignal {
    return this.#killing.signal
  }

  cancel(by: CancelledBy): void {
    if (!this.stop.aborted) this.#stopping.abort(by)
  }

  /** The second one skips the grace. */
  esc(): void {
    if (this.stop.aborted) this.#killing.abort('esc')
    else this.cancel('esc')
  }
}

const LEFT_AT_ONCE = 130

export function openIo({ installation }: { readonly installation: string }): Io {
  outliveTerminal(isTerminal)
  const whole = new Stopper()
  let part: Stopper | null = null
  const unheard = defaultActions()
  const cancel = (by: CancelledBy): void => {
    whole.cancel(by)
    part?.cancel(by)
  }
  let signal: NodeJS.Signals | null = null
  let lost: string | null = null
  let written = 0
  const sink = openSink({
    fd: 1,
    onClosed: errno => {
      lost = errno === 'EPIPE' ? null : errno
      err.write(
        `${errno === 'EPIPE' ? 'stdout was closed by its reader' : `stdout cannot be written (${errno})`}: stopping\n`,
      )
      cancel('caller')
    },
  })
  const out: Sink = {
    write: text => {
      written += Buffer.byteLength(text)
      sink.write(text)
    },
    flush: () => sink.flush(),
    get closed() {
      return sink.closed
    },
  }
  // Two queues to one terminal would mix their lines; through one they come in the order they were said.
  const err: Sink = isOneStream(1, 2) ? out : openSink({ fd: 2 })
  return {
    out,
    err,
    env: process.env,
    get cwd() {
      return workingFolder()
    },
    installation,
    stdoutIsTerminal: isTerminal(1),
    stderrIsTerminal: isTerminal(2),
    stdinIsTerminal: isTerminal(0),
    get stop() {
      return whole.stop
    },
    get kill() {
      return (part ?? whole).kill
    },
    stoppedBy: () => signal,
    outputLost: () => lost,
    outputNowhere: () => (written > 0 && leadsNowhere(1) ? written : 0),
    pressed: key => {
      if (key === 'esc') (part ?? whole).esc()
      else process.kill(process.pid, 'SIGINT')
    },
    handleSignals: () => {
      handleSignals(name => {
        if (name === 'SIGINT' && part !== null) return part.cancel('signal')
        signal ??= name
        cancel('signal')
      })
      unheard()
    },
    openPart: () => {
      const opened = new Stopper()
      if (whole.stop.aborted) opened.cancel(whole.stop.reason as CancelledBy)
      part = opened
      const close = (): void => {
        if (part === opened) part = null
      }
      return { stop: opened.stop, close }
    },
  }
}

function workingFolder(): string {
  try {
    const folder = process.cwd()
    // Node puts U+FFFD in the place of bytes that are no UTF-8: the folder it names would be another one.
    if (!folder.includes('\ufffd')) return folder
    throw new Refusal(
      'bad-arguments',
      {},
      'the name of the working folder is no UTF-8, or holds U+FFFD: change to another folder',
    )
  } catch (error) {
    const errno = errnoOf(error)
    if (errno === undefined) throw error
    throw new Refusal('missing', { path: '.' }, `the working folder is gone (${errno}): change to one that exists`)
  }
}

/** True where both descriptors lead to the same terminal, pipe or file (`> log 2>&1`). */
function isOneStream(a: number, b: number): boolean {
  try {
    const [one, other] = [fstatSync(a), fstatSync(b)]
    const shared = one.isCharacterDevice() || one.isFIFO() || one.isFile()
    return shared && one.dev === other.dev && one.ino === other.ino
  } catch {
    return false
  }
}

/** isatty(3). `node:tty` is loaded only for a device that may be one: a pipe, a file and /dev/null are none, and most runs have those. */
export function isTerminal(fd: number): boolean {
  try {
    const stat = fstatSync(fd)
    return stat.isCharacterDevice() && !isNull(stat) && process.getBuiltinModule('node:tty').isatty(fd)
  } catch {
    return false
  }
}

/**
 * TERM and HUP ask once; a second INT within two seconds leaves at once. Confined trees die with us, so leaving is
 * killing.
 */
function handleSignals(asked: (signal: NodeJS.Signals) => void): void {
  let last = Number.NEGATIVE_INFINITY
  process.on('SIGINT', () => {
    const now = systemClock.now()
    if (now - last < SECOND_INTERRUPT_MS) process.exit(LEFT_AT_ONCE)
    last = now
    asked('SIGINT')
  })
  process.on('SIGTERM', asked)
  process.on('SIGHUP', asked)
}
