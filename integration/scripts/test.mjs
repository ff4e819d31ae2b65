/**
 * `npm test [-- FILE…]`: builds, then runs every compiled test file under tap. The last line is the summary.
 *
 * Exit status: tap's (0 when nothing failed). HARNESS_MUST_CONFINE=1 turns skips for want of a boundary into failures.
 */
import { readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { execa } from 'execa'

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..')
const tap = join(root, 'node_modules', 'tap', 'dist', 'esm', 'run.mjs')

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
const files = named.length > 0 ? named : [...testFiles('test'), ...testFiles('integration')]
// Reading this file at every start costs older versions of Node tens of milliseconds, in every test process.
const { NODE_EXTRA_CA_CERTS: _unread, ...env } = process.env
const tests = await execa(
  process.execPath,
  [tap, `--reporter=${join(root, 'integration', 'scripts', 'reporter.mjs')}`, ...files],
  { cwd: root, stdio: ['ignore', 'inherit', 'inherit'], reject: false, env, extendEnv: false },
)
process.exit(tests.exitCode ?? 1)
