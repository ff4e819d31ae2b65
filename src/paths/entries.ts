/** What stands in a folder and at a path, each with its identity, links left as they are. Nothing is followed. */
import { type BigIntStats, lstatSync, readdirSync } from 'node:fs'
import { errnoOf } from '../errors.js'
import { type Identity, identityOf, type PathType, typeOf } from './walk.js'

export interface Entry {
  readonly name: string
  readonly type: PathType
  readonly identity: Identity
}

/**
 * The entries of `folder`, by name; what goes away meanwhile, and what has a name that is no UTF-8, is left out. Of more than
 * `most` none is looked at: the answer is null. Throws the system's error where the folder cannot be listed.
 */
export function readEntries(folder: string, most: number): readonly Entry[] | null {
  const names = readdirSync(folder)
  if (names.length > most) return null
  return names.sort().flatMap(name => {
    const seen = lookAt(folder === '/' ? `/${name}` : `${folder}/${name}`)
    return seen === null ? [] : [{ name, ...seen }]
  })
}

/** What stands at `path` itself; null where nothing does or it cannot be looked at. */
export function lookAt(path: string): Omit<Entry, 'name'> | null {
  let stat: BigIntStats | undefined
  try {
    stat = lstatSync(path, { bigint: true, throwIfNoEntry: false })
  } catch (error) {
    if (errnoOf(error) === undefined) throw error
    return null
  }
  return stat === undefined ? null : { type: typeOf(stat), identity: identityOf(stat) }
}
