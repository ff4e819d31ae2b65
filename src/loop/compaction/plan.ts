/**
 * What of a conversation can go when it comes near the size of the model's window (contract §6): first the outputs of the
 * oldest results, then whole turns, for which a summary stands. Pure.
 */
import {
  COMPACT_AT_BYTES,
  COMPACT_AT_SHARE,
  COMPACT_PROTECTED_BYTES_MAX,
  COMPACT_TO_BYTES,
  COMPACT_TO_SHARE,
  FOLD_BYTES_MIN,
} from '../../bounds.js'
import { type Json, jsonBytes } from '../../json.js'
import type { Item } from '../../wires/port.js'

/** Of JSON, where nobody has counted. */
const BYTES_PER_TOKEN = 4

const sizes = new WeakMap<Item, number>()

/** UTF-8 length of an item as JSON. Items do not change, so each is measured once. */
export function itemBytes(item: Item): number {
  const known = sizes.get(item)
  if (known !== undefined) return known
  const bytes = jsonBytes(item)
  sizes.set(item, bytes)
  return bytes
}

export function conversationBytes(items: readonly Item[]): number {
  return items.reduce((sum, item) => sum + itemBytes(item), 0)
}

export interface Window {
  /** Tokens; absent: none is known, and bytes are counted. */
  readonly contextWindow?: number
  /** Input tokens of the last request over this conversation; null: not reported. */
  readonly reported: number | null
}

/**
 * Bytes that the conversation should have at most; null: there is room. The reported tokens count more than the bytes where
 * they are more: then a byte of it stands for that many more tokens.
 */
export function goalOf(items: readonly Item[], { contextWindow, reported }: Window): number | null {
  const bytes = conversationBytes(items)
  if (contextWindow === undefined) return bytes >= COMPACT_AT_BYTES ? COMPACT_TO_BYTES : null
  const occupied = Math.max(bytes / BYTES_PER_TOKEN, reported ?? 0)
  if (occupied < contextWindow * COMPACT_AT_SHARE) return null
  return Math.floor((bytes * contextWindow * COMPACT_TO_SHARE) / occupied)
}

/** Bytes of the newest part that are left alone. */
function protectedBytes(goal: number): number {
  return Math.min(COMPACT_PROTECTED_BYTES_MAX, goal / 2)
}

export interface Elided {
  readonly items: readonly Item[]
  readonly results: number
  /** Taken out, less what stands there now. */
  readonly bytes: number
}

/** Leaves outputs out, oldest first, until `goal` is met. The newest results stay, one of them whatever its size. */
export function elide(items: readonly Item[], goal: number): Elided {
  const out = [...items]
  let over = conversationBytes(items) - goal
  let results = 0
  let bytes = 0
  for (const index of elidable(items, goal)) {
    if (over <= 0) break
    const item = out[index]
    if (item?.kind !== 'tool-result') continue
    const short: Item = { ...item, output: elidedOutput(item.output) }
    const freed = itemBytes(item) - itemBytes(short)
    if (freed <= 0) continue
    out[index] = short
    over -= freed
    bytes += freed
    results += 1
  }
  return { items: out, results, bytes }
}

/** Places of the results that are not among the newest, oldest first. */
function elidable(items: readonly Item[], goal: number): readonly number[] {
  const places = [...items.keys()].filter(index => items[index]?.kind === 'tool-result')
  let left = protectedBytes(goal)
  let kept = 0
  for (const index of [...places].reverse()) {
    const item = items[index]
    left -= item === undefined ? 0 : itemBytes(item)
    if (kept > 0 && left < 0) break
    kept += 1
  }
  return places.slice(0, places.length - kept)
}

function elidedOutput(output: Json): Json {
  return { elided: `${jsonBytes(output)} bytes of an earlier result; call the tool again if they are needed` }
}

/** A word of the user, or an answer of the model with the results of its calls: what is never divided. */
type Group = readonly Item[]

/** In a whole conversation every call has its result before the next answer begins. */
function groupsOf(items: readonly Item[]): readonly Group[] {
  const groups: Item[][] = []
  let before: Item['kind'] | null = null
  for (const item of items) {
    const goesOn = item.kind === 'tool-result' || (before !== 'tool-result' && before !== 'user-text')
    const last = item.kind === 'user-text' || !goesOn ? undefined : groups.at(-1)
    if (last === undefined) groups.push([item])
    else last.push(item)
    before = item.kind
  }
  return groups
}

export interface Fold {
  /** What the summary is to stand for, in order. */
  readonly folded: readonly Item[]
  readonly bytes: number
  /** The conversation with `summary` in their place. */
  with(summary: Item): readonly Item[]
}

/**
 * What can be folded into one summary; null: too little to be worth a request. The first item is the task, the last word of
 * the user is what is being answered, and the newest turns are at work: they stay. So does an answer that holds opaque
 * items, whole: an endpoint refuses reasoning without the call that it led to.
 */
export function foldOf(items: readonly Item[], goal: number): Fold | null {
  const [first, ...groups] = groupsOf(items)
  if (first === undefined) return null
  const tail = tailOf(groups, goal)
  const lastWord = groups.findLast(isWord)
  const stays = (group: Group): boolean => group === lastWord || group.some(({ kind }) => kind === 'opaque')
  const old = groups.slice(0, groups.length - tail)
  const folded = old.filter(group => !stays(group)).flat()
  const bytes = conversationBytes(folded)
  if (bytes < FOLD_BYTES_MIN) return null
  const kept = [...old.filter(stays), ...groups.slice(groups.length - tail)].flat()
  return { folded, bytes, with: summary => [...first, summary, ...kept] }
}

function isWord([item]: Group): boolean {
  return item?.kind === 'user-text'
}

/** How many groups at the end stay; one at least. */
function tailOf(groups: readonly Group[], goal: number): number {
  let left = protectedBytes(goal)
  let kept = 0
  for (const group of [...groups].reverse()) {
    left -= conversationBytes(group)
    if (kept > 0 && left < 0) break
    kept += 1
  }
  return kept
}
