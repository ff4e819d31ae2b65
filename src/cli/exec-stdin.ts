/** What `exec` hands on as stdin: a pipe, socket or file that was given, never the terminal (decisions 23). */
import { fstatSync } from 'node:fs'

/** Descriptor 0 where it carries data for the command; null (/dev/null) for a terminal, a device or a closed stdin. */
export function stdinOf(): { readonly fd: number } | null {
  try {
    const stat = fstatSync(0)
    return stat.isFIFO() || stat.isFile() || stat.isSocket() ? { fd: 0 } : null
  } catch {
    return null
  }
}
