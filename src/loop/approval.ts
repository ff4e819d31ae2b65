/**
 * Who is asked before a call with more risk than the ceiling, and what a person is shown. Denies when nobody is
 * there. The terminal is injected: opening it, and giving it back, belongs to the command line.
 */
import { Refusal } from '../errors.js'
import type { JsonObject } from '../json.js'
import type { ResolvedCall, Risk } from '../tools/port.js'
import { shownCall } from './approval-text.js'

export interface ApprovalRequest {
  readonly callId: string
  /** The resolved entry, not the verb. */
  readonly entry: string
  readonly arguments: JsonObject
  readonly risk: Risk
}

/** A denial says who or what denied and what would allow it; the model reads it. */
export type Approval = { readonly approved: true } | { readonly approved: false; readonly reason: string }

export interface Approver {
  decide(request: ApprovalRequest, signal: AbortSignal): Promise<Approval>
}

/** One question, one line of answer. Null: end of file. A rejection counts as end of file. */
export interface ApprovalTerminal {
  ask(question: string, signal: AbortSignal): Promise<string | null>
}

export type ApprovalMode = 'auto' | 'prompt' | 'deny' | 'all'

const RISKS: readonly Risk[] = ['low', 'medium', 'high', 'destructive']

/** Risk alone decides, or a spec that always asks (contract §10). */
export function needsApproval(call: Pick<ResolvedCall, 'envelope' | 'approval'>, ceiling: Risk): boolean {
  return call.approval === 'required' || RISKS.indexOf(call.envelope.risk) > RISKS.indexOf(ceiling)
}

/**
 * The approver of `mode`. `terminal` is null where nobody can be asked: then `prompt` refuses the run and `auto`
 * denies, and says so once through `note`.
 */
export function makeApprover(
  mode: ApprovalMode,
  { terminal, note }: { terminal: ApprovalTerminal | null; note: (line: string) => void },
): Approver | Refusal<'terminal-needed'> {
  if (mode === 'all') return { decide: () => Promise.resolve(APPROVED) }
  if (mode === 'deny') return denying('--approve deny answers every question with no')
  if (terminal !== null) return new TerminalApprover(terminal)
  if (mode === 'auto') return new Unattended(note)
  const said = '--approve prompt needs a terminal and there is none; use --approve deny, --approve-up-to RISK or --yes'
  return new Refusal('terminal-needed', { flag: '--approve prompt' }, said)
}

const APPROVED: Approval = { approved: true }

function denied(reason: string): Approval {
  return { approved: false, reason }
}

function denying(reason: string): Approver {
  return { decide: () => Promise.resolve(denied(reason)) }
}

/** `auto` with nobody there: the first denial is told to the operator too, a run that never asks stays quiet. */
class Unattended implements Approver {
  #told = false

  constructor(readonly note: (line: string) => void) {}

  decide(): Promise<Approval> {
    const allows = '--approve-up-to RISK or --yes allows them'
    if (!this.#told) this.note(`note: no terminal to ask on: calls above the risk ceiling are denied (${allows})`)
    this.#told = true
    return Promise.resolve(denied('there is no terminal to ask on; --approve-up-to RISK or --yes would allow it'))
  }
}

type Answer = 'once' | 'always' | 'no'

const ANSWERS: ReadonlyMap<string, Answer> = new Map([
  ['y', 'once'],
  ['yes', 'once'],
  ['a', 'always'],
  ['always', 'always'],
  ['n', 'no'],
  ['no', 'no'],
  ['', 'no'],
])

const READINGS_MAX = 3

/** Remembers "always" by entry, and an end of file for good. */
class TerminalApprover implements Approver {
  readonly #always = new Set<string>()
  #gone = false

  constructor(readonly terminal: ApprovalTerminal) {}

  async decide(request: ApprovalRequest, signal: AbortSignal): Promise<Approval> {
    if (this.#always.has(request.entry)) return APPROVED
    if (this.#gone) return denied('the terminal is gone, so nobody could be asked')
    const question = `${shownCall(request)}\nallow? [y]es once, [a]lways ${request.entry}, [N]o: `
    for (let reading = 0; reading < READINGS_MAX; reading += 1) {
      const line = await this.terminal.ask(question, signal).catch(() => null)
      if (line === null) {
        // An aborted question is no end of file: the terminal is still there for the next turn of a chat.
        if (!signal.aborted) this.#gone = true
        return denied('nobody answered')
      }
      const answer = ANSWERS.get(line.trim().toLowerCase())
      if (answer !== undefined) return this.#take(answer, request.entry)
    }
    return denied(`no readable answer in ${READINGS_MAX} tries`)
  }

  #take(answer: Answer, entry: string): Approval {
    if (answer === 'no') return denied('the operator said no')
    if (answer === 'always') this.#always.add(entry)
    return APPROVED
  }
}
