/** What the attempts mean for each guarantee. Pure. */
import type { AppliedConfinement, Guarantee } from '../../outcome.js'
import { ATTEMPTS, callsFor, SEEN_OUTSIDE, type SeenOutside, type Stage } from './attempts.js'
import type { Answer } from './inside-program.js'
import type { GuaranteeCheck } from './report.js'

/** What came of one stage. */
export interface StageResult {
  readonly stage: Stage
  /** What was claimed for this launch. */
  readonly claim: Pick<AppliedConfinement, 'applied' | 'gaps'>
  readonly answers: readonly Answer[]
  /** Why nothing of this stage counts: it could not be launched, or what has to work inside did not. Null: it counts. */
  readonly problem: string | null
}

export interface Observed {
  readonly stages: readonly StageResult[]
  /** What was found on the host, with what was seen. */
  readonly seen: ReadonlyMap<SeenOutside, string>
  /** Observations that could not be made, with the reason. */
  readonly unseen: ReadonlyMap<SeenOutside, string>
  readonly arch: string
}

/** Where each guarantee is tried; those of no attempt are told by what is seen outside alone. */
const STAGE_OF: Readonly<Partial<Record<Guarantee, Stage>>> = {
  'git-read-only': 'granted',
  'control-files-protected': 'granted',
  'not-root-outside': 'granted',
  'tree-ends': 'granted',
  'dies-with-us': 'supervised',
  'no-inherited-descriptors': 'supervised',
}

/** Names of the attempts of one stage that are made where `claimed` is what has to hold. */
export function namesFor(stage: Stage, claimed: readonly Guarantee[]): string[] {
  return Object.entries(ATTEMPTS[stage]).flatMap(([guarantee, names]) =>
    claimed.includes(guarantee as Guarantee) ? names : [],
  )
}

/** The rows of the report, in the order of `order`: what is claimed was asked for, what is not is told with the gap's reason. */
export function judge(observed: Observed, order: readonly Guarantee[]): GuaranteeCheck[] {
  return order.map(guarantee => {
    const stage = STAGE_OF[guarantee] ?? 'closed'
    const claim = observed.stages.find(result => result.stage === stage)?.claim
    const gap = claim?.gaps.find(other => other.guarantee === guarantee)
    if (gap !== undefined || claim?.applied.includes(guarantee) !== true) {
      const why = gap?.why ?? 'this boundary does not claim it'
      return { guarantee, status: 'absent', asked: false, why, fix: FIXES[guarantee] ?? null, attempts: [] }
    }
    return { guarantee, asked: true, ...judged(guarantee, observed) }
  })
}

/** What to change where the boundary claims none of it. */
const FIXES: Readonly<Partial<Record<Guarantee, string>>> = {
  'not-root-outside':
    'run as an ordinary user, or give the workspace to one (chown): its commands then have that user’s uid',
  'pid-isolation': 'the boundary bubblewrap with a /proc of its own holds it',
}

const BROKEN =
  'do not rely on this boundary here: run harness explain for its recipe, and report it with the output of harness doctor --json'

type Verdict = Pick<GuaranteeCheck, 'status' | 'why' | 'fix' | 'attempts'>

function judged(guarantee: Guarantee, { stages, seen, unseen, arch }: Observed): Verdict {
  const answers: Answer[] = []
  for (const { stage, answers: given, problem } of stages) {
    const calls = stage === 'closed' ? callsFor(arch).filter(call => call.guarantee === guarantee) : []
    const names = [...(ATTEMPTS[stage][guarantee] ?? []), ...calls.map(({ name }) => name)]
    for (const name of names) {
      const answer = given.find(other => other.name === name)
      if (answer?.result === 'succeeded' || (answer !== undefined && problem === null)) answers.push(answer)
      else answers.push({ name, result: 'unanswered', detail: problem ?? 'no answer came' })
    }
  }
  for (const [name, of] of Object.entries(SEEN_OUTSIDE) as [SeenOutside, Guarantee][]) {
    if (of !== guarantee) continue
    const found = seen.get(name)
    const missing = unseen.get(name)
    if (found !== undefined) answers.push({ name, result: 'succeeded', detail: found })
    else if (missing !== undefined) answers.push({ name, result: 'unanswered', detail: missing })
    else answers.push({ name, result: 'refused', detail: '' })
  }
  return verdict(answers)
}

function verdict(answers: readonly Answer[]): Verdict {
  const of = (result: Answer['result']) => answers.filter(answer => answer.result === result)
  const told = (some: readonly Answer[]) =>
    some.map(({ name, detail }) => (detail === '' ? name : `${name} (${detail})`)).join(', ')
  const attempts = answers.filter(({ result }) => result !== 'not-here').map(({ name }) => name)
  const [through, open, refused] = [of('succeeded'), of('unanswered'), of('refused')]
  if (through.length > 0) return { status: 'absent', why: `got through: ${told(through)}`, fix: BROKEN, attempts }
  if (open.length > 0) return { status: 'unknown', why: `could not be tried: ${told(open)}`, fix: null, attempts }
  if (refused.length === 0)
    return { status: 'unknown', why: 'there is nothing here to try it with', fix: null, attempts }
  return { status: 'held', why: `${refused.length} tried, none got through`, fix: null, attempts }
}
