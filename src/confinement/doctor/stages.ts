/** The launches of the attempts, each with what has to be true for its answers to count. */
import { closeSync, realpathSync } from 'node:fs'
import { Socket } from 'node:net'
import { Refusal } from '../../errors.js'
import type { AppliedConfinement, Outcome } from '../../outcome.js'
import type { OpenFifo } from '../../supervise/fifo-pool.js'
import { onAbort } from '../../supervise/on-abort.js'
import { removeLeftOvers, temporaryFolder } from '../../supervise/private-folder.js'
import { sharedFifos } from '../../supervise/shared-fifos.js'
import { callsFor, type SeenOutside, type Stage } from './attempts.js'
import { answersOf, INSIDE_PROGRAM, type InsideFacts } from './inside-program.js'
import { namesFor, type StageResult } from './judge.js'
import { rawCallsInput, rawCallsProgram } from './raw-calls.js'
import type { DoctorRunner, InsideLaunch } from './runner.js'
import type { Scene } from './scene.js'

export interface StageRequest {
  /** Aborted: what runs is ended, and what was not tried stays unknown. */
  readonly stop: AbortSignal
  readonly runner: DoctorRunner
  readonly scene: Scene
  readonly arch: string
  /** Absolute path of the node that runs inside. */
  readonly node: string
}

/** A stage, and observations of it that are not of the scene: found, or why they could not be made. */
export interface StageReport {
  readonly result: StageResult
  readonly seen: ReadonlyMap<SeenOutside, string>
  readonly unseen: ReadonlyMap<SeenOutside, string>
}

/** Far more than the attempts take: a machine that has much else to do is no reason not to know. */
const WALL_MS = 20_000
/** After a launch has been reported as ended, how long what it left may still hold its output. */
const GONE_MS = 2_000
/** The same for a supervisor that was killed: the guardian looks several times. What is started stays for twice as long. */
const SWEPT_MS = 5_000

/** Attempts of the launch without grants. */
export async function closedStage(request: StageRequest): Promise<StageReport> {
  const claim = request.runner.claim('closed')
  const raw = rawFacts(request.arch, claim)
  const names = ['read-canary', 'leave', ...namesFor('closed', claim.applied)]
  const { answers, problem } = await launched(request, 'closed', { names, raw })
  const sees = answers.some(({ name, result }) => name === 'read-canary' && result === 'succeeded')
  const because = problem ?? (sees ? null : 'what is granted for reading cannot be read inside')
  return {
    result: {
      stage: 'closed',
      claim,
      answers,
      problem: because,
    },
    seen: new Map(),
    unseen: because === null ? new Map() : unseenBecause(because, 'closed'),
  }
}

/** Attempts of the launch that may write, which leaves a process behind too. */
export async function grantedStage(request: StageRequest): Promise<StageReport> {
  const claim = request.runner.claim('granted')
  const names = ['made', ...namesFor('granted', claim.applied)]
  const fifo = await takeFifo()
  const reading = readToEnd(fifo)
  const { problem } = await launched(request, 'granted', { names, raw: null, daemon: true }, fifo.writer)
  closeSync(fifo.writer)
  const gone = await reading.within(GONE_MS)
  const answers = answersOf(reading.text())
  const granted = answers.some(({ name, result }) => name === 'made' && result === 'succeeded')
  const left = answers.some(({ name, result }) => name === 'daemon' && result === 'succeeded')
  const because = problem ?? (granted ? null : 'the write grant cannot be written inside')
  const seen = new Map<SeenOutside, string>()
  if (!gone) seen.set('daemon-left', 'a process that left its session still holds the output of its launch')
  const unseen = new Map(because === null ? [] : unseenBecause(because, 'granted'))
  if (!left) unseen.set('daemon-left', because ?? 'no process could be left behind to look for')
  return { result: { stage: 'granted', claim, answers, problem: because }, seen, unseen }
}

/** Something started as a supervisor: killable, with a descriptor left open. */
export interface SupervisorStart {
  readonly words: readonly string[]
  /** For its stdout. */
  readonly stdout: number
  /** Which file it finds as descriptor 3, open for writing. */
  readonly third: string
  readonly env: Readonly<Record<string, string>>
}

/** Starts a supervisor; the end of its stderr. Null: this doctor has none. */
export type StartSupervisor = (start: SupervisorStart) => { kill(): void; readonly ended: Promise<string> }

/** Attempts inside a supervisor that is killed once they are made. */
export async function supervisedStage(
  request: StageRequest,
  start: StartSupervisor,
  inode: number,
): Promise<StageReport> {
  const { runner, scene, node, stop } = request
  const claim = runner.claim('closed')
  const names = namesFor('supervised', claim.applied)
  const facts = insideFacts(request, 'closed', { names, raw: null, stay: true, descriptor: { number: 3, ino: inode } })
  const fifo = await takeFifo()
  const reading = readToEnd(fifo)
  // The operator's folders are for the operator's launches.
  const own = { XDG_CONFIG_HOME: `${scene.base}/none`, XDG_CACHE_HOME: `${scene.base}/none` }
  const supervisor = start({
    words: runner.supervisorWords([node, '-e', INSIDE_PROGRAM, facts]),
    stdout: fifo.writer,
    third: scene.inherited,
    env: { [scene.facts.variable[0]]: scene.facts.variable[1], ...own },
  })
  const end = (): void => supervisor.kill()
  const forget = onAbort(stop, end)
  if (stop.aborted) end()
  closeSync(fifo.writer)
  const stays = await reading.until('"stays"', WALL_MS)
  end()
  forget()
  const gone = await reading.within(SWEPT_MS)
  const said = await supervisor.ended
  // What a killed supervisor leaves for the next start to remove; the next start is ours.
  removeLeftOvers(realpathSync(temporaryFolder()))
  const words = stays ? '' : said.trim().split('\n').at(-1)
  const problem = stays ? null : `a second harness did not come to its command${words ? `: ${words}` : ''}`
  const seen = new Map<SeenOutside, string>()
  if (!gone) seen.set('left-after-kill', 'the command still holds its output after its supervisor was killed')
  const unseen = new Map(problem === null ? [] : unseenBecause(problem, 'supervised'))
  return { result: { stage: 'supervised', claim, answers: answersOf(reading.text()), problem }, seen, unseen }
}

const SEEN_IN: Readonly<Record<Stage, readonly SeenOutside[]>> = {
  closed: [
    'outside-changed',
    'listener-reached',
    'supervisor-signalled',
    'left-in-tmp-home-shm',
    'planted-in-workspace',
  ],
  granted: ['git-changed', 'control-file-changed', 'runs-as-root', 'daemon-left'],
  supervised: ['left-after-kill', 'descriptor-written'],
}

/** What was not tried has left nothing behind, which says nothing. */
function unseenBecause(problem: string, stage: Stage): Map<SeenOutside, string> {
  return new Map(SEEN_IN[stage].map(name => [name, problem]))
}

function rawFacts(arch: string, { applied }: AppliedConfinement): InsideFacts['raw'] {
  const program = rawCallsProgram(arch)
  const calls = applied.includes('syscalls-filtered')
    ? callsFor(arch).filter(({ guarantee }) => applied.includes(guarantee))
    : []
  if (program === null || calls.length === 0) return null
  return {
    program: program.toString('base64'),
    input: rawCallsInput(calls.map(({ call }) => call)).toString('base64'),
    names: calls.map(({ name }) => name),
  }
}

type Told = Pick<InsideFacts, 'names' | 'raw' | 'descriptor' | 'daemon' | 'stay'>

function insideFacts({ scene }: StageRequest, workspace: InsideLaunch['workspace'], told: Told): string {
  return JSON.stringify({ ...scene.facts, workspace: scene[workspace], ...told } satisfies InsideFacts)
}

async function launched(
  request: StageRequest,
  workspace: InsideLaunch['workspace'],
  told: Told,
  stdout?: number,
): Promise<Pick<StageResult, 'answers' | 'problem'>> {
  const outcome = await request.runner.launch({
    workspace,
    argv: [request.node, '-e', INSIDE_PROGRAM, insideFacts(request, workspace, told)],
    wallMs: WALL_MS,
    ...(stdout === undefined ? {} : { stdout: { fd: stdout } }),
  })
  if (outcome instanceof Refusal) return { answers: [], problem: outcome.message }
  return { answers: answersOf(textOf(outcome.stdout)), problem: problemOf(outcome) }
}

/** What ended early has left attempts unmade; those that were made count. */
function problemOf({ ending, stderr }: Outcome): string | null {
  if (ending.kind === 'exited' && ending.status === 0) return null
  if (ending.kind === 'not-started') return ending.message
  const words = textOf(stderr).trim().split('\n').at(-1)
  const how = ending.kind === 'exited' ? `ended with ${ending.status}` : `ended as ${ending.kind}`
  return `node inside ${how}${words ? `: ${words}` : ''}`
}

function textOf({ head, tail }: Outcome['stdout']): string {
  return Buffer.concat([head, tail]).toString()
}

async function takeFifo(): Promise<OpenFifo> {
  return (await sharedFifos([])).take()
}

interface Reading {
  text(): string
  /** Resolves true once every writer has gone, false after `ms`; the FIFO is closed then. */
  within(ms: number): Promise<boolean>
  /** Resolves true once `word` has come, false at the end or after `ms`. */
  until(word: string, ms: number): Promise<boolean>
}

/** Every process that holds the other end of a FIFO keeps it from ending: that is how it is told that they have gone. */
function readToEnd({ reader }: OpenFifo): Reading {
  let text = ''
  let over = false
  const waiting = new Set<() => void>()
  const socket = new Socket({ fd: reader, readable: true, writable: false })
  const changed = (): void => {
    for (const look of waiting) look()
  }
  socket.on('data', bytes => {
    text += bytes.toString()
    changed()
  })
  const end = (): void => {
    over = true
    changed()
  }
  socket.once('end', end).once('error', end).once('close', end)
  const wait = (done: () => boolean, ms: number): Promise<boolean> =>
    new Promise(resolve => {
      const finish = (value: boolean): void => {
        clearTimeout(timer)
        waiting.delete(look)
        resolve(value)
      }
      const look = (): void => {
        if (done()) finish(true)
        else if (over) finish(false)
      }
      const timer = setTimeout(() => finish(done()), ms)
      waiting.add(look)
      look()
    })
  return {
    text: () => text,
    within: ms => wait(() => over, ms).finally(() => socket.destroy()),
    until: (word, ms) => wait(() => text.includes(word), ms),
  }
}
