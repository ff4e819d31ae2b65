/** Places of the host that a policy opens one by one, beside folders to read and write: sockets, and what is staged. */
import { lstatSync, readFileSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { DRIVER_BYTES_MAX } from '../bounds.js'
import { sha256Of } from '../digest.js'
import { errnoOf, fixFor, Refusal } from '../errors.js'
import { specialRefusal } from '../paths/folder-checks.js'
import { isWithin, land } from '../paths/resolve.js'
import { shown } from '../paths/walk.js'
import { byPath, existing, isMadeInside, type ReadRequest } from './policy-reach.js'
import type { LandedRule, Policy, StagedRule } from './types.js'

/** `--allow-socket`: throws the codes of landing, and `unsupported-rule` for what is no socket. Each once, sorted. */
export function landSockets(asked: readonly string[]): LandedRule[] {
  const rules = new Map<string, LandedRule>()
  for (const path of [...asked].sort()) {
    const rule = `--allow-socket ${path}`
    const landing = existing(path, process.cwd())
    const { landed, identity, type } = landing
    const special = specialRefusal(landing)
    if (special !== null) throw special
    if (type !== 'socket') {
      const why = `${shown(landed)} is a ${type} and no socket`
      throw new Refusal('unsupported-rule', { rule, why }, `${rule}: ${why}; --read shows files and folders`)
    }
    if (!rules.has(landed)) rules.set(landed, { path: landed, source: rule, identity, type: 'file' })
  }
  return [...rules.values()].sort(byPath)
}

/**
 * Links to make inside: a place that was spelled over links is shown where it lands, and who was told the spelling looks for it there.
 * `shown`: places where what is looked for is found as on the host, links included.
 */
export function spelledLinks(asked: readonly ReadRequest[], shown: readonly string[]): Policy['links'] {
  const links: Policy['links'][number][] = []
  for (const { path, source } of asked.map(each => ({ ...each, path: resolve(each.path) })).sort(byPath)) {
    const landing = land(path, { cwd: '/' })
    if (landing instanceof Refusal || landing.landed === path || isMadeInside(path)) continue
    if ([...shown, ...links.map(link => link.path)].some(place => isWithin(path, place))) continue
    links.push({ path, target: landing.landed, source })
  }
  return links
}

/** Where the driver is inside. */
export const DRIVER_INSIDE = '/toolchain/driver'

/**
 * `--driver`: one plain file, by its content. Throws the codes of landing, `not-a-file`, `too-large`, and `control-file-inside` where a
 * process could change it.
 */
export function landDriver(asked: string | undefined, writes: readonly LandedRule[]): StagedRule | null {
  if (asked === undefined) return null
  const source = `--driver ${asked}`
  const landing = existing(asked, process.cwd())
  const { landed: path, identity, type } = landing
  if (type !== 'file') {
    throw new Refusal('not-a-file', { path, is: type }, `${source}: ${shown(path)} is a ${type}: name one plain file`)
  }
  const grant = writes.find(rule => isWithin(path, rule.path))
  if (grant !== undefined) {
    const what = 'the driver'
    const text = `${source} lies in ${grant.source}, where a process could change it: name a file outside of it`
    throw new Refusal('control-file-inside', { folder: grant.path, file: path, what }, text)
  }
  const bytes = contentOf(path, source)
  const sha256 = sha256Of(bytes)
  return { path, source, identity, type: 'file', inside: DRIVER_INSIDE, sha256, stamp: stampOf(path) }
}

function contentOf(path: string, source: string): Uint8Array {
  try {
    const { size } = statSync(path)
    if (size <= DRIVER_BYTES_MAX) return readFileSync(path)
    const text = `${source}: ${shown(path)} has ${size} bytes, and ${DRIVER_BYTES_MAX} is the limit: show it with --read`
    throw new Refusal('too-large', { path, bytes: size, limit: DRIVER_BYTES_MAX }, text)
  } catch (error) {
    const errno = errnoOf(error)
    if (errno === undefined) throw error
    throw new Refusal(
      'file-unreadable',
      { path, errno },
      `${source}: ${shown(path)} cannot be read (${errno}): ${fixFor(errno, 'read')}`,
    )
  }
}

function stampOf(path: string): string {
  const { dev, ino, size, mtimeNs, ctimeNs } = lstatSync(path, { bigint: true })
  return [dev, ino, size, mtimeNs, ctimeNs].join(' ')
}

/** `changed-while-checked` where what is staged is not what its digest was made of any more; null: it is. */
export function stagedRefusal(staged: Policy['staged']): Refusal | null {
  for (const { path, source, stamp } of staged) {
    let now = ''
    try {
      now = stampOf(path)
    } catch (error) {
      if (errnoOf(error) === undefined) throw error
    }
    if (now === stamp) continue
    const text = `${source}: ${shown(path)} is not what it was when the run began, and its SHA-256 in the record would be of something else: start a new run`
    return new Refusal('changed-while-checked', { path }, text)
  }
  return null
}

/** Links to the installations of `--toolchain`. */
export function toolchainLinks(toolchains: Policy['toolchains']): Policy['links'] {
  return toolchains.map(({ name, root, source }) => ({ path: `/toolchain/${name}`, target: root, source }))
}
