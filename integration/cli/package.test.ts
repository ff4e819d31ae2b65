/** The package as people get it: what is in it, and that its programs start wherever and however it was installed. */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { execa } from 'execa'
import t from 'tap'
import { needs } from '../../test/support/needs.js'
import { scratch } from '../support/harness.js'
import { type Installation, installInto } from '../support/installed.js'

const place = scratch({ 'package.json': '{"type":"module"}\n' })
t.teardown(place.remove)
let installed: Installation

t.before(async () => {
  installed = await installInto(place.path)
})

/** Every kind of file, by the folder it lies in; a new one is a decision. */
const KINDS = [
  '.github/*.md',
  'LICENSE',
  'README.md',
  'dist/bin/*',
  'dist/bin/*.cjs',
  'dist/man/*.1',
  'dist/native-profiles/*.json',
  'dist/src/**/*.d.ts',
  'dist/src/**/*.js',
  'integration/deploy/*.service',
  'integration/deploy/*.sh',
  'integration/deploy/*.timer',
  'integration/deploy/*.yaml',
  'integration/deploy/*.yml',
  'integration/deploy/apparmor/*',
  'integration/examples/flows/*.yaml',
  'integration/examples/hooks/*.json',
  'integration/examples/hooks/*.mjs',
  'integration/examples/hooks/*.py',
  'integration/examples/hooks/*.sh',
  'native-profiles/*.json',
  'native-profiles/*.sb',
  'package.json',
]

/** `dist/src/paths/resolve.d.ts` → its kind, as in {@link KINDS}. */
function kindOf(path: string): string {
  const folders = path.split('/')
  const name = folders.pop() ?? ''
  if (folders.length === 0) return name
  const ending = /(\.d)?\.[a-z0-9]+$/.exec(name)?.[0] ?? ''
  return folders[1] === 'src' ? `dist/src/**/*${ending}` : `${folders.join('/')}/*${ending}`
}

t.test('only what runs is in it, and it is small', async t => {
  const files = readdirSync(installed.package, { recursive: true, encoding: 'utf8' })
    .filter(path => statSync(join(installed.package, path)).isFile())
    .sort()
  t.strictSame([...new Set(files.map(kindOf))].sort(), KINDS)
  t.strictSame(
    files.filter(path => path.startsWith('dist/bin/')).map(path => path.slice(9)),
    ['audit.cjs', 'exec.cjs', 'harness.cjs', 'hookcheck.cjs', 'landlock-aarch64', 'landlock-x86_64', 'main.cjs'],
  )
  for (const name of ['event', 'outcome', 'doctor', 'session', 'scenario'])
    t.ok(files.includes(`native-profiles/${name}.schema.json`), name)
  const sizes = files.map(path => statSync(join(installed.package, path)).size)
  t.ok(installed.packed < 3 << 20, `packed: ${installed.packed} bytes`)
  t.ok(sizes.reduce((sum, size) => sum + size, 0) < 10 << 20, 'unpacked')
  for (const path of files.filter(path => /\.(c?js|d\.ts)$/.test(path)))
    if (/sourceMappingURL=/.test(readFileSync(join(installed.package, path), 'utf8').slice(-200)))
      t.fail(`${path} names a map, and none is shipped`)
  const manifest = JSON.parse(readFileSync(join(installed.package, 'package.json'), 'utf8'))
  const named = [
    ...Object.values(manifest.bin),
    ...manifest.man,
    manifest.exports['.'].types,
    manifest.exports['.'].default,
  ]
  for (const file of named) t.ok(existsSync(join(installed.package, String(file))), String(file))
})

t.test('its programs start', async t => {
  const version = await execa(process.execPath, [installed.bin('harness'), '--version'])
  t.match(version.stdout, /^harness \d+\.\d+\.\d+$/)
  const tools = await execa(process.execPath, [installed.bin('harness'), 'tools'], { cwd: place.path })
  t.equal(JSON.parse(tools.stdout).tools.length, 4)
  const hookcheck = await execa(process.execPath, [installed.bin('hookcheck'), 'hooks.json'], { reject: false })
  t.match(hookcheck, { exitCode: 2, stderr: /hooks\.json: there is no such file/ })
})

t.test('installed without the optional package, as a link to a store, below a name with spaces', async t => {
  const odd = scratch({ 'pröjekt mit  Leerzeichen/package.json': '{}\n', 'home/x': '' })
  t.teardown(odd.remove)
  const project = join(odd.path, 'pröjekt mit  Leerzeichen')
  const linked = await installInto(project, { linked: true, without: ['node-pty'] })
  const env = { PATH: process.env.PATH, HOME: join(odd.path, 'home') }
  const started = (words: readonly string[], program: 'harness' | 'hookcheck' = 'harness') =>
    execa(process.execPath, [linked.bin(program), ...words], { cwd: project, env, extendEnv: false, reject: false })

  const demo = await started(['run', '--provider', 'demo', '--input', 'show me', '--json'])
  t.match(demo, { exitCode: 0, stdout: /"kind":"finished"/ }, demo.stderr)
  t.match(await started(['--list-rules'], 'hookcheck'), { exitCode: 0, stdout: /HC305/ })
  t.test('and its boundary', { skip: needs('bubblewrap') }, async t => {
    t.match(await started(['exec', '--', 'echo', 'inside']), { exitCode: 0, stdout: 'inside' })
  })
  t.test('a terminal is refused by the name of what is missing', { skip: needs('script', 'bubblewrap') }, async t => {
    const words = ["'", process.execPath, "' '", linked.bin('harness'), "' exec --tty -- true"].join('')
    const { stdout } = await execa('script', ['-qec', words, '/dev/null'], { cwd: project, reject: false })
    t.match(stdout, /terminal-unavailable\].* node-pty/)
  })
})

t.test('a Node that is too old is told which one is needed, not what it cannot read', async t => {
  const old = scratch({ 'old.cjs': "Object.defineProperty(process.versions, 'node', { value: process.env.OLD })\n" })
  t.teardown(old.remove)
  const started = (program: 'harness' | 'hookcheck', version: string, words: readonly string[] = []) =>
    execa(process.execPath, ['-r', join(old.path, 'old.cjs'), installed.bin(program), ...words], {
      reject: false,
      env: { OLD: version },
    })
  const needed = (program: string, version: string) =>
    new RegExp(`^${program} needs Node.js 20.19 or later; this is ${version} `)
  for (const version of ['8.17.0', '18.20.8', '20.18.3']) {
    const expected = { exitCode: 1, stdout: '', stderr: needed('harness', version) }
    t.match(await started('harness', version), expected, version)
  }
  t.match(await started('harness', '18.20.8', ['exec', '--', 'true']), { exitCode: 125 }, 'as exec says it')
  t.match(await started('hookcheck', '18.20.8'), { exitCode: 2, stderr: needed('hookcheck', '18.20.8') })
  for (const fit of ['20.19.0', '21.0.0', '24.1.0'])
    t.match(await started('harness', fit, ['--version']), { exitCode: 0, stderr: '' }, fit)
  // What stands before the sentence has to be read by an old Node too: none of what came with ES2019 and later.
  const entry = readFileSync(installed.bin('harness'), 'utf8')
  t.notMatch(entry, /\?\.[a-z[(]|\?\?|catch\{/)
})
