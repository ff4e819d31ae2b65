/** A plan under Landlock in words and as data: what its ruleset opens, and the calls its launcher makes. Pure. */
import { callLines } from './call-list.js'
import { landlockCalls } from './landlock-calls.js'
import { LANDLOCK_STAND_IN } from './landlock-plan.js'
import { handledRights, rightNames, SCOPES_SINCE, TCP_SINCE } from './landlock-rights.js'
import type { LandlockPlan, LandlockRule, LaunchPlan } from './types.js'

/** The private folder is a stand-in until a launch makes one, and so are its numbers. */
const PRIVATE: readonly LandlockRule[] = ['home', 'tmp'].map(name => ({
  path: `${LANDLOCK_STAND_IN}/${name}`,
  type: 'folder',
  sets: ['read', 'write'],
  source: 'private: made for each launch, removed with it',
  identity: { dev: '0', ino: '0' },
}))

type Planned = Pick<LaunchPlan, 'command' | 'seccomp' | 'env' | 'confinement'> & { readonly landlock: LandlockPlan }

export interface LandlockText {
  /** One line for what the version of the interface holds, one for each place that is opened. */
  readonly ruleset: readonly string[]
  /** Folders of write grants in which no name can be made, renamed or removed. */
  readonly closed: readonly string[]
  /** The list of the launcher, as `call-list` words it. */
  readonly calls: readonly string[]
}

/** `word` makes a path fit for a line. */
export function landlockText(plan: Planned, word: (path: string) => string): LandlockText {
  const { landlock, confinement } = plan
  const { abi } = landlock
  const calls = landlockCalls({
    plan,
    landlock,
    env: plan.env,
    folders: PRIVATE,
    reopened: { 0: 'input', 1: 'output', 2: 'output' },
    root: confinement.gaps.some(({ guarantee }) => guarantee === 'not-root-outside'),
    parent: process.pid,
  })
  const rules = [...landlock.rules, ...PRIVATE].map(
    ({ path, type, sets, source }) =>
      `${word(path)}  (${type}; ${rightNames(sets, abi, type).join(' ')}; ${word(source)})`,
  )
  return { ruleset: [versionLine(abi), ...rules], closed: landlock.closed.map(word), calls: callLines(calls).map(word) }
}

function versionLine(abi: number): string {
  const also = [
    ...(abi >= TCP_SINCE ? ['bind and connect of TCP, on no port'] : []),
    ...(abi >= SCOPES_SINCE ? ['signals and abstract unix sockets, to this launch alone'] : []),
  ]
  return [`version ${abi}, which holds ${handledRights(abi).join(' ')}`, ...also].join('; ')
}
