/**
 * One run at a time continues a session. The lock is a file beside it, `{pid, start_time, boot_id}`; whoever holds it is
 * asked of the kernel each time, so a run that was killed holds nothing, and nobody waits for it.
 *
 * The file appears whole: it is written under a name of its own and linked in place, which like O_EXCL has one winner
 * (link(2)). A lock whose holder is gone is replaced only by who holds the right to do so, `<lock>.take`, which is a lock of
 * the same kind: of any number of takers one replaces it, and a taker that is killed holds up nobody.
 */
import { closeSync, writeSync } from 'node:fs'
import { Refusal } from '../errors.js'
import { isJsonObject } from '../json.js'
import { shown } from '../paths/walk.js'
import { randomHex } from '../random.js'
import { leftOverHost } from '../supervise/left-overs.js'
import { isAlive, ownStartTime, processState, signalled } from '../supervise/processes.js'
import { type SessionFolder, unusable } from './folder.js'
import { parseLine } from './read.js'

/** What a lock needs of the machine; tests give their own. */
export interface LockHost {
  readonly pid: number
  /** Of this process. */
  startTime(): string
  /** Null where it cannot be told. */
  bootId(): string | null
  pidNamespace(): string | null
  /** Whether the process that had this pid and start time is still at work; a zombie is not. */
  lives(pid: number, startTime: string): boolean
}

export const lockHost: LockHost = {
  pid: process.pid,
  startTime: ownStartTime,
  bootId: () => leftOverHost.bootId(),
  pidNamespace: () => leftOverHost.pidNamespace(),
  lives(pid, startTime) {
    if (process.platform !== 'linux') return signalled(pid, 0)
    const state = processState(pid)
    return state !== null && state.startTime === startTime && isAlive(state)
  },
}

interface LockLine {
  readonly pid: number
  readonly start_time: string
  /** Null where the system does not tell it. */
  readonly boot_id: string | null
  /** Of Linux: pids of another namespace say nothing here. */
  readonly pid_namespace: string | null
  /** Tells two locks of one process apart. */
  readonly nonce: string
}

export interface SessionLock {
  /** Gives it back. Calling it again does nothing. */
  release(): void
}

/** A taker that is killed leaves one level; more than a few have been killed by hand. */
const DEPTH_MAX = 4
/** Times that a lock was given back between being seen and being read. */
const TRIES_MAX = 16
const LOCK_BYTES_MAX = 4_096

/** What a lock is over, and what works while another process holds it. */
const LOCKED = {
  session: (id: string) => `wait for its end, or go on from a copy: harness sessions fork ${id}`,
  flow: () => 'wait for its end, or end it',
} as const

/** Takes `<id>.lock`. Refuses `session-unusable` with who holds it. Throws the system's error. */
export function takeLock(
  folder: SessionFolder,
  id: string,
  host: LockHost = lockHost,
  over: keyof typeof LOCKED = 'session',
): SessionLock | Refusal {
  return take({ folder, id, host, over }, `${id}.lock`, 0)
}

interface Taker {
  readonly folder: SessionFolder
  readonly id: string
  readonly host: LockHost
  readonly over: keyof typeof LOCKED
}

function take(taker: Taker, name: string, depth: number): SessionLock | Refusal {
  const { folder, host } = taker
  const nonce = randomHex(8)
  const text = JSON.stringify(lockLine(host, nonce))
  const own = `${name}.${host.pid}-${nonce}`
  writeWhole(folder, own, text)
  try {
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      if (folder.link(own, name)) return held(folder, name, text)
      const found = readLock(folder, name)
      if (found instanceof Refusal) return found
      if (found === null) continue
      const refused = judge(taker, name, found)
      if (refused !== null) return refused
      const replaced = replace(taker, { name, own, found, depth })
      if (replaced instanceof Refusal) return replaced
      if (replaced) return held(folder, name, text)
    }
    return unusable(folder.pathOf(name), 'is taken and given back all the time: try again')
  } finally {
    folder.remove(own)
  }
}

interface Replacement {
  readonly name: string
  readonly own: string
  /** The text of the lock whose holder is gone. */
  readonly found: string
  readonly depth: number
}

/** False: somebody else was first, and the lock has to be looked at again. */
function replace(taker: Taker, { name, own, found, depth }: Replacement): boolean | Refusal {
  if (depth === DEPTH_MAX) return unusable(taker.folder.pathOf(name), 'is left of a run that was killed: remove it')
  const right = take(taker, `${name}.take`, depth + 1)
  if (right instanceof Refusal) return right
  try {
    // While we hold the right nobody else replaces it, and a holder that is gone does not remove it.
    if (readLock(taker.folder, name) !== found) return false
    taker.folder.rename(own, name)
    return true
  } finally {
    right.release()
  }
}

function lockLine(host: LockHost, nonce: string): LockLine {
  return {
    pid: host.pid,
    start_time: host.startTime(),
    boot_id: host.bootId(),
    pid_namespace: host.pidNamespace(),
    nonce,
  }
}

function writeWhole(folder: SessionFolder, name: string, text: string): void {
  const fd = folder.create(name)
  let written = false
  try {
    const bytes = Buffer.from(text)
    if (writeSync(fd, bytes) !== bytes.length)
      throw Object.assign(new Error('the lock was cut short'), { code: 'ENOSPC' })
    written = true
  } finally {
    closeSync(fd)
    if (!written) folder.remove(name)
  }
}

function readLock(folder: SessionFolder, name: string): string | Refusal | null {
  const bytes = folder.read(name, LOCK_BYTES_MAX)
  return bytes === null || bytes instanceof Refusal ? bytes : bytes.toString('latin1')
}

function held(folder: SessionFolder, name: string, text: string): SessionLock {
  let given = false
  return {
    release() {
      if (given) return
      given = true
      if (readLock(folder, name) === text) folder.remove(name)
    },
  }
}

/** Null: its holder is gone. Unknown is not gone. */
function judge({ folder, id, host, over }: Taker, name: string, text: string): Refusal | null {
  // Written before it was linked, so a file without text has lost it with the machine's power.
  if (/^\0*$/.test(text)) return null
  const path = folder.pathOf(name)
  const busy = (why: string): Refusal =>
    new Refusal('session-unusable', { path, why }, `${over} ${id} is in use: ${why}; ${LOCKED[over](id)}`)
  const line = parseLine(Buffer.from(text, 'latin1'))
  const remove = `if no run uses it, remove ${shown(path)}`
  if (!isLock(line)) return busy(`its lock says nothing that can be understood; ${remove}`)
  const boot = host.bootId()
  if (boot !== null && line.boot_id !== null && boot !== line.boot_id) return null
  if (line.pid_namespace !== null && line.pid_namespace !== host.pidNamespace())
    return busy(`pid ${line.pid} of another pid namespace (a container) holds it; ${remove}`)
  if (!host.lives(line.pid, line.start_time)) return null
  return busy(`pid ${line.pid} is continuing it`)
}

function isLock(value: unknown): value is LockLine {
  if (!isJsonObject(value)) return false
  const { pid, start_time, boot_id, pid_namespace } = value
  return (
    Number.isInteger(pid) &&
    (pid as number) > 0 &&
    typeof start_time === 'string' &&
    (boot_id === null || typeof boot_id === 'string') &&
    (pid_namespace === null || typeof pid_namespace === 'string')
  )
}
