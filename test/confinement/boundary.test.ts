/** Endings and failures by table, and which boundary is tried when one does not hold: with launchers that only pretend. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { Boundary, openBoundary } from '../../src/confinement/boundary.js'
import { NO_COUNTS } from '../../src/confinement/cgroup.js'
import { endingOf } from '../../src/confinement/ending.js'
import { readHostFacts } from '../../src/confinement/host-facts.js'
import { knownFailure } from '../../src/confinement/known-failures.js'
import { rungsWithout } from '../../src/confinement/ladder.js'
import { planLaunch } from '../../src/confinement/launch-plan.js'
import { proved, remember } from '../../src/confinement/proved.js'
import type { ConfineChoice, HostFacts, Policy, PolicyRequest } from '../../src/confinement/types.js'
import { isRefusal, type Refusal } from '../../src/errors.js'
import type { HarnessEvent } from '../../src/events.js'
import { type AppliedLimit, NOTHING_CAPTURED } from '../../src/outcome.js'
import { closeInherited } from '../../src/supervise/descriptors.js'
import { notStarted } from '../../src/supervise/program.js'
import { DEBIAN, policy, request, rule } from '../support/confinement-fakes.js'
import { needs } from '../support/needs.js'

closeInherited()

const said = (text: string) => {
  const head = new Uint8Array(Buffer.from(text))
  return { head, tail: new Uint8Array(0), droppedBytes: 0, totalBytes: head.length }
}

const LIMITS: AppliedLimit[] = [
  { name: 'memory', value: 100, mechanism: 'cgroup-v1' },
  { name: 'pids', value: 5, mechanism: 'withheld', why: 'test' },
  { name: 'cpu', value: 1_000, mechanism: 'rlimit' },
  { name: 'file-size', value: 1_000, mechanism: 'rlimit' },
]

t.test('how a launch ended', async t => {
  const itself = { kind: 'by-itself' } as const
  const exit = { status: 0, signal: null }
  const ran = (exitCode: number) => ({ released: true, exitCode, problem: null })
  const cases: { name: string; facts: Partial<Parameters<typeof endingOf>[0]>; ending: object }[] = [
    { name: 'a status', facts: { release: ran(3) }, ending: { kind: 'exited', status: 3 } },
    { name: 'a signal', facts: { release: ran(143) }, ending: { kind: 'signalled', signal: 'SIGTERM', core: null } },
    {
      name: 'the last named signal',
      facts: { release: ran(159) },
      ending: { kind: 'signalled', signal: 'SIGSYS', core: null },
    },
    { name: '128 is none', facts: { release: ran(128) }, ending: { kind: 'exited', status: 128 } },
    { name: 'nor is 160', facts: { release: ran(160) }, ending: { kind: 'exited', status: 160 } },
    {
      name: 'cpu, as the kernel counted',
      facts: { release: ran(152), counts: { ...NO_COUNTS, cpuMs: 990 } },
      ending: { kind: 'bound', name: 'cpu', limit: 1_000, seen: null },
    },
    {
      name: 'a command that exits as if it had used its time up',
      facts: { release: ran(152), counts: { ...NO_COUNTS, cpuMs: 20 } },
      ending: { kind: 'signalled', signal: 'SIGXCPU', core: null },
    },
    {
      name: 'where nobody counts',
      facts: { release: ran(152) },
      ending: { kind: 'bound', name: 'cpu', limit: 1_000, seen: null },
    },
    {
      name: 'much time, but another end',
      facts: { release: ran(1), counts: { ...NO_COUNTS, cpuMs: 5_000 } },
      ending: { kind: 'exited', status: 1 },
    },
    {
      name: 'a signal that leaves no count',
      facts: { release: ran(153) },
      ending: { kind: 'bound', name: 'file-size', limit: 1_000, seen: null },
    },
    {
      name: 'memory',
      facts: { release: ran(137), counts: { ...NO_COUNTS, memoryKills: 1, peakMemoryBytes: 99 } },
      ending: { kind: 'bound', name: 'memory', limit: 100, seen: 99 },
    },
    {
      name: 'a limit that was met and survived',
      facts: { release: ran(0), counts: { ...NO_COUNTS, memoryKills: 1 } },
      ending: { kind: 'exited', status: 0 },
    },
    {
      name: 'a limit that is withheld bounds nothing',
      facts: { release: ran(1), counts: { ...NO_COUNTS, forksRefused: 1 } },
      ending: { kind: 'exited', status: 1 },
    },
    {
      name: 'what we caused comes first',
      facts: {
        release: ran(137),
        ended: { cause: { kind: 'timed-out', limit_ms: 5 }, exit, stderr: NOTHING_CAPTURED },
      },
      ending: { kind: 'timed-out', limit_ms: 5 },
    },
    {
      name: 'the sandbox failed',
      facts: {
        release: { released: false, exitCode: null, problem: null },
        ended: { cause: itself, exit, stderr: said('bwrap: no\n') },
      },
      ending: { kind: 'not-started', code: 'sandbox-failed', message: 'bwrap: no' },
    },
    {
      name: 'without a word',
      facts: { release: { released: false, exitCode: 1, problem: null } },
      ending: { kind: 'not-started', code: 'sandbox-failed', message: /without a word/ },
    },
    {
      name: 'a problem of ours',
      facts: {
        release: { released: false, exitCode: null, problem: notStarted('sandbox-failed', 'no group') },
        ended: { cause: { kind: 'cancelled', by: 'caller' }, exit, stderr: NOTHING_CAPTURED },
      },
      ending: { kind: 'not-started', code: 'sandbox-failed', message: 'no group' },
    },
    {
      name: 'somebody killed the launcher',
      facts: {
        release: { released: true, exitCode: null, problem: null },
        ended: { cause: itself, exit: { status: null, signal: 'SIGKILL' }, stderr: NOTHING_CAPTURED },
      },
      ending: { kind: 'signalled', signal: 'SIGKILL', core: null },
    },
    {
      name: 'words of a shell are the command’s',
      facts: {
        release: ran(127),
        ended: { cause: itself, exit, stderr: said('/run/harness/limit: 18: exec: /x: Permission denied\n') },
      },
      ending: { kind: 'exited', status: 127 },
    },
  ]
  const plain = {
    plan: { limits: LIMITS },
    ended: { cause: itself, exit, stderr: NOTHING_CAPTURED },
    counts: NO_COUNTS,
    release: ran(0),
  }
  for (const { name, facts, ending } of cases) t.match(endingOf({ ...plain, ...facts }), ending, name)
})

t.test('what bubblewrap says and what to do about it', async t => {
  const cases: [string, string, RegExp][] = [
    [
      'bwrap: No permissions to create new namespace, likely because the kernel does not allow',
      'user namespace',
      /seccomp|unprivileged_userns_clone/,
    ],
    ["bwrap: Can't mount proc on /newroot/proc: Operation not permitted", 'fresh /proc', /systempaths=unconfined/],
    ["bwrap: Can't mount proc on /proc: Operation not permitted", 'fresh /proc', /systempaths=unconfined/],
    ['bwrap: pivot_root: Operation not permitted', 'pivot_root', /seccomp/],
    [
      'bwrap: cannot open /proc/sys/user/max_user_namespaces: Read-only file system',
      'fresh /proc',
      /systempaths=unconfined.*unmask=ALL/,
    ],
    ["bwrap: Can't set hostname to harness: Operation not permitted", 'host name', /sethostname/],
    ['bwrap: Unexpected capabilities but not setuid, old file caps config?', 'capabilities', /--cap-add/],
    ['bwrap: pivot_root: Invalid argument', 'pivot_root', /switch_root/],
    ['bwrap: setting up uid map: Operation not permitted', 'uid map', /SETFCAP/],
    ['bwrap: setting up uid map: Permission denied', 'uid map', /apparmor_restrict_unprivileged_userns/],
    ['bwrap: setting up uid map: Read-only file system', 'uid map', /\/proc/],
    ['bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted', 'network namespace', /AppArmor/],
    [
      'bwrap: Creating new namespace failed: nesting depth or /proc/sys/user/max_*_namespaces exceeded (ENOSPC)',
      'user namespace',
      /max_user_namespaces/,
    ],
    ['bwrap: Creating new namespace failed: Operation not permitted', 'namespaces', /--user 1000:1000/],
    ['bwrap: Creating new namespace failed: Resource temporarily unavailable', 'processes', /ulimit -u/],
    [
      'what runs as uid 1000 could not be ended, because uid 0 has no CAP_KILL here: keep it (--cap-add KILL), or run as that user',
      'CAP_KILL',
      /as whom commands run.*run as the user/,
    ],
    ["bwrap: Can't find source path /ws/g: No such file or directory", 'folders', /try again/],
    ["bwrap: Can't create file /ws/g: Read-only file system", 'folders', /try again/],
    ["bwrap: Can't mount proc on /newroot/proc: Cannot allocate memory", 'memory', /used up/],
    ['/usr/bin/bwrap could not be started: EMFILE', 'open files', /ulimit -n/],
    ["Error: ENOSPC: no space left on device, open '/tmp'", 'space', /TMPDIR/],
    ["Error: EROFS: read-only file system, open '/tmp'", 'temporary files', /TMPDIR/],
    ['the folder for temporary files /etc cannot be written (EACCES): set TMPDIR', 'temporary files', /TMPDIR/],
    ['the folder for temporary files /tmp cannot be written (ENOSPC): set TMPDIR', 'space', /make room/],
    ['/run/harness/limit: 6: ulimit: error setting limit (Operation not permitted)', 'limits inside', /--limit/],
    ['bwrap: Unknown option --disable-userns', 'options of bubblewrap', /too old/],
    ['something nobody has seen', 'launch', /harness doctor/],
  ]
  for (const [text, probe, fix] of cases) {
    const known = knownFailure(text)
    t.equal(known.probe, probe, text)
    t.match(`${known.cause}: ${known.fix}`, fix)
  }
})

/** `landlock`: what the kernel is said to answer; absent: it is asked. */
async function open(
  confine: ConfineChoice,
  launcher: string,
  probe: 'now' | 'launch' = 'now',
  landlock?: HostFacts['landlock'],
) {
  const folder = mkdtempSync(join(tmpdir(), 'boundary-test-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  mkdirSync(join(folder, 'ws'))
  const path = join(folder, 'bwrap')
  writeFileSync(path, `#!/bin/sh\n${launcher}\n`, { mode: 0o755 })
  const events: HarnessEvent[] = []
  const opened = await openBoundary({
    confine,
    request: {
      workspace: join(folder, 'ws'),
      read: [],
      writeSubtrees: [],
      hide: [],
      unprotect: [],
      programs: ['nothing'],
      env: {},
      limits: {},
      controlFiles: [],
    },
    facts: { ...(await readHostFacts()), bwrap: { path }, cgroup: {}, ...(landlock === undefined ? {} : { landlock }) },
    runId: '00112233aabbccdd',
    onEvent: event => events.push(event),
    probe,
  })
  return {
    opened,
    events,
    folder,
    path,
    run: () =>
      opened instanceof Boundary
        ? opened.run({ argv: ['nothing'], purpose: 'exec', signal: new AbortController().signal })
        : null,
  }
}

const boundaries = (events: readonly HarnessEvent[]) =>
  events.flatMap(event => (event.kind === 'launch-started' ? [event.confinement.boundary] : []))

t.test('which boundary is tried', { skip: needs('linux') }, async t => {
  const masked = 'echo "bwrap: Can\'t mount proc on /newroot/proc: Operation not permitted" >&2; exit 1'
  const auto = await open('auto', masked, 'now', { abi: 0 })
  t.match(auto.opened, {
    code: 'boundary-unavailable',
    details: { boundary: 'bubblewrap', probe: 'fresh /proc' },
    message: /and the boundary landlock cannot stand in for it: this kernel offers no Landlock/,
  })
  t.same(boundaries(auto.events), ['bubblewrap', 'bubblewrap-hostproc'], 'auto goes down the ladder')
  const newer = await open('auto', masked.replace('/newroot', ''), 'now', { abi: 0 })
  t.same(boundaries(newer.events), ['bubblewrap', 'bubblewrap-hostproc'], 'in the words of bubblewrap 0.12 too')
  t.equal(auto.events.filter(event => event.kind === 'launch-ended').length, 2)
  const shortages = [
    'bwrap: Creating new namespace failed: Resource temporarily unavailable',
    "bwrap: Can't mount proc on /newroot/proc: Cannot allocate memory",
    "bwrap: Can't find source path /x\nbwrap: Can't mount proc on /newroot/proc: Operation not permitted",
    "bwrap: Can't mount proc on /newroot/proc: Operation not permitted\nof another kind",
    '/run/harness/limit: 6: ulimit: error setting limit (Operation not permitted)',
    'something nobody has seen',
  ]
  for (const text of shortages) {
    const short = await open('auto', `cat >&2 <<'END'\n${text}\nEND\nexit 1`)
    t.same(boundaries(short.events), ['bubblewrap'], `no weaker boundary for ${text}`)
    t.match(short.opened, { code: 'boundary-unavailable', details: { boundary: 'bubblewrap', text } })
  }
  const native = await open('native', masked)
  t.same(boundaries(native.events), ['bubblewrap'], 'native does not')
  if (!isRefusal(native.opened, 'boundary-unavailable')) throw new Error('not refused')
  t.match(native.opened.details, {
    boundary: 'bubblewrap',
    probe: 'fresh /proc',
    text: "bwrap: Can't mount proc on /newroot/proc: Operation not permitted",
  })
  t.match(native.opened.message, 'nothing was run')
  t.ok(isRefusal((await open('off', masked)).opened, 'confinement-off'))
  t.match((await open('landlock', masked, 'now', { abi: 0 })).opened, {
    code: 'boundary-unavailable',
    details: { boundary: 'landlock' },
  })
  const later = await open('auto', masked, 'launch')
  t.ok(later.opened instanceof Boundary, 'where the launch is the probe, opening starts nothing')
  t.same(boundaries(later.events), [])
  t.ok(isRefusal(await later.run(), 'program-missing'), 'a program that is not there is said before any launch')
})

/** What bubblewrap says where it can make no sandbox, by what has to be there for it: see `meansNoBubblewrap`. */
const NO_SANDBOX = [
  'bwrap: No permissions to create new namespace, likely because the kernel does not allow non-privileged user namespaces. See <https://deb.li/bubblewrap> or <file:///usr/share/doc/bubblewrap/README.Debian.gz>.',
  'bwrap: Creating new namespace failed: Operation not permitted',
  'bwrap: Creating new namespace failed, likely because the kernel does not support user namespaces.  bwrap must be installed setuid on such systems.',
  'bwrap: pivot_root: Operation not permitted',
  'bwrap: pivot_root: Invalid argument',
  'bwrap: setting up uid map: Operation not permitted',
  'bwrap: setting up uid map: Permission denied',
  'bwrap: setting up uid map: Read-only file system',
  'bwrap: loopback: Failed RTM_NEWADDR: No child processes',
  'bwrap: Failed to make / slave: Operation not permitted',
  'bwrap: unmount old root: Operation not permitted',
  "bwrap: Can't set hostname to harness: Operation not permitted",
  'bwrap: Unexpected capabilities but not setuid, old file caps config?',
  'bwrap: Unknown option --size',
  'bwrap: The --size option is not permitted in setuid mode',
] as const

const USED_UP =
  'bwrap: Creating new namespace failed: nesting depth or /proc/sys/user/max_*_namespaces exceeded (ENOSPC)'

t.test('from which words Landlock stands in for bubblewrap', async t => {
  const weaker = ['bubblewrap-hostproc', 'landlock'] as const
  for (const text of NO_SANDBOX) t.same(rungsWithout(text, weaker), ['landlock'], text)
  t.same(rungsWithout("bwrap: Can't mount proc on /newroot/proc: Operation not permitted", weaker), weaker)
  t.same(rungsWithout('bwrap: Unknown option --disable-userns', weaker), weaker, '0.7 has the rest')
  t.same(rungsWithout('bwrap: Unknown option --read-this', weaker), [], 'none of ours')
  t.same(
    (['none', 'some', 'unknown'] as const).map(room => rungsWithout(USED_UP, weaker, room).length),
    [1, 0, 0],
    'namespaces that are in use for the moment are no reason, and unknown is not none',
  )
  for (const text of NO_SANDBOX) {
    const inPath = `bwrap: Can't find source path /${text}/x: No such file or directory`
    t.same(rungsWithout(inPath, weaker), [], 'words in a path of a user are no reason')
    t.same(rungsWithout(`${text}\nand another line`, weaker), [], 'nor words beside others')
  }
  t.same(rungsWithout(NO_SANDBOX[0], []), [], 'native has nothing weaker')
})

t.test('auto comes to Landlock, and the record says so', { skip: needs('linux', 'landlock-6') }, async t => {
  const fails = (text: string) => `cat >&2 <<'END'\n${text}\nEND\nexit 1`
  for (const text of [NO_SANDBOX[0], NO_SANDBOX[5]]) {
    const { opened, events } = await open('auto', fails(text))
    if (!(opened instanceof Boundary)) throw opened
    t.same(boundaries(events), ['bubblewrap', 'landlock'], 'straight to it: the other one needs a namespace too')
    t.equal(opened.confinement.boundary, 'landlock')
    t.ok(opened.confinement.gaps.length > 0, 'with what it does not hold')
    await opened.close()
  }
  const first = await open('auto', fails(NO_SANDBOX[0]))
  const facts = { ...(await readHostFacts()), bwrap: { path: first.path }, cgroup: {} }
  for (const probe of ['now', 'launch'] as const) {
    const again = await openBoundary({
      ...{ confine: 'auto', facts, runId: '00112233aabbccdd', onEvent: () => undefined, probe },
      request: request(join(first.folder, 'ws')),
    })
    if (!(again instanceof Boundary)) throw again
    t.equal(again.confinement.boundary, 'landlock', `the next one of this process, probe ${probe}`)
    await again.close()
  }
  const { opened } = await open('auto', fails(NO_SANDBOX[0]), 'now', { abi: 0 })
  t.match(opened, {
    details: { boundary: 'bubblewrap', text: NO_SANDBOX[0] },
    message: /cannot stand in for it: this kernel offers no Landlock/,
  })
  t.equal(isRefusal((opened as Refusal).cause), true)
})

t.test(
  'without bubblewrap auto is Landlock, and what it cannot hold refuses',
  { skip: needs('linux', 'landlock-6') },
  async t => {
    const folder = mkdtempSync(join(tmpdir(), 'boundary-test-'))
    t.teardown(() => rmSync(folder, { recursive: true, force: true }))
    const facts = { ...(await readHostFacts()), bwrap: null, cgroup: {} }
    const openWith = (confine: ConfineChoice, more: Partial<PolicyRequest>) =>
      openBoundary({
        ...{ confine, facts, runId: '00112233aabbccdd', onEvent: () => undefined, probe: 'now' },
        request: { ...request(folder), ...more },
      })
    const held = await openWith('auto', {})
    if (!(held instanceof Boundary)) throw held
    t.equal(held.confinement.boundary, 'landlock')
    await held.close()
    t.match(await openWith('native', {}), { code: 'boundary-unavailable', details: { probe: 'find bwrap' } })
    t.match(await openWith('auto', { nesting: true }), {
      ...{ code: 'unsupported-rule', details: { rule: '--allow-nesting' }, message: /--confine bubblewrap/ },
    })
  },
)

t.test('what Landlock cannot hold is refused by the name of its flag', async t => {
  const place = rule('/somewhere')
  const cases: readonly (readonly [Partial<Policy>, string])[] = [
    [{ nesting: true }, '--allow-nesting'],
    [{ readHost: true }, '--read-host'],
    [{ cache: place }, '--cache'],
    [{ sockets: [place] }, '--allow-socket'],
    [{ network: { hosts: [] } }, '--allow-host'],
    [{ gitCommit: true }, '--grant git-commit'],
    [{ staged: [{ ...place, inside: '/toolchain/driver' } as unknown as Policy['staged'][number]] }, '--driver'],
  ]
  for (const [parts, flag] of cases) {
    const plan = planLaunch({ boundary: 'landlock', policy: policy(parts), facts: DEBIAN, command: ['true'] })
    t.match(plan, { code: 'unsupported-rule', details: { rule: flag }, message: /nothing was run/ })
  }
})

t.test('a boundary that was named stands for no stronger one later', async t => {
  const facts = { ...DEBIAN, kernel: `named-${process.pid}`, bwrap: null }
  const names = ['bubblewrap', 'bubblewrap-hostproc', 'landlock'] as const
  remember(facts, 'landlock', ['landlock'])
  t.equal(proved(facts, ['landlock']), 'landlock')
  t.equal(proved(facts, names), null, 'auto still tries the strongest')
  remember(facts, 'landlock', names)
  t.equal(proved(facts, names), 'landlock', 'until it has come down to it itself')
  t.equal(proved(facts, ['bubblewrap']), null)
  remember(facts, 'bubblewrap', ['bubblewrap'])
  t.equal(proved(facts, names), 'bubblewrap', 'what is strongest and has held is taken')
  t.equal(proved({ ...facts, uid: 7 }, names), null, 'of another user nothing is known')
})
