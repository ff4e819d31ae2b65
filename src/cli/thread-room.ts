/**
 * Room for the threads that Node starts with its first work on a file, and for what ends a command: without it Node aborts in the
 * middle of things, without a word, where the limit on processes of a user is low.
 */
import { Refusal } from '../errors.js'
import { tasksLeft } from '../supervise/processes.js'

/** Node's own number of threads for files, unless its variable says another (Node cli, UV_THREADPOOL_SIZE), and its most. */
const [THREADS, THREADS_MAX] = [4, 1_024]
/** The guardian and what it starts, a launcher and a command. */
const PROCESSES = 4

/** Throws `over-bound`; `size` is UV_THREADPOOL_SIZE. */
export function refuseWithoutThreads(size: string | undefined, room: ReturnType<typeof tasksLeft> = tasksLeft()): void {
  if (room === null) return
  const threads = Math.min(Math.max(Number.parseInt(size ?? '', 10) || THREADS, 1), THREADS_MAX)
  const needed = threads + PROCESSES
  if (room.left >= needed) return
  const { limit, left } = room
  const text = `this user may have ${limit} processes and threads, of which ${Math.max(left, 0)} are left and ${needed} are needed; nothing was started: raise the limit (ulimit -u), or end some`
  throw new Refusal('over-bound', { name: 'processes', limit, seen: limit - left }, text)
}
