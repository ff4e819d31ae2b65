/**
 * What `harness doctor` tells, as data that crosses into `--json`: keys are snake_case, and
 * `native-profiles/doctor.schema.json` is made from these types.
 */
import type { BoundaryName, Guarantee, LimitName } from '../../outcome.js'

/** `held`: tried, and it held. `absent`: tried, and it does not hold, or it cannot be had. `unknown`: could not be tried, which is no yes. */
export type CheckStatus = 'held' | 'absent' | 'unknown'

/** One thing that was asked of this machine. */
export interface Check {
  readonly status: CheckStatus
  /** What was asked for: the exit status speaks of these alone. */
  readonly asked: boolean
  /** One sentence: what was seen. */
  readonly why: string
  /** What to change, exactly; null where nothing has to be, or nothing is known. */
  readonly fix: string | null
}

export interface GuaranteeCheck extends Check {
  readonly guarantee: Guarantee
  /** Attempts that were made, each named; empty where none could be. */
  readonly attempts: readonly string[]
}

export interface LimitCheck extends Check {
  readonly limit: LimitName
  /** What binds it here; `withheld`: nothing does. */
  readonly mechanism: string
}

export interface BoundaryCheck extends Check {
  readonly boundary: BoundaryName
}

export interface NamedCheck extends Check {
  readonly name: string
}

/** A kind of machine that this one is. */
export interface SeenEnvironment {
  readonly name: string
  readonly seen: string
  readonly meaning: string
  readonly fix: string | null
}

export interface DoctorReport {
  readonly version: 1
  /** The word of `--confine`. */
  readonly asked: string
  /** The boundary that the attempts were made in; null: none can be had. */
  readonly boundary: BoundaryName | null
  readonly machine: {
    readonly platform: string
    readonly arch: string
    readonly kernel: string
    readonly node: string
    readonly uid: number
    readonly bubblewrap: string | null
    /** 0: none. Null: could not be asked. */
    readonly landlock_abi: number | null
  }
  readonly boundaries: readonly BoundaryCheck[]
  readonly guarantees: readonly GuaranteeCheck[]
  readonly limits: readonly LimitCheck[]
  /** What the flags ask for beside, and what a run would meet. */
  readonly machine_checks: readonly NamedCheck[]
  readonly environments: readonly SeenEnvironment[]
  /** `holds`: everything asked for. `absent`: some of it does not. `unknown`: some could not be checked, the rest holds. */
  readonly verdict: 'holds' | 'absent' | 'unknown'
  readonly duration_ms: number
}

/** The verdict on everything that was asked for. */
export function verdictOf(checks: readonly Check[]): DoctorReport['verdict'] {
  const asked = checks.filter(check => check.asked)
  if (asked.some(({ status }) => status === 'absent')) return 'absent'
  return asked.some(({ status }) => status === 'unknown') ? 'unknown' : 'holds'
}

/** Exit status of the command (decisions 4). */
export const DOCTOR_STATUS = { holds: 0, absent: 2, unknown: 1 } as const
