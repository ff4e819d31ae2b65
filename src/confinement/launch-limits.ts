/** Limits of a policy on one machine: which mechanism binds each, and the options of the hold for those that it sets. */
import type { AppliedLimit, LimitMechanism, LimitName } from '../outcome.js'
import type { HostFacts, LaunchPlan, Policy } from './types.js'

export interface PlannedLimits {
  readonly limits: readonly AppliedLimit[]
  /** Sorted options of the hold (`hold.ts`), spelled as prlimit(1) does. Never `--as`: V8 and Go reserve more than they use. */
  readonly options: readonly string[]
  readonly cgroup: LaunchPlan['cgroup']
}

type Resource = 'cpu' | 'data' | 'fsize' | 'nofile' | 'nproc'

interface ResourceLimit {
  readonly name: LimitName
  readonly resource: Resource
  /** In the unit of setrlimit(2). */
  readonly soft: number
  /** The hold sets whole multiples of this alone (`hold.ts`). */
  readonly step?: number
  /** From the unit of setrlimit(2) to that of {@link LimitName}. */
  readonly scale: number
}

/** `uid` is the one the command runs under outside: setrlimit(2) lets uid 0 pass RLIMIT_NPROC. */
export function planLimits(policy: Policy, facts: HostFacts, uid: number): PlannedLimits {
  const { limits } = policy
  const { v2, v1 } = facts.cgroup
  const grouped = (controller: 'pids' | 'memory'): LimitMechanism | null =>
    v2 !== undefined ? 'cgroup-v2' : v1?.[controller] !== undefined ? 'cgroup-v1' : null
  const [pids, memory] = [grouped('pids'), grouped('memory')]
  const resources: ResourceLimit[] = [
    { name: 'cpu', resource: 'cpu', soft: Math.ceil(limits.cpu / 1_000), scale: 1_000 },
    { name: 'file-size', resource: 'fsize', soft: limits['file-size'], scale: 1, step: 512 },
    { name: 'open-files', resource: 'nofile', soft: limits['open-files'], scale: 1 },
  ]
  if (memory === null) resources.push({ name: 'memory', resource: 'data', soft: limits.memory, scale: 1, step: 1_024 })
  if (pids === null && uid !== 0) resources.push({ name: 'pids', resource: 'nproc', soft: limits.pids, scale: 1 })
  const bound = resources.map(limit => bind(limit, facts.hardLimits))
  const applied: AppliedLimit[] = [
    { name: 'wall', value: limits.wall, mechanism: 'supervisor' },
    { name: 'output', value: limits.output, mechanism: 'supervisor' },
    ...(limits['output-total'] === undefined
      ? []
      : [{ name: 'output-total', value: limits['output-total'], mechanism: 'supervisor' } as const]),
    ...(memory === null ? [] : [{ name: 'memory', value: limits.memory, mechanism: memory } as const]),
    ...(pids === null ? [] : [{ name: 'pids', value: limits.pids, mechanism: pids } as const]),
    ...(pids === null && uid === 0 ? [withheldPids(limits.pids)] : []),
    ...bound.map(({ applied }) => applied),
  ]
  return { limits: applied, options: bound.map(({ option }) => option).sort(), cgroup: cgroupOf(facts) }
}

/** Seconds of CPU time between SIGXCPU, which can be told, and KILL. */
const CPU_TELL_SECONDS = 2

/** A hard limit of ours cannot be raised (setrlimit(2)), so the lower of the two binds, and the record says that one. */
function bind({ name, resource, soft, scale, step = 1 }: ResourceLimit, hardLimits: HostFacts['hardLimits']) {
  const most = hardLimits[resource] ?? Infinity
  const room = resource === 'cpu' ? CPU_TELL_SECONDS : 0
  // Where even the hard limit leaves no room for a signal of its own, it is the limit.
  const asked = Math.min(soft, most > room ? most - room : most)
  // Down to what can be set; but what is asked for is never nothing.
  const value = Math.max(asked - (asked % step), Math.min(step, most))
  const option = resource === 'cpu' ? `--cpu=${value}:${Math.min(value + room, most)}` : `--${resource}=${value}`
  return { option, applied: { name, value: value * scale, mechanism: 'rlimit' as const } }
}

function withheldPids(value: number): AppliedLimit {
  const why =
    'uid 0 passes the rlimit on processes, and no pids controller can be used here: delegate a control group or run as an ordinary user'
  return { name: 'pids', value, mechanism: 'withheld', why }
}

function cgroupOf({ cgroup }: HostFacts): LaunchPlan['cgroup'] {
  if (cgroup.v2 !== undefined) return { v2: cgroup.v2 }
  return cgroup.v1 === undefined ? {} : { v1: cgroup.v1 }
}
