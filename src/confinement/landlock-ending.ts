/** How a launch under Landlock ended, from what we did, what its launcher said, what the kernel counted. Pure. */
import { getSystemErrorMap } from 'node:util'
import type { Ending, NotStartedCode } from '../outcome.js'
import { ownEnd, signalOf, statusOf } from '../supervise/command-status.js'
import { type NotStarted, notStarted } from '../supervise/program.js'
import type { Ended } from '../supervise/supervised.js'
import type { Call } from './call-list.js'
import { callLines } from './call-list.js'
import type { GroupCounts } from './cgroup.js'
import { bound, memoryTooSmall } from './ending.js'
import type { WardenWords } from './landlock-warden.js'
import type { LaunchPlan } from './types.js'

export interface LandlockEnd {
  readonly plan: Pick<LaunchPlan, 'limits' | 'command'>
  readonly ended: Pick<Ended, 'cause' | 'exit'>
  readonly counts: GroupCounts
  readonly words: WardenWords
  /** The command was let go. */
  readonly released: boolean
  /** Why the command was never let go although everything stood. */
  readonly problem: NotStarted | null
}

/**
 * What we caused, then what kept the command from starting, then a limit that bound, then the plain end. The launcher's words come
 * through a pipe that is closed when the command begins, so no byte of the command's is ever taken for them.
 */
export function landlockEnding({ plan, ended, counts, words, released, problem }: LandlockEnd): Ending {
  const { failure } = words
  if (problem !== null) return problem
  if (ended.cause.kind !== 'by-itself') return ended.cause
  if (failure !== null) return failed(failure, plan)
  if (!released) {
    const tooSmall = counts.memoryKills === 0 ? null : memoryTooSmall(plan)
    return tooSmall ?? notStarted('sandbox-failed', 'the launcher of Landlock ended before the command was started')
  }
  // A warden that was killed tells nothing, and its own end is that of the command, which is tied to it.
  const exit = words.end === null ? ended.exit : exitOf(words.end)
  return bound({ plan, counts }, statusOf(exit)) ?? ownEnd(exit)
}

const CLD_EXITED = 1

/** A signal without a name in Node is told as a shell would. */
function exitOf({ code, status }: NonNullable<WardenWords['end']>): NonNullable<Ended['exit']> {
  const signal = code === CLD_EXITED ? null : signalOf(128 + status)
  if (signal !== null) return { status: null, signal }
  return { status: code === CLD_EXITED ? status : 128 + status, signal: null }
}

/** Why execve(2) refuses a program that was judged to be one. */
const EXECVE: Readonly<Record<string, NotStartedCode>> = {
  ENOENT: 'interpreter-missing',
  ENOTDIR: 'interpreter-missing',
  EACCES: 'no-permission',
  EPERM: 'no-permission',
  ENOEXEC: 'not-executable-format',
  ETXTBSY: 'text-busy',
  E2BIG: 'argument-list-too-long',
}

const CHDIR: Readonly<Record<string, NotStartedCode>> = {
  ENOENT: 'cwd-missing',
  ENOTDIR: 'cwd-not-a-directory',
  EACCES: 'no-permission',
}

function failed({ call, answer }: NonNullable<WardenWords['failure']>, { command }: LandlockEnd['plan']): NotStarted {
  const errno = errnoName(answer)
  if (call?.call === 'execve') {
    const [path = ''] = command
    const text = `${path} could not be started: ${errno ?? answer}`
    return notStarted(EXECVE[errno ?? ''] ?? 'spawn-failed', text, { path, errno })
  }
  if (call?.call === 'chdir') {
    const text = `the working folder cannot be entered: ${errno ?? answer}`
    return notStarted(CHDIR[errno ?? ''] ?? 'sandbox-failed', text, { errno })
  }
  const moved = call !== null && (call.call === 'compare' || (call.call === 'openat' && errno === 'ENOENT'))
  if (moved) {
    const text = `what stands at ${JSON.stringify(call.what)} is not what was judged: something moved it meanwhile; nothing of the command was run: try again when nothing moves it`
    return notStarted('changed-while-checked', text, { path: call.what, errno })
  }
  return notStarted('sandbox-failed', `landlock: ${failedWords(call)}: ${errno ?? answer}`, { errno })
}

function failedWords(call: Call | null): string {
  if (call === null) return 'the list of calls cannot be mapped'
  return `${call.what}: ${callLines([call]).join('')}`
}

/** Node knows the names of the errors that its own calls have (libuv); this one only execve(2) has. */
const ENOEXEC = -8n

/** The name of the error that an answer of the kernel is; undefined for one that is none. */
function errnoName(answer: bigint): string | undefined {
  if (answer === ENOEXEC) return 'ENOEXEC'
  return answer < 0n && answer > -4_096n ? (getSystemErrorMap().get(Number(answer))?.[0] ?? `E${-answer}`) : undefined
}
