/**
 * How a program ended and what it printed → what it decided (decisions 41). The same table at every point; what a failed
 * hook means at each point is for who asked. Pure.
 */
import { HOOK_STDERR_KEPT_BYTES, HOOK_STDOUT_BYTES_MAX } from '../bounds.js'
import type { HookDecision } from '../events.js'
import { isJsonObject } from '../json.js'
import type { Captured, Ending, Outcome } from '../outcome.js'
import { documentsIn } from './answer-documents.js'

export type ReasonSource = 'stdout' | 'stderr' | 'default'

export interface Verdict {
  readonly decision: HookDecision
  /** The string `note` of the answer of a hook that proceeds; null when there is none. */
  readonly note: string | null
  /** Where the words of a block are from; null when nothing was blocked. */
  readonly reasonSource: ReasonSource | null
  /** The hook proceeded, and what it printed is no answer. */
  readonly stdoutIgnored: boolean
}

/** Exit statuses with a meaning; every other one is a failed hook. */
const PROCEED = 0
const BLOCK = 2

/** `program` names the hook in every reason. */
export function decide(
  program: string,
  { ending, stdout, stderr }: Pick<Outcome, 'ending' | 'stdout' | 'stderr'>,
): Verdict {
  const wrong = endingFault(ending) ?? stdoutFault(stdout)
  if (wrong !== null) return failed(program, wrong, stderr)
  if (ending.kind !== 'exited') throw new Error(`a hook that ended as ${ending.kind} was taken for one that exited`)
  const text = decoded(stdout)
  if (text === null) return failed(program, 'printed text that is not UTF-8', stderr)
  if (ending.status === BLOCK) return blocked(program, text, stderr)
  const answer = documentsIn(text)
  if (answer.kind === 'ambiguous') return failed(program, `${answer.why}, which is no answer: ${start(text)}`, stderr)
  if (answer.kind === 'one' && isJsonObject(answer.value)) {
    const { note } = answer.value
    return { ...PROCEEDS, note: typeof note === 'string' && note.trim() !== '' ? note : null }
  }
  return { ...PROCEEDS, stdoutIgnored: text.trim() !== '' }
}

const PROCEEDS: Verdict = { decision: { kind: 'proceed' }, note: null, reasonSource: null, stdoutIgnored: false }

/** A hook that could not be asked, or whose answer is none. `why` goes on after the hook's name. */
export function failed(program: string, why: string, stderr: Captured | null = null): Verdict {
  const said = stderr === null ? '' : oneLine(words(stderr))
  const reason = `hook ${program} ${why}${said === '' ? '' : `; its stderr: ${said}`}`
  return { decision: { kind: 'failed', reason }, note: null, reasonSource: null, stdoutIgnored: false }
}

function endingFault(ending: Ending): string | null {
  switch (ending.kind) {
    case 'exited':
      return ending.status === PROCEED || ending.status === BLOCK
        ? null
        : `exited with status ${ending.status}${meaning(ending.status)}`
    case 'signalled':
      return `was ended by ${ending.signal}`
    case 'timed-out':
      return `did not answer within ${ending.limit_ms} ms and was ended`
    case 'cancelled':
      return 'was ended because the run is being stopped'
    case 'bound':
      return ending.name === 'output-total' ? tooMuch(ending.seen) : `was ended by its limit ${ending.name}`
    case 'not-started':
      return `could not be started: ${ending.message}`
  }
}

/** Statuses that say something in all shells and wrappers (exit statuses of sh(1), timeout(1)). */
function meaning(status: number): string {
  if (status === 126) return ' (something it named cannot be executed)'
  if (status === 127) return ' (something it named was not found)'
  return status > 128 && status < 128 + 65 ? ` (128 + signal ${status - 128})` : ''
}

function stdoutFault({ totalBytes }: Captured): string | null {
  return totalBytes > HOOK_STDOUT_BYTES_MAX ? tooMuch(totalBytes) : null
}

function tooMuch(seen: number | null): string {
  return `printed ${seen === null ? 'more than' : `${seen} bytes, over`} the bound of ${HOOK_STDOUT_BYTES_MAX} on stdout`
}

function blocked(program: string, text: string, stderr: Captured): Verdict {
  const [reason, reasonSource] = reasonOf(program, text, stderr)
  return { decision: { kind: 'block', reason }, note: null, reasonSource, stdoutIgnored: false }
}

/** The answer's `reason`, else stderr, else a stock sentence: a silent status 2 blocks as well as one with words. */
function reasonOf(program: string, text: string, stderr: Captured): [string, ReasonSource] {
  const answer = documentsIn(text)
  if (answer.kind === 'one' && isJsonObject(answer.value)) {
    const { reason } = answer.value
    if (typeof reason === 'string' && reason.trim() !== '') return [reason, 'stdout']
  }
  const said = words(stderr)
  return said === '' ? [`hook ${program} blocked this without a reason`, 'default'] : [said, 'stderr']
}

/** The whole of stdout, which is within the bound; null where it is not UTF-8. One byte order mark is no text. */
function decoded({ head, tail }: Captured): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat([head, tail]))
  } catch {
    return null
  }
}

/** What is kept of stderr, trimmed, a cut marked with both figures. */
function words({ head, tail, droppedBytes, totalBytes }: Captured): string {
  const [first, last] = [head, tail].map(bytes => Buffer.from(bytes).toString('utf8'))
  const cut = `\n[${droppedBytes} of ${totalBytes} bytes left out; ${HOOK_STDERR_KEPT_BYTES} are kept]\n`
  return `${first}${droppedBytes === 0 ? '' : cut}${last}`.trim()
}

function oneLine(text: string): string {
  return text
    .split(/\s*\n\s*/)
    .filter(Boolean)
    .join(' ')
}

const SHOWN_CHARS = 80

/** The first characters of what was printed, so that a greeting of a shell is recognised. */
function start(text: string): string {
  const shown = text.slice(0, SHOWN_CHARS)
  return `it begins ${JSON.stringify(shown)}${text.length > shown.length ? '…' : ''}`
}
