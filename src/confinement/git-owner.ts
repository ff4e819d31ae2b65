/**
 * Git refuses to work in a repository that belongs to somebody else, because it would run what its settings name (git-config(1),
 * safe.directory; case B17). Inside a boundary that is what the boundary is for, so git is told there to use it, by the
 * environment of that launch alone: nothing is written to anybody's settings.
 */
import { lstatSync } from 'node:fs'
import { errnoOf } from '../errors.js'

/** The first owner of `places` that is not `uid`, the user inside; null: all of them belong to that one, or are not there. */
export function otherOwner(places: readonly string[], uid: number): number | null {
  return places.map(ownerOf).find(owner => owner !== null && owner !== uid) ?? null
}

function ownerOf(path: string): number | null {
  try {
    return lstatSync(path).uid
  } catch (error) {
    if (errnoOf(error) === undefined) throw error
    return null
  }
}

/**
 * Variables for git inside (git(1), GIT_CONFIG_COUNT; git has obeyed safe.directory from there since 2.38). None where no other owner is, and
 * where the operator counts settings of his own.
 */
export function ownerEnv(
  owner: number | null,
  extra: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  if (owner === null || extra.GIT_CONFIG_COUNT !== undefined) return {}
  return { GIT_CONFIG_COUNT: '1', GIT_CONFIG_KEY_0: 'safe.directory', GIT_CONFIG_VALUE_0: '*' }
}
