/** The library in somebody's project: its types under each way of resolving them, `require`, and bundles. */
import { cpSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'
import { execa } from 'execa'
import t from 'tap'
import { needs } from '../../test/support/needs.js'
import { projectRoot } from '../../test/support/root.js'
import { scratch } from '../support/harness.js'
import { installInto } from '../support/installed.js'

const BODY = `
closeInherited()

const boundary = await openBoundary({
  confine: process.env.CONFINE ?? 'auto',
  request: { workspace: '.', read: [], writeSubtrees: [], hide: [], unprotect: [], programs: null, env: {}, limits: {}, controlFiles: [] },
  facts: await probeHost(),
  runId: 'snippet',
  onEvent: () => {},
  probe: 'now',
})
if (isRefusal(boundary)) throw boundary
const outcome = await boundary.run({ argv: ['true'], purpose: 'exec' })
if (isRefusal(outcome)) throw outcome
`
const NAMES = 'closeInherited, isRefusal, openBoundary, probeHost'
const LAST = 'console.log(outcome.ending.kind)\nawait boundary.close()\n'

const TYPED = `import { ${NAMES}, type ConfineChoice, type Outcome } from 'b10x-harness'
${BODY.replace("?? 'auto'", "as ConfineChoice | undefined ?? 'auto'")}
const { ending }: Outcome = outcome
console.log(ending.kind)
await boundary.close()
`
const MODULE = `import { ${NAMES} } from 'b10x-harness'\n${BODY}${LAST}`
const REQUIRED = `const { ${NAMES} } = require('b10x-harness')\nvoid (async () => {${BODY}${LAST}})()\n`

const place = scratch({
  'package.json': '{"type":"module"}\n',
  'use.ts': TYPED,
  'use.mjs': MODULE,
  'use.cjs': REQUIRED,
})
t.teardown(place.remove)

t.before(() => installInto(place.path))

async function said(file: string, cwd = place.path, confine = 'auto'): Promise<string> {
  const ran = await execa(process.execPath, [file], { cwd, reject: false, env: { CONFINE: confine } })
  // Node 22 warns of a required ES module, on stderr.
  return ran.exitCode === 0 ? ran.stdout : ran.stderr
}

/** `--module`, `--moduleResolution`: TypeScript's own rule is which go together. */
const RESOLUTIONS = [
  ['nodenext', 'nodenext'],
  ['node16', 'node16'],
  ['esnext', 'bundler'],
] as const

for (const [module, resolution] of RESOLUTIONS)
  t.test(`its types are found and whole: ${resolution}`, async t => {
    const tsc = join(projectRoot, 'node_modules', 'typescript', 'bin', 'tsc')
    const strict = [
      '--strict',
      '--exactOptionalPropertyTypes',
      '--skipLibCheck',
      'false',
      '--types',
      'node',
      '--noEmit',
    ]
    const how = ['--module', module, '--moduleResolution', resolution, '--target', 'es2022']
    const checked = await execa(process.execPath, [tsc, ...strict, ...how, 'use.ts'], {
      cwd: place.path,
      reject: false,
    })
    t.match(checked, { exitCode: 0, stdout: '' }, checked.stdout)
  })

t.test('it is imported and required', { skip: needs('bubblewrap') }, async t => {
  t.equal(await said('use.mjs'), 'exited')
  t.equal(await said('use.cjs'), 'exited')
  writeFileSync(join(place.path, 'deep.cjs'), "require('b10x-harness/dist/src/index.js')\n")
  t.match(await said('deep.cjs'), /ERR_PACKAGE_PATH_NOT_EXPORTED/, 'what is not exported is nobody’s')
})

t.test('a bundle of it launches where nothing is installed', { skip: needs('bubblewrap') }, async t => {
  const away = scratch({})
  t.teardown(away.remove)
  const common = { bundle: true, platform: 'node', absWorkingDir: place.path, logLevel: 'silent' } as const
  // node-pty is optional and native.
  const external = ['node-pty']
  await build({ ...common, external, entryPoints: ['use.cjs'], format: 'cjs', outfile: join(away.path, 'bundle.cjs') })
  // Some of what it depends on is CommonJS, which an ES module has to be told how to require.
  const js = "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url)"
  const outfile = join(away.path, 'bundle.mjs')
  await build({ ...common, external, entryPoints: ['use.mjs'], format: 'esm', banner: { js }, outfile })
  cpSync(join(place.path, 'package.json'), join(away.path, 'package.json'))
  for (const file of ['bundle.cjs', 'bundle.mjs']) {
    t.equal(await said(file, away.path), 'exited', file)
    t.equal(await said(file, away.path, 'bubblewrap-hostproc'), 'exited', `${file}: the weaker boundary`)
  }
  t.test('under Landlock too', { skip: needs('landlock-6') }, async t => {
    t.equal(await said('bundle.cjs', away.path, 'landlock'), 'exited')
  })
})
