/** What the deployment documents are tried with: an image of the built programs, a sample project, and an engine's own namespaces. */
import {
  chmodSync,
  chownSync,
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { execa } from 'execa'
import { projectRoot } from '../../test/support/root.js'
import type { Engine, Ran } from '../containers/engines.js'

export const IMAGE = 'harness-deployed'

/** As the image of the Dockerfile: an ordinary user, tini in front of `harness`. */
const CHANGES = [
  'ENTRYPOINT ["/usr/bin/tini","--","harness"]',
  'USER 1000:1000',
  'WORKDIR /workspace',
  'ENV PATH=/usr/local/bin:/usr/bin:/bin',
]

/** What the programs need of the package: they are bundled. */
const SHIPPED = ['dist/bin', 'dist/native-profiles', 'native-profiles', 'package.json']

/** What is in no root file system yet: engines refuse a name that comes twice. */
const ADDED = ['usr/local/lib/node_modules', 'usr/local/bin/harness', 'workspace', 'etc/passwd']

/** A tar file of `rootfs` with the built programs in it, as they are when the package is installed for everybody. */
export async function imageTar(rootfs: string, folder: string): Promise<string> {
  const tar = join(folder, 'image.tar')
  const root = mkdtempSync(join(folder, 'image-'))
  const home = join(root, 'usr/local/lib/node_modules/b10x-harness')
  for (const name of SHIPPED) cpSync(join(projectRoot, name), join(home, name), { recursive: true })
  mkdirSync(join(root, 'usr/local/bin'), { recursive: true })
  symlinkSync('../lib/node_modules/b10x-harness/dist/bin/harness.cjs', join(root, 'usr/local/bin/harness'))
  mkdirSync(join(root, 'workspace'))
  copyFileSync(rootfs, tar)
  const { stdout: users } = await execa('tar', ['-xOf', tar, './etc/passwd'])
  mkdirSync(join(root, 'etc'))
  writeFileSync(join(root, 'etc/passwd'), `${users}\nharness:x:1000:1000::/home/harness:/bin/sh\n`)
  await execa('tar', ['--delete', '-f', tar, './etc/passwd'])
  await execa('tar', ['-C', root, '--owner=0', '--group=0', '-rf', tar, ...ADDED])
  return tar
}

/** Null, or why the engine does not take it. */
export async function importImage(engine: Engine, tar: string): Promise<string | null> {
  const changes = CHANGES.flatMap(change => ['--change', change])
  const { status, stderr } = await engine.command(['import', ...changes, tar, IMAGE], { timeoutMs: 300_000 })
  return status === 0 ? null : stderr
}

const SAMPLE: Readonly<Record<string, string>> = {
  'package.json': '{ "name": "greet", "type": "module" }\n',
  'greet.mjs': 'export function greet(name) {\n  return `Hello, ${name}`\n}\n',
  'greet.test.mjs':
    "import assert from 'node:assert/strict'\nimport test from 'node:test'\nimport { greet } from './greet.mjs'\n\n" +
    "test('greets with an exclamation mark', () => {\n  assert.equal(greet('Ada'), 'Hello, Ada!')\n})\n",
}

/** A project whose test fails until the demo's model has done its job; it belongs to `uid`. */
export function sampleProject(
  folder: string,
  uid: number,
): { readonly path: string; readonly isMended: () => boolean } {
  const path = mkdtempSync(join(folder, 'project-'))
  for (const [name, text] of Object.entries(SAMPLE)) {
    writeFileSync(join(path, name), text)
    chownSync(join(path, name), uid, uid)
  }
  chownSync(path, uid, uid)
  return { path, isMended: () => readFileSync(join(path, 'greet.mjs'), 'utf8').includes('!`') }
}

/** The main job without a key and without a network. */
export const DEMO: readonly string[] = [
  ...['run', '--provider', 'demo', '--no-session', '--confine', 'auto', '--allow-program', 'node'],
  ...['--process-write-subtree', '.', '--yes', '--json', '--input', 'make the tests pass'],
]

/** The boundary that a record of `run --json` says was had; null: the run never started. */
export function boundaryIn(record: string): string | null {
  const started = record.split('\n').find(line => line.includes('"kind":"started"'))
  if (started === undefined) return null
  return (JSON.parse(started) as { confinement: { boundary: string } }).confinement.boundary
}

/**
 * Runs programs where an engine has its namespaces and its user, with `docker` or `podman` in PATH that means this engine: what a
 * person types is what is tried.
 */
export function shellOf(engine: Engine, folder: string) {
  const { file, args, env } = engine.client([])
  const at = args.findIndex(word => word === 'docker' || word === 'podman')
  const [outer, [program = '', ...own]] = [args.slice(0, at), args.slice(at)]
  const bin = mkdtempSync(join(folder, 'bin-'))
  chmodSync(bin, 0o755)
  const quoted = own.map(word => `'${word}'`).join(' ')
  writeFileSync(join(bin, program), `#!/bin/sh\nexec /usr/bin/${program} ${quoted} "$@"\n`, { mode: 0o755 })
  const host = engine.socket === null ? {} : { DOCKER_HOST: `unix://${engine.socket}` }
  const environment = { ...env, ...host, PATH: `${bin}:${env.PATH}`, ENGINE: program, IMAGE, NETWORK: 'none' }
  return (words: readonly string[], more: Readonly<Record<string, string>> = {}) =>
    execa(file, [...outer, 'env', ...words], {
      env: { ...environment, ...more },
      extendEnv: false,
      reject: false,
      stdin: 'ignore',
      timeout: 120_000,
      killSignal: 'SIGKILL',
    })
}

export type Shell = ReturnType<typeof shellOf>

/** The file of `harness doctor --seccomp-profile`, from the profile that the engine itself has made for a container: as docker-run.sh says. */
export async function seccompFile(engine: Engine, folder: string): Promise<string> {
  const id = (
    await must(
      engine.command(['run', '--detach', '--cap-drop=ALL', ...engine.limits, '--entrypoint', 'sleep', IMAGE, '60']),
    )
  ).trim()
  try {
    const found = await execa('find', [engine.scratch, '-path', `*/${id}/config.json`])
    const [base = ''] = found.stdout.split('\n')
    const made = await execa(process.execPath, [
      join(projectRoot, 'dist/bin/harness.cjs'),
      'doctor',
      '--seccomp-profile',
      base,
    ])
    const file = join(folder, 'harness-seccomp.json')
    writeFileSync(file, made.stdout)
    return file
  } finally {
    await engine.command(['rm', '--force', id])
  }
}

async function must(running: Promise<Ran>): Promise<string> {
  const { status, stdout, stderr } = await running
  if (status !== 0) throw new Error(stderr)
  return stdout
}

/**
 * A runtime for podman that sets no limits of resources: a document for Kubernetes cannot say any, and an engine without
 * CAP_SYS_RESOURCE cannot set those that podman has by itself.
 */
export function runtimeWithoutLimits(folder: string): string {
  const file = join(mkdtempSync(join(folder, 'runtime-')), 'runc')
  const edit =
    'const fs = require("fs"), f = process.argv[1]; const c = JSON.parse(fs.readFileSync(f)); delete c.process.rlimits; fs.writeFileSync(f, JSON.stringify(c))'
  const lines = [
    '#!/bin/sh',
    'for word; do if [ "$before" = --bundle ]; then bundle=$word; fi; before=$word; done',
    `if [ -n "$bundle" ]; then '${process.execPath}' -e '${edit}' "$bundle/config.json"; fi`,
    'exec runc "$@"',
  ]
  writeFileSync(file, `${lines.join('\n')}\n`, { mode: 0o755 })
  return file
}
