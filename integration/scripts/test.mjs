/**
 * `npm test [-- FILE…]`: builds, then runs every compiled test file. Skips are listed with the predicate they name,
 * and the last line is the sum of all files.
 *
 * Exit status: 0 when nothing failed, else 1. HARNESS_MUST_CONFINE=1 turns skips for want of a boundary into failures.
 */
import { readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { execa } from 'execa'
import { runFiles } from './tap-files.mjs'

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..')
const JOBS = 2

/** Compiled test files below `folder`, sorted. */
function testFiles(folder) {
  return readdirSync(join(root, 'dist', folder), { recursive: true })
    .filter(name => name.endsWith('.test.js'))
    .map(name => join('dist', folder, name))
    .sort()
}

const build = await execa(process.execPath, [join(root, 'integration', 'scripts', 'build.mjs')], {
  cwd: root,
  stdio: 'inherit',
  reject: false,
})
if (build.exitCode !== 0) process.exit(1)

const named = process.argv.slice(2).map(name => name.replace(/^(?!dist\/)/, 'dist/').replace(/\.ts$/, '.js'))
// The long files first, so that the two jobs end together.
const files = named.length > 0 ? named : [...testFiles('integration'), ...testFiles('test')]
// Reading this file at every start costs Node 20 tens of milliseconds, in every process a test starts.
const { NODE_EXTRA_CA_CERTS: _unread, ...inherited } = process.env
// tap ends a file after 30 s unless told otherwise; the runner has the one bound.
const env = { ...inherited, TAP_TIMEOUT: '600' }

const counts = { passed: 0, failed: 0, skipped: 0 }
const skips = []
await runFiles(files, {
  cwd: root,
  env,
  jobs: JOBS,
  done: result => {
    const { file, passed, failed, skipped, failures } = result
    counts.passed += passed
    counts.failed += failed
    counts.skipped += skipped
    skips.push(...result.skips)
    process.stdout.write(
      `${failed > 0 ? 'FAIL' : 'ok  '} ${file}: ${passed} passed${failed > 0 ? `, ${failed} failed` : ''}\n`,
    )
    for (const failure of failures) process.stdout.write(`FAIL ${failure}\n`)
  },
})
process.stdout.write(`\n${skips.map(line => `skipped: ${line}\n`).join('')}`)
process.stdout.write(`\n${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped\n`)
process.exitCode = counts.failed > 0 ? 1 : 0
