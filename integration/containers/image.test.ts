/**
 * The image for real: the Dockerfile built by Docker's two builders and by buildah, what is in it and what is not, the main job in
 * one line, who it runs as and where, how it stops, and what it reaps.
 */
import { chmodSync, chownSync, existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { HarnessEvent } from '../../src/events.js'
import { eventually } from '../../test/support/children.js'
import { needs } from '../../test/support/needs.js'
import { projectRoot } from '../../test/support/root.js'
import { scratch } from '../support/harness.js'
import { type Engine, type EngineName, type Ran, startEngine } from './engines.js'
import { BASE, type Builder, buildImage, IMAGE } from './images.js'

const skip = needs('engines', 'linux', 'root')
t.setTimeout(3_600_000)

const manifest = JSON.parse(readFileSync(join(projectRoot, 'package.json'), 'utf8')) as {
  readonly version: string
  readonly description: string
  readonly license: string
}

/** What the image adds to its base, unpacked. */
const ADDED_BYTES_MAX = 130 * 1024 * 1024
const BILL = '/usr/share/sbom/b10x-harness.cdx.json'

interface Config {
  readonly Config: {
    readonly User: string
    readonly WorkingDir: string
    readonly Entrypoint: readonly string[]
    readonly Cmd: readonly string[]
    readonly Env: readonly string[]
    readonly Labels: Readonly<Record<string, string>>
    readonly Healthcheck?: { readonly Test: readonly string[] }
  }
  /** Where podman says it. */
  readonly Healthcheck?: { readonly Test: readonly string[] }
  readonly Size: number
}

async function inspected(engine: Engine, image: string): Promise<Config> {
  const { stdout } = await engine.command(['image', 'inspect', image])
  const [first] = JSON.parse(stdout) as [Config]
  return first
}

/** podman asks for health by timers of systemd, which is not on every machine: there it complains at every start. */
const health = ({ name }: Engine): readonly string[] => (name === 'docker' ? [] : ['--no-healthcheck'])

/** A container with nothing but `--network none`; `argv` are the words behind the image. */
function run(engine: Engine, argv: readonly string[], options: readonly string[] = [], image = IMAGE): Promise<Ran> {
  return engine.run({ image, argv, options: ['--network', 'none', ...health(engine), ...options] })
}

/** A line of shell in place of the entry point. */
function shell(engine: Engine, line: string, options: readonly string[] = [], image = IMAGE): Promise<Ran> {
  return run(engine, ['-c', line], ['--entrypoint', 'sh', ...options], image)
}

/** A container that stays: its id; removed at the end. */
async function started(t: Test, engine: Engine, argv: readonly string[], options: readonly string[]): Promise<string> {
  const words = [
    'run',
    '--detach',
    '--network',
    'none',
    ...health(engine),
    ...engine.limits,
    ...options,
    IMAGE,
    ...argv,
  ]
  const { status, stdout, stderr } = await engine.command(words)
  if (status !== 0) throw new Error(stderr)
  const id = stdout.trim()
  t.teardown(() => engine.command(['rm', '--force', id]))
  return id
}

function eventsIn(text: string): HarnessEvent[] {
  return text
    .split('\n')
    .filter(line => line.startsWith('{') && line.endsWith('}'))
    .map(line => JSON.parse(line) as HarnessEvent)
}

t.test('what the Dockerfile says of itself is what the package says', async t => {
  const dockerfile = readFileSync(join(projectRoot, 'Dockerfile'), 'utf8')
  t.match(dockerfile, new RegExp(`^ARG VERSION=${manifest.version.replaceAll('.', '\\.')}$`, 'm'))
  t.ok(dockerfile.includes(`org.opencontainers.image.description="${manifest.description}"`))
  t.match(dockerfile, /^ARG BASE_IMAGE=node:\d+\.\d+\.\d+-[a-z]+-slim$/m, 'a base of one version')
})

const BUILDERS: readonly (readonly [Builder, EngineName])[] = [
  ['classic', 'docker'],
  ['buildkit', 'docker'],
  ['buildah', 'podman'],
]

for (const [builder, name] of BUILDERS)
  t.test(`built by ${builder}`, { skip }, async t => {
    const engine = await startEngine(name, { network: 'host' })
    if (typeof engine === 'string') return t.plan(0, `needs engines: ${engine}`)
    t.teardown(() => engine.close())
    const built = await buildImage(engine, builder)
    if (typeof built === 'string') return t.fail(built)
    t.comment(`${name} ${engine.version}: built in ${Math.round(built.ms / 1_000)} s`)
    await t.test('what it says of itself', t => configuration(t, engine))
    await t.test('what is in it', t => content(t, engine))
    await t.test('its bill of materials', t => bill(t, engine))
    await t.test('the main job in one line', t => mainJob(t, engine))
    if (builder === 'buildkit') return
    await t.test('who it runs as, and where', t => users(t, engine))
    await t.test('how it stops', t => stops(t, engine))
    if (builder !== 'classic') return
    await t.test('healthy', t => healthy(t, engine))
    await t.test('A18: zombies after 200 launches that leave a double-forked child, with tini and without', t =>
      zombies(t, engine),
    )
  })

async function configuration(t: Test, engine: Engine): Promise<void> {
  const { Config: config, Size: size, ...beside } = await inspected(engine, IMAGE)
  t.equal(config.User, '1000:1000', 'a number, which Kubernetes can tell from root')
  t.equal(config.WorkingDir, '/workspace')
  t.same(config.Entrypoint, ['/usr/bin/tini', '-s', '--', 'harness'])
  t.same(config.Cmd, ['--help'])
  t.match((config.Healthcheck ?? beside.Healthcheck)?.Test, ['CMD-SHELL', /^harness doctor --quick --json/])
  const label = (key: string) => config.Labels[`org.opencontainers.image.${key}`]
  t.same(
    [label('title'), label('description'), label('licenses'), label('version')],
    ['b10x-harness', manifest.description, manifest.license, manifest.version],
  )
  const base = await inspected(engine, BASE)
  t.ok(size - base.Size < ADDED_BYTES_MAX, `${size - base.Size} bytes over the base`)
  t.comment(`image ${Math.round(size / 1e6)} MB, its base ${Math.round(base.Size / 1e6)} MB`)
  const version = await run(engine, ['--version'])
  t.match(version, { status: 0, stdout: `harness ${manifest.version}\n` })
  t.match(await run(engine, []), { status: 0, stdout: /harness demo/ })
}

async function content(t: Test, engine: Engine): Promise<void> {
  const special = 'find / -xdev -type f -perm /6000 | sort'
  t.equal((await shell(engine, special, ['--user', '0'])).stdout, (await shell(engine, special, [], BASE)).stdout)
  const caches = await shell(
    engine,
    'find / -xdev ( -name _cacache -o -name _logs -o -name "*.deb" -o -path "/var/lib/apt/lists/?*" -o -path "/source*" -o -path "/tmp/?*" ) -print'.replace(
      /[()]/g,
      '\\$&',
    ),
    ['--user', '0'],
  )
  t.same(caches, { status: 0, stdout: '', stderr: '' }, 'nothing that only the build needs')
  const top = await shell(engine, 'ls /opt/b10x-harness /opt/b10x-harness/dist')
  t.equal(
    top.stdout,
    '/opt/b10x-harness:\nLICENSE\nREADME.md\ndist\nintegration\nnative-profiles\nnode_modules\npackage.json\n\n/opt/b10x-harness/dist:\nbin\nnative-profiles\nsrc\n',
  )
  const written = await shell(engine, 'find /opt/b10x-harness ! -user 0 -o -perm /022 ! -type l | head -n 3')
  t.equal(written.stdout, '', 'what runs belongs to root, and nobody else writes it')
  t.match(await run(engine, ['exec', '--tty', '--', 'true'], ['--tty']), { status: 0 }, 'node-pty is there')
}

interface Bill {
  readonly bomFormat: string
  readonly specVersion: string
  readonly serialNumber: string
  readonly metadata: {
    readonly timestamp: string
    readonly component: { readonly name: string; readonly version: string }
  }
  readonly components: readonly {
    readonly 'bom-ref': string
    readonly name: string
    readonly version: string
    readonly purl: string
  }[]
}

async function bill(t: Test, engine: Engine): Promise<void> {
  const { stdout } = await run(engine, [BILL], ['--entrypoint', 'cat'])
  const document = JSON.parse(stdout) as Bill
  t.match(document, {
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    serialNumber: /^urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/,
    metadata: { timestamp: '1970-01-01T00:00:01.000Z', component: { name: 'b10x-harness', version: manifest.version } },
  })
  const urls = new Set(document.components.map(({ purl }) => purl))
  t.equal(urls.size, document.components.length, 'each once')
  const lock = JSON.parse(readFileSync(join(projectRoot, 'package-lock.json'), 'utf8')) as {
    readonly packages: Readonly<
      Record<string, { readonly version: string; readonly dev?: true; readonly devOptional?: true }>
    >
  }
  const wanted = Object.entries(lock.packages).flatMap(([path, { version, dev }]) => {
    const name = path.split('node_modules/').at(-1) ?? ''
    return name === '' || dev === true ? [] : [`pkg:npm/${name.replace('@', '%40')}@${version}`]
  })
  t.ok(wanted.length > 30)
  t.same(
    wanted.filter(url => !urls.has(url)),
    [],
    'every production dependency',
  )
  for (const name of ['bubblewrap', 'git', 'tini', 'libc6'])
    t.ok(
      document.components.some(({ purl }) => purl.startsWith(`pkg:deb/debian/${name}@`)),
      name,
    )
  t.ok(urls.has(`pkg:generic/node@${process.versions.node}`))
  const installed = await shell(engine, "dpkg-query --show --showformat '${db:Status-Abbrev}\\n' | grep -c ^ii")
  t.equal([...urls].filter(url => url.startsWith('pkg:deb/')).length, Number(installed.stdout), 'all that dpkg knows')
}

async function mainJob(t: Test, engine: Engine, options: readonly string[] = []): Promise<void> {
  const { status, stdout, stderr } = await run(engine, ['demo', '--json'], options)
  t.equal(status, 0, stderr)
  const events = eventsIn(stdout)
  const boundary = engine.name === 'docker' ? 'landlock' : 'bubblewrap-hostproc'
  t.match(
    events.find(({ kind }) => kind === 'started'),
    { confinement: { boundary } },
  )
  t.match(
    events.flatMap(event => (event.kind === 'launch-ended' ? [event.outcome.ending] : [])),
    [
      { kind: 'exited', status: 1 },
      { kind: 'exited', status: 0 },
    ],
    'the tests fail before the edit and pass after it',
  )
  t.notOk(events.some(event => event.kind === 'warning' && event.code === 'no-init'))
}

/** podman gives such a one the working folder, which is no place to run in then. */
const HOMELESS = 'the same without a home'

/** Options of who and where → what comes of `exec -- id`, and of the main job. */
const PLACES: Readonly<Record<string, { readonly options: readonly string[]; readonly id: RegExp }>> = {
  'a user of no database': { options: ['--user', '1234:1234'], id: /^uid=1234\b.* gid=1234\b/ },
  [HOMELESS]: { options: ['--user', '1234:1234', '--env', 'HOME='], id: /^uid=1234\b/ },
  'a number of OpenShift': { options: ['--user', '1000670000:0'], id: /^uid=1000670000\b.* gid=0\b/ },
  'a root that cannot be written': { options: ['--read-only', '--tmpfs', '/tmp'], id: /^uid=1000\b/ },
  'the same as a user of no database': {
    options: ['--read-only', '--tmpfs', '/tmp', '--user', '1234'],
    id: /^uid=1234\b/,
  },
  'no capabilities': { options: ['--cap-drop', 'ALL', '--security-opt', 'no-new-privileges'], id: /^uid=1000\b/ },
  'an init of the engine too': { options: ['--init'], id: /^uid=1000\b/ },
  'other words for place and tongue': {
    options: ['--env', 'TZ=Asia/Tokyo', '--env', 'LC_ALL=de_DE.UTF-8'],
    id: /^uid=1000\b/,
  },
}

async function users(t: Test, engine: Engine): Promise<void> {
  for (const [name, { options, id }] of Object.entries(PLACES).filter(
    ([name]) => engine.name === 'docker' || name !== HOMELESS,
  ))
    await t.test(name, async t => {
      const ran = await run(engine, ['exec', '--', 'id'], options)
      t.equal(ran.status, 0, ran.stderr)
      t.match(ran.stdout, id)
      t.equal(ran.stderr, '')
      await mainJob(t, engine, options)
      const doctor = await run(engine, ['doctor', '--quick', '--json'], options)
      t.equal(doctor.status, 0, `${doctor.stdout}${doctor.stderr}`)
    })
  const { path, remove } = scratch({ 'theirs/a': 'text\n' })
  t.teardown(remove)
  const theirs = join(path, 'theirs')
  chownSync(theirs, 5000, 5000)
  chmodSync(theirs, 0o755)
  const mounted = ['--volume', `${theirs}:/workspace`]
  const argv = ['exec', '--process-write-subtree', '.', '--', 'touch', 'made']
  t.match(
    await run(engine, argv, mounted),
    { status: 125, stderr: /no-permission.*belongs to uid 5000.*this is uid 1000.*--user 5000:5000/ },
    'a folder of another user',
  )
  t.match(await run(engine, argv, [...mounted, '--user', '5000:5000']), { status: 0 }, 'and what was said helps')
  t.ok(existsSync(join(theirs, 'made')))
  t.match(
    await run(
      engine,
      ['exec', '--', 'true'],
      ['--read-only', ...(engine.name === 'docker' ? [] : ['--read-only-tmpfs=false'])],
    ),
    { status: 125, stderr: /--tmpfs \/tmp/ },
    'nowhere to write',
  )
  t.match(
    await run(engine, ['exec', '--', 'true'], ['--user', '1234:1234', '--env', 'HOME=/root']),
    { status: 125, stderr: /no-permission.*HOME/ },
    'a home that this user may not enter: the variable to mend is named',
  )
  t.match(
    await engine.command(
      ['run', '--rm', '--interactive', ...health(engine), ...engine.limits, IMAGE, 'exec', '--', 'cat'],
      {
        input: 'said',
      },
    ),
    {
      status: 0,
      stdout: 'said',
    },
  )
}

const STATUS = '{{.State.Status}} {{.State.ExitCode}}'

async function stops(t: Test, engine: Engine): Promise<void> {
  const { path, remove } = scratch()
  t.teardown(remove)
  mkdirSync(join(path, 'ws'))
  chmodSync(path, 0o755)
  chmodSync(join(path, 'ws'), 0o777)
  const mounted = ['--volume', `${join(path, 'ws')}:/workspace`]
  const stopped = async (id: string): Promise<{ readonly said: string; readonly ms: number }> => {
    const begun = performance.now()
    await engine.command(['stop', id])
    const ms = performance.now() - begun
    return { said: (await engine.command(['inspect', '--format', STATUS, id])).stdout.trim(), ms }
  }
  const script = 'trap "echo bye > bye; exit 0" TERM; echo > up; sleep 300 & wait'
  for (const init of [[], ['--init']]) {
    const argv = ['exec', '--process-write-subtree', '.', '--', 'sh', '-c', script]
    const id = await started(t, engine, argv, [...mounted, ...init])
    t.ok(await eventually(() => existsSync(join(path, 'ws/up')), 20_000))
    const { said, ms } = await stopped(id)
    t.equal(said, 'exited 143', `exec ${init.join()}`)
    t.ok(existsSync(join(path, 'ws/bye')), 'the command was told, and had its time')
    t.ok(ms < 10_000, `${Math.round(ms)} ms, within Docker's grace`)
    for (const name of ['up', 'bye'])
      await engine.command(['run', '--rm', ...engine.limits, '--entrypoint', 'rm', ...mounted, IMAGE, name])
  }
  // An endpoint that takes the request and says nothing.
  const silent = `node -e 'require("net").createServer(() => {}).listen(9)' & exec tini -s -- harness run --json --base-url http://127.0.0.1:9 --model m --input go`
  const id = await started(t, engine, ['-c', silent], ['--entrypoint', 'sh'])
  const logs = async (): Promise<string> => (await engine.command(['logs', id])).stdout
  for (let tries = 0; tries < 100 && !(await logs()).includes('"turn-started"'); tries++) await sleep(100)
  const { said, ms } = await stopped(id)
  t.equal(said, 'exited 2', 'run: stopped for a named reason')
  t.ok(ms < 10_000, `${Math.round(ms)} ms`)
  t.match(
    eventsIn(await logs()).find(({ kind }) => kind === 'finished'),
    { stop: { kind: 'cancelled' } },
  )
}

async function healthy(t: Test, engine: Engine): Promise<void> {
  const often = ['--health-interval', '1s', '--health-start-period', '0s']
  const ends: readonly (readonly [verdict: string, options: readonly string[]])[] = [
    ['healthy', []],
    // Nowhere to write: no launch can be made.
    ['unhealthy', ['--read-only']],
  ]
  for (const [verdict, options] of ends) {
    const id = await started(t, engine, ['300'], [...often, '--entrypoint', 'sleep', ...options])
    const health = async (): Promise<string> =>
      (await engine.command(['inspect', '--format', '{{.State.Health.Status}}', id])).stdout.trim()
    for (let tries = 0; tries < 150 && (await health()) === 'starting'; tries++) await sleep(200)
    t.equal(await health(), verdict)
  }
}

const LAUNCHES = 200
const CALLS = 20

/** A run of so many calls, each of a command that leaves a daemon, which ends by itself; then the model says nothing more. */
function scenario(): object {
  const call = { name: 'run', arguments: { argv: ['sh', '-c', '(setsid sh -c "sleep 0.2" &) ; exit 0'] } }
  const turn = { reply: { calls: Array.from({ length: CALLS }, () => call) } }
  return {
    version: 1,
    model: 'scripted',
    turns: [
      ...Array.from({ length: LAUNCHES / CALLS }, () => turn),
      { reply: { text: 'late' }, fault: { delay_ms: 300_000 } },
    ],
  }
}

async function zombies(t: Test, engine: Engine): Promise<void> {
  const { path, remove } = scratch({ 'scenario.json': JSON.stringify(scenario()) })
  t.teardown(remove)
  chmodSync(path, 0o755)
  const counted = async (
    init: string,
    open: readonly string[],
  ): Promise<{ readonly zombies: number; readonly warned: boolean }> => {
    const emulate = 'harness emulate --scenario /made/scenario.json --port 8080 >/tmp/emulator 2>&1 & sleep 2'
    const words =
      '--base-url http://127.0.0.1:8080/v1 --model scripted --confine auto --allow-program sh --yes --max-turns 50'
    const line = `${emulate}; exec ${init} harness run ${words} --input go --json >/tmp/run.jsonl 2>/tmp/err`
    const options = ['--entrypoint', 'sh', '--volume', `${path}:/made:ro`, ...open]
    const id = await started(t, engine, ['-c', line], options)
    const inside = async (words: string): Promise<string> =>
      (await engine.command(['exec', id, 'sh', '-c', words])).stdout.trim()
    const ended = async (): Promise<number> => Number(await inside('grep -c \'"launch-ended"\' /tmp/run.jsonl'))
    for (let tries = 0; tries < 300 && (await ended()) < LAUNCHES; tries++) await sleep(500)
    const launches = await ended()
    t.ok(launches >= LAUNCHES, `${launches} launches; ${await inside('cat /tmp/err; tail -n 2 /tmp/run.jsonl')}`)
    await sleep(1_000)
    const zombies = Number(await inside('grep -l "^State:.Z" /proc/[0-9]*/status 2>/dev/null | wc -l'))
    const warned = (await inside('grep -c \'"no-init"\' /tmp/run.jsonl')) !== '0'
    await engine.command(['rm', '--force', id])
    return { zombies, warned }
  }
  // What a launch leaves to its parent: bubblewrap its own init, for which it does not wait; our launcher of Landlock nothing.
  const rungs: readonly (readonly [string, readonly string[], number])[] = [
    ['landlock', [], 0],
    ['bubblewrap', ['--security-opt', 'seccomp=unconfined', '--security-opt', 'systempaths=unconfined'], LAUNCHES],
  ]
  for (const [rung, open, left] of rungs) {
    t.same(await counted('tini -s --', open), { zombies: 0, warned: false }, `${rung}: with tini`)
    const without = await counted('', open)
    t.comment(`${rung}: defunct after ${LAUNCHES} launches without an init: ${without.zombies}`)
    // With the one that tried the boundary.
    t.ok(without.zombies === left || without.zombies === left + 1, `${rung}: ${without.zombies} without`)
    t.ok(without.warned, 'and that is said')
  }
}
