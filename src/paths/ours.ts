/** Whether what a stat describes belongs to this user and shuts others out. */
import type { BigIntStats } from 'node:fs'

/** Mode bits by which group and others could change a thing. */
export const OTHERS_WRITE = 0o022n
/** Mode bits by which group and others could do anything with it. */
export const OTHERS_AT_ALL = 0o077n

/** What is wrong with the owner or the mode; null: it is ours, and nobody else may do what is forbidden. */
export function notOurs({ uid, mode }: Pick<BigIntStats, 'uid' | 'mode'>, forbidden: bigint): string | null {
  const own = BigInt(process.geteuid?.() ?? -1)
  if (uid !== own) return `belongs to uid ${uid} and not to ${own}`
  const open = mode & forbidden
  return open === 0n ? null : `has mode ${(mode & 0o777n).toString(8)}, which lets others in: chmod go-rwx it`
}
