/**
 * Shows that the suite notices: every boundary that is built to fail is seen to fail in what it is named for, and every
 * attempt gets through at least one of them, so that a refusal elsewhere is the boundary's work and not a mistake in
 * the attempt.
 */
import t from 'tap'
import type { Guarantee } from '../../src/outcome.js'
import { needs } from '../../test/support/needs.js'
import { MATRIX } from '../matrix.js'
import { ATTEMPTS, OBSERVATIONS } from './attempts.js'
import type { Privilege } from './backend.js'
import { BROKEN_LANDLOCK, isBrokenLandlock } from './broken-landlock.js'
import { BROKEN_BOUNDARIES, type BrokenName, PLAIN_BREAKS } from './broken-recipes.js'
import { needsPrivilege } from './scene.js'
import { type JudgeOptions, judge } from './suite.js'
import type { Verdict } from './verdict.js'

interface Run extends JudgeOptions {
  readonly name: BrokenName
  /** `root` runs are left out where we are not root. */
  readonly privilege: Privilege
}

const ALL = { ...BROKEN_BOUNDARIES, ...BROKEN_LANDLOCK }

const plainOnly = { stages: ['plain'], trees: [] } as const
const user = (name: BrokenName, options: JudgeOptions = plainOnly): Run => ({ name, privilege: 'user', ...options })
const root = (name: BrokenName, options: JudgeOptions = plainOnly): Run => ({ name, privilege: 'root', ...options })

const RUNS: readonly Run[] = [
  user('plain', { trees: ['daemon', 'orderly', 'many', 'fork', 'memory', 'file', 'flood', 'kill'] }),
  user('bwrap-without-seccomp'),
  user('bwrap-writable-git'),
  user('bwrap-writable-control-files'),
  user('bwrap-movable-parents'),
  user('bwrap-ghost-files'),
  // Apart: the first run has left its file in the workspace, so a second one there would find nothing new.
  user('bwrap-ghost-files', { stages: [], trees: ['kill'] }),
  user('bwrap-host-pids', { stages: ['plain'], trees: ['stubborn', 'spin', 'kill'] }),
  user('bwrap-host-network'),
  user('bwrap-host-ipc'),
  user('bwrap-open-sockets'),
  user('bwrap-whole-host'),
  user('bwrap-writable-outside'),
  user('bwrap-host-tmp-and-home'),
  user('bwrap-capabilities-kept'),
  user('bwrap-user-namespaces'),
  user('bwrap-same-session', { stages: ['plain', 'terminal'], trees: [] }),
  user('bwrap-environment-cleared-late'),
  user('bwrap-environment-inherited'),
  user('bwrap-outlives-us', { stages: ['plain'], trees: ['kill', 'early-kill'] }),
  user('bwrap-inherited-descriptors', { stages: ['plain', 'descriptors'], trees: [] }),
  user('bwrap-without-limits', { stages: ['plain'], trees: ['memory', 'file'] }),
  root('plain', { trees: [] }),
  root('bwrap-without-seccomp', { stages: ['plain'], trees: ['kill'] }),
  root('bwrap-capabilities-kept'),
  root('bwrap-removable-covers'),
  user('landlock-without-domain'),
  user('landlock-without-filter'),
  user('landlock-with-terminal', { stages: ['terminal'], trees: [] }),
  user('landlock-without-warden', { stages: [], trees: ['daemon', 'many', 'kill'] }),
  user('landlock-without-limits', { stages: [], trees: ['memory', 'file'] }),
  user('landlock-with-descriptors', { stages: ['descriptors'], trees: [] }),
  user('landlock-with-environment'),
  user('landlock-with-folders'),
  root('landlock-without-domain'),
  root('landlock-as-root', { stages: [], trees: ['kill'] }),
]

/** What the machine itself can refuse to everybody, so that no broken boundary here need get it through. */
const MACHINE_MAY_REFUSE: Readonly<Record<string, string>> = {
  'raw-disk': 'a device control group or CONFIG_BLK_DEV_WRITE_MOUNTED refuses to open a mounted disk for writing',
  'raw-memory': 'CONFIG_STRICT_DEVMEM and lockdown refuse it',
  'terminal-push': 'dev.tty.legacy_tiocsti = 0',
  'terminal-push-high-bits': 'dev.tty.legacy_tiocsti = 0',
  'terminal-push-standard': 'dev.tty.legacy_tiocsti = 0',
}

const got = new Set<string>()
const absent = new Set<string>()

function note(verdicts: readonly Verdict[]): void {
  for (const { attempt, result } of verdicts) {
    if (result === 'succeeded') got.add(attempt)
    if (result === 'absent') absent.add(attempt)
  }
}

function expected({ name, privilege, stages, trees }: Run): readonly Guarantee[] {
  const { breaks: all, breaksAsRoot } = name === 'plain' ? { breaks: PLAIN_BREAKS, breaksAsRoot: [] } : ALL[name]
  const more = privilege === 'root' ? breaksAsRoot : []
  const tried = new Set<Guarantee>([
    ...ATTEMPTS.filter(({ stage }) => (stages ?? [stage]).includes(stage)).map(({ guarantee }) => guarantee),
    ...(trees?.includes('kill') ? (['dies-with-us', 'not-root-outside', 'no-write-outside'] as const) : []),
    ...(trees?.some(check => check !== 'kill') ? (['tree-ends'] as const) : []),
  ])
  return [...all, ...more].filter(guarantee => tried.has(guarantee))
}

// Broken boundaries are waited for until what they leave is known to stay.
const TIMEOUT_MS = 180_000
t.setTimeout(2 * TIMEOUT_MS)

const skip = needs('linux', 'bubblewrap', 'perl', 'git')

const withoutLandlock = needs('linux', 'landlock-6', 'perl', 'git')

for (const run of RUNS) {
  t.test(
    `${run.name}, ${run.privilege}: ${[...(run.stages ?? ['every stage']), ...(run.trees ?? [])].join(' ')}`,
    { skip: (isBrokenLandlock(run.name) ? withoutLandlock : skip) || needsPrivilege(run.privilege) },
    async t => {
      const { verdicts } = await judge(run.name, run.privilege, run)
      note(verdicts)
      for (const guarantee of expected(run)) {
        const broken = verdicts.filter(verdict => verdict.guarantee === guarantee && verdict.result === 'succeeded')
        t.ok(broken.length > 0, `breaks ${guarantee}`, {
          tried: verdicts.filter(verdict => verdict.guarantee === guarantee),
        })
      }
      const silent = verdicts.filter(({ result }) => result === 'unanswered')
      t.same(silent, [], 'every attempt answers')
    },
  )
}

/** What is held in part by every launch of that row, in whatever way, so that no launch could be built to lack it alone. */
const ALWAYS_OPEN: readonly Guarantee[] = ['nothing-planted']

t.test('every guarantee that Landlock holds is broken by some launch that lacks its part', async t => {
  const broken = new Set(RUNS.filter(({ name }) => isBrokenLandlock(name)).flatMap(expected))
  const row = MATRIX.find(({ backend, privilege }) => backend === 'landlock' && privilege === 'user')
  const held = [...(row?.holds ?? []), ...(row?.gaps ?? []).map(({ guarantee }) => guarantee)]
  t.same(
    held.filter(guarantee => !broken.has(guarantee) && !ALWAYS_OPEN.includes(guarantee)),
    [],
  )
})

t.test('every attempt gets through some broken boundary', { skip: skip || needs('root') }, async t => {
  for (const name of [...ATTEMPTS.map(attempt => attempt.name), ...Object.keys(OBSERVATIONS)]) {
    if (got.has(name)) t.pass(name)
    else if (absent.has(name)) t.pass(name, { skip: 'this machine has nothing to attack' })
    else if (name in MACHINE_MAY_REFUSE) t.pass(name, { skip: MACHINE_MAY_REFUSE[name] ?? name })
    else t.fail(name)
  }
})
