/** One stream of a child, read from a FIFO: its ends are kept, and where asked for all of it is passed on. */
import { closeSync } from 'node:fs'
import { type OnReadOpts, Socket, type SocketConstructorOpts } from 'node:net'
import { BoundedOutput } from './bounded-output.js'
import type { FifoPool, OpenFifo } from './fifo-pool.js'
import { Visits } from './fifo-visits.js'
import { OrderedWriter } from './ordered-writer.js'

/** One buffer for all streams: Node fills it and calls back in one go, so two streams never meet in it. */
const READ_BUFFER = Buffer.allocUnsafeSlow(64 * 1024)

/** Bytes under way to a slow reader before the FIFO is left alone, and the child with it. */
const UNDER_WAY_BYTES_MAX = 256 * 1024

/** From this size on a piece is worth a block of its own: so many of them are under way at most. */
const BLOCK_BYTES_LEAST = 16 * 1024

export class Capture {
  readonly output: BoundedOutput
  closed = false
  /** Why bytes could not be passed on (a full disk); null where they were, or where their reader just went away. */
  failed: string | null = null
  #socket: Socket | undefined
  #writer: OrderedWriter | undefined
  #visits: Visits | undefined
  #passing = false
  readonly #blocks: Buffer[] = []
  #finished = false
  #cut = false
  readonly #ended: Promise<void>
  #end: () => void = () => undefined

  /** @param relay descriptor that gets everything once {@link Capture.passOn} was called; null: none. */
  constructor(
    private readonly pool: FifoPool,
    private readonly fifo: OpenFifo,
    keptBytes: number,
    readonly relay: number | null,
  ) {
    this.output = new BoundedOutput(keptBytes)
    if (relay !== null) this.#writer = new OrderedWriter(relay, errno => this.#lost(errno))
    this.#ended = new Promise(resolve => {
      this.#end = resolve
    })
  }

  get writer(): number {
    return this.fifo.writer
  }

  /**
   * With the relay's reader gone the FIFO has none either, so that the child gets the SIGPIPE it would have got outside; one
   * that opens the FIFO again is let through to it. What the relay refuses for another reason (a full disk) is a loss that
   * the child cannot be told of: it is counted as failed, and the rest is read and goes nowhere, so that nothing waits.
   */
  #lost(errno: string): void {
    if (errno !== 'EPIPE') {
      this.failed = errno
      return
    }
    this.#socket?.destroy()
    if (!this.#finished) this.#visits = new Visits(this.fifo.path, 'reader')
  }

  passOn(): void {
    this.#passing = true
  }

  read(onBytes: (count: number) => void, onClosed: () => void): void {
    const options: SocketConstructorOpts & { readonly onread: OnReadOpts } = {
      fd: this.fifo.reader,
      readable: true,
      writable: false,
      onread: { buffer: READ_BUFFER, callback: count => this.#take(READ_BUFFER.subarray(0, count), onBytes) },
    }
    const socket = new Socket(options)
    const over = (): void => {
      if (this.closed) return
      this.closed = true
      this.#end()
      onClosed()
    }
    socket.on('error', () => undefined)
    socket.once('end', over)
    socket.once('close', over)
    this.#socket = socket.resume()
  }

  /** False leaves the FIFO alone until the reader has caught up. */
  #take(bytes: Buffer, onBytes: (count: number) => void): boolean {
    this.output.push(bytes)
    onBytes(bytes.length)
    const writer = this.#writer
    if (writer === undefined || !this.#passing) return true
    this.#send(writer, bytes)
    if (writer.pendingBytes < UNDER_WAY_BYTES_MAX) return true
    void writer.flushed().then(() => this.#socket?.resume())
    return false
  }

  /** Large pieces travel in blocks that come back: what a flood leaves to the collector would be most of our memory. */
  #send(writer: OrderedWriter, bytes: Buffer): void {
    if (bytes.length < BLOCK_BYTES_LEAST) {
      writer.push(Buffer.from(bytes))
      return
    }
    const block = this.#blocks.pop() ?? Buffer.allocUnsafeSlow(READ_BUFFER.length)
    bytes.copy(block)
    writer.push(block.subarray(0, bytes.length), () => this.#blocks.push(block))
  }

  /** Taken and not passed on yet. */
  get underWay(): number {
    return this.#writer?.pendingBytes ?? 0
  }

  /** Reads no more, although somebody still holds the FIFO: it is not used again. */
  cut(): void {
    this.#cut = true
    this.#socket?.destroy()
  }

  /** Everything the child wrote has reached the relay's reader, or that reader is gone. */
  async delivered(): Promise<void> {
    if (this.#writer === undefined) return
    await this.#ended
    await this.#writer.flushed()
  }

  /** `treeGone`: nothing can hold an end of the FIFO any more. */
  finish(treeGone: boolean): void {
    this.#finished = true
    this.#visits?.end()
    const drained = treeGone && !this.#cut && (this.closed || this.#socket === undefined)
    if (this.#socket === undefined) closeSync(this.fifo.reader)
    else this.#socket.destroy()
    this.pool.giveBack(this.fifo.path, drained ? 'drained' : 'held')
  }
}
