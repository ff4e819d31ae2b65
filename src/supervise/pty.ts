/**
 * A terminal for a program of ours (pty(7)): its two ends, its size, and the keys that are typed into it.
 *
 * The pair comes from node-pty, which is optional and is loaded when a terminal is asked for; nothing of it starts processes
 * here. What node-pty opens is put in order first: it reads from the program's end, opens that end twice and tells only one
 * number, and leaves our end open across exec.
 */
import {
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  openSync,
  readdirSync,
  readlinkSync,
  readSync,
  writeSync,
} from 'node:fs'
import type { Socket } from 'node:net'
import { PTY_KEYS_BYTES_MAX } from '../bounds.js'
import { errnoOf, isRefusal, Refusal } from '../errors.js'
import { keepFromChildren } from './descriptors.js'
import { type NotStarted, notStarted } from './program.js'

/** In characters, 1 to 65 535 each (struct winsize, ioctl_tty(2)). */
export interface TerminalSize {
  readonly columns: number
  readonly rows: number
}

/** What is asked for where there is no terminal whose size could be taken. */
export const SIZE_DEFAULT: TerminalSize = { columns: 80, rows: 24 }

/** What the holder of keys may do to a running terminal. Once it is closed, nothing of this does anything. */
export interface PtyKeys {
  /** Types `bytes`. False: more than a bound is under way and not read by the program, so these are not taken. */
  type(bytes: Uint8Array): boolean
  /** Resolves when what was typed has been taken by the terminal, or it is closed. */
  typed(): Promise<void>
  resize(size: TerminalSize): void
}

export interface Owner {
  readonly uid: number
  readonly gid: number
}

/** The terminal that node-pty's `open()` makes; its declarations leave that function out. */
interface Opened {
  /** Our end. */
  readonly master: Socket
  readonly slave: Socket
  readonly fd: number
  readonly ptsName: string
  resize(columns: number, rows: number): void
}

interface NodePty {
  open(options: { readonly cols: number; readonly rows: number; readonly encoding: null }): Opened
}

/** The kernel says EAGAIN while the program reads nothing; tried again after this pause. */
const RETRY_MS = 5

const REST_BYTES = 16 * 1024

export class Pty implements PtyKeys {
  readonly #opened: Opened
  readonly #release: () => void
  readonly #waiting: (() => void)[] = []
  #keys = Buffer.alloc(0)
  #retry: NodeJS.Timeout | undefined
  #given = false
  #closed = false

  private constructor(
    opened: Opened,
    /** The program's end: blocking and close-on-exec; {@link Pty.given} closes it. */
    readonly slave: number,
  ) {
    this.#opened = opened
    this.#release = keepFromChildren(opened.fd)
  }

  /**
   * Opens a pair for a program that runs as `owner` (null: as we are). Throws `terminal-unavailable` where node-pty is not
   * there or cannot be loaded; that the system has no terminal to give is a value.
   */
  static async open(size: TerminalSize, owner: Owner | null): Promise<Pty | NotStarted> {
    const nodePty = await loadNodePty()
    let opened: Opened
    try {
      opened = openPair(nodePty, size)
    } catch (error) {
      return notStarted('spawn-failed', `the system gives no terminal (${firstLine(error)}): ${FIX_SYSTEM}`)
    }
    try {
      // It would take keys away from the program.
      opened.slave.destroy()
      opened.master.pause()
      opened.master.on('error', () => undefined)
      return new Pty(opened, openSlave(opened.ptsName, owner))
    } catch (error) {
      opened.master.destroy()
      const errno = errnoOf(error)
      if (errno === undefined) throw error
      return notStarted('spawn-failed', `the terminal could not be prepared: ${String(error)}`, { errno })
    }
  }

  /** Our end: what the program shows, read by one reader. It ends, maybe with an error (EIO), when nobody has the other end. */
  get screen(): Socket {
    return this.#opened.master
  }

  /**
   * What is left to read right after `screen` has ended. libuv takes a hang-up after a short read for the end, and a terminal
   * gives a page at a time at most, so there may be more (uv__stream_io).
   */
  *rest(): Generator<Buffer> {
    const buffer = Buffer.allocUnsafe(REST_BYTES)
    for (let count = 1; count > 0 && !this.#opened.master.destroyed; ) {
      count = readNow(this.#opened.fd, buffer)
      if (count > 0) yield Buffer.from(buffer.subarray(0, count))
    }
  }

  type(bytes: Uint8Array): boolean {
    if (this.#closed) return true
    if (this.#keys.length + bytes.length > PTY_KEYS_BYTES_MAX) return false
    this.#keys = Buffer.concat([this.#keys, bytes])
    if (this.#retry === undefined) this.#pump()
    return true
  }

  typed(): Promise<void> {
    return this.#keys.length === 0 || this.#closed
      ? Promise.resolve()
      : new Promise(resolve => this.#waiting.push(resolve))
  }

  resize({ columns, rows }: TerminalSize): void {
    if (!this.#closed) this.#opened.resize(columns, rows)
  }

  /** Closes the program's end here, once the program has it: else its end would never be seen. */
  given(): void {
    if (!this.#given) closeSync(this.slave)
    this.#given = true
  }

  /** Closes both ends here: who still has the program's end reads end-of-file and is hung up on (SIGHUP). */
  close(): void {
    this.given()
    if (this.#closed) return
    this.#closed = true
    clearTimeout(this.#retry)
    this.#keys = Buffer.alloc(0)
    this.#settle()
    this.#opened.master.destroy()
    this.#release()
  }

  /** Our end does not block, and a write into it only moves memory; so nothing is under way when it is closed. */
  #pump(): void {
    this.#retry = undefined
    try {
      while (this.#keys.length > 0) {
        this.#keys = this.#keys.subarray(writeSync(this.#opened.fd, this.#keys))
      }
    } catch (error) {
      const errno = errnoOf(error)
      if (errno === undefined) throw error
      if (errno === 'EAGAIN') {
        this.#retry = setTimeout(() => this.#pump(), RETRY_MS)
        return
      }
      // Nobody has the other end: there is nobody to type for.
      this.#keys = Buffer.alloc(0)
    }
    this.#settle()
  }

  #settle(): void {
    for (const resolve of this.#waiting.splice(0)) resolve()
  }
}

/** Why no terminal can be had here; null: one can, as far as node-pty goes. */
export async function terminalRefusal(): Promise<Refusal<'terminal-unavailable'> | null> {
  try {
    await loadNodePty()
    return null
  } catch (error) {
    if (isRefusal(error, 'terminal-unavailable')) return error
    throw error
  }
}

const FIX_INSTALL = 'install it with: npm install node-pty'
const FIX_SYSTEM = 'see that /dev/ptmx can be opened and that fewer terminals are open than /proc/sys/kernel/pty/max'

function unavailable(why: string, fix: string): Refusal<'terminal-unavailable'> {
  return new Refusal('terminal-unavailable', { why, fix }, `no terminal can be had: ${why}; nothing was run: ${fix}`)
}

async function loadNodePty(): Promise<NodePty> {
  try {
    const loaded = (await import('node-pty')) as unknown as Partial<NodePty> & { readonly default?: Partial<NodePty> }
    const open = loaded.open ?? loaded.default?.open
    if (typeof open === 'function') return { open }
  } catch (error) {
    throw isMissing(error)
      ? unavailable('the optional package node-pty is not installed', FIX_INSTALL)
      : unavailable(
          `the package node-pty cannot be loaded: ${firstLine(error)}`,
          'rebuild it with: npm rebuild node-pty',
        )
  }
  throw unavailable('this version of the package node-pty cannot open a terminal', FIX_INSTALL)
}

/** The package itself, not something that it needs: under `require` and under `import` the code has another name. */
function isMissing(error: unknown): boolean {
  const { code, message } = error as { readonly code?: unknown; readonly message?: unknown }
  return (code === 'MODULE_NOT_FOUND' || code === 'ERR_MODULE_NOT_FOUND') && /['"]node-pty['"]/.test(String(message))
}

function firstLine(error: unknown): string {
  return String(error instanceof Error ? error.message : error).split('\n')[0] ?? ''
}

function openPair(pty: NodePty, { columns, rows }: TerminalSize): Opened {
  const opened = pty.open({ cols: columns, rows, encoding: null })
  const { fd, ptsName } = opened
  if (Number.isInteger(fd) && typeof ptsName === 'string' && opened.master && opened.slave) return opened
  throw new Error('this version of node-pty opens them in an unknown way')
}

/**
 * The program's end, opened anew: what node-pty and libuv have opened does not block (uv_tty_init), and one number of it is
 * told nowhere, so it is found by where it leads. The name is that of our pair for as long as our end is open.
 */
function openSlave(name: string, owner: Owner | null): number {
  const leftOver = descriptorsTo(name)
  const source = leftOver[0]
  const slave = openSync(source === undefined ? name : `/proc/self/fd/${source}`, constants.O_RDWR | constants.O_NOCTTY)
  for (const fd of leftOver) closeSync(fd)
  // Ours alone, as it is after "mesg n"; the program opens it again as its own uid (hold.ts).
  fchmodSync(slave, 0o600)
  if (owner !== null) fchownSync(slave, owner.uid, owner.gid)
  return slave
}

/** 0 where there is nothing to read: EAGAIN, or EIO when nobody has the other end. */
function readNow(fd: number, buffer: Buffer): number {
  try {
    return readSync(fd, buffer)
  } catch (error) {
    if (errnoOf(error) === undefined) throw error
    return 0
  }
}

function descriptorsTo(path: string): number[] {
  return readdirSync('/proc/self/fd')
    .filter(name => linkOf(name) === path)
    .map(Number)
}

/** The descriptor that lists the folder is gone by now. */
function linkOf(fd: string): string | null {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`)
  } catch {
    return null
  }
}
