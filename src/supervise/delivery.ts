/**
 * The end of streams that are passed on. A slow reader gets every byte, however long it takes; but where somebody still holds a
 * stream of a tree that is gone as far as can be seen (without a namespace a process can leave it), its end never comes, and
 * nobody is to wait for that: what a pipe can hold by then is passed on, and the stream is cut.
 */
import { DRAIN_MS } from '../bounds.js'

export interface Relayed {
  readonly closed: boolean
  /** Taken and not passed on yet. */
  readonly underWay: number
  readonly output: { readonly totalBytes: number }
  /** Resolves when everything up to the end of the stream has reached its reader, or that reader is gone. */
  delivered(): Promise<void>
  /** Reads no more: what comes now has no reader. */
  cut(): void
}

/** So often a stream that nothing waits for is looked at; each time all that a pipe holds is read (64 KiB at a time). */
const LOOKS = 25
/** The most that a pipe of an ordinary user holds (pipe(7), /proc/sys/fs/pipe-max-size). */
const PIPE_BYTES_MAX = 1024 * 1024

/**
 * Waits for the readers of `streams`, whose tree is gone; true where one was cut because it is still held.
 *
 * @param pause resolves after so many milliseconds; one at a time.
 */
export async function delivery(streams: readonly Relayed[], pause: (ms: number) => Promise<void>): Promise<boolean> {
  const before = streams.map(stream => ({ stream, seen: stream.output.totalBytes, looks: 0 }))
  let open = before.filter(({ stream }) => !stream.closed)
  let cut = false
  while (open.length > 0) {
    await pause(DRAIN_MS / LOOKS)
    // Looks that find nothing under way are counted altogether: a holder that writes now and then is no reason to wait longer.
    for (const at of open) if (at.stream.underWay === 0) at.looks++
    const held = open.filter(
      ({ stream, seen, looks }) => looks >= LOOKS || stream.output.totalBytes - seen > PIPE_BYTES_MAX,
    )
    for (const { stream } of held) stream.cut()
    cut ||= held.length > 0
    open = open.filter(at => !at.stream.closed && !held.includes(at))
  }
  await Promise.all(streams.map(stream => stream.delivered()))
  return cut
}
