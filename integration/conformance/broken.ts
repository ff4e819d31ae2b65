/** The backends that are built to fail: a plain start, bubblewrap by one of the broken recipes, and Landlock by one of its own. */
import { spawn } from 'node:child_process'
import { existsSync, lstatSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import type { Backend, RunOptions, RunResult } from './backend.js'
import { brokenLandlock, isBrokenLandlock } from './broken-landlock.js'
import { BROKEN_BOUNDARIES, type BrokenName, brokenArgv, type Recipe } from './broken-recipes.js'
import { PROTECTED_PARENTS, PROTECTED_PATHS } from './scene-paths.js'

/** Kept per stream, so that the backend for a flood is broken in being slow, not in taking the machine's memory. */
const KEPT_CHARS = 1 << 20

/** The backend of that name. */
export function brokenBackend(name: BrokenName): Backend {
  if (name === 'plain') return { name, available: () => false, run: (argv, options) => plain(argv, options) }
  if (isBrokenLandlock(name)) return brokenLandlock(name)
  const { recipe } = BROKEN_BOUNDARIES[name]
  return {
    name,
    available: () => (existsSync('/usr/bin/bwrap') ? false : 'needs bubblewrap'),
    run: (argv, options) => confined(recipe, argv, options),
  }
}

function plain(argv: readonly string[], options: RunOptions): Promise<RunResult> {
  return started(argv, options, { ...process.env, ...options.env })
}

function confined(recipe: Recipe, argv: readonly string[], options: RunOptions): Promise<RunResult> {
  const under = (path: string): string => join(options.workspace, path)
  const words = brokenArgv(
    recipe,
    {
      workspace: options.workspace,
      read: options.read,
      writeSubtrees: options.writeSubtrees,
      protectedPaths: PROTECTED_PATHS.map(under).filter(existsSync),
      protectedParents: PROTECTED_PARENTS.map(under).filter(existsSync),
      sockets: [under('s'), ...options.read.map(path => join(path, 's'))].filter(existsSync),
      home: process.env.HOME ?? '/nonexistent',
      env: options.env,
      first: limitWords(options),
      systemRoots: systemRoots(),
    },
    argv,
  )
  const env = recipe.env === 'constructed' ? {} : process.env
  const bwrap = ['/usr/bin/bwrap', ...words]
  const stdin = recipe.session === 'same' ? 'inherit' : 'ignore'
  return started(recipe.descriptors === 'closed' ? withoutDescriptors(bwrap) : bwrap, options, env, { stdin })
}

/** Node cannot close what it was started with, so a word of Perl does. */
function withoutDescriptors(argv: readonly string[]): string[] {
  return ['/usr/bin/perl', '-MPOSIX', '-e', 'POSIX::close($_) for 3 .. 255; exec { $ARGV[0] } @ARGV', ...argv]
}

function limitWords({ limits }: RunOptions): string[] {
  const words = [
    ['--nproc', limits.pids],
    ['--data', limits.memory],
    ['--fsize', limits['file-size']],
  ] as const
  const set = words.flatMap(([word, value]) => (value === undefined ? [] : [`${word}=${value}`]))
  return set.length === 0 ? [] : ['/usr/bin/prlimit', ...set, '--']
}

function systemRoots(): { path: string; target: string | null }[] {
  return ['/usr', '/bin', '/sbin', '/lib', '/lib64', '/opt']
    .filter(existsSync)
    .map(path => ({ path, target: lstatSync(path).isSymbolicLink() ? readlinkSync(path) : null }))
}

interface Start {
  /** Absent: nothing. */
  readonly stdin?: 'ignore' | 'inherit'
  readonly onStart?: (pid: number) => void
}

/** A plain start, ended by a KILL of the started process alone when its time is over. */
export function started(
  argv: readonly string[],
  options: RunOptions,
  env: NodeJS.ProcessEnv,
  { stdin = 'ignore', onStart }: Start = {},
): Promise<RunResult> {
  const [file = '', ...args] = argv
  const began = performance.now()
  const kept = { stdout: '', stderr: '' }
  let timedOut = false
  return new Promise(resolve => {
    const child = spawn(file, args, { cwd: options.workspace, env, stdio: [stdin, 'pipe', 'pipe'] })
    if (child.pid !== undefined) onStart?.(child.pid)
    const timer = setTimeout(() => {
      timedOut = true
      child.kill('SIGKILL')
    }, options.wallMs)
    for (const name of ['stdout', 'stderr'] as const) {
      child[name].on('data', data => {
        if (kept[name].length < KEPT_CHARS) kept[name] += String(data)
      })
    }
    const settle = (status: number | null, ending: string): void => {
      clearTimeout(timer)
      resolve({ ...kept, status, ending, durationMs: performance.now() - began })
    }
    child.on('error', error => {
      kept.stderr += error.message
      settle(null, 'not-started')
    })
    // `close`, not `exit`: it waits for whoever holds the pipe, which is one of the faults.
    child.on('close', status => settle(status, timedOut ? 'timed-out' : status === null ? 'signalled' : 'exited'))
  })
}
