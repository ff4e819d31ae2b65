/**
 * `--read-host`: the whole of the host as read rules, one for each entry of the filesystem's top, so that everything that is
 * true of a read rule is true of it: what hides a place wins, secrets are covered, sockets masked, and the file tools read the same.
 */
import { Refusal } from '../errors.js'
import type { Gap } from '../outcome.js'
import { isWithin, land } from '../paths/resolve.js'
import { readAccounts } from './host-facts.js'
import { hostTree } from './host-secrets.js'
import { HOME_INSIDE } from './inside-env.js'
import type { AskedHides } from './policy-hides.js'
import type { ReadRequest } from './policy-reach.js'
import type { HostFacts } from './types.js'

const SOURCE = '--read-host'

/** What is hidden whole is not read in the first place; the rest is for the covers. */
export function hostReads({ rules, absent }: AskedHides): {
  readonly asked: readonly ReadRequest[]
  readonly reservations: readonly Gap[]
} {
  const { paths, unlisted } = hostTree(HOME_INSIDE)
  const hidden = [...rules, ...absent.filter(({ glob }) => glob === undefined)]
  const asked = paths.filter(path => isThere(path) && !hidden.some(rule => isWithin(path, rule.path)))
  const unknown = [...unlisted, ...readAccounts().unlisted]
  const why = `${SOURCE}: all that this user may read of the host is shown, but for secrets of known names at known places; of their copies and hard links nothing is known`
  return {
    asked: asked.map(path => ({ path, source: SOURCE })),
    reservations: [
      { guarantee: 'reads-limited', why: [why, ...unknown].join('; ') },
      {
        guarantee: 'no-network',
        why: `${SOURCE}: a unix socket that another network namespace listens on is in no list and is not covered`,
      },
    ],
  }
}

function isThere(path: string): boolean {
  const landing = land(path, { cwd: '/' })
  return !(landing instanceof Refusal) && landing.exists
}

/** Every home folder of the user database and of /home, landed, with those of this user. */
export function everyHome({ homes }: Pick<HostFacts, 'homes'>): readonly string[] {
  return [...new Set([...homes, ...readAccounts().homes])]
}
