/**
 * Bytes to a descriptor, asynchronously and in order, until the reader is gone.
 *
 * Node's own writes to a pipe block the event loop while a reader is slow (so no deadline would fire), and what they
 * buffer is dropped at exit (case A25).
 */
import { write } from 'node:fs'

/** EAGAIN of a non-blocking descriptor: tried again after this pause. */
const RETRY_MS = 5

interface Queued {
  /** What is not written yet. */
  bytes: Buffer
  readonly done: () => void
}

export class OrderedWriter {
  readonly #queue: Queued[] = []
  readonly #waiting: (() => void)[] = []
  #pendingBytes = 0
  #busy = false
  #closed = false

  /** @param onClosed called once, when a write fails: EPIPE where the reader is gone, or another errno. */
  constructor(
    private readonly fd: number,
    private readonly onClosed: (errno: string) => void = () => undefined,
  ) {}

  get closed(): boolean {
    return this.#closed
  }

  /** Bytes taken and not written yet. */
  get pendingBytes(): number {
    return this.#pendingBytes
  }

  /** Takes `bytes` as they are: the caller does not change them before `done`. After the end of the reader it does nothing else. */
  push(bytes: Buffer, done: () => void = () => undefined): void {
    if (this.#closed || bytes.length === 0) {
      done()
      return
    }
    this.#queue.push({ bytes, done })
    this.#pendingBytes += bytes.length
    if (!this.#busy) this.#pump()
  }

  /** Resolves when everything taken is written or the reader is gone. */
  flushed(): Promise<void> {
    return this.#busy ? new Promise(resolve => this.#waiting.push(resolve)) : Promise.resolve()
  }

  /** Forgets what is taken and not under way: the reader gets no more of it. */
  drop(): void {
    for (const { bytes, done } of this.#queue.splice(1)) {
      this.#pendingBytes -= bytes.length
      done()
    }
  }

  #pump(): void {
    const next = this.#queue[0]
    this.#busy = next !== undefined && !this.#closed
    if (next === undefined || this.#closed) {
      for (const resolve of this.#waiting.splice(0)) resolve()
      return
    }
    write(this.fd, next.bytes, 0, next.bytes.length, null, (error, written) => {
      if (error?.code === 'EAGAIN') return void setTimeout(() => this.#pump(), RETRY_MS)
      if (error !== null) this.#close(error.code ?? 'EIO')
      else this.#written(next, written)
      this.#pump()
    })
  }

  #written(queued: Queued, count: number): void {
    this.#pendingBytes -= count
    queued.bytes = queued.bytes.subarray(count)
    if (queued.bytes.length > 0) return
    this.#queue.shift()
    queued.done()
  }

  #close(errno: string): void {
    this.#closed = true
    this.#pendingBytes = 0
    for (const { done } of this.#queue.splice(0)) done()
    this.onClosed(errno)
  }
}
