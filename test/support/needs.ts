/**
 * Named predicates for what a test needs of the machine. A skip always names its predicate; with
 * HARNESS_MUST_CONFINE=1 (set in CI) nothing is skipped, so a missing need shows as a failure.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const PREDICATES = {
  linux: () => process.platform === 'linux',
  root: () => process.getuid?.() === 0,
  'not-root': () => process.getuid?.() !== 0,
  bubblewrap: () => process.platform === 'linux' && runs('bwrap', ['--unshare-user', '--ro-bind', '/', '/', 'true']),
  git: () => runs('git', ['--version']),
  perl: () => runs('perl', ['-e', '1']),
  script: () => runs('script', ['-qec', 'true', '/dev/null']),
  'node-pty': () => resolves('node-pty'),
  setpriv: () => runs('setpriv', ['--version']),
  'mount-namespace': () => process.getuid?.() === 0 && runs('unshare', ['-m', 'mount', '-t', 'tmpfs', 'none', '/mnt']),
  'immutable-flag': () => process.getuid?.() === 0 && flagHolds(),
  'cgroup-v1-pids': () => process.getuid?.() === 0 && existsSync('/sys/fs/cgroup/pids/cgroup.procs'),
} as const

export type Need = keyof typeof PREDICATES

/** Needs that the platform or user decides: they skip even where confinement must hold. */
const OF_THE_PLATFORM: ReadonlySet<Need> = new Set([
  'linux',
  'root',
  'not-root',
  'mount-namespace',
  'immutable-flag',
  'cgroup-v1-pids',
])

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

/** False when every need is met (run the test), else the reason for tap's `skip`. */
export function needs(...names: readonly Need[]): false | string {
  for (const name of names) {
    if (PREDICATES[name]()) continue
    if (process.env.HARNESS_MUST_CONFINE === '1' && !OF_THE_PLATFORM.has(name)) return false
    return `needs ${name}`
  }
  return false
}
