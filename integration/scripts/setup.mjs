/**
 * `npm run setup [-- --yes]`: says what this machine lacks for a confined run and for the tests; with `--yes` it
 * installs that with the system's package manager. Then `harness doctor` tries what there is.
 *
 * Exit status: 0 nothing missing (any more) and everything holds, 1 something is and was not installed, or does not hold.
 */
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { execa } from 'execa'
import which from 'which'

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..')

/** Program → why it is wanted, and its package by package manager. */
const WANTED = {
  bwrap: { why: 'the boundary on Linux', package: {}, fallback: 'bubblewrap' },
  prlimit: { why: 'limits inside the boundary', package: { apk: 'util-linux-misc' }, fallback: 'util-linux' },
  mkfifo: { why: 'output of launches', package: {}, fallback: 'coreutils' },
  git: { why: 'tests', package: {}, fallback: 'git' },
  perl: { why: 'tests (raw system calls)', package: {}, fallback: 'perl' },
}

/** Package manager → its install command. */
const MANAGERS = {
  'apt-get': ['apt-get', 'install', '-y', '--no-install-recommends'],
  dnf: ['dnf', 'install', '-y'],
  apk: ['apk', 'add'],
  pacman: ['pacman', '-S', '--noconfirm'],
  zypper: ['zypper', 'install', '-y'],
}

const found = async program => (await which(program, { nothrow: true })) !== null

const isLinux = process.platform === 'linux'
if (!isLinux)
  process.stdout.write('macOS: the boundary is seatbelt, which is part of the system; nothing has to be installed\n')
const missing = []
for (const [program, facts] of Object.entries(isLinux ? WANTED : {}))
  if (!(await found(program))) missing.push({ program, ...facts })
for (const { program, why } of missing) process.stdout.write(`missing: ${program} (${why})\n`)

if (missing.length > 0) {
  let manager
  for (const name of Object.keys(MANAGERS)) if (manager === undefined && (await found(name))) manager = name
  if (manager === undefined) {
    process.stdout.write(
      `no known package manager here: install ${missing.map(({ fallback }) => fallback).join(', ')} yourself\n`,
    )
    process.exit(1)
  }
  const packages = [...new Set(missing.map(entry => entry.package[manager] ?? entry.fallback))]
  const command = [...(process.getuid() === 0 ? [] : ['sudo']), ...MANAGERS[manager], ...packages]
  if (!process.argv.includes('--yes')) {
    process.stdout.write(`to install: ${command.join(' ')}\nor: npm run setup -- --yes\n`)
    process.exit(1)
  }
  if (manager === 'apt-get')
    await execa(command.includes('sudo') ? 'sudo' : 'env', ['apt-get', 'update', '-qq'], { stdio: 'inherit' })
  const installed = await execa(command[0], command.slice(1), { stdio: 'inherit', reject: false })
  if (installed.exitCode !== 0) process.exit(1)
}

// Installed is not the same as working: every guarantee is tried for real.
const harness = join(root, 'dist', 'bin', 'harness.cjs')
if (!existsSync(harness)) await execa('npm', ['run', '--silent', 'build'], { cwd: root, stdio: 'inherit' })
const tried = await execa(process.execPath, [harness, 'doctor', '--workspace', root], { reject: false })
if (tried.exitCode === 0) process.stdout.write(`a boundary works here: ${tried.stdout.trim().split('\n').at(-1)}\n`)
else
  process.stdout.write(`${tried.stdout}${tried.stderr}\nno boundary works here as it should (harness doctor, above)\n`)
process.exit(tried.exitCode === 0 ? 0 : 1)
