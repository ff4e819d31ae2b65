/** A grant without a boundary would be a promise that nothing keeps: refused, not ignored. Pure. */
import { Refusal } from '../errors.js'
import type { Given } from './given.js'

const NEED_A_BOUNDARY = [
  '--allow-program',
  '--process-write-subtree',
  '--toolchain',
  '--toolchain-spec',
  '--driver',
  '--limit',
  '--env',
  '--cgroup-root',
  '--container-uid',
  '--read-host',
  '--cache',
  '--grant',
  '--protect-strict',
  '--allow-host',
  '--allow-socket',
  '--allow-nesting',
]

/** For a run whose confinement is off. Throws `confinement-off`. */
export function refuseUnheld(given: Given): void {
  const flag = NEED_A_BOUNDARY.find(name => given.has(name))
  if (flag === undefined) return
  const told = given.told(flag)
  const fix =
    told === flag ? 'add --confine auto' : 'say write = true or confine = "auto" in the profile, or add --confine auto'
  throw new Refusal('confinement-off', {}, `${told} needs a boundary: ${fix} (nothing is launched without one)`)
}
