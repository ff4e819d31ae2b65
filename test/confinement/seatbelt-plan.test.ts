import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { type BoundaryRequest, openBoundary } from '../../src/confinement/boundary.js'
import { chooseBoundary } from '../../src/confinement/choose.js'
import { explainPolicy } from '../../src/confinement/explain.js'
import { readHostFacts } from '../../src/confinement/host-facts.js'
import { knownFailure } from '../../src/confinement/known-failures.js'
import { planLaunch } from '../../src/confinement/launch-plan.js'
import { landPolicy } from '../../src/confinement/policy.js'
import { PRIVATE_STAND_IN, placed, planSeatbelt } from '../../src/confinement/seatbelt-plan.js'
import type { HostFacts, LaunchPlan } from '../../src/confinement/types.js'
import { Refusal } from '../../src/errors.js'
import type { Outcome } from '../../src/outcome.js'
import { renderCaptured } from '../../src/supervise/bounded-output.js'
import { closeInherited } from '../../src/supervise/descriptors.js'
import { DEBIAN, policy, request, rule } from '../support/confinement-fakes.js'
import { scratch } from '../support/scratch.js'
import { MACOS } from '../support/seatbelt-policies.js'

// What started the tests may have left descriptors to us that a launch refuses to pass on.
closeInherited()

const shared = policy({
  workspace: rule('/usr/share'),
  reads: [rule('/usr/share')],
  env: { HOME: '/home/agent', TMPDIR: '/tmp', PATH: '/usr/bin:/bin', KEY: 'mine', LANG: 'C.UTF-8' },
  envSet: ['KEY'],
})

function planOf(command: readonly string[] = ['/bin/sh', '-c', 'true'], from = shared): LaunchPlan {
  const made = planSeatbelt({ policy: from, facts: MACOS, command })
  if (made instanceof Refusal) throw made
  return made
}

t.test('the argument list: profile, parameters, limits, command', async t => {
  const plan = planOf()
  const { args, seatbelt } = plan
  t.equal(plan.file, '/usr/bin/sandbox-exec')
  t.strictSame(args.slice(0, 2), ['-p', seatbelt?.text])
  const options = args.slice(2, args.indexOf('--'))
  t.strictSame(
    options.filter((_, at) => at % 2 === 1),
    Object.entries(seatbelt?.parameters ?? {}).map(([name, path]) => `${name}=${path}`),
  )
  t.ok(options.every((word, at) => at % 2 === 1 || word === '-D'))
  const first = args.slice(args.indexOf('--') + 1)
  t.strictSame(first.slice(0, 2), ['/bin/dash', '-c'])
  t.strictSame(first.slice(4), ['--cpu=600:602', '--fsize=1073741824', '--nofile=1024', '--', ...plan.command])
  t.match(seatbelt?.text, /\(allow pseudo-tty\)/, 'programs may open terminals of their own')
  t.equal(seatbelt?.cwd, '/usr/share')
})

t.test('the environment: private folders, a locale that is there, and what --env has set', async t => {
  const { env } = planOf()
  t.match(env, {
    HOME: `${PRIVATE_STAND_IN}/home`,
    TMPDIR: `${PRIVATE_STAND_IN}/tmp`,
    LANG: 'en_US.UTF-8',
    KEY: 'mine',
  })
  const own = planOf(undefined, { ...shared, env: { ...shared.env, HOME: '/x' }, envSet: ['HOME'] })
  t.equal(own.env.HOME, '/x')
})

t.test('placed: the folder of a launch changes a parameter and two variables, and no rule', async t => {
  const plan = planOf()
  const ready = placed(plan, '/private/folder', 'kept')
  t.equal(ready.seatbelt?.text, plan.seatbelt?.text)
  t.equal(ready.seatbelt?.parameters.PRIVATE, '/private/folder')
  t.equal(ready.env.TMPDIR, '/private/folder/tmp')
  t.notOk([...ready.args, ...Object.values(ready.env)].some(word => word.includes(PRIVATE_STAND_IN)))
  t.strictSame(
    ready.args.filter(word => !word.startsWith('PRIVATE=')),
    plan.args.filter(word => !word.startsWith('PRIVATE=')),
  )
  const given = placed(plan, '/private/folder', 'given')
  t.match(given.args[given.args.indexOf('/bin/dash') + 2], /exec 2>&8 8>&-/)
  t.throws(() =>
    placed({ ...plan, boundary: 'bubblewrap', seatbelt: undefined } as unknown as LaunchPlan, '/x', 'kept'),
  )
})

t.test('limits: what macOS cannot be held to is withheld and said', async t => {
  const told = planOf().limits.map(({ name, mechanism }) => `${name} ${mechanism}`)
  t.strictSame(told.sort(), [
    'cpu rlimit',
    'file-size rlimit',
    'memory withheld',
    'open-files rlimit',
    'output supervisor',
    'pids withheld',
    'wall supervisor',
  ])
})

t.test('what it holds and what not is told apart', async t => {
  const { applied, gaps } = planOf().confinement
  t.match(gaps.map(({ guarantee }) => guarantee).sort(), [
    'dies-with-us',
    'pid-isolation',
    'private-home-and-tmp',
    'syscalls-filtered',
    'tree-ends',
  ])
  t.notOk(gaps.some(({ guarantee }) => applied.includes(guarantee)))
  t.ok(applied.includes('no-write-outside') && applied.includes('no-network'))
})

t.test('refusals', async t => {
  const codeOf = (facts: HostFacts, command: readonly string[], from = shared): string => {
    const made = planSeatbelt({ policy: from, facts, command })
    return made instanceof Refusal ? made.code : 'planned'
  }
  const { sandboxExec: _, ...without } = MACOS
  t.equal(codeOf(MACOS, ['/bin/sh']), 'planned')
  t.equal(codeOf(DEBIAN, ['/bin/sh']), 'boundary-unavailable', 'Linux')
  t.equal(codeOf(without, ['/bin/sh']), 'boundary-unavailable', 'a Mac without it')
  t.equal(codeOf(MACOS, ['/bin/sh', 'a\0b']), 'nul-in-argument')
  t.equal(codeOf(MACOS, ['no-such-program-anywhere']), 'program-missing')
  t.equal(codeOf(MACOS, ['/bin/sh'], { ...shared, reads: [rule('/w/a\nb')] }), 'unsupported-rule')
  const withTerminal = planLaunch({
    boundary: 'seatbelt',
    policy: shared,
    facts: MACOS,
    command: ['sh'],
    terminal: { term: 'xterm' },
  })
  t.match(withTerminal, { code: 'not-built-yet', details: { option: '--tty' } })
  t.ok(withTerminal instanceof Refusal)
})

t.test('choosing: on macOS seatbelt or nothing, elsewhere never', async t => {
  const { sandboxExec: _, ...without } = MACOS
  const cases = [
    ['auto', MACOS, 'seatbelt'],
    ['native', MACOS, 'seatbelt'],
    ['seatbelt', MACOS, 'seatbelt'],
    ['auto', without, 'boundary-unavailable'],
    ['native', without, 'boundary-unavailable'],
    ['bubblewrap', MACOS, 'boundary-unavailable'],
    ['landlock', MACOS, 'boundary-unavailable'],
    ['seatbelt', DEBIAN, 'boundary-unavailable'],
    ['seatbelt', { ...DEBIAN, platform: 'other' }, 'boundary-unavailable'],
    ['auto', { ...DEBIAN, platform: 'other' }, 'boundary-unavailable'],
  ] as const
  for (const [choice, facts, result] of cases) {
    const chosen = chooseBoundary(choice, facts)
    t.equal(chosen instanceof Refusal ? chosen.code : chosen.join(' '), result, `${choice} on ${facts.platform}`)
  }
  const onLinux = chooseBoundary('seatbelt', DEBIAN)
  t.match(onLinux instanceof Refusal ? onLinux.message : '', /this is not macOS; nothing was run: use --confine auto/)
})

t.test('explained: the profile and its parameters, and no filter', async t => {
  const { text, json } = explainPolicy(planOf(), shared)
  t.match(text, /\nseatbelt profile\n {2}\(version 1\)\n/)
  t.match(text, /\nparameters of the profile\n {2}SYSTEM_0=\/usr\n/)
  t.match(text, /\n {2}none: no loopback either\n/)
  t.notMatch(text, /system-call filter/)
  t.match(json, { seccomp: null, seatbelt: { parameters: { PRIVATE: PRIVATE_STAND_IN }, cwd: '/usr/share' } })
})

t.test('links on the way are landed with the rule', async t => {
  const at = scratch(t)
  for (const path of ['w', 'b/v2/c']) mkdirSync(join(at, path), { recursive: true })
  symlinkSync('v2', join(at, 'b/current'))
  symlinkSync('b/current/c', join(at, 'a'))
  const landed = landPolicy(request(join(at, 'w'), { read: [join(at, 'a')] }), await readHostFacts())
  const read = landed.reads.find(({ path }) => path === join(at, 'b/v2/c'))
  t.strictSame(read?.links, [join(at, 'a'), join(at, 'b/current')])
  t.notOk(landed.workspace.links, 'none, not an empty list')
})

/** Stands for sandbox-exec, without a profile: it leaves its options behind and starts what comes after them. */
const STAND_IN = `#!/bin/sh
while [ "$1" != -- ]; do
case $1 in -p|-D) shift 2 ;; *) echo "sandbox-exec: option $1" >&2; exit 64 ;; esac
done
shift 2
exec /bin/sh "$@"
`

interface Ran extends Outcome {
  readonly out: string
  readonly err: string
}

t.test('a launch, with a stand-in for sandbox-exec', async t => {
  const at = scratch(t)
  mkdirSync(join(at, 'w'))
  const file = join(at, 'sandbox-exec')
  writeFileSync(file, STAND_IN)
  chmodSync(file, 0o755)
  const facts: HostFacts = { ...(await readHostFacts()), platform: 'darwin', sandboxExec: file, bwrap: null }
  const events: string[] = []
  const open = async (parts: Partial<BoundaryRequest> = {}) => {
    const boundary = await openBoundary({
      confine: 'auto',
      request: request(join(at, 'w'), { limits: { 'file-size': 1_048_576, 'open-files': 64 } }),
      facts,
      runId: '0123456789abcdef',
      onEvent: event => events.push(event.kind),
      probe: 'launch',
      ...parts,
    })
    if (boundary instanceof Refusal) throw boundary
    return boundary
  }
  const run = async (argv: readonly string[], more: { wallMs?: number } = {}): Promise<Ran> => {
    const outcome = await (await open()).run({ argv, purpose: 'exec', ...more })
    if (outcome instanceof Refusal) throw outcome
    return { ...outcome, out: renderCaptured(outcome.stdout).text, err: renderCaptured(outcome.stderr).text }
  }
  const sh = (script: string, more: { wallMs?: number } = {}): Promise<Ran> => run(['/bin/sh', '-c', script], more)

  const told = await sh('echo "$HOME"; echo "$TMPDIR"; pwd; ulimit -n; echo x > "$TMPDIR/x"; echo y >&2; exit 7')
  t.same(told.ending, { kind: 'exited', status: 7 })
  const [home = '', tmp = '', cwd, files] = told.out.split('\n')
  t.equal(cwd, join(at, 'w'))
  t.equal(files, '64', 'limits are set inside')
  t.match(home, /\/launch-\d+\/home$/)
  t.equal(tmp.replace(/tmp$/, ''), home.replace(/home$/, ''))
  t.notOk(existsSync(home), 'removed with the launch')
  t.equal(told.err, 'y\n')
  t.equal(told.confinement.boundary, 'seatbelt')
  t.same(events, ['launch-started', 'launch-ended'])
  t.not((await sh('echo "$HOME"')).out, told.out.split('\n')[0], 'each launch has its own')

  const inherited = 'for n in 3 4 5 6 7 8 9; do [ -e /dev/fd/$n ] && echo $n; done; exit 0'
  t.equal((await sh(inherited)).out, '', 'no descriptor of ours')
  const kept = openSync(join(at, 'stderr'), 'w+')
  const given = await (await open()).run({
    argv: ['/bin/sh', '-c', `echo z >&2; ${inherited}`],
    purpose: 'exec',
    stderr: { fd: kept },
  })
  closeSync(kept)
  t.match(given, { ending: { kind: 'exited', status: 0 }, stdout: { totalBytes: 0 }, stderr: { totalBytes: 0 } })
  t.equal(readFileSync(join(at, 'stderr'), 'utf8'), 'z\n', 'the command has the descriptor it was given')
  for (let round = 0; round < 10; round++)
    t.match((await run(['/bin/true'])).ending, { kind: 'exited' }, 'however short')
  t.match((await sh('kill -TERM $$')).ending, { kind: 'signalled', signal: 'SIGTERM' })
  t.match(
    (await sh('head -c 2000000 /dev/zero > big', {})).ending,
    { kind: 'exited' },
    'head has the signal, not the shell',
  )
  t.match((await run(['/bin/sh', '-c', 'exec head -c 2000000 /dev/zero > big'])).ending, {
    kind: 'bound',
    name: 'file-size',
  })
  t.match((await sh('sleep 60', { wallMs: 200 })).ending, { kind: 'timed-out' })

  const left = await sh('setsid sleep 300 >/dev/null 2>&1 & sleep 0.2; echo up')
  t.equal(left.out, 'up\n')
  t.equal(left.survivors_killed, 1, 'found by the mark, though it left the group')

  writeFileSync(file, '#!/bin/sh\necho "sandbox-exec: sandbox_apply: Operation not permitted" >&2\nexit 71\n')
  const nested = await (await open({ runId: 'fedcba9876543210' })).run({
    argv: ['/bin/sh', '-c', 'true'],
    purpose: 'exec',
  })
  t.ok(nested instanceof Refusal)
  t.match(nested, { code: 'boundary-unavailable', details: { probe: 'a sandbox in a sandbox' } })
})

t.test('texts of macOS are known (C07)', async t => {
  t.equal(knownFailure('sandbox-exec: sandbox_apply: Operation not permitted').probe, 'a sandbox in a sandbox')
  t.equal(knownFailure('sandbox-exec: invalid profile: unbound variable: file-link').probe, 'seatbelt profile')
})
