/** The FIFOs of this process: one folder and one pool for all launches, made when the first stream is captured. */
import { rmSync } from 'node:fs'
import { errnoOf, Refusal } from '../errors.js'
import { isWithin } from '../paths/resolve.js'
import { FIFO_MODE, FifoPool } from './fifo-pool.js'
import { PrivateFolder } from './private-folder.js'
import { findProgram } from './program.js'
import { runInSilence, runToEnd } from './spawn.js'

let shared: Promise<Shared> | undefined

/**
 * The pool of this process, made at the first call. Throws `control-file-inside` where its folder would lie in one of
 * `outside` (landed), and `file-unreadable` where no mkfifo(1) can be found.
 */
export async function sharedFifos(outside: readonly string[]): Promise<FifoPool> {
  return (await sharedPlace(outside)).pool
}

/**
 * Begins what {@link sharedFifos} and the first of its FIFOs take, mkfifo(1) above all, and comes back while that is under way.
 * What fails is told by {@link sharedFifos}.
 */
export async function warmFifos(outside: readonly string[]): Promise<void> {
  try {
    const { pool } = await sharedPlace(outside)
    pool.warm()
  } catch (error) {
    if (!(error instanceof Refusal) && errnoOf(error) === undefined) throw error
  }
}

/** The private folder they stand in, for other files of a launch. Throws what {@link sharedFifos} throws. */
export async function sharedFolder(outside: readonly string[]): Promise<PrivateFolder> {
  return (await sharedPlace(outside)).folder
}

interface Shared {
  readonly folder: PrivateFolder
  readonly pool: FifoPool
}

async function sharedPlace(outside: readonly string[]): Promise<Shared> {
  shared ??= makeShared(outside)
  let made: Shared
  try {
    made = await shared
  } catch (error) {
    shared = undefined
    throw error
  }
  const inside = outside.find(folder => isWithin(made.folder.path, folder))
  if (inside === undefined) return made
  throw new Refusal(
    'control-file-inside',
    { folder: inside, file: made.folder.path, what: 'the private folder of the run' },
    `our private folder ${made.folder.path} lies inside ${inside}: set TMPDIR to a folder outside of it`,
  )
}

async function makeShared(outside: readonly string[]): Promise<Shared> {
  const mkfifo = findProgram('mkfifo', MKFIFO_FOLDERS)
  if (typeof mkfifo !== 'string') {
    throw new Refusal(
      'file-unreadable',
      { path: 'mkfifo' },
      `${mkfifo.message}: install coreutils, which output is captured with`,
    )
  }
  const folder = PrivateFolder.make({ outside })
  const pool = new FifoPool(folder, async paths => {
    const words = ['-m', FIFO_MODE, ...paths]
    if ((await runInSilence(mkfifo, words)) === null) return
    // Once more from the start, to be told why it fails.
    for (const path of paths) rmSync(path, { force: true })
    await runToEnd(mkfifo, words)
  })
  return { folder, pool }
}

/** Never the caller's PATH: this program runs outside of any boundary. The last is NixOS's. */
const MKFIFO_FOLDERS = ['/usr/bin', '/bin', '/run/current-system/sw/bin']
