import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { openBoundary } from '../../src/confinement/boundary.js'
import { chooseBoundary } from '../../src/confinement/choose.js'
import { readHostFacts } from '../../src/confinement/host-facts.js'
import { planLaunch } from '../../src/confinement/launch-plan.js'
import type { HostFacts, LaunchPlan, Policy, PolicyRequest } from '../../src/confinement/types.js'
import { groupText, passwdText } from '../../src/confinement/user-texts.js'
import { Refusal } from '../../src/errors.js'
import type { Outcome } from '../../src/outcome.js'
import { closeInherited } from '../../src/supervise/descriptors.js'
import { DEBIAN, policy, request, rule } from '../support/confinement-fakes.js'
import { needs } from '../support/needs.js'
import { scratch } from '../support/scratch.js'

// Whoever runs the tests may have left descriptors open; a launch refuses over them.
closeInherited()

/** A plan on the fake machine with the real system's programs; fails where it is refused. */
function planned(parts: Partial<Policy>, facts: HostFacts = DEBIAN, command: readonly string[] = ['sh']): LaunchPlan {
  const plan = planLaunch({
    boundary: 'bubblewrap',
    policy: policy({ workspace: rule('/srv'), ...parts }),
    facts,
    command,
  })
  if (plan instanceof Refusal) throw plan
  return plan
}

t.test('limits: who binds what', { skip: needs('linux') }, async t => {
  const mechanisms = (facts: Partial<HostFacts>, uid = 1000) => {
    const plan = planned({ owner: { uid, gid: uid } }, { ...DEBIAN, uid, ...facts })
    return Object.fromEntries(plan.limits.map(({ name, mechanism }) => [name, mechanism]))
  }
  const always = {
    wall: 'supervisor',
    output: 'supervisor',
    cpu: 'rlimit',
    'file-size': 'rlimit',
    'open-files': 'rlimit',
  }
  t.same(mechanisms({}), { ...always, memory: 'rlimit', pids: 'rlimit' })
  t.same(mechanisms({}, 0), { ...always, memory: 'rlimit', pids: 'withheld' }, 'uid 0 passes the rlimit')
  t.same(mechanisms({ cgroup: { v2: '/g' } }, 0), { ...always, memory: 'cgroup-v2', pids: 'cgroup-v2' })
  t.same(mechanisms({ cgroup: { v1: { pids: '/p' } } }, 0), { ...always, memory: 'rlimit', pids: 'cgroup-v1' })
  t.same(planned({}, { ...DEBIAN, cgroup: { v1: { pids: '/p' } } }).cgroup, { v1: { pids: '/p' } })
})

t.test('limits: as options of the hold, never above a hard limit of ours', { skip: needs('linux') }, async t => {
  const options = (plan: LaunchPlan): readonly string[] =>
    plan.args.slice(plan.optionWords + 2, plan.args.indexOf('--', plan.optionWords + 1))
  t.same(options(planned({})), [
    '--cpu=600:602',
    '--data=2147483648',
    '--fsize=1073741824',
    '--nofile=1024',
    '--nproc=256',
  ])
  const hard = planned({}, { ...DEBIAN, hardLimits: { nofile: 512, cpu: 10, fsize: 2 ** 40 } })
  t.same(options(hard).slice(0, 4), ['--cpu=8:10', '--data=2147483648', '--fsize=1073741824', '--nofile=512'])
  t.match(
    hard.limits.find(({ name }) => name === 'open-files'),
    { value: 512 },
    'the record says what binds',
  )
  const cpu: [hard: number, option: string, value: number][] = [
    [1_000, '600:602', 600_000],
    [601, '599:601', 599_000],
    [3, '1:3', 1_000],
    [2, '2:2', 2_000],
    [1, '1:1', 1_000],
  ]
  for (const [hard, option, value] of cpu) {
    const plan = planned({}, { ...DEBIAN, hardLimits: { cpu: hard } })
    t.equal(options(plan)[0], `--cpu=${option}`, `hard limit ${hard}`)
    t.match(plan.limits, [{ name: 'wall' }, { name: 'output' }, { name: 'cpu', value }], 'and the record says it')
  }
  const grouped = planned({}, { ...DEBIAN, cgroup: { v2: '/g' } })
  t.same(options(grouped), ['--cpu=600:602', '--fsize=1073741824', '--nofile=1024'])
})

t.test(
  'identity: uid 0 works as the owner of the workspace, or says that it is root',
  { skip: needs('linux') },
  async t => {
    const root = { ...DEBIAN, uid: 0, gid: 0 }
    const dropped = planned({ owner: { uid: 1234, gid: 99 } }, root)
    t.same(dropped.identity, { uid: 1234, gid: 99 })
    t.match(new TextDecoder().decode(dropped.files[0]?.bytes), /^agent:x:1234:99:/)
    t.ok(dropped.confinement.applied.includes('not-root-outside'))
    const kept = planned({ owner: { uid: 0, gid: 0 } }, root)
    t.equal(kept.identity, null)
    t.match(kept.confinement.gaps, [{ guarantee: 'not-root-outside', why: 'uid 0 inside is uid 0 outside' }])
    t.notOk(kept.confinement.applied.includes('not-root-outside'), 'in one list, not in both')
    t.equal(planned({ owner: { uid: 1234, gid: 99 } }).identity, null, 'nobody but uid 0 can change')
    const given = planned({ owner: { uid: 1234, gid: 99 } }, { ...root, deviceOwners: [0, 1234] })
    t.ok(dropped.confinement.applied.includes('host-settings-read-only'))
    t.match(
      given.confinement.gaps.filter(({ guarantee }) => guarantee === 'host-settings-read-only'),
      [{ why: /device that is shown .* belongs to this user/ }],
      'an engine that hands a device to its user',
    )
  },
)

t.test(
  'programs: found inside, kept under their own name, refused by what is wrong',
  { skip: needs('linux') },
  async t => {
    const ws = scratch(t)
    const other = scratch(t)
    const put = (path: string, text: string, mode: number): void => {
      writeFileSync(path, text)
      chmodSync(path, mode)
    }
    mkdirSync(join(ws, 'bin'))
    put(join(ws, 'bin/tool'), '#!/bin/sh\n', 0o755)
    put(join(ws, 'bin/plain'), 'echo hello\n', 0o755)
    put(join(ws, 'bin/closed'), '#!/bin/sh\n', 0o644)
    put(join(other, 'hidden'), '#!/bin/sh\n', 0o755)
    symlinkSync('tool', join(ws, 'bin/alias'))
    symlinkSync(join(other, 'hidden'), join(ws, 'bin/out'))
    symlinkSync(join(ws, 'bin'), join(other, 'via'))
    symlinkSync(join(other, 'via/tool'), join(ws, 'bin/detour'))
    const shown = policy({ workspace: rule(ws), reads: [rule(ws)], env: { PATH: `${ws}/bin:relative:/usr/bin` } })
    const run = (name: string, parts: Partial<Policy> = {}): string => {
      const plan = planLaunch({
        boundary: 'bubblewrap',
        policy: { ...shown, ...parts },
        facts: DEBIAN,
        command: [name, 'x'],
      })
      return plan instanceof Refusal ? plan.code : (plan.command[0] ?? '')
    }
    const cases: readonly (readonly [name: string, result: string, parts?: Partial<Policy>])[] = [
      ['tool', join(ws, 'bin/tool')],
      ['./bin/tool', join(ws, 'bin/tool')],
      [join(ws, 'bin/../bin/tool'), join(ws, 'bin/tool')],
      ['alias', join(ws, 'bin/alias')],
      ['detour', join(ws, 'bin/tool')],
      ['/bin/sh', '/usr/bin/sh'],
      ['sh', '/usr/bin/sh'],
      ['no-such-program', 'program-missing'],
      ['./no-such', 'program-missing'],
      ['', 'program-missing'],
      ['out', 'program-not-visible'],
      [join(other, 'hidden'), 'program-not-visible'],
      ['plain', 'program-not-executable'],
      ['closed', 'program-not-executable'],
      ['./bin', 'program-not-executable'],
      ['tool', 'program-not-allowed', { programs: [] }],
      ['tool', 'program-not-allowed', { programs: ['tools', './bin/tool'] }],
      ['tool', join(ws, 'bin/tool'), { programs: ['sh', 'tool'] }],
      ['tool', 'program-not-visible', { hides: [rule(join(ws, 'bin'))] }],
    ]
    for (const [name, result, parts] of cases)
      t.equal(run(name, parts), result, `${name} ${JSON.stringify(Object.keys(parts ?? {}))}`)
  },
)

t.test('commands and machines that cannot be planned', { skip: needs('linux') }, async t => {
  const codeOf = (
    command: readonly string[],
    facts = DEBIAN,
    boundary: Parameters<typeof planLaunch>[0]['boundary'] = 'bubblewrap',
  ) => {
    const plan = planLaunch({ boundary, policy: policy({ workspace: rule('/usr/share') }), facts, command })
    return plan instanceof Refusal ? plan.code : 'planned'
  }
  const words = (count: number): string[] => ['sh', ...Array.from({ length: count }, () => 'x')]
  t.equal(codeOf(['sh', 'a\0b']), 'nul-in-argument')
  t.equal(codeOf(['sh', 'x'.repeat(131_071)]), 'planned')
  t.equal(codeOf(['sh', 'x'.repeat(131_072)]), 'argument-too-long')
  t.equal(codeOf(['sh', 'é'.repeat(65_536)]), 'argument-too-long', 'bytes count, not characters')
  t.equal(codeOf(words(8_000)), 'planned')
  t.equal(codeOf(words(9_000)), 'too-many-words')
  t.equal(codeOf([]), 'program-missing')
  t.equal(codeOf(['sh'], { ...DEBIAN, arch: 'riscv64' }), 'architecture-unsupported')
  t.equal(codeOf(['sh'], { ...DEBIAN, bwrap: null }), 'boundary-unavailable')
  t.equal(
    codeOf(['sh'], { ...DEBIAN, bwrap: { path: '/usr/share/x/bwrap' } }),
    'boundary-unavailable',
    'a launcher in the workspace',
  )
  t.equal(codeOf(['sh'], DEBIAN, 'landlock'), 'boundary-unavailable', 'Landlock that nobody asked for')
})

t.test('choosing a boundary', async t => {
  const darwin: HostFacts = { ...DEBIAN, platform: 'darwin', bwrap: null }
  const none: HostFacts = { ...DEBIAN, bwrap: null }
  const cases: readonly (readonly [choice: string, facts: HostFacts, result: string])[] = [
    ['native', DEBIAN, 'bubblewrap'],
    ['auto', DEBIAN, 'bubblewrap bubblewrap-hostproc landlock'],
    ['bubblewrap', DEBIAN, 'bubblewrap'],
    ['bubblewrap-hostproc', DEBIAN, 'bubblewrap-hostproc'],
    ['off', DEBIAN, 'confinement-off'],
    ['landlock', DEBIAN, 'landlock'],
    ['landlock', darwin, 'boundary-unavailable'],
    ['container', DEBIAN, 'container'],
    ['container', darwin, 'boundary-unavailable'],
    ['seatbelt', darwin, 'boundary-unavailable'],
    ['native', darwin, 'boundary-unavailable'],
    ['auto', darwin, 'boundary-unavailable'],
    ['bubblewrap', darwin, 'boundary-unavailable'],
    ['auto', none, 'landlock'],
    ['auto', { ...none, landlock: { abi: 3 } }, 'landlock'],
    ['auto', { ...none, landlock: { abi: 0 } }, 'boundary-unavailable'],
    ['native', { ...none, landlock: { abi: 3 } }, 'boundary-unavailable'],
    ['bubblewrap', none, 'boundary-unavailable'],
    ['firejail', DEBIAN, 'boundary-unknown'],
  ]
  for (const [choice, facts, result] of cases) {
    const chosen = chooseBoundary(choice as Parameters<typeof chooseBoundary>[0], facts)
    t.equal(chosen instanceof Refusal ? chosen.code : chosen.join(' '), result, `${choice} on ${facts.platform}`)
  }
  t.match(chooseBoundary('native', none), { message: /nothing was run.*apt-get install bubblewrap/ })
  t.match(chooseBoundary('auto', { ...none, landlock: { abi: 0 } }), {
    details: { boundary: 'bubblewrap', fix: 'apt-get install bubblewrap' },
    message: /apt-get install bubblewrap; and the boundary landlock cannot stand in for it: .*lsm=/,
  })
})

/** Runs `argv` for real. Throws where it was refused. */
async function inside(asked: PolicyRequest, argv: readonly string[]): Promise<Outcome & { out: string; err: string }> {
  const facts = await readHostFacts()
  const boundary = await openBoundary({
    confine: 'native',
    request: asked,
    facts,
    runId: '0123456789abcdef',
    onEvent: () => undefined,
    probe: 'launch',
  })
  if (boundary instanceof Refusal) throw boundary
  const outcome = await boundary.run({ argv, purpose: 'exec', signal: new AbortController().signal })
  await boundary.close()
  if (outcome instanceof Refusal) throw outcome
  const text = ({ head, tail }: Outcome['stdout']): string => Buffer.concat([head, tail]).toString()
  return { ...outcome, out: text(outcome.stdout), err: text(outcome.stderr) }
}

const real = { skip: needs('linux', 'bubblewrap') }

/** A folder that the user who runs inside owns: uid 65534 when we are root, so that identity is dropped as well. */
function owned(t: Parameters<typeof scratch>[0]): string {
  const folder = scratch(t)
  if (process.getuid?.() === 0) chownSync(folder, 65_534, 65_534)
  return folder
}

t.test('inside: nothing outside of the grant can be written, nothing new stays behind', real, async t => {
  const ws = owned(t)
  const script = `
    for path in / /usr /etc /home /dev /proc/sys/kernel/core_pattern /run ${ws}; do
      if touch "$path/made" 2>/dev/null || echo x 2>/dev/null > "$path"; then echo "wrote $path"; fi
    done
    touch /tmp/a /home/agent/a /dev/shm/a && echo private; echo x > /dev/null && echo devices; pwd`
  const { out, ending } = await inside(request(ws), ['sh', '-c', script])
  t.same(ending, { kind: 'exited', status: 0 })
  t.same(out.split('\n'), ['private', 'devices', ws, ''])
  t.same(readdirSync(ws), [], 'the workspace is as it was')
})

t.test('inside: a grant is writable but for what is protected, and hides hold', real, async t => {
  const ws = owned(t)
  for (const folder of ['.git/hooks', 'vendor/lib/.git', 'keys']) mkdirSync(join(ws, folder), { recursive: true })
  writeFileSync(join(ws, '.git/HEAD'), 'ref: refs/heads/main\n')
  writeFileSync(join(ws, 'keys/k'), 'secret')
  writeFileSync(join(ws, '.env'), 'secret')
  if (process.getuid?.() === 0) execFileSync('chown', ['-R', '65534:65534', ws])
  const script = `
    echo fine > new; touch .git/hooks/post-commit; mv .git g2; mkdir -p .git/hooks; mv vendor v2; mv vendor/lib vendor/l2
    touch vendor/lib/.git/x; ln new .git/hooks/pre-commit; rm -rf vendor; cat keys/k; cat .env; ls keys; rm .env; :`
  const { out, err, tampered } = await inside(
    request(ws, { writeSubtrees: ['.'], hide: [join(ws, 'keys'), join(ws, '.env')] }),
    ['sh', '-c', script],
  )
  t.notMatch(out + err, /secret/)
  t.match(err, /Permission denied/)
  t.same(readdirSync(ws).sort(), ['.env', '.git', 'keys', 'new', 'vendor'])
  t.same(readdirSync(join(ws, '.git/hooks')), [])
  t.ok(existsSync(join(ws, 'vendor/lib/.git')), 'a mount point cannot be renamed or removed')
  t.equal(readFileSync(join(ws, '.env'), 'utf8'), 'secret')
  t.same(tampered, [])
})

t.test('inside: reads are the system, the workspace and what is named', real, async t => {
  const ws = owned(t)
  const shared = scratch(t)
  writeFileSync(join(shared, 'a'), 'shared')
  const script = `cat ${shared}/a; ls /root /home /mnt /var 2>&1; cat /etc/shadow 2>&1; ls /etc/ssl 2>&1; env`
  const { out } = await inside(request(ws, { read: [shared], env: { WITH: 'a\nnewline' } }), ['sh', '-c', script])
  t.match(out, /shared/)
  t.match(out, /WITH=a\nnewline\n/)
  t.notMatch(out, /root:[^x]|private/)
  t.notMatch(out, /TAP|npm_|HARNESS_|LD_/, 'nothing of our environment')
})

t.test('inside: sockets of the host are out of reach, the own loopback works', real, async t => {
  const ws = owned(t)
  const elsewhere = scratch(t)
  const server = createServer().listen(join(elsewhere, 'host.sock'))
  const tcp = createServer().listen(0, '127.0.0.1')
  await Promise.all([server, tcp].map(each => new Promise(done => each.once('listening', done))))
  t.teardown(() => [server, tcp].forEach(each => void each.close()))
  const address = tcp.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  const script = `
    const net = require('net'), fs = require('fs')
    const tried = to => new Promise(done => net.connect(to).on('connect', () => done('reached')).on('error', e => done(e.code)))
    const own = net.createServer().listen(0, '127.0.0.1', async () => {
      console.log(await tried('${elsewhere}/host.sock'), await tried({ port: ${port}, host: '127.0.0.1' }), await tried(own.address()))
      process.exit()
    })`
  const { out, err } = await inside(request(ws), ['node', '-e', script])
  t.equal(out.trim(), 'ENOENT ECONNREFUSED reached', err)
})

t.test(
  'inside: ordinary tools work under the filter',
  { skip: needs('linux', 'bubblewrap', 'git', 'perl') },
  async t => {
    const ws = owned(t)
    const script = `
    git init -q r && cd r && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x && git log --format=%s
    node -e 'new (require("worker_threads").Worker)("1", { eval: true }); console.log(require("child_process").execSync("echo child")+"")'
    perl -e 'print "perl\\n"; exit system("true")'
    if command -v python3 >/dev/null; then python3 -c 'import multiprocessing as m; print(m.Pool(2).map(abs, [-1]))'; else echo "[1]"; fi
    chmod 4755 r 2>/dev/null || touch set-user-id-refused && chmod 4755 set-user-id-refused 2>&1 | sed 's/.*: //'`
    const { out, err } = await inside(request(ws, { writeSubtrees: ['.'] }), ['sh', '-c', script])
    t.same(out.trim().split('\n'), ['x', 'child', '', 'perl', '[1]', 'Operation not permitted'], err)
  },
)

t.test(
  'inside: what the filter refuses is refused for real',
  { skip: needs('linux', 'bubblewrap', 'perl') },
  async t => {
    const ws = owned(t)
    // Numbers of x86-64 and arm64; perl's syscall gives -1 and the errno.
    const script = `
    my %n = $ARGV[0] eq 'x64' ? (ptrace=>101, unshare=>272, mount=>165, bpf=>321, keyctl=>250, clone3=>435, io_uring_setup=>425, openat2=>437)
                              : (ptrace=>117, unshare=>97, mount=>40, bpf=>280, keyctl=>219, clone3=>435, io_uring_setup=>425, openat2=>437);
    for (sort keys %n) { my $r = syscall($n{$_}, 0x10000000, 0, 0, 0, 0); printf "%s %d\\n", $_, $! + 0 }`
    const { out } = await inside(request(ws), ['perl', '-e', script, process.arch])
    t.same(out.trim().split('\n'), [
      'bpf 1',
      'clone3 38',
      'io_uring_setup 1',
      'keyctl 1',
      'mount 1',
      'openat2 38',
      'ptrace 1',
      'unshare 1',
    ])
  },
)

t.test('users and groups: the own one, root, nobody, each once', async t => {
  const cases: readonly (readonly [uid: number, gid: number, users: string, groups: string])[] = [
    [1000, 100, '1000 0 65534', '100 0 65534'],
    [0, 0, '0 65534', '0 65534'],
    [65_534, 65_534, '65534 0', '65534 0'],
  ]
  const ids = (text: string): string =>
    text
      .trimEnd()
      .split('\n')
      .map(line => line.split(':')[2])
      .join(' ')
  for (const [uid, gid, users, groups] of cases) {
    t.equal(ids(passwdText(uid, gid)), users)
    t.equal(ids(groupText(gid)), groups)
    t.match(passwdText(uid, gid), /^agent:x:/, 'the first line with a uid gives its name')
  }
})

t.test('inside: as the owner when we are root', { skip: needs('linux', 'bubblewrap', 'root') }, async t => {
  const ws = owned(t)
  const { out, confinement } = await inside(request(ws, { writeSubtrees: ['.'] }), [
    'sh',
    '-c',
    'id -u; id -un; touch x; stat -c %u x',
  ])
  t.same(out.trim().split('\n'), ['65534', 'agent', '65534'])
  t.match(confinement.gaps, [{ guarantee: 'nothing-planted', why: /--process-write-subtree \./ }])
})
