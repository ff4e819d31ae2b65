/**
 * Named predicates for what a test needs of the machine. A skip always names its predicate. With HARNESS_MUST_CONFINE=1
 * (set in CI) only who we are and what system this is may skip; every other missing need runs the test, and it fails.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const PREDICATES = {
  linux: () => process.platform === 'linux',
  macos: () => process.platform === 'darwin',
  root: () => process.getuid?.() === 0,
  'not-root': () => process.getuid?.() !== 0,
  bubblewrap: () => process.platform === 'linux' && runs('bwrap', ['--unshare-user', '--ro-bind', '/', '/', 'true']),
  git: () => runs('git', ['--version']),
  objdump: () => runs('objdump', ['--version']),
  openssl: () => runs('openssl', ['version']),
  curl: () => runs('curl', ['--version']),
  npm: () => runs('npm', ['--version']),
  pip: () => runs('/usr/bin/python3', ['-m', 'pip', '--version']),
  cargo: () => runs('cargo', ['--version']),
  ps: () => runs('ps', ['axeww', '-o', 'pid=', '-o', 'lstart=', '-o', 'command=']),
  vi: () => existsSync('/usr/bin/vi'),
  less: () => existsSync('/usr/bin/less'),
  python3: () => runs('/usr/bin/python3', ['-I', '-c', 'pass']),
  perl: () => runs('perl', ['-e', '1']),
  bash: () => runs('bash', ['-c', 'true']),
  zsh: () => runs('zsh', ['-fc', 'true']),
  fish: () => runs('fish', ['--no-config', '-c', 'true']),
  mandoc: () => runs('mandoc', ['/dev/null']),
  script: () => runs('script', ['-qec', 'true', '/dev/null']),
  'node-pty': () => resolves('node-pty'),
  shellcheck: () => runs('shellcheck', ['--version']),
  compose: () => runs('docker-compose', ['--version']) || runs('docker', ['compose', 'version']),
  // What is known without a running systemd came with version 250.
  'systemd-analyze': () => runs('systemd-analyze', ['--offline=true', '--version']),
  'apparmor-parser': () => runs('apparmor_parser', ['--version']),
  setpriv: () => runs('setpriv', ['--version']),
  'mount-namespace': () => runs('unshare', ['-m', 'mount', '-t', 'tmpfs', 'none', '/mnt']),
  'immutable-flag': flagHolds,
  'folding-volume': foldingVolume,
  // landlock_create_ruleset(NULL, 0, LANDLOCK_CREATE_RULESET_VERSION); the number is the same on both processors.
  'landlock-6': () => runs('perl', ['-e', 'exit(syscall(444, 0, 0, 1) >= 6 ? 0 : 1)']),
  'control-group': () => process.getuid?.() === 0 && CONTROL_GROUPS.some(path => existsSync(path)),
  // Container engines take minutes and root: they are asked for (`npm run test:containers`), never met by chance.
  engines: () => process.env.HARNESS_ENGINES === '1',
  'cgroup-v1-pids': () => process.getuid?.() === 0 && existsSync('/sys/fs/cgroup/pids/cgroup.procs'),
} as const

export type Need = keyof typeof PREDICATES

/** Where uid 0 can make a group with a limit on processes: version 1, and version 2 mounted alone. */
const CONTROL_GROUPS = ['/sys/fs/cgroup/pids/cgroup.procs', '/sys/fs/cgroup/cgroup.subtree_control'] as const

/** Who we are and what system this is: no machine is all of them, so these skip even where confinement must hold. */
const OF_THE_PLATFORM: ReadonlySet<Need> = new Set([
  'linux',
  'macos',
  'root',
  'not-root',
  'cgroup-v1-pids',
  'control-group',
  'folding-volume',
  // Ubuntu 22.04 has an older one.
  'systemd-analyze',
  'engines',
])

/** Linters of the documents in integration/deploy: no other system packages all of them as Debian and Ubuntu do. */
const LINTERS: ReadonlySet<Need> = new Set(['shellcheck', 'compose', 'apparmor-parser'])

/** An optional package that could be installed here. */
function resolves(name: string): boolean {
  try {
    import.meta.resolve(name)
    return true
  } catch {
    return false
  }
}

function runs(file: string, args: readonly string[]): boolean {
  try {
    execFileSync(file, args, { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

/** The flag needs uid 0 with CAP_LINUX_IMMUTABLE and a filesystem that has it. */
function flagHolds(): boolean {
  const folder = mkdtempSync(join(tmpdir(), 'harness-flag-'))
  const held = runs('chattr', ['+i', folder])
  if (held) runs('chattr', ['-i', folder])
  rmdirSync(folder)
  return held
}

/** A kernel with CONFIG_UNICODE, on which ext4 with casefold can be mounted from a file. */
function foldingVolume(): boolean {
  const folder = mkdtempSync(join(tmpdir(), 'harness-folding-'))
  const image = join(folder, 'image')
  const make = `truncate -s 16M ${image} && mkfs.ext4 -q -O casefold -E encoding=utf8 ${image} && mount -o loop ${image} /mnt`
  const held = runs('unshare', ['-m', 'sh', '-c', make])
  rmSync(folder, { recursive: true })
  return held
}

/** False when every need is met (run the test), else the reason for tap's `skip`. */
export function needs(...names: readonly Need[]): false | string {
  const mustConfine = process.env.HARNESS_MUST_CONFINE === '1'
  const mustLint = mustConfine && existsSync('/usr/bin/apt-get')
  const maySkip = (name: Need) => OF_THE_PLATFORM.has(name) || !(LINTERS.has(name) ? mustLint : mustConfine)
  const missing = names.find(name => maySkip(name) && !PREDICATES[name]())
  return missing === undefined ? false : `needs ${missing}`
}
