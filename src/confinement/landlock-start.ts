/** The launcher of Landlock as something to start: its program, its list of calls, and what it says. */
import { join } from 'node:path'
import { errnoOf } from '../errors.js'
import { systemClock } from '../supervise/deadline.js'
import { drained } from '../supervise/drained.js'
import { GroupTree } from '../supervise/group-kill.js'
import { type NotStarted, notStarted } from '../supervise/program.js'
import { type SpawnPlan, start } from '../supervise/spawn.js'
import type { Extra } from '../supervise/stdio.js'
import type { Supervised } from '../supervise/supervised.js'
import { openProgram } from '../supervise/unnamed-program.js'
import { type Call, encodeCalls } from './call-list.js'
import { LAUNCHER_ENV } from './inside-env.js'
import { ABI_CALLS, LAUNCHER_FDS, STANDS } from './landlock-calls.js'
import { launcherElf } from './landlock-launcher.js'
import { type WardenWords, wardenWords } from './landlock-warden.js'
import { FILTER_ARCHES, type FilterArch } from './seccomp-bpf.js'
import type { HostFacts } from './types.js'

declare const __dirname: string | undefined

/** Where the build puts the programs: beside the bundle that this is part of, or in the package that it is a module of. */
const PROGRAMS = typeof __dirname === 'string' ? __dirname : join(import.meta.dirname ?? '/', '..', '..', 'bin')

let program: number | undefined

/** The descriptor of the launcher's program, opened once in a process. A failure is told with the way out. */
function launcherProgram(arch: FilterArch): number | NotStarted {
  try {
    program ??= openProgram(launcherElf(arch), { shipped: join(PROGRAMS, `landlock-${arch}`) })
    return program
  } catch (error) {
    const errno = errnoOf(error)
    if (errno === undefined) throw error
    const text = `the launcher of Landlock can be put nowhere it could be started from: ${String(error)}; a folder for temporary files that is not mounted noexec is needed: set TMPDIR to one`
    return notStarted('sandbox-failed', text, { errno })
  }
}

/** What a launch says beside its list: see {@link SpawnPlan}. */
export type LauncherSpawn = Pick<SpawnPlan, 'env' | 'identity' | 'stdin' | 'stdout' | 'stderr'>

/** The start of a launcher that makes `calls`. */
export function launcherSpawn(calls: readonly Call[], arch: FilterArch, spawn: LauncherSpawn): SpawnPlan | NotStarted {
  const fd = launcherProgram(arch)
  if (typeof fd !== 'number') return fd
  const bytes = encodeCalls(calls, arch)
  if (bytes === null) {
    const text = 'the command is given more words than the kernel takes: pass some of it on stdin or in a file'
    return notStarted('argument-list-too-long', text)
  }
  const extra = new Map<number, Extra>([
    [LAUNCHER_FDS.list, { bytes }],
    [LAUNCHER_FDS.program, { fd }],
    [LAUNCHER_FDS.hold, 'pipe'],
  ])
  // The program is ours, whatever its name.
  return { ...spawn, file: `/proc/self/fd/${LAUNCHER_FDS.program}`, args: [], cwd: '/', format: 'judged', extra }
}

/** What a launcher says: that everything stands, once; where it failed; how what it became ended. */
export class LauncherWords {
  #heard = Buffer.alloc(0)
  #stood = false

  /** `onStands` is called at most once. */
  constructor(
    private readonly supervised: Supervised,
    private readonly onStands: () => void = () => undefined,
  ) {
    this.#pipe.on('data', (bytes: Buffer) => this.#hear(bytes))
  }

  get #pipe() {
    const pipe = this.supervised.pipes.get(LAUNCHER_FDS.hold)
    if (pipe === undefined) throw new Error('a launcher without its pipe')
    return pipe
  }

  get stood(): boolean {
    return this.#stood
  }

  tell(word: string): void {
    this.#pipe.write(word)
  }

  /** Once the launcher has ended: what it has said of `calls`. */
  async reported(calls: readonly Call[]): Promise<WardenWords> {
    await drained(this.#pipe)
    this.#pipe.destroy()
    return wardenWords(this.#heard, calls)
  }

  #hear(bytes: Buffer): void {
    this.#heard = Buffer.concat([this.#heard, bytes])
    if (this.#stood || !this.#heard.toString('latin1').startsWith(STANDS)) return
    this.#stood = true
    this.#heard = this.#heard.subarray(STANDS.length)
    this.onStands()
  }
}

const ASK_MS = 10_000
let asked: number | undefined

/** The facts with the version of Landlock, asked of the kernel once in a process. Facts that have it are returned as they are. */
export async function withLandlock(facts: HostFacts): Promise<HostFacts> {
  if (facts.landlock !== undefined) return facts
  const arch = FILTER_ARCHES[facts.arch]
  if (facts.platform !== 'linux' || arch === undefined) return { ...facts, landlock: { abi: 0 } }
  const abi = asked ?? (await askAbi(arch))
  if (typeof abi !== 'number') return { ...facts, landlock: { problem: abi.message } }
  asked = abi
  return { ...facts, landlock: { abi } }
}

async function askAbi(arch: FilterArch): Promise<number | NotStarted> {
  const none = { stdin: null, stdout: null, stderr: null, identity: null, env: LAUNCHER_ENV }
  const plan = launcherSpawn(ABI_CALLS, arch, none)
  if ('kind' in plan) return plan
  const supervised = await start(
    plan,
    { wallMs: ASK_MS, graceMs: 0, keptBytes: 0, clock: systemClock, tree: pid => new GroupTree(pid) },
    () => Promise.reject(new Error('nothing is captured')),
  )
  if ('kind' in supervised) return supervised
  const words = new LauncherWords(supervised)
  const { exit } = await supervised.ended
  const { failure } = await words.reported(ABI_CALLS)
  if (failure === null) {
    return notStarted(
      'sandbox-failed',
      `the launcher ended without a word (${exit?.signal ?? exit?.status ?? 'unseen'})`,
    )
  }
  // A kernel without it answers an error.
  return Number(failure.answer > 0n ? failure.answer : 0n)
}
