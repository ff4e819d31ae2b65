/**
 * Events → lines: JSONL for machines, or answer text on stdout and progress on stderr for people (contract §3).
 *
 * Colour only where stderr is a terminal and `NO_COLOR` is empty; warnings and withheld tools are shown even under
 * `--quiet`. Everything from outside is escaped.
 */
import { limitText } from '../confinement/limit-units.js'
import type { HarnessEvent } from '../events.js'
import { exactJson } from '../json.js'
import { denialText } from '../network/denial-text.js'
import { FLOW_ALWAYS, FLOW_PROGRESS } from './render-flow.js'
import { escapeJson, escapeLines, escapeProse, oneLine } from './terminal-text.js'

export interface RenderOptions {
  readonly json: boolean
  /** With an answer schema stdout is for the answer alone: prose is progress. */
  readonly answerOnly: boolean
  readonly quiet: boolean
  readonly color: boolean
  /** stdout is a terminal: nothing that it would act on reaches it. Elsewhere stdout holds the bytes as they came. */
  readonly toTerminal: boolean
  readonly stdout: (text: string) => void
  readonly stderr: (text: string) => void
}

type Kind = HarnessEvent['kind']
type Of<K extends Kind> = Extract<HarnessEvent, { kind: K }>
type Lines = { readonly [K in Kind]?: (event: Of<K>) => string | null }

const STYLES = { dim: '2', red: '31', yellow: '33', green: '32' } as const

/** Colour on a terminal unless NO_COLOR is set and not empty (no-color.org). */
export function wantsColor(env: NodeJS.ProcessEnv, isTerminal: boolean): boolean {
  return isTerminal && (env.NO_COLOR ?? '') === '' && env.TERM !== 'dumb'
}

/** Progress: one line an event on stderr, null for none. */
const PROGRESS: Lines = {
  started: e => {
    const { boundary, gaps } = e.confinement
    const uncovered = gaps.map(gap => `; not held: ${gap.guarantee} (${gap.why})`).join('')
    return `run ${e.run_id}: ${e.model}, ${e.published_tools.length} tools, boundary ${boundary}${uncovered}`
  },
  'turn-started': e => `turn ${e.turn}`,
  compacted: e => `  made room: ${e.bytes_before} bytes of conversation are ${e.bytes_after}`,
  'turn-retried': e => `turn ${e.turn} again (attempt ${e.attempt}): ${oneLine(e.reason)}`,
  'tool-requested': e => `  ${e.name} ${oneLine(JSON.stringify(e.arguments), 120)}`,
  'launch-ended': e => `  ${endingText(e.outcome.ending)} in ${Math.round(e.outcome.duration_ms)} ms`,
  'hook-ran': e => `  hook ${e.name} at ${e.point}: ${e.decision.kind} in ${Math.round(e.duration_ms)} ms`,
  'network-denied': e => `  network denied: ${oneLine(denialText(e), 400)}`,
  'confinement-hint': e => `  hint: ${oneLine(e.text)}`,
  'tool-completed': e =>
    e.failed ? `  failed${e.code === undefined ? '' : ` [${e.code}]`} ${oneLine(e.reason ?? '')}`.trimEnd() : null,
  answered: () => '  answered',
  'delegate-started': e => `  delegate ${e.call_id}: ${oneLine(e.task, 120)}`,
  'delegate-finished': e => `  delegate ${e.call_id} ended: ${stopText(e.stop)} after ${e.turns} turn(s)`,
  delegated: e => inside(e, lineOf(PROGRESS, e.event)),
  ...FLOW_PROGRESS,
  'cancel-requested': e => `stopping (${e.by})`,
  session: e => `session ${e.id}`,
}

/** Shown whatever the mode, because each says that something was not done. */
const ALWAYS: Lines = {
  warning: e => `warning [${e.code}] ${oneLine(e.message, 2_000)}`,
  finished: e => (e.stop.kind === 'completed' ? null : `stopped: ${stopText(e.stop)}${adviceOn(e.stop)}`),
  failed: e => `failed [${e.code}] ${oneLine(e.reason, 2_000)}`,
  refused: e => `refused [${e.code}] ${escapeLines(e.reason)}`,
  ...FLOW_ALWAYS,
  delegated: e => inside(e, lineOf(ALWAYS, e.event)),
}

/** A line about a delegate, behind the call that started it: several can run at one time. */
function inside({ call_id }: Of<'delegated'>, line: string | null): string | null {
  return line === null ? null : `  [${oneLine(call_id)}] ${line}`
}

/** Purposes of launches whose end is not told as such. */
const UNTOLD: ReadonlySet<string> = new Set(['probe', 'hook'])

function endingText(ending: Of<'launch-ended'>['outcome']['ending']): string {
  switch (ending.kind) {
    case 'exited':
      return `exited ${ending.status}`
    case 'signalled':
      return `killed by ${ending.signal}`
    case 'timed-out':
      return `timed out after ${ending.limit_ms} ms`
    case 'cancelled':
      return `cancelled (${ending.by})`
    case 'bound':
      return `ended at its ${ending.name} limit of ${limitText(ending.name, ending.limit)}`
    case 'not-started':
      return `not started: ${oneLine(ending.message)}`
  }
}

/** What a person can do about a stop whose words do not say it. */
function adviceOn(stop: Of<'finished'>['stop']): string {
  return stop.kind === 'provider-incomplete' && stop.reason === 'max_output_tokens'
    ? '; the answer was cut and no call of it was run: --max-output-tokens-per-turn N allows more'
    : ''
}

function stopText({ kind, ...facts }: Of<'finished'>['stop']): string {
  const words = Object.entries(facts).map(([key, value]) => `${key.replaceAll('_', ' ')} ${value}`)
  // A reason can be the endpoint's own word.
  return oneLine([kind, ...words].join(', '), 2_000)
}

function costOf(event: HarnessEvent): number | null {
  if (event.kind === 'delegated') return costOf(event.event)
  return event.kind === 'cost' ? event.micro_usd : null
}

function costText(microUsd: number, turns: number): string {
  const dollars = `${Math.floor(microUsd / 1_000_000)}.${String(microUsd % 1_000_000).padStart(6, '0')}`
  return `cost: ${dollars} USD in ${turns} turn(s)`
}

/** The consumer of a run's events. `end()` writes the newline that ends the answer text. */
export function renderer(options: RenderOptions): {
  readonly emit: (event: HarnessEvent) => void
  readonly end: () => void
} {
  const jsonOut = options.toTerminal ? (line: string) => options.stdout(escapeJson(line)) : options.stdout
  if (options.json) {
    return { emit: event => jsonOut(`${jsonLine(event)}\n`), end: () => {} }
  }
  const prose = proseSink(options)
  let answer: Of<'answered'>['value'] | null = null
  const paint = (style: keyof typeof STYLES, text: string): string =>
    options.color ? `\x1b[${STYLES[style]}m${text}\x1b[0m` : text
  let midLine = false
  /** Of the whole run, its delegates included; null: nothing was priced. */
  let microUsd: number | null = null
  /** Launches whose end is no news: they only try the boundary, or `hook-ran` tells of them. */
  const probes = new Set<string>()
  const endLine = (): void => {
    if (midLine) prose('\n')
    midLine = false
  }
  const note = (style: keyof typeof STYLES, line: string | null): void => {
    if (line === null) return
    endLine()
    options.stderr(`${paint(style, line)}\n`)
  }
  const isProbe = (event: HarnessEvent): boolean => {
    if (event.kind === 'launch-started' && UNTOLD.has(event.purpose)) probes.add(event.launch_id)
    return event.kind === 'launch-ended' && probes.has(event.launch_id)
  }
  const emit = (event: HarnessEvent): void => {
    if (event.kind === 'text-delta') {
      prose(event.text)
      midLine = !event.text.endsWith('\n')
      return
    }
    if (event.kind === 'turn-started') endLine()
    if (event.kind === 'turn-retried' && midLine) note('yellow', 'discard the text above: its turn is tried again')
    if (event.kind === 'started')
      for (const { tool, reason } of event.withheld) note('yellow', `note: ${tool} withheld: ${reason}`)
    if (event.kind === 'answered') answer = event.value
    const cost = costOf(event)
    if (cost !== null) microUsd = (microUsd ?? 0) + cost
    if (event.kind === 'finished' && event.stop.kind === 'completed' && answer !== null && options.answerOnly) {
      endLine()
      jsonOut(`${exactJson(answer)}\n`)
    }
    note(event.kind === 'warning' ? 'yellow' : 'red', lineOf(ALWAYS, event))
    if (!isProbe(event) && !options.quiet) note('dim', lineOf(PROGRESS, event))
    if (event.kind === 'finished' && microUsd !== null && !options.quiet) note('dim', costText(microUsd, event.turns))
  }
  return { emit, end: endLine }
}

function proseSink({ answerOnly, quiet, toTerminal, stdout, stderr }: RenderOptions): (text: string) => void {
  if (!answerOnly) return toTerminal ? text => stdout(escapeProse(text)) : stdout
  return quiet ? () => {} : text => stderr(escapeProse(text))
}

/** An answer stands in the record as the model wrote it, to the digit. */
function jsonLine(event: HarnessEvent): string {
  if (event.kind !== 'answered') return JSON.stringify(event)
  const { kind, call_id, value } = event
  return `${JSON.stringify({ kind, call_id }).slice(0, -1)},"value":${exactJson(value)}}`
}

function lineOf(lines: Lines, event: HarnessEvent): string | null {
  const line = lines[event.kind] as ((event: HarnessEvent) => string | null) | undefined
  return line?.(event) ?? null
}
