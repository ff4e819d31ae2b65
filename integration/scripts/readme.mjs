/**
 * `npm run readme [-- --check | --peers]`: writes the table of guarantees into README.md from the data that the tests hold the
 * boundaries to. With `--check` nothing is written, and a README that says something else is an error. With `--peers` the other sandboxes that are installed (srt and codex on PATH, or by HARNESS_PEER_SANDBOX_RUNTIME and
 * HARNESS_PEER_CODEX) are measured first, which takes some minutes.
 *
 * Needs the build. Exit status: 0 written or nothing to write, 1 not (with `--check`: something would be written).
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { execa } from 'execa'

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..')
const built = name => join(root, 'dist', 'integration', name)

if (!existsSync(built('guarantees/table.js'))) {
  await execa('npm', ['run', '--silent', 'build'], { cwd: root, stdio: 'inherit' })
}
if (process.argv.includes('--peers')) {
  await execa(process.execPath, [built('conformance/measure-peers.js')], { cwd: root, stdio: 'inherit' })
}
const { renderGuarantees, withSection } = await import(built('guarantees/table.js'))
const { measuredPeers } = await import(built('conformance/measured.js'))
const file = join(root, 'README.md')
const before = readFileSync(file, 'utf8')
const { CONTAINER_MARKERS, renderContainers } = await import(built('containers/table.js'))
const { measured } = await import(built('containers/measured.js'))
const guarantees = withSection(before, renderGuarantees(measuredPeers()))
const after = withSection(guarantees, renderContainers(measured()), CONTAINER_MARKERS)
const checks = process.argv.includes('--check')
if (after !== before && !checks) writeFileSync(file, after)
const changed = checks ? 'README.md has other tables than the data make: npm run readme' : 'README.md is written'
process.stdout.write(`${after === before ? 'README.md is what it would be' : changed}\n`)
if (checks && after !== before) process.exitCode = 1
