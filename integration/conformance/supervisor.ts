/** Starts the driver as the scene's supervisor: as the right user, in the right place, to be waited for or to be killed. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build, stop } from 'esbuild'
import type { AttemptStage } from './attempts.js'
import type { DriverRequest, DriverResponse } from './driver.js'
import { PEER_NAMES, peerVariables } from './peers.js'
import type { Scene } from './scene.js'
import { INHERITED_FD } from './scene-paths.js'

let bundled: Promise<string> | undefined

/**
 * The driver as one file, made once per process: an ordinary user may be unable to read the project's folder, and one
 * file starts faster than a tree of modules.
 */
export function bundleDriver(): Promise<string> {
  bundled ??= bundle()
  return bundled
}

async function bundle(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'esc-driver-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  const outfile = join(folder, 'driver.mjs')
  await build({
    entryPoints: [join(dirname(fileURLToPath(import.meta.url)), 'driver.js')],
    outfile,
    bundle: true,
    platform: 'node',
    target: 'node20.19',
    format: 'esm',
    external: ['node-pty'],
    logLevel: 'error',
    banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
  })
  await stop()
  return outfile
}

export interface Supervisor {
  readonly child: ChildProcess
  /** Settles when the driver has ended; null when it ended without a response. */
  readonly done: Promise<DriverResponse | null>
  /** What the driver said on stderr so far. */
  complaint(): string
  /** Settles when the supervisor is about to launch (for the command line: has been started), or the driver has ended. */
  readonly calling: Promise<void>
  /** Kills the process that supervises: the driver, or the command line that it has started. */
  kill(): void
}

let serial = 0

/** Starts one driver. It is up to the caller to wait for `done`. */
export function startSupervisor(scene: Scene, request: DriverRequest, stage: AttemptStage = 'plain'): Supervisor {
  const id = serial++
  const [requestFile, responseFile] = ['request', 'response'].map(name => join(scene.tools, `${name}-${id}.json`)) as [
    string,
    string,
  ]
  writeFileSync(requestFile, JSON.stringify(request))
  const driver = [process.execPath, join(scene.tools, 'driver.mjs'), requestFile, responseFile]
  const [file = '', ...args] = started[stage](driver, scene)
  const child = spawn(file, args, {
    cwd: scene.base,
    env: {
      PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
      HOME: scene.home,
      HARNESS_ESCAPE: scene.marker,
      ...peerVariables(),
    },
    stdio: ['pipe', 'pipe', 'pipe'],
    ...(process.getuid?.() === 0 ? scene.supervisor : {}),
  })
  let complaint = ''
  child.stderr?.on('data', data => {
    complaint += String(data)
  })
  let said = ''
  const isProcess = /^cli\b/.test(request.backend) || PEER_NAMES.some(name => name === request.backend)
  const word = isProcess ? /supervisor \d+\n/ : /calling/
  const calling = new Promise<void>(resolve => {
    child.once('exit', () => resolve())
    child.stdout?.on('data', data => {
      said += String(data)
      if (word.test(said)) resolve()
    })
  })
  const done = once(child, 'exit').then(() => {
    child.stdin?.destroy()
    if (!existsSync(responseFile)) return null
    return JSON.parse(readFileSync(responseFile, 'utf8')) as DriverResponse
  })
  const kill = (): void => {
    const started = /supervisor (\d+)/.exec(said)?.[1]
    if (started === undefined) child.kill('SIGKILL')
    else process.kill(Number(started), 'SIGKILL')
  }
  return { child, done, complaint: () => complaint, calling, kill }
}

/**
 * Perl in front of the driver: whoever runs the tests may have left descriptors open, which a supervisor is right to
 * refuse to work with, and Node can neither close those nor leave one of its own open across exec.
 */
const CLOSED = ['perl', '-MPOSIX', '-e', 'POSIX::close($_) for 3 .. 1023; exec { $ARGV[0] } @ARGV'] as const
const OPENED = [
  'perl',
  '-MPOSIX',
  '-e',
  `POSIX::close($_) for 3 .. 1023;
   open my $f, ">>", shift or die; POSIX::dup2(fileno $f, shift); close $f; exec { $ARGV[0] } @ARGV`,
] as const

/** How a driver's argv is started, by stage. */
const started: Record<AttemptStage, (driver: readonly string[], scene: Scene) => readonly string[]> = {
  plain: driver => [...CLOSED, ...driver],
  descriptors: (driver, scene) => [...OPENED, scene.inheritedTarget, String(INHERITED_FD), ...driver],
  terminal: driver => [
    ...CLOSED,
    'script',
    '--quiet',
    '--command',
    driver.map(word => `'${word}'`).join(' '),
    '/dev/null',
  ],
}
