/** stdout and stderr of the programs: every byte arrives or the reader is known to be gone. Nothing else writes there. */
import { OrderedWriter } from '../supervise/ordered-writer.js'

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
  /** Called once, when a write fails: EPIPE where the reader is gone, ENOSPC on a full disk, … */
  readonly onClosed?: (errno: string) => void
}

export function openSink({ fd, onClosed }: SinkOptions): Sink {
  const writer = new OrderedWriter(fd, onClosed)
  return {
    write: text => writer.push(Buffer.from(text)),
    flush: () => writer.flushed(),
    get closed() {
      return writer.closed
    },
  }
}
