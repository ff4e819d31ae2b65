/** Whether the terminal listens to us: only the foreground group may change its modes or read from it (termios(3)). */
import { readFileSync } from 'node:fs'

/** Fields 5 (pgrp) and 8 (tpgid) of /proc/self/stat (proc_pid_stat(5)). Elsewhere an open terminal counts as ours. */
export function inForeground(): boolean {
  if (process.platform !== 'linux') return true
  try {
    const fields = readFileSync('/proc/self/stat', 'latin1')
      .replace(/^.*\) /s, '')
      .split(' ')
    return fields[2] === fields[5]
  } catch {
    return false
  }
}
