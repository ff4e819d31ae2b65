/**
 * Sockets of the host that a policy would show. A path socket reaches whoever listens on it whatever the network
 * namespaces are (unix(7)), so each one that stands in a readable place is covered like a hidden file (decisions 31).
 *
 * Not found are listeners of another network namespace, and names bound relative to a folder that no rule names. What is
 * bound after the start of a launch is not covered in it.
 */
import { Refusal } from '../errors.js'
import type { Gap } from '../outcome.js'
import { isWithin, join, land } from '../paths/resolve.js'
import { byPath } from './policy-reach.js'
import { ancestorsIn } from './self-binds.js'
import type { HostFacts, LandedRule, Policy } from './types.js'

/** Where services keep their sockets: landed only where a rule opens such a place, because hosts have hundreds there. */
const SERVICE_PLACES = ['/run', '/var/run'] as const

/** The source of a cover over a socket. */
export const HOST_SOCKET = 'default: a socket of the host'

const UNLISTED: Gap = {
  guarantee: 'no-network',
  why: 'the sockets of the host cannot be listed here, so a listener inside a read or write grant is not covered',
}

/**
 * The policy with every socket of the host that it would show among its hides; `policy` itself where there is none. Where
 * they cannot be listed that is a reservation.
 */
export function hideHostSockets(policy: Policy, { boundSockets, systemRoots }: HostFacts): Policy {
  if (boundSockets === null) return { ...policy, reservations: [...policy.reservations, UNLISTED] }
  const opened = [policy.workspace, ...policy.reads, ...policy.writes].map(({ path }) => path)
  const open = [...opened, ...systemRoots.flatMap(root => (root.kind === 'folder' ? [root.path] : []))]
  const found = new Map<string, LandedRule>()
  for (const name of boundSockets) {
    for (const path of name.startsWith('/') ? [name] : opened.map(folder => join(folder, [name]))) {
      if (isElsewhere(path, open)) continue
      const rule = socketAt(path)
      if (rule !== null && isShown(rule.path, open, policy)) found.set(rule.path, rule)
    }
  }
  return found.size === 0 ? policy : covered(policy, [...found.values()])
}

/** A folder renamed in a write grant would take its listener out of the next launch's cover, so it is bound on itself. */
function covered(policy: Policy, sockets: readonly LandedRule[]): Policy {
  const selfBinds = new Set([...policy.selfBinds, ...ancestorsIn(policy.writes, sockets)])
  return {
    ...policy,
    hides: [...policy.hides, ...sockets].sort(byPath),
    selfBinds: [...selfBinds].sort((a, b) => byPath({ path: a }, { path: b })),
  }
}

function isElsewhere(path: string, open: readonly string[]): boolean {
  const place = SERVICE_PLACES.find(folder => isWithin(path, folder))
  return place !== undefined && !open.some(folder => isWithin(folder, '/run') || isWithin('/run', folder))
}

/** What the kernel lists may be gone, or may be a name of another mount namespace: then there is nothing to cover. */
function socketAt(path: string): LandedRule | null {
  const landing = land(path, { cwd: '/' })
  if (landing instanceof Refusal || !landing.exists || landing.type !== 'socket') return null
  return { path: landing.landed, source: HOST_SOCKET, identity: landing.identity, type: 'file' }
}

/** One that `--allow-socket` names stays open. */
function isShown(path: string, open: readonly string[], { hides, sockets }: Policy): boolean {
  if (sockets.some(rule => rule.path === path)) return false
  return open.some(folder => isWithin(path, folder)) && !hides.some(rule => isWithin(path, rule.path))
}
