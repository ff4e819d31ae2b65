/**
 * Ending well on a terminal that was closed. At its exit Node gives each standard stream that was a terminal its first modes back,
 * and aborts where the terminal takes none any more (EIO), with a status that is not ours. A descriptor that is closed is
 * passed over (ResetStdio in node.cc).
 */
import { closeSync } from 'node:fs'

const STANDARD = [0, 1, 2] as const

/** At the exit closes those of the standard streams that were terminals now, and are none then. */
export function outliveTerminal(isTerminal: (fd: number) => boolean): void {
  const terminals = STANDARD.filter(isTerminal)
  if (terminals.length === 0) return
  process.once('exit', () => {
    for (const fd of terminals) if (!isTerminal(fd)) closeQuietly(fd)
  })
}

/** For an exit, where a descriptor may have been closed with its stream. */
export function closeQuietly(fd: number): void {
  try {
    closeSync(fd)
  } catch {
    // closed already
  }
}
