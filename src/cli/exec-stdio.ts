/**
 * Which of our own streams `exec` hands to the command, and which it only passes bytes on to.
 *
 * A descriptor is more than a stream: through /proc/self/fd its holder opens the file behind it again, with other rights
 * and on the mount it was opened on (proc_pid_fd(5)). So no plain file, terminal, device or socket of ours is ever the
 * command's; their bytes are passed on.
 */
import { fstatSync, readlinkSync, type Stats } from 'node:fs'
import { descriptorState } from '../supervise/descriptors.js'
import { isNull, leadsNowhere } from './nowhere.js'

/** `relay`: the bytes are passed on; `fd`: the descriptor itself is the command's. */
type Relay = { readonly relay: number }
type Handed = { readonly fd: number }

/** Descriptor 0 where it carries data for the command; null (/dev/null) for a terminal, a device or a closed stdin. */
export function stdinOf(): Handed | Relay | null {
  const stat = statOf(0)
  if (stat === null) return null
  if (stat.isFIFO()) return isPipe(0) ? { fd: 0 } : { relay: 0 }
  if (stat.isFile()) return descriptorState(0).readable ? { relay: 0 } : null
  return stat.isSocket() ? { relay: 0 } : null
}

/**
 * Where the command's stdout or stderr goes. A stream that is bounded must be counted, so it is passed on too. Where both
 * lead to one place they are passed on as one, or their lines would mix. What leads nowhere is passed on to be counted.
 */
export function outputOf(fd: 1 | 2, counted: boolean): Handed | Relay {
  const stat = statOf(fd)
  if (leadsNowhere(fd)) return { relay: fd }
  if (stat !== null && !counted && ((stat.isFIFO() && isPipe(fd)) || isNull(stat))) return { fd }
  return { relay: fd === 2 && stat !== null && isSame(stat, statOf(1)) ? 1 : fd }
}

function statOf(fd: number): Stats | null {
  try {
    return fstatSync(fd)
  } catch {
    return null
  }
}

/**
 * A pipe without a name is handed in: opened again, whichever way, it leads to the processes that hold its ends and to
 * nobody else, and whoever wired the command to it has put it among them. What passed its bytes on would read ahead of
 * the command, and a pipe cannot be given back what was read. A FIFO has a name on the host, with readers and writers that
 * were never wired to the command.
 */
function isPipe(fd: number): boolean {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`).startsWith('pipe:[')
  } catch {
    return false
  }
}

function isSame({ dev, ino }: Stats, other: Stats | null): boolean {
  return other !== null && dev === other.dev && ino === other.ino
}
