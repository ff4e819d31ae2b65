/**
 * What is protected inside a write grant, before and after a launch. A read-only bind follows an inode, so a rename on the
 * host side can detach it, and a name that did not exist could not be covered: looking afterwards catches both (decisions 29).
 */
import { type BigIntStats, lstatSync } from 'node:fs'
import { errnoOf } from '../errors.js'
import { readBounded } from './git-files.js'
import type { Policy } from './types.js'

/** By path: identity, mode, size and times, and the bytes of what is small; or null where nothing is. */
export type ProtectedState = ReadonlyMap<string, string | null>

/** What a launch has done to one protected path. */
export interface Change {
  readonly word: 'appeared' | 'changed' | 'gone'
  readonly path: string
}

/** Files whose bytes are compared too: what changes in the tick of the clock in which it was last changed has the same times. */
const BYTES_COMPARED_MAX = 16 * 1024
/** And so many of them, so that a launch costs the same in every tree. */
const FILES_COMPARED_MAX = 64

/** Empty without anything writable: then nothing there can have been changed by the launch. */
export function protectedState({
  writes,
  gitOpen,
  protects,
  watched,
}: Pick<Policy, 'writes' | 'gitOpen' | 'protects' | 'watched'>): ProtectedState {
  if (writes.length + gitOpen.length === 0) return new Map()
  return statesOf([...protects, ...watched].map(({ path }) => path))
}

function statesOf(paths: Iterable<string>): ProtectedState {
  let compared = 0
  return new Map(
    [...paths].map(path => {
      const stat = statOf(path)
      if (stat === null || typeof stat === 'string') return [path, stat]
      const small = stat.isFile() && stat.size <= BYTES_COMPARED_MAX && ++compared <= FILES_COMPARED_MAX
      return [path, `${signOf(stat)}${small ? ` ${readBounded(path) ?? 'unreadable'}` : ''}`]
    }),
  )
}

function statOf(path: string): BigIntStats | string | null {
  try {
    return lstatSync(path, { bigint: true, throwIfNoEntry: false }) ?? null
  } catch (error) {
    return `unreadable ${errnoOf(error) ?? String(error)}`
  }
}

/** Access time is left out: reading is no change. Change time sees what a restored modification time hides. */
function signOf(stat: BigIntStats): string {
  return [stat.dev, stat.ino, stat.mode, stat.nlink, stat.size, stat.mtimeNs, stat.ctimeNs].join(' ')
}

/** One for each path that is not as it was. */
export function changesSince(before: ProtectedState): Change[] {
  const after = statesOf(before.keys())
  return [...before].flatMap(([path, was]) => {
    const is = after.get(path) ?? null
    if (is === was) return []
    return [{ word: was === null ? 'appeared' : is === null ? 'gone' : 'changed', path } as const]
  })
}
