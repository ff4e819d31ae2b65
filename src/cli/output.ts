/**
 * stdout and stderr of the programs: every byte arrives or the reader is known to be gone.
 *
 * Node's own writes to a pipe block the event loop while a reader is slow, and `process.exit` drops what is buffered
 * (case A25). Writes here are asynchronous, in order, and `flush` waits for them; nothing else in the programs writes.
 */
import { write } from 'node:fs'

/** EAGAIN of a non-blocking descriptor: tried again after this pause. */
const RETRY_MS = 5

export interface Sink {
  /** Queues `text`. Never throws; after the reader has gone it does nothing. */
  write(text: string): void
  /** Resolves when everything queued is written or the reader is gone. */
  flush(): Promise<void>
  /** True once a write met EPIPE (or the descriptor is not open). */
  readonly closed: boolean
}

export interface SinkOptions {
  readonly fd: number
  /** Called once, when the reader turns out to be gone. */
  readonly onClosed?: () => void
}

export function openSink({ fd, onClosed }: SinkOptions): Sink {
  const queue: Buffer[] = []
  const waiting: (() => void)[] = []
  let busy = false
  let closed = false

  const settle = (): void => {
    for (const resolve of waiting.splice(0)) resolve()
  }
  const close = (): void => {
    if (closed) return
    closed = true
    queue.length = 0
    onClosed?.()
  }
  const pump = (): void => {
    const next = queue[0]
    if (closed || next === undefined) {
      busy = false
      settle()
      return
    }
    busy = true
    write(fd, next, 0, next.length, null, (error, written) => {
      if (error?.code === 'EAGAIN') return void setTimeout(pump, RETRY_MS)
      if (error !== null) close()
      else if (written < next.length) queue[0] = next.subarray(written)
      else queue.shift()
      pump()
    })
  }
  return {
    write(text) {
      if (closed || text.length === 0) return
      queue.push(Buffer.from(text))
      if (!busy) pump()
    },
    flush: () => (busy ? new Promise(resolve => waiting.push(resolve)) : Promise.resolve()),
    get closed() {
      return closed
    },
  }
}
