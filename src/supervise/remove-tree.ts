/** Removes a folder of ours and all in it, also where what ran there has taken the rights of its own folders away. */
import {
  chmodSync,
  closeSync,
  constants,
  lchmodSync,
  lstatSync,
  openSync,
  readdirSync,
  rmdirSync,
  rmSync,
  unlinkSync,
} from 'node:fs'
import { errnoOf } from '../errors.js'

/** Links are removed, never followed. What is not there is removed. Throws the system's error where something stays. */
export function removeTree(path: string): void {
  if (removedFlat(path)) return
  try {
    rmSync(path, { recursive: true, force: true })
  } catch (error) {
    const errno = errnoOf(error)
    if (errno !== 'EACCES' && errno !== 'EPERM' && errno !== 'ENOTEMPTY') throw error
    openUp(path)
    rmSync(path, { recursive: true, force: true })
  }
}

/** A folder of nothing but files, as most of ours are, goes without what Node has to load for a tree. False: not all of it went. */
function removedFlat(path: string): boolean {
  try {
    if (!lstatSync(path).isDirectory()) return false
    for (const name of readdirSync(path)) unlinkSync(`${path}/${name}`)
    rmdirSync(path)
    return true
  } catch (error) {
    if (errnoOf(error) === undefined) throw error
    return false
  }
}

/** Gives every folder below `top` back to its owner, whatever bytes its name has. What cannot be given back keeps the removal from succeeding, which tells. */
function openUp(top: string): void {
  const queue: Buffer[] = [Buffer.from(top)]
  for (let folder = queue.pop(); folder !== undefined; folder = queue.pop()) {
    try {
      makeOwn(folder)
      const below = readdirSync(folder, { withFileTypes: true, encoding: 'buffer' }).filter(entry =>
        entry.isDirectory(),
      )
      for (const { name } of below) queue.push(Buffer.concat([folder, SLASH, name]))
    } catch (error) {
      if (errnoOf(error) === undefined) throw error
    }
  }
}

/** O_PATH opens what may not be read, and no link in a folder's place (open(2)); elsewhere the call itself follows none. */
function makeOwn(folder: Buffer): void {
  if (process.platform !== 'linux') {
    lchmodSync(folder, 0o700)
    return
  }
  const fd = openSync(folder, O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW)
  try {
    chmodSync(`/proc/self/fd/${fd}`, 0o700)
  } finally {
    closeSync(fd)
  }
}

const O_PATH = 0o10000000
const SLASH = Buffer.from('/')
