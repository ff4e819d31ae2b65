/** The deployment documents in real engines: the main job is done, in the boundary that is promised, and it stops in order. */
import { chmodSync, copyFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { DoctorReport } from '../../src/confinement/doctor/report.js'
import { eventually } from '../../test/support/children.js'
import { needs } from '../../test/support/needs.js'
import { projectRoot } from '../../test/support/root.js'
import { type Engine, type EngineName, install, programPath, type Ran, startEngine } from '../containers/engines.js'
import { rowsRootfs } from '../containers/rootfs.js'
import { scratch } from '../support/harness.js'
import { playedPod } from './kubernetes.js'
import {
  boundaryIn,
  DEMO,
  IMAGE,
  imageTar,
  importImage,
  runtimeWithoutLimits,
  type Shell,
  sampleProject,
  seccompFile,
  shellOf,
} from './trying.js'

const skip = needs('linux', 'root', 'engines')
t.setTimeout(1_200_000)

const { path: base, remove } = scratch()
t.teardown(remove)
chmodSync(base, 0o755)

/** Documents where every user of an engine can read them. */
const documents = ['docker-run.sh', 'compose.yaml', 'compose.bubblewrap.yaml', 'kubernetes-job.yaml']
for (const name of documents) {
  copyFileSync(join(projectRoot, 'integration/deploy', name), join(base, name))
  chmodSync(join(base, name), 0o644)
}

const tar = skip === false ? await madeTar() : ''

async function madeTar(): Promise<string> {
  const rootfs = await rowsRootfs()
  if (typeof rootfs === 'string') throw new Error(rootfs)
  return imageTar(rootfs.file, base)
}

interface Stand {
  readonly engine: Engine
  readonly shell: Shell
}

/** Null, after a skip that says why, where the engine cannot be had. */
async function opened(t: Test, name: EngineName): Promise<Stand | null> {
  const engine = await startEngine(name)
  if (typeof engine === 'string') {
    t.comment(`engines: ${engine}`)
    t.pass('skipped', { skip: `engines: ${engine}` })
    return null
  }
  t.teardown(() => engine.close())
  const problem = await importImage(engine, tar)
  if (problem !== null) throw new Error(problem)
  return { engine, shell: shellOf(engine, base) }
}

interface Form {
  readonly env: Readonly<Record<string, string>>
  readonly boundary: string
}

/** Files of an ordinary user; of a rootless engine its own. */
const ownerOf = (engine: Engine) => (engine.uid === 0 ? 1234 : engine.uid)

async function tryScript(t: Test, { engine, shell }: Stand, { env, boundary }: Form) {
  const { path, isMended } = sampleProject(base, ownerOf(engine))
  const more = { ...env, MORE: engine.limits.join(' ') }
  const script = (...words: readonly string[]) => shell(['sh', join(base, 'docker-run.sh'), path, ...words], more)
  const ran = await script(...DEMO)
  t.match({ status: ran.exitCode, boundary: boundaryIn(ran.stdout) }, { status: 0, boundary }, ran.stderr)
  t.ok(isMended(), 'the main job is done')
  const report = JSON.parse((await script('doctor', '--json')).stdout) as DoctorReport
  t.equal(report.boundary, boundary)
  // A machine that is busy leaves some unknown; what is absent is not a matter of time.
  t.same(
    [...report.guarantees, ...report.limits].filter(({ asked, status }) => asked && status === 'absent'),
    [],
  )
  t.equal((await script('exec', '--', 'sh', '-c', 'exit 7')).exitCode, 7, 'the exit status is the command’s')

  const name = `stopped-${boundary}`
  const words = ['sh', join(base, 'docker-run.sh'), path, ...ASKING]
  const running = shell(words, { ...more, MORE: `${more.MORE} --name ${name}` })
  await stopsInOrder(t, path, () => engine.command(['stop', name]))
  t.equal((await running).exitCode, 143, 'it was TERM that ended it')
}

/** A command that uses one of its two seconds. */
const ASKED = 'trap "sleep 1; : >asked; exit 3" TERM; : >up; while :; do sleep 0.1; done'
const ASKING = ['exec', '--process-write-subtree', '.', '--', 'sh', '-c', ASKED]

/** Within the grace of the documents, and not before the command has been asked. */
async function stopsInOrder(t: Test, path: string, stop: () => Promise<Ran>): Promise<void> {
  t.ok(await eventually(() => existsSync(join(path, 'up')), 60_000), 'it runs')
  const begun = performance.now()
  const { status, stderr } = await stop()
  t.equal(status, 0, stderr)
  t.ok(performance.now() - begun < 20_000, 'within the grace')
  t.ok(existsSync(join(path, 'asked')), 'the command was asked first')
}

t.test('docker-run.sh under Docker', { skip }, async t => {
  const stand = await opened(t, 'docker')
  if (stand === null) return
  await t.test('as every engine allows it', t => tryScript(t, stand, { env: {}, boundary: 'landlock' }))
  const env = { BOUNDARY: 'bubblewrap', SECCOMP: await seccompFile(stand.engine, base) }
  await t.test('with the full boundary', t => tryScript(t, stand, { env, boundary: 'bubblewrap' }))
})

for (const name of ['podman', 'podman-rootless'] as const)
  t.test(`docker-run.sh under ${name}`, { skip }, async t => {
    const stand = await opened(t, name)
    if (stand === null) return
    await t.test('as every engine allows it', t => tryScript(t, stand, { env: {}, boundary: 'bubblewrap-hostproc' }))
    await t.test('with the full boundary', t =>
      tryScript(t, stand, { env: { BOUNDARY: 'bubblewrap' }, boundary: 'bubblewrap' }),
    )
  })

t.test('compose.yaml under Docker, by compose', { skip: skip || needs('compose') }, async t => {
  const stand = await opened(t, 'docker')
  if (stand === null) return
  const { engine, shell } = stand
  const { path, isMended } = sampleProject(base, 1234)
  const env = { OWNER: '1234:1234', FOLDER: path, SECCOMP: await seccompFile(engine, base) }
  const only = ['-f', join(base, 'compose.yaml')]
  const compose = (files: readonly string[], ...words: readonly string[]) =>
    shell(['docker-compose', '--project-directory', base, ...files, ...words], env)
  const ran = await compose(only, 'run', '--rm', '-T', 'harness', ...DEMO)
  t.match({ status: ran.exitCode, boundary: boundaryIn(ran.stdout) }, { status: 0, boundary: 'landlock' }, ran.stderr)
  t.ok(isMended(), 'the main job is done')
  // The first compose leaves it to Docker, which knows it in its own client alone; what is left then is the weaker form.
  const second = await shell(['docker', 'compose', 'version'])
  const more = readFileSync(join(base, 'compose.bubblewrap.yaml'), 'utf8')
  const full = join(base, 'compose.full.yaml')
  writeFileSync(full, second.exitCode === 0 ? more : more.replace(/^.*systempaths=unconfined\n/m, ''))
  const doctor = await compose([...only, '-f', full], 'run', '--rm', '-T', 'harness', 'doctor', '--json')
  const boundary = second.exitCode === 0 ? 'bubblewrap' : 'bubblewrap-hostproc'
  t.match(JSON.parse(doctor.stdout || 'null'), { boundary }, doctor.stderr)
  t.equal((await compose(only, 'run', '--rm', '-T', 'harness', 'exec', '--', 'sh', '-c', 'exit 7')).exitCode, 7)
  const running = compose(only, 'run', '--rm', '-T', '--name', 'composed', 'harness', ...ASKING)
  await stopsInOrder(t, path, () => engine.command(['stop', 'composed']))
  await running
  await compose(only, 'down')
})

t.test('kubernetes-job.yaml: its pod, as podman plays it', { skip }, async t => {
  // Of a pod the first process is one that waits.
  const lacking = programPath('catatonit') === null ? await install(['catatonit']) : null
  const stand = lacking === null ? await opened(t, 'podman') : null
  if (stand === null) {
    t.comment(lacking ?? 'no engine')
    return
  }
  const runtime = runtimeWithoutLimits(base)
  const podman = (...words: readonly string[]) => stand.engine.command(['--runtime', runtime, ...words])
  const play = async (path: string, args: readonly string[], hostUsers = true) => {
    const file = join(base, 'pod.yaml')
    writeFileSync(
      file,
      playedPod(readFileSync(join(base, 'kubernetes-job.yaml'), 'utf8'), { image: IMAGE, path, args, hostUsers }),
    )
    return podman('play', 'kube', '--network', 'none', file)
  }
  // As podman keeps a secret of Kubernetes.
  const secret = JSON.stringify({ 'api-key': Buffer.from('none').toString('base64') })
  writeFileSync(join(base, 'secret.json'), secret)
  const kept = await podman('secret', 'create', 'harness-key', join(base, 'secret.json'))
  t.equal(kept.status, 0, kept.stderr)
  const container = 'harness-pod-harness'
  const { path, isMended } = sampleProject(base, 1000)
  const played = await play(path, DEMO)
  t.equal(played.status, 0, played.stderr)
  t.match(await podman('wait', container), { status: 0, stdout: '0\n' }, 'the exit status is harness’s')
  const { stdout } = await podman('logs', container)
  t.equal(boundaryIn(stdout), 'bubblewrap-hostproc', 'podman’s own filter allows what bubblewrap calls')
  t.ok(isMended(), 'the main job is done')
  await podman('pod', 'rm', '--force', 'harness-pod')

  t.match(await play(path, ASKING), { status: 0 })
  await stopsInOrder(t, path, () => podman('pod', 'stop', 'harness-pod'))
  t.match(await podman('wait', container), { status: 0, stdout: '143\n' })
  const [{ HostConfig }] = JSON.parse((await podman('inspect', container)).stdout) as [{ HostConfig: object }]
  t.match(HostConfig, { ReadonlyRootfs: true, Memory: 4 * 1024 ** 3, CapDrop: [/^CAP_/] })
  await podman('pod', 'rm', '--force', 'harness-pod')

  chmodSync(path, 0o777)
  const mapped = await play(path, ['doctor', '--workspace', '/tmp', '--json'], false)
  t.equal(mapped.status, 0, mapped.stderr)
  await podman('wait', container)
  const told = JSON.parse((await podman('logs', container)).stdout || 'null') as DoctorReport
  t.match(told, { boundary: 'bubblewrap-hostproc' }, 'in a user namespace too')
  t.match((await podman('inspect', '--format', '{{json .HostConfig.IDMappings}}', container)).stdout, /0:[1-9]/)
  await podman('pod', 'rm', '--force', 'harness-pod')
})
