/** The descriptors of a child: opened before the spawn, read after it, closed whatever happens. */
import { closeSync } from 'node:fs'
import type { Socket } from 'node:net'
import type { Captured, StreamFailure } from '../outcome.js'
import { NOTHING_CAPTURED } from '../outcome.js'
import { BoundedOutput } from './bounded-output.js'
import { Capture } from './capture.js'
import { delivery } from './delivery.js'
import { Feed } from './feed.js'
import type { FifoPool } from './fifo-pool.js'
import type { Pty } from './pty.js'
import { PtyCapture, type Screen } from './pty-capture.js'
import { openAgain, openBytes } from './unnamed-file.js'

/**
 * Where a child's input comes from. `null` is /dev/null. Bytes are a file, so no size of them can wait for a reader (case A09).
 * `relay`: a file, FIFO or socket of ours whose bytes are passed on through a FIFO. `fd`: the descriptor itself, which its
 * holder can open again with other rights: never a plain file that the child must not write.
 */
export type Input = null | { readonly fd: number } | { readonly bytes: Uint8Array } | { readonly relay: number }

/**
 * Where a stream of a child goes. `capture`: a FIFO, which the child can open again. `relay`: the same, and what comes is
 * passed on to a descriptor of ours that the child itself must not hold (a file, a terminal) or cannot open again (a
 * socket); both streams with the same number share one FIFO, so that their bytes stay in order. `pipe`: a socket of Node,
 * for what only launchers of ours write. `fd`: a descriptor of ours, passed on; its holder can open it again with other rights.
 */
export type Output = null | 'capture' | 'pipe' | { readonly fd: number } | { readonly relay: number } | Screen

/**
 * What a child finds at a number above 2. `again`: bytes that every launch is given. `pipe`: a socket whose other end is in `Supervised.pipes`. `ipc`: Node's own channel, at
 * most one, over which a program of ours hands out a listener (`Supervised.listener`).
 */
export type Extra =
  | { readonly fd: number }
  | { readonly bytes: Uint8Array }
  | { readonly again: Uint8Array }
  | 'pipe'
  | 'ipc'

export interface StdioPlan {
  readonly stdin: Input
  readonly stdout: Output
  readonly stderr: Output
  /** By number, 3 and upwards; numbers that are left out are not open in the child. */
  readonly extra: ReadonlyMap<number, Extra>
}

/** Bytes per stream of which the two ends are kept. */
export interface KeptBytes {
  readonly stdout: number
  readonly stderr: number
}

/** Bytes seen so far. Of streams that share one FIFO all of it counts as stdout. */
export interface Written {
  readonly total: number
  readonly stdout: number
}

export type Slot = 'ignore' | 'pipe' | 'ipc' | number

/** Descriptors opened for one child. Call {@link ChildStdio.spawned} or {@link ChildStdio.finish} in the end, on every way. */
export class ChildStdio {
  readonly slots: Slot[] = []
  readonly #captures = new Map<1 | 2, Capture | PtyCapture>()
  readonly #plain = new Map<1 | 2, BoundedOutput>()
  readonly #ours: number[] = []
  #feed: Feed | undefined
  #pty: Pty | undefined
  #open = 0
  #onClosed: () => void = () => undefined

  private constructor(private readonly kept: KeptBytes) {}

  /** Throws what opening throws; nothing stays open then. */
  static async open(plan: StdioPlan, pool: () => Promise<FifoPool>, kept: KeptBytes): Promise<ChildStdio> {
    const stdio = new ChildStdio(kept)
    try {
      stdio.slots.push(await stdio.#stdinSlot(plan.stdin, pool))
      stdio.slots.push(await stdio.#outputSlot(1, plan.stdout, pool))
      stdio.slots.push(await stdio.#outputSlot(2, plan.stderr, pool))
      for (const [number, extra] of plan.extra)
        stdio.slots[number] = typeof extra === 'string' ? extra : stdio.#input(extra)
      for (let number = 3; number < stdio.slots.length; number++) stdio.slots[number] ??= 'ignore'
      return stdio
    } catch (error) {
      stdio.spawned()
      stdio.finish(true)
      throw error
    }
  }

  async #stdinSlot(input: Input, pool: () => Promise<FifoPool>): Promise<Slot> {
    if (input === null) return 'ignore'
    if (!('relay' in input)) return this.#input(input)
    this.#feed = await Feed.open(await pool(), input.relay)
    this.#ours.push(this.#feed.reader)
    return this.#feed.reader
  }

  #input(input: Exclude<Extra, string>): Slot {
    if ('fd' in input) return input.fd
    const fd = 'again' in input ? openAgain(input.again) : openBytes(input.bytes)
    this.#ours.push(fd)
    return fd
  }

  async #outputSlot(number: 1 | 2, output: Output, pool: () => Promise<FifoPool>): Promise<Slot> {
    if (output === null) return 'ignore'
    const keptBytes = number === 1 ? this.kept.stdout : this.kept.stderr
    if (output === 'pipe') {
      this.#plain.set(number, new BoundedOutput(keptBytes))
      return 'pipe'
    }
    if (output !== 'capture' && 'fd' in output) return output.fd
    if (output !== 'capture' && 'pty' in output) return this.#screenSlot(number, output, keptBytes)
    const first = this.#captures.get(1)
    if (output !== 'capture' && first?.relay === output.relay) {
      this.#captures.set(number, first)
      return first.writer
    }
    const fifos = await pool()
    const fifo = await fifos.take()
    const capture = new Capture(fifos, fifo, keptBytes, output === 'capture' ? null : output.relay)
    this.#captures.set(number, capture)
    this.#ours.push(fifo.writer)
    return fifo.writer
  }

  #screenSlot(number: 1 | 2, screen: Screen, keptBytes: number): Slot {
    this.#captures.set(number, new PtyCapture(screen, keptBytes))
    this.#pty = screen.pty
    return screen.pty.slave
  }

  /** Closes what only the child needs; right after the spawn, or an end-of-file never comes. */
  spawned(): void {
    this.#pty?.given()
    for (const fd of this.#ours.splice(0)) closeSync(fd)
  }

  /** Starts reading. `sockets` are the child's own for streams that are `pipe`. */
  read(sockets: ReadonlyMap<number, Socket>, onWritten: (written: Written) => void, onClosed: () => void): void {
    this.#onClosed = onClosed
    this.#feed?.begin()
    this.#open = this.#streams.size + this.#plain.size
    let [total, stdout] = [0, 0]
    const count = (bytes: number, isStdout: boolean) => {
      total += bytes
      if (isStdout) stdout += bytes
      onWritten({ total, stdout })
    }
    for (const capture of this.#streams) {
      const isStdout = capture === this.#captures.get(1)
      capture.read(
        bytes => count(bytes, isStdout),
        () => this.#oneClosed(),
      )
    }
    for (const [number, output] of this.#plain) {
      sockets.get(number)?.on('data', (bytes: Buffer) => {
        output.push(bytes)
        count(bytes.length, number === 1)
      })
      sockets.get(number)?.once('close', () => this.#oneClosed())
    }
  }

  /** From now on relayed streams reach their descriptors; before, they hold the launcher's own words. */
  passOn(): void {
    for (const capture of this.#streams) capture.passOn()
  }

  /** Resolves when every relayed byte is delivered, its reader is gone, or a stream was cut, which is true: see {@link delivery}. */
  delivered(pause: (ms: number) => Promise<void>): Promise<boolean> {
    return delivery([...this.#streams], pause)
  }

  /** True where a stream is relayed: how long it takes is then its reader's doing. */
  get relays(): boolean {
    return [...this.#streams].some(capture => capture.relay !== null)
  }

  #oneClosed(): void {
    this.#open--
    if (this.#open === 0) this.#onClosed()
  }

  get closed(): boolean {
    return this.#open === 0
  }

  /** Of streams that share one FIFO, all of it under either number. */
  captured(number: 1 | 2): Captured {
    return (this.#captures.get(number)?.output ?? this.#plain.get(number))?.captured() ?? NOTHING_CAPTURED
  }

  finish(treeGone: boolean): void {
    for (const capture of this.#streams) capture.finish(treeGone)
    this.#captures.clear()
    this.#feed?.finish(treeGone)
    this.#feed = undefined
  }

  /** Each once: two numbers can share one. */
  get #streams(): ReadonlySet<Capture | PtyCapture> {
    return new Set(this.#captures.values())
  }

  /** Streams of ours that could not be read or written to the end. A reader that went away is no failure. */
  get failures(): readonly StreamFailure[] {
    const failed = (stream: StreamFailure['stream'], errno: string | null | undefined): StreamFailure[] =>
      errno ? [{ stream, errno }] : []
    const outputs = [...this.#streams].flatMap(capture =>
      failed(capture.relay === 2 ? 'stderr' : 'stdout', capture.failed),
    )
    return [...failed('stdin', this.#feed?.failed), ...outputs]
  }
}
