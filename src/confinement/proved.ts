/** Which boundary has held in this process, per launcher, user and kernel; never kept across processes (decisions 2). */
import { statSync } from 'node:fs'
import type { BoundaryName } from '../outcome.js'
import type { HostFacts } from './types.js'

/** Every boundary that has held, by what it depends on. */
const held = new Map<string, Set<BoundaryName>>()
/** Where a choice of several has come to rest: a boundary that was named by itself must not stand for a stronger one. */
const settled = new Map<string, BoundaryName>()

/** Another launcher at the same path is another program: it is told by device, inode and change time. */
function keyOf({ bwrap, sandboxExec, uid, kernel }: HostFacts): string | null {
  const launcher = bwrap?.path ?? sandboxExec
  if (launcher === undefined) return ['none', uid, kernel].join(' ')
  const stat = statSync(launcher, { bigint: true, throwIfNoEntry: false })
  return stat === undefined ? null : [stat.dev, stat.ino, stat.ctimeNs, uid, kernel].join(' ')
}

/** The one of `names`, a choice in the order of preference, that has held here; null when none has been tried with success. */
export function proved(facts: HostFacts, names: readonly BoundaryName[]): BoundaryName | null {
  const key = keyOf(facts)
  const [first] = names
  if (key === null || first === undefined) return null
  if (held.get(key)?.has(first)) return first
  return settled.get(choiceKey(key, names)) ?? null
}

/** `name` has held; it was come to from `names`. */
export function remember(facts: HostFacts, name: BoundaryName, names: readonly BoundaryName[]): void {
  const key = keyOf(facts)
  if (key === null) return
  held.set(key, new Set([...(held.get(key) ?? []), name]))
  settled.set(choiceKey(key, names), name)
}

function choiceKey(key: string, names: readonly BoundaryName[]): string {
  return [key, ...names].join(' ')
}
