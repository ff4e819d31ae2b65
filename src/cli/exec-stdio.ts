/** Which of our own streams `exec` hands to the command, and which it only passes bytes on to. */
import { fstatSync, type Stats } from 'node:fs'

/** Descriptor 0 where it carries data for the command; null (/dev/null) for a terminal, a device or a closed stdin. */
export function stdinOf(): { readonly fd: number } | null {
  try {
    const stat = fstatSync(0)
    return stat.isFIFO() || stat.isFile() || stat.isSocket() ? { fd: 0 } : null
  } catch {
    return null
  }
}

/**
 * A pipe, file or /dev/null is the command's own, as outside. A terminal is never handed in (whoever holds it can read keys and
 * change its modes), a socket could not be opened again as /dev/stderr, and a stream that is bounded must be counted:
 * their bytes are passed on.
 */
export function outputOf(fd: 1 | 2, counted: boolean): { readonly fd: number } | { readonly relay: number } {
  try {
    const stat = fstatSync(fd)
    return !counted && (stat.isFIFO() || stat.isFile() || isPlainDevice(fd, stat)) ? { fd } : { relay: fd }
  } catch {
    return { relay: fd }
  }
}

function isPlainDevice(fd: number, stat: Stats): boolean {
  return stat.isCharacterDevice() && !process.getBuiltinModule('node:tty').isatty(fd)
}
