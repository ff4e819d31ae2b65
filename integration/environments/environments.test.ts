/**
 * Machines that can be made here around the real program: outer sandboxes that take away what containers and hosts take away.
 * What the doctor says in each is the row of the table of environments.
 */
import { chmodSync, copyFileSync, existsSync, mkdirSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { execa } from 'execa'
import t from 'tap'
import type { DoctorReport } from '../../src/confinement/doctor/report.js'
import { type FilterArch, seccompProgram } from '../../src/confinement/seccomp-bpf.js'
import { needs } from '../../test/support/needs.js'
import { doctorProblem } from '../../test/support/schemas.js'
import { harnessBin, scratch } from '../support/harness.js'

const ROOT = { skip: needs('linux', 'root', 'bubblewrap', 'setpriv') }
const timeout = 60_000
t.setTimeout(4 * timeout)

const { path: base, remove } = scratch()
t.teardown(remove)
chmodSync(base, 0o755)
mkdirSync(join(base, 'ws'))
mkdirSync(join(base, 'tmp'), { mode: 0o777 })
chmodSync(join(base, 'tmp'), 0o777)
const at = (name: string) => join(base, name)

interface Around {
  /** The launcher and its words; the program follows. */
  readonly around: readonly string[]
  readonly words?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** Bytes behind descriptor 9 of the launcher. */
  readonly filter?: string
}

/** The whole machine as it is, in a pid namespace of its own, where what follows covers parts of it. */
const OUTER = ['bwrap', '--unshare-pid', '--bind', '/', '/', '--dev-bind', '/dev', '/dev', '--proc', '/proc'] as const

async function doctor({ around, words = [], env = {}, filter }: Around) {
  const redirect = filter === undefined ? '' : ` 9<'${filter}'`
  const ran = await execa(
    '/bin/sh',
    ['-c', `exec "$@"${redirect}`, 'sh', ...around, process.execPath, harnessBin, 'doctor', '--json', ...words],
    {
      cwd: at('ws'),
      env: { TMPDIR: at('tmp'), HOME: at('tmp'), ...env },
      reject: false,
      timeout,
    },
  )
  const report = JSON.parse(ran.stdout || 'null') as DoctorReport | null
  if (report === null) throw new Error(`${ran.exitCode}: ${ran.stderr}`)
  const problem = doctorProblem(report)
  if (problem !== null) throw new Error(problem)
  const row = (name: string) => report.boundaries.find(({ boundary }) => boundary === name)
  const seen = report.environments.map(({ name }) => name)
  return { status: ran.exitCode, report, row, seen }
}

/** Whatever was asked for and was not seen to hold. */
function unheld({ boundaries, guarantees, limits, machine_checks }: DoctorReport) {
  return [...boundaries, ...guarantees, ...limits, ...machine_checks].filter(row => row.asked && row.status !== 'held')
}

t.test('B04: parts of /proc are covered, as engines do: the weaker boundary holds, and is said', ROOT, async t => {
  const covers = ['--tmpfs', '/proc/fs', '--ro-bind', '/dev/null', '/proc/keys']
  const { report, row, seen } = await doctor({ around: [...OUTER, ...covers] })
  t.match(row('bubblewrap'), {
    status: 'absent',
    why: /Can't mount proc/,
    fix: /systempaths=unconfined|unmask=ALL|--confine auto/,
  })
  t.equal(report.boundary, 'bubblewrap-hostproc')
  t.ok(seen.includes('masked-proc'))
  t.same(
    report.guarantees.filter(({ asked, status }) => asked && status !== 'held'),
    [],
  )
  t.match(
    report.guarantees.find(({ guarantee }) => guarantee === 'pid-isolation'),
    { status: 'absent', asked: false },
  )
  const named = await doctor({ around: [...OUTER, ...covers], words: ['--confine', 'bubblewrap'] })
  t.equal(named.status, 2, 'a boundary that was named does not come to a weaker one')
  t.equal(named.report.boundary, null)
})

t.test('a system-call filter that allows no user namespaces', ROOT, async t => {
  const arch: FilterArch = process.arch === 'arm64' ? 'aarch64' : 'x86_64'
  const filter = at('filter')
  writeFileSync(filter, seccompProgram({ arch, unixSockets: 'open', network: 'open', nesting: false }).bytes)
  const { status, report, row, seen } = await doctor({
    around: [...OUTER, '--seccomp', '9', '--'],
    words: ['--confine', 'bubblewrap'],
    filter,
  })
  t.match(row('bubblewrap'), {
    status: 'absent',
    asked: true,
    why: /No permissions to create new namespace|Operation not permitted/,
  })
  t.match(
    report.machine_checks.find(({ name }) => name === 'user-namespaces'),
    { status: 'absent', why: 'unshare answers EPERM' },
  )
  t.ok(seen.includes('seccomp-around'))
  t.equal(status, 2)
})

t.test('inside a sandbox that has turned user namespaces off', ROOT, async t => {
  const around = ['bwrap', '--unshare-user', '--disable-userns', ...OUTER.slice(1), '--']
  const { status, report, row } = await doctor({ around, words: ['--confine', 'bubblewrap'] })
  t.match(row('bubblewrap'), { status: 'absent', why: /ENOSPC/, fix: /max_user_namespaces.*--allow-nesting/ })
  t.match(
    report.machine_checks.find(({ name }) => name === 'user-namespaces'),
    { status: 'absent', why: 'unshare answers ENOSPC' },
  )
  t.equal(status, 2)
})

t.test('uid 0 without CAP_SETFCAP', ROOT, async t => {
  const around = ['setpriv', '--bounding-set', '-setfcap', '--inh-caps', '-setfcap', '--']
  const { status, row } = await doctor({ around, words: ['--confine', 'bubblewrap'] })
  t.match(row('bubblewrap'), {
    status: 'absent',
    why: /setting up uid map: Operation not permitted/,
    fix: /SETFCAP|ordinary user/,
  })
  t.equal(status, 2)
})

t.test(
  'uid 0 as engines leave it, without CAP_SYS_ADMIN: a user namespace that is asked for by name is had',
  ROOT,
  async t => {
    const around = ['setpriv', '--bounding-set', '-sys_admin,-net_admin', '--inh-caps', '-sys_admin,-net_admin', '--']
    const { status, report } = await doctor({ around })
    t.match([status, report.boundary], [0, 'bubblewrap'])
  },
)

t.test('a sandbox around us that shows /proc read-only', ROOT, async t => {
  const around = ['bwrap', '--ro-bind', '/', '/', '--dev-bind', '/dev', '/dev', '--bind', at('tmp'), at('tmp'), '--']
  const { status, report, row } = await doctor({ around })
  t.match(row('bubblewrap'), {
    status: 'absent',
    why: /setting up uid map: Read-only file system/,
    fix: /fresh \/proc/,
  })
  t.match([status, report.boundary], [0, 'landlock'], 'auto comes to what does without')
})

t.test('a sandbox around us that shows /proc/sys read-only', ROOT, async t => {
  const { status, report, row } = await doctor({ around: [...OUTER, '--ro-bind', '/proc/sys', '/proc/sys', '--'] })
  t.match(row('bubblewrap'), { status: 'absent', why: /Can't mount proc|max_user_namespaces: Read-only/ })
  t.match([status, report.boundary], [0, 'bubblewrap-hostproc'])
})

t.test('an ordinary user, in two sandboxes of that user’s', ROOT, async t => {
  const user = ['setpriv', '--reuid', '65534', '--regid', '65534', '--clear-groups', '--']
  const one = [
    'bwrap',
    '--unshare-user',
    '--unshare-pid',
    '--bind',
    '/',
    '/',
    '--dev-bind',
    '/dev',
    '/dev',
    '--proc',
    '/proc',
  ]
  const { status, report } = await doctor({ around: [...user, ...one, '--', ...one, '--'] })
  t.same(unheld(report), [])
  t.match([status, report.boundary], [0, 'bubblewrap'])
})

t.test('bubblewrap that is missing, old, or set-user-id', ROOT, async t => {
  const bwrap = realpathSync('/usr/bin/bwrap')
  const missing = await doctor({
    around: [...OUTER, '--ro-bind', '/dev/null', bwrap, '--'],
    words: ['--confine', 'bubblewrap'],
  })
  t.ok(missing.seen.includes('no-bubblewrap'))
  t.match(missing.row('bubblewrap'), { status: 'absent', fix: /bubblewrap/ })
  const old = at('old')
  writeFileSync(
    old,
    '#!/bin/sh\n[ "$1" = --version ] && echo "bubblewrap 0.4.0" && exit\necho "bwrap: Unknown option --disable-userns" >&2\nexit 1\n',
    { mode: 0o755 },
  )
  const aged = await doctor({ around: [...OUTER, '--ro-bind', old, bwrap, '--'], words: ['--confine', 'bubblewrap'] })
  t.ok(aged.seen.includes('old-bubblewrap'))
  t.match(aged.row('bubblewrap'), { status: 'absent', why: /too old/, fix: /0\.8 or later.*--confine landlock/ })
  const instead = await doctor({ around: [...OUTER, '--ro-bind', old, bwrap, '--'] })
  t.match([instead.status, instead.report.boundary], [0, 'landlock'], 'auto comes to what does without it')
  const setuid = at('setuid')
  copyFileSync(bwrap, setuid)
  chmodSync(setuid, 0o4755)
  const user = ['setpriv', '--reuid', '65534', '--regid', '65534', '--clear-groups']
  const bits = await doctor({
    around: [...OUTER, '--ro-bind', setuid, bwrap, '--', ...user, '--'],
    words: ['--confine', 'bubblewrap', '--workspace', at('ws')],
  })
  t.ok(bits.seen.includes('setuid-bubblewrap'))
})

t.test('kernels that are told by their names: gVisor, WSL 1 and 2', ROOT, async t => {
  const words = ['--confine', 'seatbelt']
  const named = async (file: string, text: string) => {
    writeFileSync(at('name'), text)
    return (await doctor({ around: [...OUTER, '--ro-bind', at('name'), file, '--'], words })).seen
  }
  t.ok((await named('/proc/version', 'Linux version 4.4.0 #1 SMP Sun Jan 10 15:06:54 PST 2016\n')).includes('gvisor'))
  t.ok((await named('/proc/sys/kernel/osrelease', '4.4.0-19041-Microsoft\n')).includes('wsl1'))
  t.ok((await named('/proc/sys/kernel/osrelease', '5.15.90.1-microsoft-standard-WSL2\n')).includes('wsl2'))
})

t.test('a read-only root, with and without a folder for temporary files', ROOT, async t => {
  const around = ['bwrap', '--unshare-pid', '--ro-bind', '/', '/', '--dev-bind', '/dev', '/dev', '--proc', '/proc']
  const dry = await doctor({ around: [...around, '--'] })
  t.ok(dry.seen.includes('read-only-root'))
  t.match(dry.report.machine_checks[0], { name: 'temporary-folder', status: 'absent', fix: /TMPDIR/ })
  t.equal(dry.status, 2)
  const wet = await doctor({ around: [...around, '--bind', at('tmp'), at('tmp'), '--'] })
  t.same(
    wet.report.guarantees.filter(({ asked, status }) => asked && status !== 'held'),
    [],
  )
  t.equal(wet.status, 0)
})

t.test('A18: pid 1 without an init is said', ROOT, async t => {
  const around = [...OUTER, '--as-pid-1', '--']
  const { report, seen } = await doctor({ around, words: ['--confine', 'seatbelt'] })
  t.ok(seen.includes('pid-1-without-init'))
  t.match(
    report.machine_checks.find(({ name }) => name === 'init'),
    { status: 'absent', asked: false, fix: /tini/ },
  )
})

const REFUSALS = [
  ['B01', 'bwrap: setting up uid map: Permission denied', 'every launch'],
  ['B02', 'bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted', 'a launch with a network namespace'],
] as const

for (const [id, words, when] of REFUSALS) {
  t.test(`${id}: bubblewrap refuses ${when} as under Ubuntu’s restriction: nothing is run`, ROOT, async t => {
    const fake = at(`bwrap-${id}`)
    // As there: it knows its options, and fails where it is to make what is restricted.
    const fails = id === 'B01' ? '*) echo "$WORDS" >&2; exit 1' : '*--unshare-net*|*--args*) echo "$WORDS" >&2; exit 1'
    const script = `#!/bin/sh\nWORDS='${words}'\ncase "$*" in --version) echo 'bubblewrap 0.8.0';; --help) echo;; ${fails};; esac\n`
    writeFileSync(fake, script, { mode: 0o755 })
    const around = [...OUTER, '--ro-bind', fake, realpathSync('/usr/bin/bwrap')]
    const ran = join(at('ws'), `ran-${id}`)
    const exec = (confine: string) =>
      execa(
        around[0] ?? '',
        [
          ...around.slice(1),
          ...[process.execPath, harnessBin, 'exec', '--confine', confine, '--process-write-subtree', '.'],
          ...['--', 'sh', '-c', `echo >ran-${id}`],
        ],
        { cwd: at('ws'), env: { TMPDIR: at('tmp'), HOME: at('tmp') }, reject: false, timeout },
      )
    for (const confine of ['native', 'bubblewrap', 'bubblewrap-hostproc']) {
      const refused = await exec(confine)
      t.match(refused, { exitCode: 125, stdout: '' }, confine)
      t.match(refused.stderr, words, 'its own words')
      t.match(refused.stderr, 'kernel.apparmor_restrict_unprivileged_userns', 'the setting')
      t.match(refused.stderr, /profile bwrap .*flags=\(unconfined\) \{ userns, \}/, 'the narrow way out')
      t.match(refused.stderr, 'nothing was run')
      t.equal(refused.stderr.trim().split('\n').length, 1, 'in one message')
    }
    t.notOk(existsSync(ran), 'and so it is')
    t.match(await exec('auto'), { exitCode: 0 }, 'auto is Landlock then, where there is one')
    t.ok(existsSync(ran))
  })
}
