/** Which boundary has held in this process, per launcher, user and kernel; never kept across processes (decisions 2). */
import { statSync } from 'node:fs'
import type { BoundaryName } from '../outcome.js'
import type { HostFacts } from './types.js'

const held = new Map<string, BoundaryName>()

/** Another launcher at the same path is another program: it is told by device, inode and change time. */
function keyOf({ bwrap, sandboxExec, uid, kernel }: HostFacts): string | null {
  const launcher = bwrap?.path ?? sandboxExec
  const stat = launcher === undefined ? undefined : statSync(launcher, { bigint: true, throwIfNoEntry: false })
  return stat === undefined ? null : [stat.dev, stat.ino, stat.ctimeNs, uid, kernel].join(' ')
}

/** The one of `names` that has held here; null when none has been tried with success. */
export function proved(facts: HostFacts, names: readonly BoundaryName[]): BoundaryName | null {
  const key = keyOf(facts)
  const name = key === null ? undefined : held.get(key)
  return name !== undefined && names.includes(name) ? name : null
}

export function remember(facts: HostFacts, name: BoundaryName): void {
  const key = keyOf(facts)
  if (key !== null) held.set(key, name)
}
