/**
 * The part of a launch under Landlock that stays: the launcher clones itself, its child becomes the command, and the parent is the
 * warden of everything that the command starts (`native-profiles/landlock-launcher.json` has what it does). As a subreaper it is
 * the parent of whoever loses one, whatever session, group or environment that has, and the kernel signals it when we end; so it ends
 * with nobody below it left, as the init of a namespace does. It needs no privilege.
 *
 * What it ends everything by is one kill(-1) in a Landlock domain of its own that holds signals: everything in it and nothing else, and no
 * fork gets past it, because the kernel takes up no child of a process that is being killed. The command is in a domain below and can
 * signal nobody outside of that. Older kernels hold no signals: there it kills its children as long as it has any, and the
 * command could kill it. Pure.
 *
 * @see prctl(2), PR_SET_CHILD_SUBREAPER and PR_SET_PDEATHSIG; kill(2); Linux kernel/fork.c, `copy_process`; landlock.rst, "IPC scoping"
 */
import { type Call, readReport } from './call-list.js'
import { launcherHandler, REPORT_BYTES } from './landlock-launcher.js'
import { SCOPES_SINCE } from './landlock-rights.js'
import type { LandlockPlan } from './types.js'

/** What the warden is told by us: TERM was sent to all and is waited for; end everything. */
export const WARDEN_SIGNALS = { asked: 'SIGTERM', end: 'SIGUSR1' } as const

const SIGNALS = { SIGKILL: 9, SIGUSR1: 10, SIGTERM: 15, SIGCHLD: 17 } as const
const PRCTL = { deathSignal: 1, subreaper: 36, noNewPrivs: 38 } as const
const WHAT = 'what ends the command'

/** By another name of the list of a thread's children (proc_tid_children(5)). */
const CHILDREN = '/proc/thread-self/children'

/** From where only what lies open is known to where the list is the command's own; `parent` is our pid. The lowest free descriptor is left as it was. */
export function wardenCalls({ abi, arch }: Pick<LandlockPlan, 'abi' | 'arch'>, parent: number): Call[] {
  const handler = action(launcherHandler(arch))
  const scoped = abi >= SCOPES_SINCE
  const cloneArgs = [signal('SIGCHLD'), 0, 0, 0]
  return [
    prctl('PR_SET_CHILD_SUBREAPER', PRCTL.subreaper, 1),
    prctl('PR_SET_NO_NEW_PRIVS', PRCTL.noNewPrivs, 1),
    ...(scoped ? domain(parent) : []),
    sigaction('SIGTERM', handler),
    sigaction('SIGUSR1', handler),
    prctl('PR_SET_PDEATHSIG', PRCTL.deathSignal, signal(WARDEN_SIGNALS.end)),
    { call: 'clone', args: scoped ? cloneArgs : [...cloneArgs, CHILDREN], answer: 0, what: WHAT },
    sigaction('SIGTERM', action(0)),
    sigaction('SIGUSR1', action(0)),
    prctl('PR_SET_PDEATHSIG', PRCTL.deathSignal, signal('SIGKILL')),
    { call: 'setsid', args: [], answer: 'any', what: WHAT },
  ]
}

const SCOPED_RULESET = { text: '{scoped: signal}', bytes: words64(0n, 0n, 0b10n) }
const EPERM = -1

/** That the domain binds is seen before anything relies on it: without it a kill(-1) would be meant for the whole machine. */
function domain(parent: number): Call[] {
  return [
    { call: 'landlock_create_ruleset', args: [SCOPED_RULESET, SCOPED_RULESET.bytes.length, 0], answer: 3, what: WHAT },
    { call: 'landlock_restrict_self', args: [3, 0], answer: 0, what: WHAT },
    { call: 'close', args: [3], answer: 0, what: WHAT },
    { call: 'kill', args: [{ text: 'harness', value: parent }, 0], answer: EPERM, what: WHAT },
  ]
}

function signal(name: keyof typeof SIGNALS) {
  return { text: name, value: SIGNALS[name] }
}

function prctl(text: string, option: number, value: Call['args'][number]): Call {
  return { call: 'prctl', args: [{ text, value: option }, value, 0, 0, 0], answer: 0, what: WHAT }
}

/** SA_NODEFER, because the handler never returns; SA_RESTORER, without which x86-64 delivers nothing (Linux arch/x86/kernel/signal_64.c). */
const FLAGS = 0x4000_0000n | 0x0400_0000n

/** struct sigaction of the kernel: handler, flags, restorer, mask; 0 is the default. */
function action(handler: number) {
  const bytes = words64(BigInt(handler), handler === 0 ? 0n : FLAGS, 0n, 0n)
  return { text: handler === 0 ? '{SIG_DFL}' : '{asked, SA_NODEFER}', bytes }
}

function sigaction(name: keyof typeof SIGNALS, how: ReturnType<typeof action>): Call {
  return { call: 'rt_sigaction', args: [signal(name), how, { text: 'NULL', value: 0 }, 8], answer: 0, what: WHAT }
}

function words64(...words: readonly bigint[]): Uint8Array {
  const bytes = Buffer.alloc(words.length * 8)
  for (const [at, word] of words.entries()) bytes.writeBigUInt64LE(word, at * 8)
  return bytes
}

export interface WardenWords {
  /** The first call that could not be made; null: all were, or nothing was said. */
  readonly failure: ReturnType<typeof readReport> | null
  /** How the command, or the launcher before it, ended; null: not told. `code` and `status` are those of waitid(2). */
  readonly end: { readonly code: number; readonly status: number } | null
  /** How many had outlived the command, told once nobody is left; null: not told. */
  readonly survivors: number | null
}

/** Errors of the kernel are above this, and the words of the warden are none. */
const ERRNO_LEAST = -4_096n
const GONE = 1n << 63n

/** What a launcher and its warden have said behind its first word, in reports that may come twice: the first of a kind counts. */
export function wardenWords(bytes: Uint8Array, calls: readonly Call[]): WardenWords {
  let words: WardenWords = { failure: null, end: null, survivors: null }
  for (let at = 0; at + REPORT_BYTES <= bytes.length; at += REPORT_BYTES) {
    const { call, answer } = readReport(bytes.subarray(at, at + REPORT_BYTES), calls)
    if (call?.call !== 'clone' || (answer < 0n && answer >= ERRNO_LEAST)) {
      words = { ...words, failure: words.failure ?? { call, answer } }
    } else if (answer < 0n) {
      words = { ...words, survivors: words.survivors ?? Number(BigInt.asUintN(64, answer) ^ GONE) }
    } else {
      const end = { code: Number(answer >> 32n), status: Number(answer & 0xffff_ffffn) }
      words = { ...words, end: words.end ?? end }
    }
  }
  return words
}
