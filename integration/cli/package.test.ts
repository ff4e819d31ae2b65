/**
 * The package as people get it: packed, unpacked in an empty folder, its programs started and its library imported and
 * type-checked. Dependencies are linked from this checkout, so that the test needs no registry.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { execa } from 'execa'
import t from 'tap'
import { needs } from '../../test/support/needs.js'
import { projectRoot } from '../../test/support/root.js'
import { scratch } from '../support/harness.js'

const SNIPPET = `
import { closeInherited, isRefusal, openBoundary, type Outcome, probeHost } from 'b10x-harness'

closeInherited()

const boundary = await openBoundary({
  confine: 'auto',
  request: { workspace: '.', read: [], writeSubtrees: [], hide: [], unprotect: [], programs: null, env: {}, limits: {}, controlFiles: [] },
  facts: await probeHost(),
  runId: 'snippet',
  onEvent: () => {},
  probe: 'now',
})
if (isRefusal(boundary)) throw boundary
const outcome = await boundary.run({ argv: ['true'], purpose: 'exec' })
if (isRefusal(outcome)) throw outcome
const { ending }: Outcome = outcome
console.log(ending.kind)
await boundary.close()
`

const place = scratch({ 'package.json': '{"type":"module"}\n', 'use.ts': SNIPPET })
t.teardown(place.remove)
const installed = join(place.path, 'node_modules', 'b10x-harness')

t.before(async () => {
  await execa('npm', ['pack', '--ignore-scripts', '--pack-destination', place.path], { cwd: projectRoot })
  const tarball = readdirSync(place.path).find(name => name.endsWith('.tgz')) ?? ''
  mkdirSync(installed, { recursive: true })
  await execa('tar', ['-xzf', join(place.path, tarball), '-C', installed, '--strip-components=1'])
  for (const name of readdirSync(join(projectRoot, 'node_modules'))) {
    if (!name.startsWith('.') && name !== 'b10x-harness')
      symlinkSync(join(projectRoot, 'node_modules', name), join(place.path, 'node_modules', name))
  }
})

t.test('only what runs is in it', async t => {
  for (const name of [
    'dist/bin/harness.cjs',
    'dist/bin/landlock-x86_64',
    'dist/bin/landlock-aarch64',
    'dist/src/index.js',
    'dist/src/index.d.ts',
    ...['event', 'outcome', 'doctor', 'session', 'scenario'].map(name => `native-profiles/${name}.schema.json`),
    'README.md',
    'LICENSE',
  ]) {
    t.ok(existsSync(join(installed, name)), name)
  }
  for (const name of ['test', 'integration', 'src', 'dist/test', 'dist/integration'])
    t.notOk(existsSync(join(installed, name)), name)
  const manifest = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'))
  for (const [name, file] of Object.entries(manifest.bin)) t.ok(existsSync(join(installed, String(file))), name)
})

t.test('its programs start', async t => {
  const version = await execa(process.execPath, [join(installed, 'dist/bin/harness.cjs'), '--version'])
  t.match(version.stdout, /^harness \d+\.\d+\.\d+$/)
  const tools = await execa(process.execPath, [join(installed, 'dist/bin/harness.cjs'), 'tools'], { cwd: place.path })
  t.equal(JSON.parse(tools.stdout).tools.length, 4)
  const hookcheck = await execa(process.execPath, [join(installed, 'dist/bin/hookcheck.cjs'), 'hooks.json'], {
    reject: false,
  })
  t.match(hookcheck, { exitCode: 2, stderr: /hooks\.json: there is no such file/ })
})

t.test('its library is typed, and works', { skip: needs('bubblewrap') }, async t => {
  const tsc = join(projectRoot, 'node_modules', 'typescript', 'bin', 'tsc')
  const flags = [
    '--strict',
    '--module',
    'nodenext',
    '--target',
    'es2022',
    '--types',
    'node',
    '--skipLibCheck',
    'false',
    'use.ts',
  ]
  const checked = await execa(process.execPath, [tsc, ...flags], { cwd: place.path, reject: false })
  t.equal(checked.exitCode, 0, checked.stdout)
  const ran = await execa(process.execPath, ['use.js'], { cwd: place.path, reject: false })
  t.equal(ran.stdout, 'exited', ran.stderr)
})

t.test('a Node that is too old is told which one is needed, not what it cannot read', async t => {
  const place = scratch({ 'old.cjs': "Object.defineProperty(process.versions, 'node', { value: process.env.OLD })\n" })
  t.teardown(place.remove)
  const started = (program: string, old: string, words: readonly string[] = []) =>
    execa(process.execPath, ['-r', join(place.path, 'old.cjs'), join(installed, 'dist/bin', program), ...words], {
      reject: false,
      env: { OLD: old },
    })
  const needed = (program: string, old: string) =>
    new RegExp(`^${program} needs Node.js 20.19 or later; this is ${old} `)
  for (const old of ['8.17.0', '18.20.8', '20.18.3'])
    t.match(await started('harness.cjs', old), { exitCode: 1, stdout: '', stderr: needed('harness', old) }, old)
  t.match(await started('harness.cjs', '18.20.8', ['exec', '--', 'true']), { exitCode: 125 }, 'as exec says it')
  t.match(await started('hookcheck.cjs', '18.20.8'), { exitCode: 2, stderr: needed('hookcheck', '18.20.8') })
  for (const fit of ['20.19.0', '21.0.0', '24.1.0'])
    t.match(await started('harness.cjs', fit, ['--version']), { exitCode: 0, stderr: '' }, fit)
  // What stands before the sentence has to be read by an old Node too: none of what came with ES2019 and later.
  const entry = readFileSync(join(installed, 'dist/bin/harness.cjs'), 'utf8')
  t.notMatch(entry, /\?\.[a-z[(]|\?\?|catch\{/)
})
