/**
 * From one boundary to the next weaker one: only where the words of a failure mean that the stronger cannot be had on this
 * machine, never where something is short for the moment, because a shortage that passes must not leave a weaker boundary behind.
 * Pure but for the one setting that tells the two apart.
 */
import { readFileSync } from 'node:fs'
import { Refusal } from '../errors.js'
import type { BoundaryName } from '../outcome.js'
import { failurePlace } from './failure-place.js'
import { hostprocDoesWithout, knownFailure, meansNoBubblewrap, type NamespaceRoom } from './known-failures.js'
import type { HostFacts } from './types.js'

/** Of `weaker`, strongest first, what can do without the thing whose lack `text` of a launcher tells; empty: nothing can. */
export function rungsWithout(
  text: string,
  weaker: readonly BoundaryName[],
  room: NamespaceRoom = namespaceRoom(),
): readonly BoundaryName[] {
  if (hostprocDoesWithout(text)) return weaker
  return meansNoBubblewrap(text, room) ? weaker.filter(name => name === 'landlock') : []
}

/**
 * Whether the kernel gives out user namespaces here at all. In one of a sandbox's or an engine's the limits of those around it
 * count too and are not shown (namespaces(7), /proc/sys/user), so there it is the sandbox that has taken them.
 */
function namespaceRoom(): NamespaceRoom {
  try {
    const most = Number(readFileSync('/proc/sys/user/max_user_namespaces', 'utf8'))
    const whole = /^\s*0\s+0\s+4294967295\s*$/.test(readFileSync('/proc/self/uid_map', 'utf8'))
    return most > 0 && whole ? 'some' : 'none'
  } catch {
    return 'unknown'
  }
}

/** A boundary that could not be set up, in the words of its launcher, with the cause and the fix on this machine. */
export function unavailable(
  boundary: string,
  text: string,
  facts: Pick<HostFacts, 'bwrap' | 'installHint'>,
): Refusal<'boundary-unavailable'> {
  const { probe, cause, fix } = knownFailure(text, failurePlace(facts))
  return new Refusal(
    'boundary-unavailable',
    { boundary, probe, text, fix },
    `the boundary ${boundary} could not be set up (${probe}): ${text}; nothing was run; ${cause}: ${fix}`,
  )
}

/** The stronger boundary's refusal, where the weaker one that was to stand in for it refuses too. */
export function neither(
  { details, message }: Refusal<'boundary-unavailable'>,
  weaker: BoundaryName,
  refused: Refusal,
): Refusal<'boundary-unavailable'> {
  const text = `${message}; and the boundary ${weaker} cannot stand in for it: ${refused.message}`
  return new Refusal('boundary-unavailable', details, text, { cause: refused })
}
