/**
 * What a program shows on a terminal of ours: its ends are kept, and where asked for all of it is passed on. It is one stream
 * whatever the program writes to, because a terminal does not tell stdout from stderr.
 */
import { BoundedOutput } from './bounded-output.js'
import { OrderedWriter } from './ordered-writer.js'
import type { Pty } from './pty.js'

/** Bytes under way to a slow reader before the screen is left alone, and with it a program that goes on writing. */
const UNDER_WAY_BYTES_MAX = 256 * 1024

/** A terminal of ours: what it shows is kept and, where `relay` is a descriptor, passed on to that. */
export interface Screen {
  readonly pty: Pty
  readonly relay: number | null
  /** Called when what comes is passed on from now on. Keys that were typed before would be echoed too early. */
  readonly onOpen: (pty: Pty) => void
  /** Called with all that is passed on. */
  readonly onShown?: (bytes: Uint8Array) => void
}

/** The same to its users as a `Capture` of a FIFO. */
export class PtyCapture {
  readonly output: BoundedOutput
  closed = false
  /** Why bytes could not be passed on; null where they were, or where their reader just went away. */
  failed: string | null = null
  readonly #writer: OrderedWriter | undefined
  #passing = false
  readonly #ended: Promise<void>
  #end: () => void = () => undefined

  constructor(
    private readonly screen: Screen,
    keptBytes: number,
  ) {
    this.output = new BoundedOutput(keptBytes)
    const { relay } = screen
    this.#writer = relay === null ? undefined : new OrderedWriter(relay, errno => this.#lost(errno))
    this.#ended = new Promise(resolve => {
      this.#end = resolve
    })
  }

  get relay(): number | null {
    return this.screen.relay
  }

  get writer(): number {
    return this.screen.pty.slave
  }

  /** With its reader gone the terminal is hung up (SIGHUP), as it would be outside. */
  #lost(errno: string): void {
    if (errno !== 'EPIPE' && errno !== 'EIO') this.failed = errno
    this.screen.pty.close()
  }

  passOn(): void {
    this.#passing = true
    this.screen.onOpen(this.screen.pty)
  }

  read(onBytes: (count: number) => void, onClosed: () => void): void {
    const { screen } = this.screen.pty
    const over = (): void => {
      if (this.closed) return
      this.closed = true
      this.#end()
      onClosed()
    }
    const take = (bytes: Buffer): void => {
      this.output.push(bytes)
      onBytes(bytes.length)
      this.#relay(bytes)
    }
    screen.on('data', take)
    screen.once('end', () => {
      for (const bytes of this.screen.pty.rest()) take(bytes)
      over()
    })
    for (const event of ['close', 'error']) screen.once(event, over)
    screen.resume()
  }

  /** Leaves the screen alone until the reader has caught up. */
  #relay(bytes: Buffer): void {
    const writer = this.#writer
    if (writer === undefined || !this.#passing) return
    this.screen.onShown?.(bytes)
    writer.push(bytes)
    if (writer.pendingBytes < UNDER_WAY_BYTES_MAX) return
    this.screen.pty.screen.pause()
    void writer.flushed().then(() => this.screen.pty.screen.resume())
  }

  /** Taken and not passed on yet. */
  get underWay(): number {
    return this.#writer?.pendingBytes ?? 0
  }

  /** Hangs the terminal up, although somebody still holds it. */
  cut(): void {
    this.screen.pty.close()
  }

  /** Everything the program has shown has reached the relay's reader, or that reader is gone. */
  async delivered(): Promise<void> {
    if (this.#writer === undefined) return
    await this.#ended
    await this.#writer.flushed()
  }

  /** What was not delivered by now is not: it would come after what undoes it. */
  finish(): void {
    this.#writer?.drop()
    this.screen.pty.close()
  }
}
