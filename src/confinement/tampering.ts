/**
 * What is protected inside a write grant, before and after a launch. A read-only bind follows an inode, so a rename on the
 * host side can detach it, and a name that did not exist could not be covered: looking afterwards catches both (decisions 29).
 */
import { type BigIntStats, lstatSync } from 'node:fs'
import { errnoOf } from '../errors.js'
import type { Policy } from './types.js'

/** By path: identity, mode, size and times, or null where nothing is. */
export type ProtectedState = ReadonlyMap<string, string | null>

/** Empty without write grants: then nothing there can have been changed by the launch. */
export function protectedState({
  writes,
  protects,
  watched,
}: Pick<Policy, 'writes' | 'protects' | 'watched'>): ProtectedState {
  if (writes.length === 0) return new Map()
  return new Map([...protects, ...watched].map(({ path }) => [path, lookAt(path)]))
}

function lookAt(path: string): string | null {
  let stat: BigIntStats | undefined
  try {
    stat = lstatSync(path, { bigint: true, throwIfNoEntry: false })
  } catch (error) {
    return `unreadable ${errnoOf(error) ?? String(error)}`
  }
  if (stat === undefined) return null
  // Access time is left out: reading is no change. Change time sees what a restored modification time hides.
  return [stat.dev, stat.ino, stat.mode, stat.nlink, stat.size, stat.mtimeNs, stat.ctimeNs].join(' ')
}

/** One line for each path that is not as it was: `appeared: P`, `changed: P`, `gone: P`. */
export function tampered(before: ProtectedState): string[] {
  return [...before].flatMap(([path, was]) => {
    const is = lookAt(path)
    if (is === was) return []
    return [`${was === null ? 'appeared' : is === null ? 'gone' : 'changed'}: ${path}`]
  })
}
