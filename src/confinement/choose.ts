/** Which boundaries to try, in order. Nothing is ever tried that the operator did not ask for, and never none. */
import { Refusal } from '../errors.js'
import type { BoundaryName } from '../outcome.js'
import { neither } from './ladder.js'
import { landlockProblem } from './landlock-plan.js'
import { withLandlock } from './landlock-start.js'
import { seatbeltProblem } from './seatbelt-plan.js'
import type { ConfineChoice, HostFacts } from './types.js'

const KNOWN: readonly BoundaryName[] = ['bubblewrap', 'bubblewrap-hostproc', 'landlock', 'seatbelt', 'container']

/** Boundaries that stand, by platform; the strongest first. */
const BUILT: Readonly<Record<HostFacts['platform'], readonly BoundaryName[]>> = {
  linux: ['bubblewrap', 'bubblewrap-hostproc', 'landlock'],
  darwin: ['seatbelt'],
  other: [],
}

/** Of Linux, chosen by their names whatever else is there; `container` in no other way. */
const BY_NAME: ReadonlySet<ConfineChoice> = new Set(['landlock', 'container'])

/** What a refusal may advise: boundaries that stand somewhere. */
const ADVISED: readonly BoundaryName[] = [...Object.values(BUILT).flat(), 'container']

/**
 * The boundaries to try, strongest first; at least one. Refuses `confinement-off` for `off`, `boundary-unknown` for a
 * name that is none, `boundary-unavailable` where this machine has none.
 */
export function chooseBoundary(choice: ConfineChoice, facts: HostFacts): readonly BoundaryName[] | Refusal {
  if (choice === 'off') {
    return new Refusal('confinement-off', {}, 'nothing is started without a boundary: add --confine auto')
  }
  const built = BUILT[facts.platform]
  if (choice === 'native' || choice === 'auto') {
    const names = choice === 'native' ? built.slice(0, 1) : built
    if (names.length === 0) return unavailable(facts)
    const problem = problemOf(facts)
    if (choice === 'native' || facts.platform !== 'linux' || problem === null) return problem ?? names
    return landlockAlone(facts, problem)
  }
  if (!KNOWN.includes(choice)) {
    const text = `there is no boundary named ${JSON.stringify(choice)}: use off, native, auto, ${ADVISED.join(', ')}`
    return new Refusal('boundary-unknown', { name: choice, known: ADVISED }, text)
  }
  // Whether there is Landlock is told by a plan for it, which everything but the choice of a name leads to.
  if (BY_NAME.has(choice) && facts.platform === 'linux') return [choice]
  if (built.includes(choice)) return problemOf(facts) ?? [choice]
  if (choice === 'seatbelt') return seatbeltProblem(facts) ?? [choice]
  return unavailable(facts, choice)
}

function unavailable({ platform }: HostFacts, boundary: string = 'auto'): Refusal {
  const [text, fix] =
    platform === 'darwin'
      ? [`the boundary ${boundary} is not one of macOS; nothing was run`, 'use --confine auto, which is seatbelt there']
      : [
          'no boundary is built for this platform; nothing was run',
          'run on Linux with bubblewrap, on macOS, or in a Linux container or virtual machine',
        ]
  return new Refusal('boundary-unavailable', { boundary, probe: 'platform', text, fix }, `${text}: ${fix}`)
}

/** What the boundaries of this platform need of the machine, or null. */
function problemOf(facts: HostFacts): Refusal<'boundary-unavailable'> | null {
  return facts.platform === 'darwin' ? seatbeltProblem(facts) : bwrapProblem(facts)
}

/** What both bubblewrap boundaries need of the machine, or null. */
function bwrapProblem({ bwrap, installHint: fix }: HostFacts): Refusal<'boundary-unavailable'> | null {
  if (bwrap !== null) return null
  const text = 'bubblewrap (bwrap) is not installed in a folder that only root can change; nothing was run'
  return new Refusal(
    'boundary-unavailable',
    { boundary: 'bubblewrap', probe: 'find bwrap', text, fix },
    `${text}: ${fix}`,
  )
}

/** Without bubblewrap there is one rung left, where the kernel has it or has not been asked. */
function landlockAlone(facts: HostFacts, problem: Refusal<'boundary-unavailable'>): readonly BoundaryName[] | Refusal {
  const refused = facts.landlock === undefined ? null : landlockProblem(facts)
  return refused === null ? ['landlock'] : neither(problem, 'landlock', refused)
}

/** The facts with what `choice` has to know before one is chosen; asking costs a process, so only where it may come to Landlock at once. */
export async function factsForChoice(choice: ConfineChoice, facts: HostFacts): Promise<HostFacts> {
  const atOnce = BY_NAME.has(choice) || (choice === 'auto' && facts.bwrap === null)
  return atOnce && facts.platform === 'linux' ? await withLandlock(facts) : facts
}
