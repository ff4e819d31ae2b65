/**
 * `npm run bench -- [--only NAME] [--quick] [--peers] [--json FILE]`: builds where the build is missing or older than
 * the sources, then runs the compiled bench. What is measured is what is installed: the bundle and the library in dist.
 */
import { existsSync, readdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { execa } from 'execa'

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..')
const built = ['dist/integration/bench/main.js', 'dist/bin/harness.cjs'].map(path => join(root, path))

function newest(folder) {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter(entry => entry.isFile())
  return Math.max(...entries.map(entry => statSync(join(entry.parentPath, entry.name)).mtimeMs))
}

function stale() {
  if (!built.every(existsSync)) return true
  const sources = Math.max(...['src', 'integration', 'native-profiles'].map(folder => newest(join(root, folder))))
  return sources > Math.min(...built.map(path => statSync(path).mtimeMs))
}

// On Node 20 it makes every start 38 ms slower, which would drown what is measured here.
const { NODE_EXTRA_CA_CERTS: _, ...env } = process.env
const program = { cwd: root, env, extendEnv: false, stdio: 'inherit', reject: false }

if (stale()) {
  process.stderr.write('build: the compiled bench or the bundle is missing or older than its sources\n')
  const build = await execa(process.execPath, [join(root, 'integration/scripts/build.mjs')], program)
  if (build.exitCode !== 0) process.exit(1)
}
const bench = await execa(process.execPath, [built[0], ...process.argv.slice(2)], program)
process.exitCode = bench.exitCode ?? 1
