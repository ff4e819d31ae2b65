/**
 * The mounts of a policy in the order in which they must be made. A mount covers everything below its path, so a rule
 * has to come after every rule that encloses it; among rules that do not touch, the stages keep the list readable:
 * reads, hides, write grants, protected paths.
 */
import { isWithin } from '../paths/resolve.js'
import { CACHE_INSIDE } from './cache-folder.js'
import { byPath } from './policy-reach.js'
import type { HostFacts, Mount, MountKind, Policy } from './types.js'

type Item = Pick<Mount, 'kind' | 'path' | 'from'>

const STAGES: Readonly<Record<MountKind, number>> = {
  read: 0,
  'hide-folder': 1,
  'hide-file': 1,
  write: 2,
  self: 3,
  protect: 3,
}

/** At one path the later of these is mounted last, and so is what holds: a denial over a grant. */
const RANKS: readonly MountKind[] = ['read', 'write', 'self', 'protect', 'hide-folder', 'hide-file']

/** A policy is frozen and a run has one, so its order is found once and not at every launch. */
const ordered = new WeakMap<
  Policy,
  { readonly systemRoots: HostFacts['systemRoots']; readonly mounts: readonly Mount[] }
>()

/** Orders the rules and leaves out what another rule, or a system folder, already shows. */
export function orderMounts(policy: Policy, { systemRoots }: Pick<HostFacts, 'systemRoots'>): readonly Mount[] {
  const known = ordered.get(policy)
  if (known?.systemRoots === systemRoots) return known.mounts
  const mounts = order(
    policy,
    systemRoots.flatMap(root => (root.kind === 'folder' ? [root.path] : [])),
  )
  ordered.set(policy, { systemRoots, mounts })
  return mounts
}

function order(policy: Policy, shown: readonly string[]): Mount[] {
  const items = itemsOf(policy)
  const all = byPlace(items)
  const needed = items.filter(item => !isRedundant(item, all, shown))
  const kept = byPlace(needed)
  const staged = needed.map(item => ({ item, stage: stageOf(item, kept) }))
  staged.sort((a, b) => a.stage - b.stage || byPath(a.item, b.item) || rank(a.item) - rank(b.item))
  const above = aboveOpened(needed)
  return staged.map(({ item }) => ({ ...item, holdsOpened: item.kind === 'hide-folder' && above.has(item.path) }))
}

type ByPlace = ReadonlyMap<string, readonly Item[]>

/** Patterns make thousands of rules, so the rules around one are found by the folders above it and not among all. */
function byPlace(items: readonly Item[]): ByPlace {
  const places = new Map<string, Item[]>()
  for (const item of items) {
    const there = places.get(item.path)
    if (there === undefined) places.set(item.path, [item])
    else there.push(item)
  }
  return places
}

/** Rules at `path` and at every folder above it. */
function around(path: string, places: ByPlace): readonly Item[] {
  return [path, ...foldersAbove(path)].flatMap(folder => places.get(folder) ?? [])
}

function foldersAbove(path: string): readonly string[] {
  const folders: string[] = []
  for (let at = path; at !== '/'; ) {
    at = at.slice(0, at.lastIndexOf('/')) || '/'
    folders.push(at)
  }
  return folders
}

function aboveOpened(items: readonly Item[]): ReadonlySet<string> {
  return new Set(items.flatMap(({ kind, path }) => (kind === 'read' || kind === 'write' ? foldersAbove(path) : [])))
}

function itemsOf({ reads, sockets, writes, hides, protects, selfBinds, gitOpen, cache, staged }: Policy): Item[] {
  const of = (kind: MountKind, rules: readonly { readonly path: string }[]): Item[] =>
    rules.map(({ path }) => ({ kind, path }))
  return [
    ...of('read', reads),
    ...of('read', sockets),
    ...hides.map(({ path, type }): Item => ({ kind: type === 'folder' ? 'hide-folder' : 'hide-file', path })),
    ...of('write', writes),
    ...of('write', gitOpen),
    ...selfBinds.map((path): Item => ({ kind: 'self', path })),
    ...of('protect', protects),
    ...(cache === null ? [] : [{ kind: 'write', path: CACHE_INSIDE, from: cache.path } as const]),
    ...staged.map(({ path, inside }): Item => ({ kind: 'read', path: inside, from: path })),
  ]
}

/** A read that something already shows, and a protected path below a hide, which is nowhere to be written. */
function isRedundant(item: Item, places: ByPlace, shown: readonly string[]): boolean {
  if (item.from !== undefined) return false
  const nearest = nearestAround(item, places)
  if (item.kind === 'read') {
    return nearest === null ? shown.some(path => isWithin(item.path, path)) : !isHide(nearest)
  }
  return (item.kind === 'self' || item.kind === 'protect') && nearest !== null && isHide(nearest)
}

/**
 * The innermost other rule that opens or hides a place around `item`; at the same path, the one of the highest rank above
 * its own.
 */
function nearestAround(item: Item, places: ByPlace): Item | null {
  let nearest: Item | null = null
  for (const other of around(item.path, places)) {
    // What stands at another path inside shows nothing of the places outside.
    const decides = other.kind !== 'self' && other.kind !== 'protect' && other.from === undefined
    if (!decides || other === item) continue
    if (other.path === item.path && rank(other) <= rank(item)) continue
    if (nearest === null || closer(other, nearest)) nearest = other
  }
  return nearest
}

/** Both enclose the same path, so one encloses the other: the longer path is the inner one. */
function closer(a: Item, b: Item): boolean {
  return a.path.length > b.path.length || (a.path === b.path && rank(a) > rank(b))
}

function stageOf(item: Item, places: ByPlace): number {
  return Math.max(...around(item.path, places).map(({ kind }) => STAGES[kind]))
}

function isHide({ kind }: Item): boolean {
  return kind === 'hide-folder' || kind === 'hide-file'
}

function rank({ kind }: Item): number {
  return RANKS.indexOf(kind)
}
