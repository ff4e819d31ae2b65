/**
 * Each limit tried for real, set low: a command that passes it must not come to its own end. What binds it is the plan's to
 * say; that it binds is seen here. All of them need no more inside than a POSIX shell.
 */
import { Refusal } from '../../errors.js'
import type { AppliedLimit, Ending, LimitName, Outcome } from '../../outcome.js'
import { limitText } from '../limit-units.js'
import type { LimitCheck } from './report.js'
import type { DoctorRunner } from './runner.js'

const MiB = 1024 * 1024

/** How a limit is tried. `passed`: the script says so once it has gone past the limit, which it does within its wall time. */
interface Trial {
  readonly value: number
  readonly script: string
  readonly wallMs: number
  /** What it means when the wall time is over first. Absent: nothing. bash tries to fork again for half a minute. */
  readonly stuck?: 'held'
  /**
   * Of a limit that may be reached before the attempt begins, because what others do counts too: what begins where it is not set
   * shows that the limit is what refused. An rlimit on processes counts all of a user, those of other containers included.
   */
  readonly without?: { readonly script: string; readonly why: string }
}

/** As long as a machine may take that has much else to do: where the limit binds, none of it is waited for. */
const LONG_MS = 15_000

/** What a script prints when nothing has stopped it. */
const PASSED = 'passed'
/** What it prints first: without it nothing was tried, however it ended. */
const BEGINS = 'begins'

/** A shell on its own has to fit. Everything that is passed is bounded too, for where nothing binds. */
const TRIALS: Readonly<Partial<Record<LimitName, Trial>>> = {
  wall: { value: 150, wallMs: LONG_MS, script: `sleep 2 && echo ${PASSED}` },
  'output-total': { value: 4_096, wallMs: LONG_MS, script: begun(loop(2_000, 'echo 0123456789')) },
  memory: {
    value: 48 * MiB,
    wallMs: LONG_MS,
    script: begun(`x=0123456789abcdef; while [ \${#x} -lt ${128 * MiB} ]; do x=$x$x; done; echo ${PASSED}`),
  },
  pids: {
    value: 12,
    wallMs: 2_000,
    stuck: 'held',
    script: `sleep 0 && ${begun(counted(40, 'sleep 2 >/dev/null &'))}`,
    without: { script: `sleep 0 && ${begun(':')}`, why: 'could start nothing: other processes of its user count too' },
  },
  'file-size': {
    value: MiB,
    wallMs: LONG_MS,
    script: `: >"$TMPDIR/big" && ${begun(`x=0123456789abcdef; ${doublings(14)} for n in 1 2 3 4 5 6 7 8; do echo "$x" >>"$TMPDIR/big" || exit 3; done; echo ${PASSED}`)}`,
  },
  'open-files': {
    value: 32,
    wallMs: LONG_MS,
    // The first word sets the soft limit alone, so it takes nothing away from the second.
    script: `ulimit -S -n 16 && ${begun(`ulimit -n 64 2>/dev/null && echo ${PASSED}; exit 3`)}`,
  },
  // As much time as a busy machine may take to give one second of it.
  cpu: { value: 1_000, wallMs: 2 * LONG_MS, script: begun('while :; do :; done') },
}

function begun(script: string): string {
  return `echo ${BEGINS}; ${script}`
}

function counted(times: number, body: string): string {
  return `n=0; while [ $n -lt ${times} ]; do ${body} n=$((n+1)); done; echo ${PASSED}`
}

function loop(times: number, body: string): string {
  return counted(times, `${body};`)
}

function doublings(times: number): string {
  return Array.from({ length: times }, () => 'x=$x$x;').join(' ')
}

/** `asked`: limits that a flag names. Every other that has a default is asked for too: a launch has it. */
export async function limitChecks(limits: readonly AppliedLimit[], runner: DoctorRunner): Promise<LimitCheck[]> {
  return Promise.all(limits.filter(({ name }) => name !== 'output').map(limit => limitCheck(limit, runner)))
}

async function limitCheck({ name, mechanism, why }: AppliedLimit, runner: DoctorRunner): Promise<LimitCheck> {
  const row = { limit: name, mechanism, asked: true }
  if (mechanism === 'withheld') {
    return { ...row, asked: false, status: 'absent', why: why ?? 'nothing can hold it here', fix: WITHHELD_FIX }
  }
  const trial = TRIALS[name]
  if (trial === undefined) return { ...row, status: 'unknown', why: 'there is no trial for it', fix: null }
  const outcome = await runner.launch({
    workspace: 'closed',
    argv: ['/bin/sh', '-c', trial.script],
    wallMs: name === 'wall' ? trial.value : trial.wallMs,
    ...(name === 'wall' ? {} : { limits: { [name]: trial.value } }),
  })
  return { ...row, ...((await reachedBefore(name, trial, outcome, runner)) ?? judgeTrial(name, trial, outcome)) }
}

/** Held where a command with the limit was refused its very first step, and one without it is not. Null: it was not so. */
async function reachedBefore(
  name: LimitName,
  { value, wallMs, without }: Trial,
  outcome: Outcome | Refusal,
  runner: Pick<DoctorRunner, 'launch'>,
): Promise<Judged | null> {
  if (without === undefined || outcome instanceof Refusal || says(outcome, BEGINS)) return null
  const { ending } = outcome
  // What was too slow to begin was not refused.
  if (ending.kind !== 'exited' || ending.status === 0) return null
  const free = await runner.launch({ workspace: 'closed', argv: ['/bin/sh', '-c', without.script], wallMs })
  if (free instanceof Refusal || !says(free, BEGINS)) return null
  return { status: 'held', why: `a command with ${name}=${limitText(name, value)} ${without.why}`, fix: null }
}

function says({ stdout }: Outcome, word: string): boolean {
  return [stdout.head, stdout.tail].some(part => Buffer.from(part).includes(word))
}

const WITHHELD_FIX = 'run as an ordinary user, or delegate a control group (the check control-group says how)'

type Judged = Pick<LimitCheck, 'status' | 'why' | 'fix'>

function judgeTrial(name: LimitName, { value, wallMs, stuck }: Trial, outcome: Outcome | Refusal): Judged {
  if (outcome instanceof Refusal) return { status: 'unknown', why: outcome.message, fix: null }
  const { ending } = outcome
  const at = `${name}=${limitText(name, value)}`
  if (says(outcome, PASSED)) return { status: 'absent', why: `a command with ${at} went past it`, fix: null }
  if (ending.kind === 'not-started') return { status: 'unknown', why: ending.message, fix: null }
  if (!cameToIt(name, ending, says(outcome, BEGINS)))
    return { status: 'unknown', why: `a command with ${at} ${endedBy(ending)} before it came to it`, fix: null }
  if (ending.kind === 'timed-out' && name !== 'wall' && stuck === undefined)
    return { status: 'unknown', why: `a command with ${at} did not come to it within ${wallMs} ms`, fix: null }
  return { status: 'held', why: `a command with ${at} ${endedBy(ending)}`, fix: null }
}

/** An end says something of the limit where the attempt had begun and nothing else ended it. */
function cameToIt(name: LimitName, ending: Ending, began: boolean): boolean {
  if (name === 'wall') return ending.kind === 'timed-out'
  if (!began || ending.kind === 'cancelled' || (ending.kind === 'exited' && ending.status === 0)) return false
  return ending.kind !== 'bound' || ending.name === name
}

function endedBy(ending: Ending): string {
  switch (ending.kind) {
    case 'bound':
      return `was ended by the limit ${ending.name}`
    case 'timed-out':
      return 'was ended at it'
    case 'signalled':
      return `was ended by ${ending.signal}`
    case 'exited':
      return ending.status === 0 ? 'ended' : `was refused more and ended with ${ending.status}`
    case 'cancelled':
    case 'not-started':
      return `ended as ${ending.kind}`
  }
}
