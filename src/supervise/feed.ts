/**
 * A child's input out of a descriptor of ours, through a FIFO. The child never holds the descriptor itself: through
 * /proc/self/fd it could open the file behind it again, for writing and on the mount of the host (proc_pid_fd(5)).
 *
 * What a child leaves unread stays unread, as it would outside: a file's offset is moved on only by what was taken, so a
 * command in a shell's `while read` loop does not eat the lines of the others. A pipe or socket has no way back.
 */
import { closeSync, constants, fstatSync, openSync, read, readSync } from 'node:fs'
import { Socket, type SocketConstructorOpts } from 'node:net'
import { errnoOf, Refusal } from '../errors.js'
import { descriptorState } from './descriptors.js'
import type { FifoPool, OpenFifo } from './fifo-pool.js'
import { Visits } from './fifo-visits.js'

const BLOCK_BYTES = 64 * 1024

/**
 * How far the offset of a file stays behind what was fed while the child reads. More than a FIFO holds at most for a
 * user (1 MiB, pipe(7)), so that it is never moved past what was taken; little enough to be made up for at once at the end.
 */
const BEHIND_BYTES = 2 * 1024 * 1024

export class Feed {
  /** Why the source could not be read to its end; null: it could, or nobody wanted more. */
  failed: string | null = null
  readonly #target: Socket
  readonly #buffer = Buffer.allocUnsafe(BLOCK_BYTES)
  /** Of a file: where the next block stands, how many bytes were handed on, and how far the shared offset was moved. */
  #position: number
  #fed = 0
  #moved = 0
  #over = false
  #visits: Visits | undefined

  private constructor(
    private readonly pool: FifoPool,
    private readonly fifo: OpenFifo,
    private readonly fd: number,
    /** The child's end, blocking as a program expects its input to be; to be closed by us after the spawn. */
    readonly reader: number,
    /** What a FIFO or socket is read through; null: `fd` is a plain file. */
    private readonly source: Socket | null,
  ) {
    this.#position = source === null ? descriptorState(fd).position : 0
    this.#target = new Socket({ fd: fifo.writer, readable: false, writable: true })
    // A child that reads no more is no error: what it left is counted in the end.
    this.#target.on('error', () => undefined)
    this.#target.once('close', () => {
      if (!this.#over) this.#visits = new Visits(fifo.path, 'writer')
    })
  }

  /**
   * Feeds from `fd`: a plain file from its offset on, which stays the caller's, or a FIFO or stream socket, which is closed
   * in the end where its number is above 2. Throws `file-unreadable` for another kind of socket, with nothing read.
   */
  static async open(pool: FifoPool, fd: number): Promise<Feed> {
    const source = fstatSync(fd).isFile() ? null : sourceOf(fd)
    let fifo: OpenFifo | undefined
    try {
      fifo = await pool.take()
      return new Feed(pool, fifo, fd, openSync(fifo.path, constants.O_RDONLY), source)
    } catch (error) {
      source?.destroy()
      if (fifo !== undefined) pool.giveBackUnused(fifo)
      throw error
    }
  }

  /** Once the child has its copy of `reader`. */
  begin(): void {
    if (this.source === null) this.#pump()
    else this.#stream(this.source)
  }

  /** Ends the feed whatever is left of it. `treeGone`: nothing can hold an end of the FIFO any more. */
  finish(treeGone: boolean): void {
    this.#over = true
    this.#visits?.end()
    this.source?.destroy()
    if (this.source === null) this.#move(this.#fed - this.#untaken() - this.#moved)
    this.#target.destroy()
    closeSync(this.fifo.reader)
    this.pool.giveBack(this.fifo.path, treeGone ? 'drained' : 'held')
  }

  /** One block under way at a time: the FIFO is the only buffer, and a child that does not read is not read for. */
  #pump(): void {
    read(this.fd, this.#buffer, 0, BLOCK_BYTES, this.#position, (error, count) => {
      if (this.#over) return
      if (error !== null) return this.#broken(error)
      if (count === 0) return void this.#target.end()
      this.#position += count
      this.#fed += count
      this.#target.write(this.#buffer.subarray(0, count), failed => {
        if (!failed && !this.#over) this.#follow()
      })
    })
  }

  /** Moves the offset on by a block where the feed is far ahead of it, then goes on. */
  #follow(): void {
    if (this.#fed - this.#moved <= BEHIND_BYTES) {
      this.#pump()
      return
    }
    read(this.fd, this.#buffer, 0, BLOCK_BYTES, null, (error, count) => {
      if (this.#over) return
      if (error !== null) return this.#broken(error)
      // A file that was cut short meanwhile has nothing to be moved over.
      this.#moved += count === 0 ? this.#fed - this.#moved : count
      this.#pump()
    })
  }

  #stream(source: Socket): void {
    source.once('error', error => this.#broken(error))
    // Not pipe(): it looks at process.stdout, which makes a pipe there non-blocking for the command as well.
    source.on('data', bytes => {
      if (!this.#target.write(bytes)) source.pause()
    })
    this.#target.on('drain', () => source.resume())
    source.once('end', () => this.#target.end())
    source.resume()
  }

  #broken(error: Error): void {
    this.failed ??= errnoOf(error) ?? 'EIO'
    this.#target.end()
  }

  /** Bytes that were handed on and that no reader took: those in the FIFO and those that had no room in it. */
  #untaken(): number {
    const { _handle: handle } = this.#target as unknown as {
      readonly _handle: { readonly writeQueueSize: number } | null
    }
    let bytes = handle?.writeQueueSize ?? 0
    for (;;) {
      try {
        const count = readSync(this.fifo.reader, this.#buffer)
        if (count === 0) return bytes
        bytes += count
      } catch (error) {
        if (errnoOf(error) === 'EAGAIN') return bytes
        throw error
      }
    }
  }

  /** Reading is the one way that Node has to move an offset. */
  #move(bytes: number): void {
    for (let left = bytes; left > 0; ) {
      const count = readSync(this.fd, this.#buffer, 0, Math.min(left, BLOCK_BYTES), null)
      if (count === 0) return
      left -= count
    }
  }
}

/** Nothing is read before somebody is there to take it. */
const AT_REST = { readable: true, writable: false, pauseOnCreate: true } as const satisfies SocketConstructorOpts & {
  readonly pauseOnCreate: boolean
}

/** Node opens pipes and stream sockets by their number and nothing else (net.Socket, ERR_INVALID_FD_TYPE). */
function sourceOf(fd: number): Socket {
  try {
    return new Socket({ fd, ...AT_REST })
  } catch (error) {
    if ((error as { code?: unknown } | null)?.code !== 'ERR_INVALID_FD_TYPE') throw error
    throw new Refusal(
      'file-unreadable',
      { path: `/dev/fd/${fd}`, errno: 'ESOCKTNOSUPPORT' },
      `descriptor ${fd} is a socket of messages (datagram, seqpacket), which a command cannot read as its input; nothing was run: give it a pipe, a file or a stream socket`,
      { cause: error },
    )
  }
}
