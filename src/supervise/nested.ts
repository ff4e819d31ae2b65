/**
 * A harness that runs inside a tree of ours (`--allow-nesting`, a hook that starts one) has trees of its own. Asked to end, it asks
 * them, once, and gives them a grace; a TERM of ours to what it has started would end a launcher there, and with it a tree without any.
 */
import { GUARD, guardCookie } from './guardian.js'
import { environmentOf } from './processes.js'

/** Whether the value of a process's `HARNESS_GUARD` is that of a harness other than this one; null: it has none, or it cannot be told. */
export function isAnothersMark(mark: string | null): boolean {
  return mark !== null && mark !== guardCookie()
}

/** Whether a harness other than this one has started the process. Linux. */
export function isAnothers(pid: number): boolean {
  const entries = environmentOf(pid)?.split('\0')
  const mark = entries?.find(entry => entry.startsWith(`${GUARD}=`))
  return isAnothersMark(mark?.slice(GUARD.length + 1) ?? null)
}
