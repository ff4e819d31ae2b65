/** Real launches under Landlock: every ending, what is held, what versions of the kernel differ in, and that nothing survives us. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import t from 'tap'
import { Boundary, openBoundary, type RunRequest } from '../../src/confinement/boundary.js'
import { type Call, encodeCalls } from '../../src/confinement/call-list.js'
import { launchFolderRules } from '../../src/confinement/folder-rules.js'
import { RELEASE } from '../../src/confinement/hold.js'
import { readHostFacts } from '../../src/confinement/host-facts.js'
import { LAUNCHER_FDS, landlockCalls, STANDS } from '../../src/confinement/landlock-calls.js'
import { counted } from '../../src/confinement/landlock-launch.js'
import { launcherElf } from '../../src/confinement/landlock-launcher.js'
import { withLandlock } from '../../src/confinement/landlock-start.js'
import { wardenWords } from '../../src/confinement/landlock-warden.js'
import { launch } from '../../src/confinement/launch.js'
import { planLaunch } from '../../src/confinement/launch-plan.js'
import { landPolicy } from '../../src/confinement/policy.js'
import { FILTER_ARCHES } from '../../src/confinement/seccomp-bpf.js'
import type { HostFacts, LaunchPlan, PolicyRequest } from '../../src/confinement/types.js'
import { Refusal } from '../../src/errors.js'
import type { HarnessEvent } from '../../src/events.js'
import type { Outcome } from '../../src/outcome.js'
import { checkLaunchFolders, type LaunchFolders } from '../../src/paths/launch-folders.js'
import { renderCaptured } from '../../src/supervise/bounded-output.js'
import { closeInherited } from '../../src/supervise/descriptors.js'
import { temporaryFolder } from '../../src/supervise/private-folder.js'
import { eventually, finished, fixture, marked, NOBODY, pause, procText, program, said } from '../support/children.js'
import { request as asked } from '../support/confinement-fakes.js'
import { needs } from '../support/needs.js'

const skip = needs('linux', 'landlock-6')
const withPerl = needs('linux', 'landlock-6', 'perl')
closeInherited()
t.setTimeout(300_000)

function workspaceFor(uid: number | null = null): string {
  const folder = mkdtempSync(join(tmpdir(), 'landlock-test-'))
  const workspace = join(folder, 'ws')
  mkdirSync(workspace)
  chmodSync(folder, 0o755)
  if (uid !== null) for (const path of [folder, workspace]) chownSync(path, uid, uid)
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return workspace
}

interface Opened {
  readonly boundary: Boundary
  readonly events: HarnessEvent[]
  readonly workspace: string
}

async function opened(
  parts: Partial<PolicyRequest> = {},
  change: (facts: HostFacts) => HostFacts = facts => facts,
): Promise<Opened> {
  const events: HarnessEvent[] = []
  const workspace = parts.workspace ?? workspaceFor()
  const boundary = await openBoundary({
    confine: 'landlock',
    request: asked(workspace, { writeSubtrees: ['.'], ...parts }),
    facts: change(await withLandlock(await readHostFacts())),
    runId: '00112233aabbccee',
    onEvent: event => events.push(event),
    probe: 'now',
  })
  if (!(boundary instanceof Boundary)) throw boundary
  return { boundary, events, workspace }
}

async function run(boundary: Boundary, argv: readonly string[], more: Partial<RunRequest> = {}): Promise<Outcome> {
  const outcome = await boundary.run({ argv, purpose: 'tool', signal: new AbortController().signal, ...more })
  if (outcome instanceof Refusal) throw outcome
  return outcome
}

/** Runs words of a shell and answers stdout and stderr together. */
async function shell(boundary: Boundary, words: string, more: Partial<RunRequest> = {}): Promise<string> {
  const { ending, stdout, stderr } = await run(boundary, ['sh', '-c', words], more)
  const text = `${renderCaptured(stdout).text}${renderCaptured(stderr).text}`
  return ending.kind === 'exited' ? text : `${text}${JSON.stringify(ending)}`
}

const text = (outcome: Outcome) => renderCaptured(outcome.stdout).text

t.test('every ending is told apart', { skip }, async t => {
  const { boundary, workspace } = await opened({ limits: { 'file-size': 1_048_576, cpu: 1_000 } })
  writeFileSync(join(workspace, 'busy'), readFileSync('/bin/true'))
  chmodSync(join(workspace, 'busy'), 0o755)
  const writing = openSync(join(workspace, 'busy'), 'r+')
  const cases: { name: string; argv: string[]; more?: Partial<RunRequest>; ending: object; out?: string }[] = [
    { name: 'exit 0', argv: ['true'], ending: { kind: 'exited', status: 0 } },
    { name: 'exit 125, as the launcher ends', argv: ['sh', '-c', 'exit 125'], ending: { kind: 'exited', status: 125 } },
    { name: 'exit 143', argv: ['sh', '-c', 'exit 143'], ending: { kind: 'exited', status: 143 } },
    {
      name: 'its own group',
      argv: ['sh', '-c', 'kill -TERM 0'],
      ending: { kind: 'signalled', signal: 'SIGTERM', core: null },
    },
    {
      name: 'a deadline keeps what was printed',
      argv: ['sh', '-c', 'echo one; exec sleep 60'],
      more: { wallMs: 400 },
      ending: { kind: 'timed-out', limit_ms: 400 },
      out: 'one\n',
    },
    {
      name: 'TERM reaches the command, which may clean up',
      argv: ['sh', '-c', 'trap "echo bye; exit 0" TERM; echo up; sleep 60 & wait'],
      more: { wallMs: 400 },
      ending: { kind: 'timed-out', limit_ms: 400 },
      out: 'up\nbye\n',
    },
    {
      name: 'file size',
      argv: ['sh', '-c', 'exec head -c 2000000 /dev/zero > big'],
      ending: { kind: 'bound', name: 'file-size', limit: 1_048_576, seen: null },
    },
    {
      name: 'cpu',
      argv: ['sh', '-c', 'while :; do :; done'],
      ending: { kind: 'bound', name: 'cpu', limit: 1_000, seen: null },
    },
    {
      name: 'a program that somebody has open for writing',
      argv: ['./busy'],
      ending: { kind: 'not-started', code: 'text-busy', errno: 'ETXTBSY' },
    },
    {
      name: 'more arguments than the kernel takes',
      argv: ['true', ...Array.from({ length: 40 }, () => 'x'.repeat(100_000))],
      ending: { kind: 'not-started', code: 'argument-list-too-long', errno: 'E2BIG' },
    },
    {
      name: 'more than the launcher maps',
      argv: ['true', ...Array.from({ length: 180 }, () => 'x'.repeat(100_000))],
      ending: { kind: 'not-started', code: 'argument-list-too-long' },
    },
  ]
  for (const { name, argv, more, ending, out } of cases) {
    const outcome = await run(boundary, argv, more)
    t.match(outcome.ending, ending, name)
    if (out !== undefined) t.equal(text(outcome), out, `${name}: output`)
    t.notOk(outcome.tree_left)
  }
  closeSync(writing)
  const aborted = new AbortController()
  aborted.abort('esc')
  t.match((await run(boundary, ['true'], { signal: aborted.signal })).ending, { kind: 'cancelled', by: 'esc' })
  await boundary.close()
})

t.test('a deadline before the command was let go: it never runs', { skip }, async t => {
  const { boundary, workspace } = await opened()
  for (let wallMs = 1; wallMs <= 6; wallMs++) {
    const outcome = await run(boundary, ['sh', '-c', 'sleep 0.05; echo ran > ran'], { wallMs, graceMs: 60_000 })
    t.match(outcome.ending, { kind: 'timed-out', limit_ms: wallMs })
    t.notOk(existsSync(join(workspace, 'ran')), `${wallMs} ms`)
  }
  await boundary.close()
})

t.test('streams can be opened again by their names, and input comes as a file', { skip }, async t => {
  const { boundary } = await opened()
  const outcome = await run(
    boundary,
    ['sh', '-c', 'echo out > /dev/stdout; echo err > /dev/stderr; cat /dev/stdin -'],
    {
      stdin: { bytes: Buffer.from('given\n') },
    },
  )
  t.equal(text(outcome), 'out\ngiven\ngiven\n')
  t.equal(renderCaptured(outcome.stderr).text, 'err\n')
  t.match(await shell(boundary, 'echo x > /dev/stdin', { stdin: { bytes: Buffer.from('y') } }), /Permission denied/)
  t.equal(
    await shell(boundary, 'ls /proc/self/fd | tr "\\n" " "'),
    '0 1 2 3 ',
    'only what ls itself opens is beside them',
  )
  await boundary.close()
})

/** What is asked of a process of ours outside; `$1` is its pid. */
const OF_US = ['environ', 'mem', 'maps', 'fd/1', 'fdinfo/1', 'cwd/', 'root/', 'auxv', 'task/$1/environ'] as const

t.test(
  'nothing of us can be read, signalled or limited; that we are there is seen and said',
  { skip: withPerl },
  async t => {
    const { boundary, events } = await opened({ writeSubtrees: [] })
    for (const file of OF_US) {
      const words = `cat /proc/${process.pid}/${file.replace('$1', String(process.pid))} || ls /proc/${process.pid}/${file}`
      t.match(await shell(boundary, words), /Permission denied|Operation not permitted/, file)
    }
    for (const words of [
      `kill -0 ${process.pid}`,
      `perl -e 'exit(kill(0, ${process.pid}) ? 0 : 1)' || echo refused`,
      `perl -e 'my $l = pack("QQ", 9, 9); syscall(302, ${process.pid} + 0, 7, 0, $l) == -1 or die "limits were read"' && echo refused`,
    ]) {
      t.match(await shell(boundary, words), /not permitted|No such process|refused/, words)
    }
    t.match(await shell(boundary, `tr '\\0' ' ' < /proc/${process.pid}/cmdline`), /node/, 'the gap is real')
    const started = events.find(event => event.kind === 'launch-started')
    t.match(started, {
      confinement: { boundary: 'landlock', gaps: [{ guarantee: /./ }] },
    })
    t.match(JSON.stringify(started), /listed with their command lines/)
    await boundary.close()
  },
)

t.test(
  'the filter closes sockets, pairs that can be addressed, and what has numbers of the machine',
  { skip: withPerl },
  async t => {
    const { boundary } = await opened()
    const socket = (family: number, type: number) =>
      `perl -e 'use Socket; socket(my $s, ${family}, ${type}, 0) ? print "open" : print "closed: $!"'`
    for (const [family, type] of [
      [1, 1],
      [1, 2],
      [2, 1],
      [2, 2],
      [10, 2],
      [16, 3],
    ] as const) {
      t.equal(
        await shell(boundary, socket(family, type)),
        'closed: Operation not permitted',
        `family ${family} type ${type}`,
      )
    }
    const pair = (type: number) => `perl -e 'socketpair(my $a, my $b, 1, ${type}, 0) ? print "open" : print "closed"'`
    t.equal(await shell(boundary, pair(1)), 'open', 'a stream pair reaches nobody else')
    t.equal(await shell(boundary, pair(2)), 'closed')
    const segment = `perl -e 'print defined shmget(0x1234, 1, 0) || $!{EINVAL} || $!{ENOENT} ? "open" : "closed: $!"'`
    t.equal(await shell(boundary, segment), 'closed: Operation not permitted')
    await boundary.close()
  },
)

t.test('home and the folder for temporary files are of the launch alone', { skip }, async t => {
  const { boundary } = await opened()
  const words =
    'for d in "$HOME" "$TMPDIR"; do echo "$d"; echo x > "$d/x"; ls "$d"; mkdir "$d/closed"; touch "$d/closed/y"; chmod 0 "$d/closed"; done; ls /tmp'
  const out = await shell(boundary, words)
  t.match(out, /^\/.*\/home\nx\n\/.*\/tmp\nx\n.*\/tmp.*: Permission denied\n$/s)
  const [home = ''] = out.split('\n')
  t.notOk(existsSync(join(home, '..')), 'and are gone with it, whatever rights it has left in them')
  t.match(await shell(boundary, 'ls "$HOME" "$TMPDIR"'), /home:\n\n\/.*tmp:\n$/, 'the next one has its own')
  await boundary.close()
})

function project(workspace: string): void {
  for (const folder of ['.git/hooks', 'src/deep', 'secret']) mkdirSync(join(workspace, folder), { recursive: true })
  for (const file of ['.git/config', 'package.json', 'src/a.ts', 'secret/token', '.env']) {
    writeFileSync(join(workspace, file), `${file}\n`)
  }
}

t.test('beside what is protected files are written, and no name is made', { skip }, async t => {
  const workspace = workspaceFor()
  project(workspace)
  const { boundary } = await opened({ workspace })
  t.equal(
    await shell(boundary, 'echo new > package.json; echo new > src/b.ts; mv src/b.ts src/deep/c.ts; rm src/a.ts'),
    '',
  )
  t.equal(readFileSync(join(workspace, 'package.json'), 'utf8'), 'new\n')
  t.same(readdirSync(join(workspace, 'src/deep')), ['c.ts'])
  for (const words of [
    'echo x > new',
    'mkdir new',
    'rm package.json',
    'mv package.json package.old',
    'mv .git git',
    'mv src srcs',
    'echo x > .git/hooks/pre-commit',
    'echo x >> .git/config',
    'rm .git/config',
    'ln .git/config src/config && echo x >> src/config',
    'mv .git/config src/',
    'ln -s /etc/shadow src/s && cat src/s',
  ]) {
    t.match(await shell(boundary, words), /denied|not permitted|cross-device|Read-only/i, words)
  }
  t.same(readdirSync(workspace).sort(), ['.env', '.git', 'package.json', 'secret', 'src'])
  t.equal(readFileSync(join(workspace, '.git/config'), 'utf8'), '.git/config\n')
  const outcome = await run(boundary, ['true'])
  t.same(outcome.tampered, [])
  await boundary.close()
})

t.test('what is hidden is neither read nor listed, and what stands beside it is', { skip }, async t => {
  const workspace = workspaceFor()
  project(workspace)
  const hide = [join(workspace, '.env'), join(workspace, 'secret')]
  const { boundary } = await opened({ workspace, writeSubtrees: ['src'], hide })
  for (const words of [
    'cat .env',
    'ls secret',
    'cat secret/token',
    'echo x > .env',
    'cp -r . "$HOME"/all && cat "$HOME"/all/.env',
  ]) {
    t.match(await shell(boundary, words), /Permission denied/, words)
  }
  t.equal(await shell(boundary, 'cat package.json src/a.ts'), 'package.json\nsrc/a.ts\n')
  const alone = await opened({ workspace, writeSubtrees: ['src'], hide: [join(workspace, '.env')] })
  t.equal(
    await shell(alone.boundary, 'ls -A | tr "\\n" " "; cat .env 2>/dev/null || echo kept'),
    '.env .git package.json secret src kept\n',
  )
  await alone.boundary.close()
  await boundary.close()
})

t.test('a place that is another one by the time of the launch ends it', { skip }, async t => {
  const workspace = workspaceFor()
  project(workspace)
  const facts = await withLandlock(await readHostFacts())
  const request = asked(workspace, { writeSubtrees: ['src'] })
  const policy = landPolicy(request, facts)
  const plan = planLaunch({ boundary: 'landlock', policy, facts, command: ['sh', '-c', 'echo ran > src/ran'] })
  const rules = launchFolderRules(policy, request, facts)
  if (plan instanceof Refusal || rules instanceof Refusal) throw plan
  const judged = () => {
    const grants = policy.writes.map(({ path }) => path)
    const folders = checkLaunchFolders({ cwd: '.', grants, cache: null, privateParent: temporaryFolder() }, rules)
    if (folders instanceof Refusal) throw folders
    return folders
  }
  const ended = (folders: LaunchFolders) =>
    launch(plan, folders, {
      ...{ stdin: null, stdout: 'capture', stderr: 'capture' },
      ...{ signal: new AbortController().signal, wallMs: 10_000, graceMs: 100, launchId: 'swap-1' },
    })
  const verdicts = [judged(), judged()] as const
  renameSync(join(workspace, 'src'), join(workspace, 'was'))
  mkdirSync(join(workspace, 'src'))
  const swapped = await ended(verdicts[0])
  t.match(swapped.ending, { kind: 'not-started', code: 'changed-while-checked', path: join(workspace, 'src') })
  t.notOk(existsSync(join(workspace, 'src/ran')))
  rmSync(join(workspace, 'src'), { recursive: true })
  t.match((await ended(verdicts[1])).ending, { kind: 'not-started', code: 'changed-while-checked', errno: 'ENOENT' })
  renameSync(join(workspace, 'was'), join(workspace, 'src'))
  t.match((await ended(judged())).ending, { kind: 'exited', status: 0 }, 'and put back it is the judged one')
})

/** Ways to empty a file that is only to be read; each prints `emptied` where it was. */
const EMPTYING = [
  `truncate($ARGV[0], 0)`,
  `sysopen(my $f, $ARGV[0], 01000)`,
  `sysopen(my $f, $ARGV[0], 01003)`,
  `sysopen(my $f, $ARGV[0], 01001)`,
  `sysopen(my $f, $ARGV[0], 01002)`,
  `open(my $f, "+<", $ARGV[0]) && truncate($f, 0)`,
] as const

for (const abi of [1, 2, 3, 4, 5, 6]) {
  t.test(`version ${abi} of the interface`, { skip: withPerl }, async t => {
    const { boundary, workspace } = await opened({ writeSubtrees: ['out'], workspace: withOut() }, facts => ({
      ...facts,
      landlock: { abi },
    }))
    const kept = join(workspace, 'kept')
    const outside = join(workspace, '..', 'outside')
    for (const file of [kept, outside]) {
      writeFileSync(file, 'content')
      for (const way of EMPTYING) {
        await shell(boundary, `perl -e '${way} and print "emptied"' ${file}`)
        t.equal(readFileSync(file, 'utf8'), 'content', way)
      }
      t.match(await shell(boundary, `echo x > ${file}`), /denied|not permitted/)
    }
    t.match(await shell(boundary, `cat ${outside}`), /Permission denied/)
    t.equal(await shell(boundary, 'echo a > out/a; echo b > out/a; : > out/a; mkdir out/d; cat out/a'), '')
    const moved = await shell(boundary, 'mv out/a out/d/a && ls out/d')
    if (abi === 1) t.match(moved, /./, 'moves between folders came with version 2')
    else t.equal(moved, 'a\n')
    const { gaps } = boundary.confinement
    const why = gaps.find(({ guarantee }) => guarantee === 'pid-isolation')?.why ?? ''
    t.equal(/can be signalled/.test(why), abi < 6, 'what is not held is said')
    await boundary.close()
  })
}

function withOut(): string {
  const workspace = workspaceFor()
  mkdirSync(join(workspace, 'out'))
  return workspace
}

t.test('a kernel without Landlock, and one that was not asked', { skip: needs('linux') }, async t => {
  const workspace = workspaceFor()
  const open = async (facts: HostFacts) =>
    openBoundary({
      ...{
        confine: 'landlock',
        request: asked(workspace),
        facts,
        runId: '0'.repeat(16),
        onEvent: () => undefined,
        probe: 'now',
      },
    })
  const facts = await readHostFacts()
  t.match(await open({ ...facts, landlock: { abi: 0 } }), {
    code: 'boundary-unavailable',
    message: /offers no Landlock.*lsm=/,
  })
  t.match(await open({ ...facts, landlock: { problem: 'no place for it' } }), {
    message: /could not be asked.*no place for it/,
  })
  t.match(planLaunch({ boundary: 'landlock', policy: landPolicy(asked(workspace), facts), facts, command: ['true'] }), {
    code: 'boundary-unavailable',
    message: /withLandlock/,
  })
})

const TIGHT = { memory: 100 * 1024 * 1024, pids: 40 } as const

t.test(
  'limits on the whole tree, by a control group',
  { skip: needs('linux', 'landlock-6', 'perl', 'control-group') },
  async t => {
    const { boundary } = await opened({ limits: TIGHT })
    const forks = await run(boundary, ['sh', '-c', 'for i in $(seq 100); do sleep 5 & done; wait'])
    t.match(forks.ending, { kind: 'bound', name: 'pids', limit: 40 })
    const hog = await run(boundary, ['perl', '-e', '$x = "a" x (300 * 1024 * 1024)'])
    t.match(hog.ending, { kind: 'bound', name: 'memory', limit: TIGHT.memory })
    const daemons = await run(boundary, ['sh', '-c', 'for i in $(seq 20); do setsid env -i sleep 60 & done; sleep 0.3'])
    t.match(daemons.ending, { kind: 'exited', status: 0 })
    t.equal(
      daemons.survivors_killed,
      20,
      'a new session, an empty environment and a lost parent do not leave the group',
    )
    const stubborn = await run(
      boundary,
      ['sh', '-c', `(trap "" TERM; ${'env -i setsid sleep 60 & '.repeat(3)}); exec sleep 60`],
      {
        ...{ wallMs: 700, graceMs: 300 },
      },
    )
    t.match(
      stubborn,
      { ending: { kind: 'timed-out' }, survivors_killed: 3 },
      'what outlives the command at a deadline is told',
    )
    t.ok(boundary.confinement.applied.includes('tree-ends'))
    await boundary.close()
  },
)

const ungrouped = (facts: HostFacts): HostFacts => ({ ...facts, cgroup: {} })

t.test('without a group: rlimits, and the tree by its warden', { skip: withPerl }, async t => {
  const { boundary } = await opened({ limits: TIGHT }, ungrouped)
  const hog = await run(boundary, ['perl', '-e', '$x = "a" x (300 * 1024 * 1024)'])
  t.match(hog.ending, { kind: 'exited' })
  t.match(renderCaptured(hog.stderr).text, /Out of memory/)
  const daemons = await run(boundary, [
    'sh',
    '-c',
    'for i in $(seq 20); do (env -i setsid sleep 60 &) ; done; sleep 0.3',
  ])
  t.equal(daemons.survivors_killed, 20, 'a new session, an empty environment and a lost parent leave nobody out')
  for (const guarantee of ['tree-ends', 'dies-with-us'] as const) t.ok(boundary.confinement.applied.includes(guarantee))
  await boundary.close()
})

/** Ways of what is below the warden to be ended: by one call in its domain, and by the list of its children. */
const WAYS = [
  { name: 'a version that holds signals', change: ungrouped },
  { name: 'a version that does not', change: (facts: HostFacts) => ({ ...ungrouped(facts), landlock: { abi: 5 } }) },
] as const

/** Leaves a process that shows its mark to us and none of ours to anybody: no environment, a session of its own, no parent. */
const hidden = (mark: string, seconds = 60) => `(env -i setsid perl -e "sleep ${seconds}; print q(${mark})" &)`

for (const { name, change } of WAYS) {
  t.test(`the tree below its warden: ${name}`, { skip: withPerl }, async t => {
    const { boundary, workspace } = await opened({}, change)
    const mark = `warded-${process.pid}-${name.length}`
    const left = () => marked(mark).length
    const daemon = await run(boundary, ['sh', '-c', `${hidden(mark)}; ${hidden(mark)}; sleep 0.3; exit 5`])
    t.match(daemon, { ending: { kind: 'exited', status: 5 }, survivors_killed: 2 })
    t.equal(left(), 0, 'is gone with the result')
    const deadline = await run(boundary, ['sh', '-c', `trap "" TERM; ${hidden(mark)}; sleep 60`], {
      ...{ wallMs: 500, graceMs: 200 },
    })
    t.match(deadline, { ending: { kind: 'timed-out' } })
    t.equal(left(), 0)
    const helper = `(env -i setsid perl -e '$SIG{TERM} = sub { sleep 1; open my $f, ">", "done"; exit }; sleep 60 while 1' &)`
    const grace = await run(boundary, ['sh', '-c', `${helper}; sleep 0.3; exec sleep 60`], {
      wallMs: 900,
      graceMs: 20_000,
    })
    t.match(grace, { ending: { kind: 'timed-out' }, survivors_killed: 0 })
    t.ok(existsSync(join(workspace, 'done')), 'who loses the command may still clean up')
    t.ok(grace.duration_ms < 15_000, 'and is waited for no longer than that takes')
    const threads = `perl -e 'for (1 .. 40) { my $p = fork // last; if (!$p) { POSIX::setsid(); fork && exit; sleep 60; print q(${mark}) } } sleep 1' -MPOSIX`
    t.match(await run(boundary, ['sh', '-c', threads.replace('perl -e', 'perl -MPOSIX -e')]), { survivors_killed: 40 })
    t.equal(left(), 0)
    await boundary.close()
  })
}

t.test('the command cannot reach its warden', { skip: withPerl }, async t => {
  const { boundary } = await opened({}, ungrouped)
  const told = await shell(
    boundary,
    'w=$(cut -d" " -f4 /proc/$$/stat); for s in KILL STOP TERM USR1 CONT; do kill -$s $w; done; cat /proc/$w/environ /proc/$w/mem /proc/$w/maps; kill -KILL -1; tr "\\0" " " < /proc/$w/cmdline',
  )
  t.equal(told.match(/not permitted/g)?.length, 5, told)
  t.equal(told.match(/Permission denied/g)?.length, 3, told)
  await boundary.close()
})

t.test('a fork bomb of an ordinary user ends at its limit', { skip: needs('linux', 'landlock-6', 'root') }, async t => {
  const mark = `bomb-${process.pid}`
  const request = {
    ...{ workspace: workspaceFor(NOBODY), writes: ['.'], env: { MARK: mark }, limits: { pids: 30 }, repeat: false },
    ...{ confine: 'landlock', wallMs: 2_000, argv: ['sh', '-c', 'b() { b | b & }; b; sleep 60'] },
  }
  const ran = await finished(
    program(process.execPath, [fixture('supervise/launcher'), JSON.stringify(request)], NOBODY),
  )
  const outcome = JSON.parse(ran.stdout.split('\n')[1] ?? '{}') as Outcome & { err: string }
  t.match(outcome.ending, { kind: /timed-out|exited/ }, ran.stderr)
  t.match(
    outcome.confinement.limits.find(({ name }) => name === 'pids'),
    { value: 30, mechanism: 'rlimit' },
  )
  t.match(outcome.err, /fork|Resource temporarily unavailable/)
  t.ok(await eventually(() => marked(mark).length === 0, 3_000), 'and nothing of it is left')
})

t.test(
  'a workspace of another user: the command is that user, and its private folder too',
  { skip: needs('linux', 'landlock-6', 'root') },
  async t => {
    const workspace = workspaceFor(NOBODY)
    const { boundary } = await opened({ workspace })
    const out = await shell(
      boundary,
      'id -u; echo x > "$HOME/x" && stat -c %u "$HOME/x"; echo y > y; echo z > /dev/stderr; grep -E "CapEff|CapPrm|NoNewPrivs" /proc/self/status',
    )
    t.match(out, /^65534\n65534\nCapPrm:\s+0+\nCapEff:\s+0+\nNoNewPrivs:\s+1\nz\n$/)
    t.match(await shell(boundary, 'cat /etc/shadow'), /Permission denied/)
    await boundary.close()
  },
)

t.test('as uid 0 no capability is left, in no set', { skip: needs('linux', 'landlock-6', 'root') }, async t => {
  const { boundary } = await opened()
  const sets = await shell(boundary, 'grep ^Cap /proc/self/status | cut -f2 | sort -u')
  t.equal(sets, `${'0'.repeat(16)}\n`)
  t.ok(boundary.confinement.gaps.some(({ guarantee }) => guarantee === 'not-root-outside'))
  await boundary.close()
})

t.test('killed at any instant, nothing is left', { skip }, async t => {
  for (const [at, delay] of [0, 3, 7, 15, 30, 60, 120, 250].entries()) {
    const mark = `killed-${process.pid}-${at}`
    const request = {
      ...{ workspace: workspaceFor(), writes: ['.'], env: { MARK: mark }, repeat: true, confine: 'landlock' },
      argv: ['sh', '-c', `setsid sleep 60 & sleep 60 & (setsid sh -c "sleep 60; : ${mark}" &) ; sleep 0.05`],
    }
    const child = program(process.execPath, [fixture('supervise/launcher'), JSON.stringify(request)])
    await said(child, 'open\n')
    await pause(delay)
    child.kill('SIGKILL')
    await once(child, 'close')
    t.ok(await eventually(() => marked(mark).length === 0, 5_000), `after ${delay} ms`)
  }
})

/** Forks and leaves its parent without end, one after the other, in a session and with an environment of its own. */
const HOPPER =
  'for (1 .. 3) { fork or last } %ENV = (); setsid; while (1) { my $p = fork; exit if $p; setsid; select undef, undef, undef, 0.0005 }'

for (const { name, abi } of [
  { name: 'a version that holds signals', abi: undefined },
  { name: 'a version that does not', abi: 5 },
]) {
  t.test(`killed, what hides and runs from us is ended too: ${name}`, { skip: withPerl }, async t => {
    for (const uid of process.getuid?.() === 0 ? [null, NOBODY] : [null]) {
      const mark = `hides-${process.pid}-${abi}-${uid}`
      const request = {
        ...{
          workspace: workspaceFor(uid),
          writes: ['.'],
          env: {},
          repeat: false,
          confine: 'landlock',
          grouped: false,
          abi,
        },
        argv: [
          'sh',
          '-c',
          `${hidden(mark)}; env -i setsid perl -MPOSIX=setsid -e '${HOPPER}' ${mark} & sleep 60; : ${mark}`,
        ],
      }
      const child = program(process.execPath, [fixture('supervise/launcher'), JSON.stringify(request)])
      // One beside it, of the same user, which nobody may end.
      const beside = program('sleep', ['60'], uid)
      await said(child, 'open\n')
      t.ok(await eventually(() => marked(mark).length >= 4, 10_000), 'all of it runs')
      child.kill('SIGKILL')
      t.ok(await eventually(() => marked(mark).length === 0, 5_000), `nothing is left of uid ${uid}`)
      t.equal(beside.exitCode ?? beside.signalCode, null, 'and who is not of it goes on')
      beside.kill('SIGKILL')
    }
  })
}

t.test(
  'a warden that is killed takes the command with it, and the rest is found by its marks',
  { skip: withPerl },
  async t => {
    const { boundary } = await opened({}, ungrouped)
    const mark = `orphaned-${process.pid}`
    const running = run(boundary, ['sh', '-c', `setsid sleep 60 & exec perl -e 'sleep 60; print q(${mark})'`])
    const [command = 0] = await new Promise<number[]>(resolve => {
      const looks = setInterval(() => {
        const found = marked(mark).filter(pid => procText(pid, 'cmdline').startsWith('perl'))
        if (found.length === 0) return
        clearInterval(looks)
        resolve(found)
      }, 20)
    })
    process.kill(Number(/\) \S (\d+)/.exec(procText(command, 'stat'))?.[1]), 'SIGKILL')
    const outcome = await running
    t.match(outcome.ending, { kind: 'signalled', signal: 'SIGKILL' })
    t.equal(outcome.tree_left, true, 'and that something may hide is told')
    t.equal(marked(mark).length, 0)
    await boundary.close()
  },
)

t.test('many at once, and nothing of ours stays open', { skip }, async t => {
  const { boundary } = await opened()
  const descriptors = () => readdirSync('/proc/self/fd').length
  await Promise.all(Array.from({ length: 5 }, () => run(boundary, ['true'])))
  const before = descriptors()
  for (let round = 0; round < 4; round++) {
    const outcomes = await Promise.all(
      Array.from({ length: 12 }, (_, at) => run(boundary, ['sh', '-c', `echo ${at}; exit ${at}`])),
    )
    t.same(
      outcomes.map(({ ending }) => (ending.kind === 'exited' ? ending.status : ending)),
      outcomes.map((_, at) => at),
    )
  }
  t.ok(descriptors() <= before, 'no descriptor')
  await boundary.close()
})

t.test('a terminal of its own', { skip: needs('linux', 'landlock-6', 'node-pty') }, async t => {
  const { boundary } = await opened()
  const terminal = { size: { columns: 91, rows: 17 }, term: 'xterm' }
  const outcome = await run(
    boundary,
    ['sh', '-c', 'tty; stty size; echo x > /dev/tty; ps -o tpgid= -p $$ 2>/dev/null; ls /dev/pts; echo "$TERM"'],
    { terminal },
  )
  const shown = text(outcome).replaceAll('\r', '')
  t.match(shown, /^\/dev\/pts\/\d+\n17 91\nx\n/)
  t.match(shown, /cannot open directory '\/dev\/pts'|Permission denied/, 'other terminals are not shown')
  t.match(shown, /xterm\n$/)
  t.match(await run(boundary, ['sh', '-c', 'stty -echo && stty echo && : < /dev/tty && exit 7'], { terminal }), {
    ending: { kind: 'exited', status: 7 },
  })
  await boundary.close()
})

/** What people's tools do in a workspace that is granted whole, each ending with the word it is asked for. */
const TOOLS: readonly { readonly name: string; readonly words: string; readonly skip: false | string }[] = [
  {
    name: 'git',
    words:
      'git init -q r && cd r && git config user.email a@b && git config user.name x && echo 1 > f && git add f && git commit -qm x && cd .. && git clone -q r r2 && cat r2/f && echo fine',
    skip: needs('git'),
  },
  {
    name: 'node with children and threads',
    words: `node -e 'const { execFileSync, fork } = require("node:child_process"); const { Worker } = require("node:worker_threads"); execFileSync("sh", ["-c", ":"]); new Worker("", { eval: true }).on("exit", () => console.log("fine"))'`,
    skip: false,
  },
  {
    name: 'python with threads and children',
    words: `python3 -I -c 'import subprocess, tempfile, concurrent.futures as c; tempfile.mkdtemp(); subprocess.run(["true"], capture_output=True); list(c.ThreadPoolExecutor(2).map(abs, [1])); print("fine")'`,
    skip: needs('python3'),
  },
  {
    name: 'archives, links, modes and moves',
    words:
      'echo x > a && chmod 600 a && ln a b && ln -s a c && tar cf t a b c && mkdir d && tar xf t -C d && cp -a d e && mv e d/e && touch -d 2001-01-01 d/a && rm -r d && mktemp && echo fine',
    skip: false,
  },
]

for (const { name, words, skip: lacking } of TOOLS) {
  t.test(`ordinary tools work: ${name}`, { skip: skip || lacking }, async t => {
    const bin = dirname(process.execPath)
    const read = bin.startsWith('/usr/') ? [] : [join(bin, '..')]
    const { boundary } = await opened({ read, env: { PATH: `${bin}:/usr/bin:/bin` } })
    t.match(await shell(boundary, words), /fine\n$/)
    await boundary.close()
  })
}

/** Each call that binds, taken out of the list: what then gets through, so that the tests above are seen to test it. */
const TAKEN_OUT: readonly {
  readonly call: string
  readonly words: string
  readonly seen: RegExp
  readonly skip?: false | string
}[] = [
  { call: 'landlock_restrict_self', words: 'echo x > ../outside && cat ../outside', seen: /^x$/m },
  {
    call: 'seccomp',
    words: `perl -e 'use Socket; socket(my $s, 2, 2, 0) and print "open"'`,
    seen: /open/,
    skip: needs('perl'),
  },
  { call: 'close_range', words: 'ls /proc/self/fd', seen: /^7$/m },
  { call: 'capset prctl', words: 'grep CapPrm /proc/self/status', seen: /CapPrm:\s+0*[1-9a-f]/, skip: needs('root') },
  { call: 'prlimit64', words: 'ulimit -n', seen: /^(?!1024$)\w+$/m },
]

for (const { call: taken, words, seen, skip: lacking } of TAKEN_OUT) {
  t.test(`without ${taken}`, { skip: skip || lacking || false }, async t => {
    const { plan, env } = await planned(words)
    const whole = await played(plan, env, () => true)
    t.notMatch(whole, /failed at/)
    t.notMatch(whole, seen, 'with it nothing gets through')
    t.match(await played(plan, env, ({ call }) => !taken.split(' ').includes(call)), seen)
  })
}

async function planned(words: string): Promise<{ plan: LaunchPlan; env: Record<string, string> }> {
  const workspace = workspaceFor()
  const facts = await withLandlock(await readHostFacts())
  const policy = landPolicy(asked(workspace, { writeSubtrees: ['.'], limits: { 'open-files': 1_024 } }), facts)
  const plan = planLaunch({ boundary: 'landlock', policy, facts, command: ['sh', '-c', words] })
  if (plan instanceof Refusal) throw plan
  return { plan, env: { ...plan.env } }
}

/** Plays those calls of `plan` that are kept, and answers what the command prints. */
async function played(plan: LaunchPlan, env: Record<string, string>, keeps: (call: Call) => boolean): Promise<string> {
  const arch = FILTER_ARCHES[process.arch]
  if (plan.landlock === undefined || arch === undefined) throw new Error('no plan under Landlock')
  const root = process.getuid?.() === 0
  const request = {
    plan,
    landlock: counted({ landlock: plan.landlock, identity: null }),
    env,
    folders: [],
    reopened: {},
    root,
    parent: process.pid,
  }
  // What ends the command stays whole: without its domain it would end everything.
  const calls = landlockCalls(request).filter(call => call.what === 'what ends the command' || keeps(call))
  const folder = mkdtempSync(join(tmpdir(), 'landlock-played-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'launcher')
  writeFileSync(file, launcherElf(arch), { mode: 0o755 })
  writeFileSync(join(folder, 'list'), encodeCalls(calls, arch) ?? '')
  const list = openSync(join(folder, 'list'), 'r')
  const child = spawn(file, [], { stdio: ['ignore', 'pipe', 'pipe', list, list, 'pipe', list, list] })
  closeSync(list)
  const [, stdout, stderr] = child.stdio
  const hold = (child.stdio as readonly unknown[])[LAUNCHER_FDS.hold] as Socket
  let out = ''
  for (const stream of [stdout, stderr]) stream?.on('data', bytes => (out += String(bytes)))
  hold.on('error', () => undefined)
  hold.on('data', (bytes: Buffer) => {
    if (bytes.toString() === STANDS) return void hold.write(RELEASE)
    const { failure } = wardenWords(bytes, calls)
    if (failure !== null) out += `failed at ${JSON.stringify(failure.call)}`
  })
  await once(child, 'close')
  return out
}
