/**
 * The boundary `container` for real, in containers that bubblewrap makes: parts of /proc covered, few capabilities, loopback
 * alone. Each way in which one holds too little is made too, and refused by its reason.
 */
import { chmodSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { execa } from 'execa'
import t from 'tap'
import type { OutcomeRecord } from '../../src/outcome.js'
import { needs } from '../../test/support/needs.js'
import { outcomeProblem } from '../../test/support/schemas.js'
import { harnessBin, scratch } from '../support/harness.js'

const ROOT = { skip: needs('linux', 'root', 'bubblewrap', 'setpriv') }
const timeout = 60_000
t.setTimeout(4 * timeout)

const { path: base, remove } = scratch()
t.teardown(remove)
chmodSync(base, 0o755)
for (const name of ['ws', 'tmp']) {
  mkdirSync(join(base, name))
  chmodSync(join(base, name), 0o777)
}
const at = (name: string) => join(base, name)

const CAPABILITIES = ['setuid', 'setgid', 'kill', 'chown', 'dac_override', 'fowner', 'setpcap']

interface Container {
  /** More words for the launcher that makes it. */
  readonly with?: readonly string[]
  /** Namespaces that it has of its own. */
  readonly unshare?: readonly string[]
  readonly capabilities?: readonly string[] | 'all'
  readonly env?: Readonly<Record<string, string>>
}

function inContainer(words: readonly string[], container: Container = {}) {
  const { unshare = ['--unshare-pid', '--unshare-net', '--unshare-ipc'], capabilities = CAPABILITIES } = container
  const dropped =
    capabilities === 'all'
      ? []
      : [
          'setpriv',
          '--inh-caps=-all',
          `--bounding-set=${['-all', ...capabilities.map(name => `+${name}`)].join(',')}`,
          '--',
        ]
  return execa(
    'bwrap',
    [
      ...[...unshare, '--bind', '/', '/', '--tmpfs', '/run', '--ro-bind', '/dev/null', '/run/.containerenv'],
      ...['--dev', '/dev', '--proc', '/proc', '--tmpfs', '/proc/fs', ...(container.with ?? []), '--'],
      ...[...dropped, process.execPath, harnessBin, ...words],
    ],
    {
      cwd: at('ws'),
      env: { TMPDIR: at('tmp'), HOME: at('tmp'), DOCKER_HOST: '', ...container.env },
      stdin: 'ignore',
      reject: false,
      timeout,
    },
  )
}

const exec = (argv: readonly string[], flags: readonly string[] = []) => [
  'exec',
  '--confine',
  'container',
  ...flags,
  '--',
  ...argv,
]

t.test('commands run in it, under Landlock, and what it holds is in the record', ROOT, async t => {
  const outcome = at('outcome.json')
  const script =
    'id -u; echo secret >"$0" || echo closed; touch inside && echo made; cat /proc/1/environ >/dev/null || echo unread'
  const ran = await inContainer(
    exec(['sh', '-c', script, at('outside')], ['--process-write-subtree', '.', '--outcome-file', outcome]),
  )
  t.match(ran, { exitCode: 0, stdout: '0\nclosed\nmade\nunread' }, ran.stderr)
  const record = JSON.parse(readFileSync(outcome, 'utf8')) as OutcomeRecord
  t.equal(outcomeProblem(record), null)
  t.match(record.confinement, {
    boundary: 'container',
    container: { uid: 0, signs: [/containerenv/], network_interfaces: ['lo'] },
  })
  t.ok(record.confinement.gaps.some(({ guarantee }) => guarantee === 'not-root-outside'))
  rmSync(outcome)
})

t.test('--container-uid: as another user, who leaves nothing running', ROOT, async t => {
  const outcome = at('outcome.json')
  const flags = ['--container-uid', '4242', '--outcome-file', outcome]
  const ran = await inContainer(exec(['sh', '-c', 'id -u; id -g; id -G; sleep 60 >/dev/null 2>&1 & echo left'], flags))
  t.match(ran, { exitCode: 0, stdout: '4242\n4242\n4242\nleft' }, ran.stderr)
  const record = JSON.parse(readFileSync(outcome, 'utf8')) as OutcomeRecord
  t.match(record, { survivors_killed: 1, confinement: { container: { uid: 4242 } } })
  t.notOk('tree_left' in record, 'all of it was seen to end')
  rmSync(outcome)
  const dropped = await inContainer(exec(['id'], ['--container-uid', '4242']), {
    capabilities: ['chown', 'dac_override'],
  })
  t.match(dropped, { exitCode: 125, stderr: /other-uid.*CAP_SETUID/ })
  for (const [flags, says] of [
    [['--container-uid', '0'], /number of a user/],
    [['--container-uid', 'x'], /number of a user/],
  ] as const)
    t.match(await inContainer(exec(['id'], flags)), { exitCode: 125, stderr: says })
  const alone = await inContainer(['exec', '--container-uid', '4242', '--', 'id'])
  t.match(alone, { exitCode: 125, stderr: /bad-arguments.*--confine container/ })
})

t.test('what holds too little is refused by its reason, and nothing runs', ROOT, async t => {
  const [socket, named] = [at('engine.sock'), at('run/docker.sock')]
  mkdirSync(at('run'))
  for (const path of [socket, named]) {
    const server = createServer().listen(path)
    await new Promise(resolve => server.once('listening', resolve))
    t.teardown(() => server.close())
  }
  const cases: readonly (readonly [name: string, container: Container, reason: string])[] = [
    [
      'the engine’s socket',
      { with: ['--dir', '/run/podman', '--bind', socket, '/run/podman/podman.sock'] },
      'engine-socket',
    ],
    ['the same under another name', { with: ['--bind', named, '/run/other'] }, 'engine-socket'],
    ['a folder of the host that holds it', { with: ['--bind', base, '/run/host'] }, 'engine-socket'],
    ['one that a variable names', { env: { DOCKER_HOST: `unix://${socket}` } }, 'engine-socket'],
    ['every capability', { capabilities: 'all' }, 'privileged'],
    ['one that reaches the host', { capabilities: [...CAPABILITIES, 'dac_read_search'] }, 'privileged'],
    ['every device', { with: ['--dev-bind', '/dev', '/dev'] }, 'privileged'],
    ['the pid namespace of the machine', { unshare: ['--unshare-net'] }, 'host-pid'],
  ]
  for (const [name, container, reason] of cases) {
    const ran = await inContainer(exec(['sh', '-c', 'echo ran']), container)
    t.match(
      ran,
      {
        exitCode: 125,
        stdout: '',
        stderr: new RegExp(`the boundary container is not accepted \\(${reason}\\).*nothing was run`),
      },
      name,
    )
  }
})

t.test('nothing comes to it that was not told to', ROOT, async t => {
  for (const confine of ['auto', 'native']) {
    const ran = await inContainer(['explain', '--json', '--confine', confine, '--', 'true'])
    t.notMatch(ran.stdout, /"boundary":"container"/, confine)
  }
})

t.test('the doctor tries it', ROOT, async t => {
  const ran = await inContainer(['doctor', '--json', '--confine', 'container', '--container-uid', '4242'])
  const report = JSON.parse(ran.stdout) as {
    readonly guarantees: readonly {
      readonly guarantee: string
      readonly asked: boolean
      readonly status: string
      readonly why: string
    }[]
  }
  t.same(
    report.guarantees.filter(({ asked, status }) => asked && status !== 'held'),
    [],
  )
  t.equal(ran.exitCode, 0)
})
