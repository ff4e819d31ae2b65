/**
 * `npm run setup [-- --yes] [-- --packages]`: says what this machine lacks for a confined run and for the tests; with `--yes`
 * it installs that with the system's package manager. Then `harness doctor` tries what there is, which `--packages` leaves out
 * (and which needs `npm ci` first).
 *
 * Exit status: 0 nothing missing (any more) and everything holds, 1 something is and was not installed, or does not hold.
 */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { installCommands, managerHere, missing, packagesOf } from './system-packages.mjs'

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..')
const PURPOSES = ['runs', 'tests']
const say = text => process.stdout.write(`${text}\n`)

/** True: nothing is missing any more, but what this system has no package for. */
function install(rows) {
  const manager = managerHere()
  if (manager === undefined) {
    say(`no known package manager here: install ${packagesOf(rows).join(', ')} yourself`)
    return false
  }
  const packages = packagesOf(rows, manager)
  if (packages.length === 0) return true
  const commands = installCommands(packages, manager)
  if (!process.argv.includes('--yes')) {
    say(`to install: ${commands.at(-1).join(' ')}\nor: npm run setup -- --yes`)
    return false
  }
  for (const [file, ...words] of commands) if (spawnSync(file, words, { stdio: 'inherit' }).status !== 0) return false
  const left = missing(PURPOSES).filter(row => packagesOf([row], manager).length > 0)
  for (const { program } of left) say(`still missing after ${manager} has installed its package: ${program}`)
  return left.length === 0
}

if (process.platform !== 'linux')
  say('macOS: the boundary is seatbelt, which is part of the system; nothing has to be installed')
const rows = missing(PURPOSES)
for (const { program, why, for: purpose } of rows) say(`missing: ${program} (${purpose}: ${why})`)
if (rows.length > 0 && !install(rows)) process.exit(1)

if (!process.argv.includes('--packages')) {
  // Installed is not the same as working: every guarantee is tried for real.
  const harness = join(root, 'dist', 'bin', 'harness.cjs')
  if (!existsSync(harness)) spawnSync('npm', ['run', '--silent', 'build'], { cwd: root, stdio: 'inherit' })
  const tried = spawnSync(process.execPath, [harness, 'doctor', '--workspace', root], { encoding: 'utf8' })
  if (tried.status === 0) say(`a boundary works here: ${tried.stdout.trim().split('\n').at(-1)}`)
  else say(`${tried.stdout}${tried.stderr}\nno boundary works here as it should (harness doctor, above)`)
  process.exitCode = tried.status === 0 ? 0 : 1
}
