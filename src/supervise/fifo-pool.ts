/**
 * FIFOs for the output of children. Node's own pipes are sockets, which cannot be opened again through /dev/stderr and
 * cost twice as much to read (decisions 17); Node can make no FIFO itself, so mkfifo(1) makes them, many in one call.
 *
 * A FIFO is used again only after its reader saw end-of-file *and* the launch's tree was proved gone: until then a
 * descendant could hold an end of it and meet the next launch's output.
 */
import { chmodSync, closeSync, constants, openSync, rmSync } from 'node:fs'
import type { PrivateFolder } from './private-folder.js'

/** Made in one call: at first what one command needs, which is all that most programs start, then enough for several at a time. */
const BATCHES = { first: 4, later: 16 } as const

/** Writable for a child of another uid that opens /dev/stderr; the folder around it lets nobody else in. */
export const FIFO_MODE = '0666'

export interface OpenFifo {
  readonly path: string
  /** For us. Non-blocking. */
  readonly reader: number
  /** For the child; to be closed by us once it has its copy. */
  readonly writer: number
}

/** Makes FIFOs of {@link FIFO_MODE} at `paths`. */
export type MakeFifos = (paths: readonly string[]) => Promise<void>

export class FifoPool {
  readonly #free: string[] = []
  #making: Promise<void> | undefined
  #batch: keyof typeof BATCHES = 'first'

  constructor(
    private readonly folder: PrivateFolder,
    private readonly make: MakeFifos,
  ) {}

  /** Begins to make some where none is left, for a launch that is about to be planned; what fails is told to who takes one. */
  warm(): void {
    if (this.#free.length === 0) this.#refill().catch(() => undefined)
  }

  async take(): Promise<OpenFifo> {
    let path = this.#free.pop()
    while (path === undefined) {
      await this.#refill()
      path = this.#free.pop()
    }
    // The reader first: opening for writing waits for one, and non-blocking reading does not wait for a writer (fifo(7)).
    let reader: number | undefined
    try {
      reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
      return { path, reader, writer: openSync(path, constants.O_WRONLY) }
    } catch (error) {
      if (reader !== undefined) closeSync(reader)
      this.#free.push(path)
      throw error
    }
  }

  /** Closes both ends of one that no child was given. */
  giveBackUnused({ path, reader, writer }: OpenFifo): void {
    closeSync(reader)
    closeSync(writer)
    this.#free.push(path)
  }

  /** `drained`: end-of-file was seen and the tree is gone. Anything else and the FIFO is removed. */
  giveBack(path: string, how: 'drained' | 'held'): void {
    if (how === 'drained' && asNew(path)) this.#free.push(path)
    else rmSync(path, { force: true })
  }

  /** Callers that find the pool empty at the same time wait for one call. */
  #refill(): Promise<void> {
    this.#making ??= this.#makeBatch().finally(() => {
      this.#making = undefined
    })
    return this.#making
  }

  async #makeBatch(): Promise<void> {
    const paths = Array.from({ length: BATCHES[this.#batch] }, () => this.folder.fresh('fifo'))
    this.#batch = 'later'
    await this.make(paths)
    this.#free.push(...paths)
  }
}

/** A child of our own uid may have changed the mode through its descriptor; the next launch must be able to open it. */
function asNew(path: string): boolean {
  try {
    chmodSync(path, FIFO_MODE)
    return true
  } catch {
    return false
  }
}
