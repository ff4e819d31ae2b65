/**
 * `npm run test:containers -- [--only TEXT]… [--jobs N] [--quick] [--json FILE] [--record]`: real container engines, started under folders of
 * their own, and a matrix of their options (integration/containers/rows.ts), then the tests that want an engine. Takes root, Linux
 * and some minutes; what is missing of Debian's packages is installed, or named.
 *
 * Builds first. With `--only` or `--quick` the rows alone are tried. Exit status: 0 nothing is wrong, 1 something is, or the sources
 * do not compile.
 */
import { readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { execa } from 'execa'
import { runFiles } from './tap-files.mjs'

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..')
const run = args => execa(process.execPath, args, { cwd: root, stdio: 'inherit', reject: false })
const words = process.argv.slice(2)

/** Files whose tests ask for the predicate `engines`. */
function testFiles() {
  return ['containers', 'deploy'].flatMap(folder =>
    readdirSync(join(root, 'dist/integration', folder))
      .filter(name => name.endsWith('.test.js'))
      .map(name => join('dist/integration', folder, name)),
  )
}

const BUILD_MS_MAX = 3_600_000

async function testsFail() {
  let failed = 0
  await runFiles(testFiles(), {
    cwd: root,
    env: { ...process.env, HARNESS_ENGINES: '1', TAP_TIMEOUT: String(BUILD_MS_MAX / 1_000) },
    jobs: 1,
    // Images are built in them, which is as slow as the registries are.
    ms: BUILD_MS_MAX,
    done: result => {
      failed += result.failed
      process.stdout.write(
        `${result.failed > 0 ? 'FAIL' : 'ok  '} ${result.file}: ${result.passed} passed, ${result.failed} failed\n`,
      )
      for (const line of [...result.failures, ...result.skips.map(skip => `skipped: ${skip}`)])
        process.stdout.write(`     ${line}\n`)
    },
  })
  return failed > 0
}

const build = await run([join(root, 'integration/scripts/build.mjs')])
if (build.exitCode !== 0) process.exit(1)
const rows = await run([join(root, 'dist/integration/containers/main.js'), ...words])
const rowsAlone = words.some(word => word === '--quick' || word.startsWith('--only'))
process.exitCode = rows.exitCode !== 0 || (!rowsAlone && (await testsFail())) ? 1 : 0
