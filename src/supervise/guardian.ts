/**
 * A small process that outlives us if we are killed, and then ends what is left of ours. bubblewrap dies with us once
 * it has asked the kernel for that, but killed between asking and letting its inner half go on it leaves that half
 * waiting for ever (decisions 20); and what runs without a boundary has nothing else to die by.
 *
 * It is in a session of its own, so that no signal to our group or terminal reaches it, and holds the read end of a pipe of
 * ours, told of groups as they come and go. One that is killed is started again while anything runs.
 */
import { errnoOf } from '../errors.js'
import { randomHex } from '../random.js'
import { DARWIN_SIGHT, guardianScript } from './guardian-script.js'
import { processState, procIsOurs } from './processes.js'
import { type NotStarted, notStarted } from './program.js'
import { type Beside, type StartGuard, startBeside } from './spawn.js'

/** Name of the variable that marks what the guardian of this process ends. */
export const GUARD = 'HARNESS_GUARD'

const CLEAN = 'clean\n'
/** A guardian that dies sooner is not started again at once: something here does not let it live. */
const LIVED_MS_LEAST = 1_000

let cookie: string | undefined
let guardian: Beside | undefined
let saysGoodbye = false
/** What runs, by a number of ours; the value is what the guardian has to know of it, empty where the mark is enough. */
const running = new Map<number, string>()
let launches = 0

export interface Guard extends StartGuard {
  /** The mark: to be put into the environment of what is started. Empty where there is no guardian. */
  readonly env: Readonly<Record<string, string>>
  /** To be called once the tree is gone. Calling it again does nothing. */
  over(): void
}

/** The mark of this process: unguessable, the same for all its launches. */
export function guardCookie(): string {
  cookie ??= `${process.pid}-${randomHex(12)}`
  return cookie
}

/**
 * A guard for one launch. Without it a tree could outlive us, so nothing is to be started where it cannot be had: where the
 * guardian cannot be started, or /proc does not show our processes.
 */
export function startGuard(): Guard | NotStarted {
  if (process.platform === 'linux' && !procIsOurs()) {
    const text =
      'what is left of a command could not be ended: /proc does not show the processes of this pid namespace: mount a fresh one (unshare --mount-proc)'
    return notStarted('sandbox-failed', text)
  }
  try {
    alive()
  } catch (error) {
    const errno = errnoOf(error)
    if (errno === undefined) throw error
    const text = `what ends the command when we are killed cannot be started: ${String(error)}`
    return notStarted('sandbox-failed', text, { errno })
  }
  sayGoodbyeAtExit()
  const key = ++launches
  running.set(key, '')
  return {
    env: { [GUARD]: guardCookie() },
    soon: () => tell('soon\n'),
    none: () => tell('none\n'),
    covers(pid) {
      if (!running.has(key)) return
      const line = `${pid} ${processState(pid)?.startTime ?? '-'}`
      running.set(key, line)
      tell(`begin ${line}\n`)
    },
    over() {
      const line = running.get(key)
      running.delete(key)
      if (line) tell(`end ${line}\n`)
    },
  }
}

/** The guardian, started where none is alive and told of everything that runs. Throws the system's error. */
function alive(): Beside {
  if (guardian?.alive()) return guardian
  const sight = process.platform === 'darwin' ? DARWIN_SIGHT : ({ by: 'proc' } as const)
  const fresh = startBeside('/bin/sh', ['-c', guardianScript(sight), 'guardian', GUARD, guardCookie()])
  const startedAt = Date.now()
  guardian = fresh
  for (const line of running.values()) if (line !== '') fresh.tell(`begin ${line}\n`)
  fresh.onExit(() => {
    if (guardian === fresh && running.size > 0 && Date.now() - startedAt >= LIVED_MS_LEAST) again()
  })
  return fresh
}

/** One that does not take a word is as good as none: another is told everything. */
function tell(text: string): void {
  if (guardian?.tell(text) || running.size === 0) return
  guardian = undefined
  again()
}

/** Where it fails, what runs goes on, and the next launch is refused. */
function again(): void {
  try {
    alive()
  } catch (error) {
    if (errnoOf(error) === undefined) throw error
  }
}

function sayGoodbyeAtExit(): void {
  if (saysGoodbye) return
  saysGoodbye = true
  process.once('exit', () => {
    if (running.size === 0) guardian?.tell(CLEAN)
  })
}
