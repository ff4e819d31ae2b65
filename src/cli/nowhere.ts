/** Standard streams that lead nowhere without anybody having said so: closed ones, and what cannot be told from them. */
import { fstatSync, type Stats } from 'node:fs'
import { descriptorState } from '../supervise/descriptors.js'

/** A stream whose every byte was lost, in the words of the outcome record. */
export interface Nowhere {
  readonly stream: 'stdout' | 'stderr'
  readonly bytes: number
}

/** /dev/null by its number (Documentation/admin-guide/devices.txt): whatever is done to it has no effect. */
export function isNull(stat: Stats): boolean {
  return process.platform === 'linux' && stat.isCharacterDevice() && stat.rdev === 0x103
}

/**
 * True where what is written to `fd` may be lost without anybody having meant it: /dev/null open for reading and writing.
 * Node opens it so in the place of a standard descriptor that was closed, before anything of ours runs, and some programs
 * do the same for what they do not want; a shell's `> /dev/null` is for writing alone.
 */
export function leadsNowhere(fd: 1 | 2): boolean {
  try {
    return isNull(fstatSync(fd)) && descriptorState(fd).readable
  } catch {
    return false
  }
}

export function nowhereText({ stream, bytes }: Nowhere): string {
  const opened = `/dev/null open for reading and writing, as which a closed one is opened`
  return `${bytes} bytes of ${stream} went nowhere: it is ${opened}`
}
