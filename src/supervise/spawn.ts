/**
 * The one place that starts processes. It refuses what the kernel would refuse with a worse answer, starts the child in
 * a session and group of its own with exactly the descriptors it is given, and tells apart why a start failed.
 */
import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process'
import { writeSync } from 'node:fs'
import { Server, type Socket } from 'node:net'
import { ARGUMENT_BYTES_MAX } from '../bounds.js'
import { errnoOf, Refusal } from '../errors.js'
import { covered } from './descriptors.js'
import type { FifoPool } from './fifo-pool.js'
import { errnoBehind } from './private-folder.js'
import { maySignal, signalled } from './processes.js'
import { judgeProgram, type NotStarted, notStarted } from './program.js'
import { startFailure } from './start-failure.js'
import { ChildStdio, type StdioPlan } from './stdio.js'
import { type SpawnedChild, Supervised, type Supervision } from './supervised.js'

/** One process to start. Nothing is inherited: environment, descriptors and working folder are all said. */
export interface SpawnPlan extends StdioPlan {
  /** Absolute path of the program. */
  readonly file: string
  /** Without argv[0]. */
  readonly args: readonly string[]
  /** argv[0]; absent: `file`. */
  readonly argv0?: string
  /** Complete. */
  readonly env: Readonly<Record<string, string>>
  /** Absolute. */
  readonly cwd: string
  /** Null: as we are. Supplementary groups are dropped with the uid. */
  readonly identity: { readonly uid: number; readonly gid: number } | null
  /** `judged`: the caller has looked at the file and its format, so it is not opened again. */
  readonly format: 'check' | 'judged'
  /** Calls what it is given, which starts the process, at once. Where it throws, the process is ended and the start has failed. Absent: nothing is done around it. */
  readonly around?: (spawn: () => void) => void
  /** Told of the start, so that it is ended whenever we are killed. Absent: it dies with us by itself. */
  readonly guard?: StartGuard
}

/** What ends a process when we are killed, told at once around its start: nothing of ours happens in between. */
export interface StartGuard {
  soon(): void
  /** Nothing was started. */
  none(): void
  /** `pid` leads a group of its own and is not reaped. */
  covers(pid: number): void
}

/**
 * Starts `plan` under `supervision`. Never throws for anything that the plan or the machine is to blame for: what could
 * not be started is a value with a code (outcome.ts). `pool` is asked only when a stream is captured.
 */
export async function start(
  plan: SpawnPlan,
  supervision: Supervision,
  pool: () => Promise<FifoPool>,
): Promise<Supervised | NotStarted> {
  const refused = judgeWords(plan) ?? judgeIdentity(plan) ?? (plan.format === 'check' ? judgeProgram(plan.file) : null)
  if (refused !== null) return refused
  const { keptBytes, stderrKeptBytes = keptBytes } = supervision
  let stdio: ChildStdio
  try {
    stdio = await ChildStdio.open(plan, pool, { stdout: keptBytes, stderr: stderrKeptBytes })
  } catch (error) {
    const errno = errnoBehind(error)
    if (errno === undefined) throw error
    const why = error instanceof Refusal ? error.message : String(error)
    return notStarted('spawn-failed', `the descriptors of ${plan.file} cannot be opened: ${why}`, { errno })
  }
  const child = await spawnChild(plan, stdio)
  stdio.spawned()
  if ('kind' in child) {
    stdio.finish(true)
    return child
  }
  return new Supervised(child, stdio, supervision)
}

/** What could not be ended is not started. */
function judgeIdentity({ identity }: SpawnPlan): NotStarted | null {
  if (identity === null || maySignal(identity.uid)) return null
  const text = `what runs as uid ${identity.uid} could not be ended, because uid 0 has no CAP_KILL here: keep it (--cap-add KILL), or run as that user`
  return notStarted('no-permission', text)
}

/** A word with a NUL would be cut short by the kernel, one that is too long fails as the whole list; so both are named here. */
export function judgeWords({
  file,
  args,
  argv0 = file,
  env,
  cwd,
}: Pick<SpawnPlan, 'file' | 'args' | 'argv0' | 'env' | 'cwd'>): NotStarted | null {
  for (const [index, word] of args.entries()) {
    const refused = judgeWord(word, () => `argument ${index + 1}`)
    if (refused !== null) return refused
  }
  for (const [name, value] of Object.entries(env)) {
    const refused = judgeWord(`${name}=${value}`, () => `variable ${name}`)
    if (refused !== null) return refused
  }
  const rest = { 'argument 0': argv0, 'the program': file, 'the working folder': cwd }
  return Object.entries(rest).reduce<NotStarted | null>(
    (refused, [name, word]) => refused ?? judgeWord(word, () => name),
    null,
  )
}

function judgeWord(word: string, name: () => string): NotStarted | null {
  if (word.includes('\0')) {
    return notStarted('nul-in-argument', `${name()} holds a NUL byte, which no program can be given`)
  }
  // A unit of a string is at most three bytes of UTF-8, so short words need no count.
  const bytes = word.length * 3 <= ARGUMENT_BYTES_MAX ? 0 : Buffer.byteLength(word)
  if (bytes <= ARGUMENT_BYTES_MAX) return null
  const message = `${name()} is ${bytes} bytes long and the kernel takes ${ARGUMENT_BYTES_MAX}: pass it on stdin or in a file`
  return notStarted('argument-too-long', message)
}

/** Node reports some failures by throwing and others by an event; both come back as a value here. */
async function spawnChild(plan: SpawnPlan, stdio: ChildStdio): Promise<SpawnedChild | NotStarted> {
  const attempt: { child?: ChildProcess; error?: unknown } = {}
  const now = () => {
    plan.guard?.soon()
    try {
      attempt.child = spawnNow(plan, stdio)
    } catch (error) {
      attempt.error = error
    }
    const pid = attempt.child?.pid
    if (pid === undefined) plan.guard?.none()
    else plan.guard?.covers(pid)
  }
  try {
    if (plan.around === undefined) now()
    else plan.around(now)
  } catch (error) {
    discard(attempt.child)
    const errno = errnoOf(error)
    if (errno === undefined) throw error
    return notStarted('spawn-failed', `${plan.file} could not be put under its limits: ${String(error)}`, { errno })
  }
  const { child } = attempt
  if (child === undefined) return startFailure(plan, attempt.error)
  if (child.pid === undefined) return startFailure(plan, await new Promise(resolve => child.once('error', resolve)))
  return spawned(child, child.pid)
}

function spawnNow({ file, args, argv0 = file, env, cwd, identity }: SpawnPlan, { slots }: ChildStdio): ChildProcess {
  return spawn(file, [...args], { argv0, env: { ...env }, cwd, stdio: covered(slots), detached: true, ...identity })
}

/** Ends a process that nobody will supervise; what waits for a word from us reads end-of-file. */
function discard(child: ChildProcess | undefined): void {
  if (child?.pid === undefined) return void child?.once('error', () => undefined)
  signalled(-child.pid, 'SIGKILL')
  for (const stream of child.stdio) stream?.destroy()
}

function spawned(child: ChildProcess, pid: number): SpawnedChild {
  const pipes = new Map<number, Socket>()
  for (const [number, stream] of child.stdio.entries()) {
    if (stream === null || stream === undefined) continue
    // The other end is a program's to close at any time: that is how it ends, and no error of ours (case A09).
    stream.on('error', () => undefined)
    pipes.set(number, stream as Socket)
  }
  const handedOut = child.channel === undefined || child.channel === null ? {} : { listener: listenerFrom(child) }
  return { pid, pipes, ...handedOut, onExit: then => void child.once('exit', then) }
}

/** The first message counts, and the channel is closed with it: what is started later must not speak to us. */
function listenerFrom(child: ChildProcess): Promise<Server | null> {
  return new Promise(resolve => {
    child.once('message', (_message, handle) => {
      if (child.connected) child.disconnect()
      resolve(handle instanceof Server ? handle : null)
    })
    child.once('disconnect', () => resolve(null))
    child.on('error', () => resolve(null))
  })
}

/** How long a program of the system that answers at once may take, and how much it may say (ps(1) shows environments). */
const HELPER_MS = 10_000
const HELPER_BYTES_MAX = 64 * 1024 * 1024

/**
 * Runs a small program of the system to its end and answers its stdout; rejects with the system's error otherwise. Only
 * for programs whose work is a few system calls (mkfifo, ps); everything else is started by {@link start}.
 */
export function runToEnd(file: string, args: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = {
      env: { PATH: '/usr/bin:/bin', LC_ALL: 'C' },
      timeout: HELPER_MS,
      maxBuffer: HELPER_BYTES_MAX,
      cwd: '/',
    }
    execFile(file, args, options, (error, stdout) => (error === null ? resolve(stdout) : reject(error)))
  })
}

/**
 * As {@link runToEnd}, for what says nothing: without the pipes, which a short command would make for this alone. Null where it
 * has done its work; else what Node tells of its start, or its status.
 */
export function runInSilence(file: string, args: readonly string[]): Promise<Error | number | string | null> {
  return new Promise(resolve => {
    const options = { env: { PATH: '/usr/bin:/bin', LC_ALL: 'C' }, timeout: HELPER_MS, cwd: '/' }
    const child = spawn(file, [...args], { ...options, stdio: covered(['ignore', 'ignore', 'ignore']) })
    child.once('error', resolve)
    child.once('exit', (status, signal) => resolve(status === 0 ? null : (status ?? signal)))
  })
}

/**
 * Runs a small program of the system to its end with the terminal `fd` as its stdin; false where it is missing or fails. It waits,
 * because a terminal must be in order before the next thing happens; its work is one system call (stty).
 */
export function runOnTerminal(file: string, args: readonly string[], fd: number): boolean {
  const options = { env: { PATH: '/usr/bin:/bin', LC_ALL: 'C' }, timeout: HELPER_MS, cwd: '/' }
  return spawnSync(file, args, { ...options, stdio: covered([fd, 'ignore', 'ignore']) }).status === 0
}

/** A process of ours that runs beside everything else and keeps nothing waiting. */
export interface Beside {
  alive(): boolean
  /** Writes to its stdin at once. False where it does not take the words: it has gone, or does not read. */
  tell(text: string): boolean
  onExit(then: () => void): void
}

/**
 * Starts a program of the system that is meant to stay: in a session of its own, with a pipe to its stdin that closes
 * when we end in whatever way, and nothing else of ours. Throws an error with the system's code where it does not start.
 */
export function startBeside(file: string, args: readonly string[]): Beside {
  const child = spawn(file, [...args], {
    stdio: covered(['pipe', 'ignore', 'ignore']),
    env: { PATH: '/usr/bin:/bin' },
    cwd: '/',
    detached: true,
  })
  child.on('error', () => undefined)
  const { stdin } = child
  if (child.pid === undefined || stdin === null) throw notBeside(file, stdin)
  let alive = true
  child.once('exit', () => {
    alive = false
  })
  child.unref()
  stdin.on('error', () => undefined)
  const handle = (stdin as unknown as { readonly _handle?: { readonly fd?: number; unref?(): void } })._handle
  handle?.unref?.()
  return {
    alive: () => alive,
    tell(text) {
      const fd = handle?.fd
      if (!alive || fd === undefined || fd < 0) return false
      try {
        return writeSync(fd, text) === Buffer.byteLength(text)
      } catch (error) {
        if (errnoOf(error) === undefined) throw error
        return false
      }
    },
    onExit: then => void child.once('exit', then),
  }
}

/** Node tells the errno only later, and out of descriptors it makes no stdin, whatever its types say (Node child_process). */
function notBeside(file: string, stdin: unknown): NodeJS.ErrnoException {
  const code = stdin === undefined ? 'EMFILE' : (judgeProgram(file)?.errno ?? 'EAGAIN')
  return Object.assign(new Error(`${file} could not be started: ${code}`), { code })
}
