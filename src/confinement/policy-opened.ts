/** Places of the host that a policy opens one by one, beside folders to read and write: sockets, and later what is staged. */
import { resolve } from 'node:path'
import { Refusal } from '../errors.js'
import { specialRefusal } from '../paths/folder-checks.js'
import { isWithin } from '../paths/resolve.js'
import { shown } from '../paths/walk.js'
import { byPath, existing } from './policy-reach.js'
import type { LandedRule, Policy } from './types.js'

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
    if (!rules.has(landed))
      rules.set(landed, { path: landed, source: rule, identity, type: 'file', ...spelled(path, landed) })
  }
  return [...rules.values()].sort(byPath)
}

/** A client looks for a socket where it is used to, `/var/run` for one. */
function spelled(path: string, landed: string): Pick<LandedRule, 'links'> {
  const asked = resolve(path)
  return asked === landed ? {} : { links: [asked] }
}

/** Links to make inside: the spelling of a socket that leads over links, where nothing else shows that place. */
export function socketLinks(sockets: Policy['sockets'], visible: readonly string[]): Policy['links'] {
  return sockets.flatMap(({ path, links = [], source }) =>
    links
      .filter(link => !visible.some(place => isWithin(link, place)))
      .map(link => ({ path: link, target: path, source })),
  )
}
