/**
 * A launch in the boundary `container`: the container around us, proved, with Landlock stacked on it, so that a command neither
 * reads our environment nor writes what the policy does not grant. The container alone holds none of that against a process of
 * our own user (decisions 33). Proved anew for each launch, because a socket can be mounted at any time.
 */
import { Refusal } from '../errors.js'
import type { Gap } from '../outcome.js'
import { containerHolds, containerRefusal, otherUidRefusal, refused } from './container-proof.js'
import { type LandlockRequest, landlockProblem, planLandlock } from './landlock-plan.js'
import { type HostView, hasCapability, readSurroundings, realHost, type Surroundings } from './surroundings.js'
import type { LaunchPlan } from './types.js'

/**
 * Plans one launch. Refuses `boundary-unavailable` where this is no container, where it holds too little to count as one, where
 * commands would share our uid with nothing in between, and for a `--container-uid` that cannot be had; and what `planLandlock`
 * refuses.
 */
export function planContainer(request: LandlockRequest, view: HostView = realHost): LaunchPlan | Refusal {
  const { policy, facts } = request
  const around = readSurroundings(view)
  const uid = policy.containerUid
  const problem =
    containerRefusal(around, view) ??
    (uid === undefined ? null : otherUidRefusal(uid, facts.uid, around)) ??
    withoutLandlock(landlockProblem(facts), uid)
  if (problem !== null) return problem
  const plan = planLandlock(
    uid === undefined ? request : { ...request, policy: { ...policy, owner: { uid, gid: uid } } },
  )
  if (plan instanceof Refusal) return plan
  const gaps = plan.confinement.gaps.map(gap => (isBlind(plan, around) ? blind(gap) : gap))
  const container = containerHolds(around, view, (plan.identity ?? facts).uid)
  return {
    ...plan,
    boundary: 'container',
    confinement: { ...plan.confinement, boundary: 'container', gaps, container },
  }
}

/**
 * Without Landlock nothing keeps a command of our uid from what is ours: the container is one place for both. One of another uid
 * could still read and write whatever the modes of files leave open, which no policy says.
 */
function withoutLandlock(
  landlock: Refusal<'boundary-unavailable'> | null,
  uid: number | undefined,
): Refusal<'boundary-unavailable'> | null {
  if (landlock === null) return null
  const { text, fix } = landlock.details
  const between = 'Landlock is what holds the policy in a container'
  if (uid !== undefined)
    return refused([
      'no-landlock',
      `as uid ${uid} a command may what the modes of files let it: ${text}`,
      `${between}: ${fix}`,
    ])
  const shared = `commands would share the container with us and nothing between: ${text}`
  return refused(['shares-our-uid', shared, `${between}: ${fix}`])
}

/** The mark in the environment of another user's process is for CAP_SYS_PTRACE to read (proc_pid_environ(5)). */
function isBlind({ identity }: LaunchPlan, around: Surroundings): boolean {
  return identity !== null && !hasCapability(around, 'SYS_PTRACE')
}

function blind(gap: Gap): Gap {
  if (gap.guarantee !== 'tree-ends' && gap.guarantee !== 'dies-with-us') return gap
  return {
    ...gap,
    why: `${gap.why}; marks of another user cannot be read here (CAP_SYS_PTRACE), so what leaves its session is not found`,
  }
}
