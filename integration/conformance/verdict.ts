/** What came of an attempt, and how it is read from what a program printed. */
import type { Guarantee } from '../../src/outcome.js'
import { type Attempt, OBSERVATIONS, type Observation } from './attempts.js'
import type { RunResult } from './backend.js'

/** `absent`: the machine has not got what would be attacked. `unanswered`: it was to be tried and nothing came back. */
export type Result = 'refused' | 'succeeded' | 'absent' | 'unanswered'

export interface Verdict {
  readonly attempt: string
  readonly guarantee: Guarantee
  readonly result: Result
  /** One line: how it was refused, or what it reached. */
  readonly detail: string
}

interface Line {
  readonly attempt: string
  readonly succeeded: boolean
  readonly detail: string
  readonly absent?: boolean
}

/** The attempt lines of a program's output; other lines (none are expected) are left out. */
export function linesOf(stdout: string): readonly Line[] {
  return stdout.split('\n').flatMap(line => {
    try {
      const value = JSON.parse(line) as Partial<Line>
      return typeof value.attempt === 'string' && typeof value.succeeded === 'boolean' ? [value as Line] : []
    } catch {
      return []
    }
  })
}

/** One verdict for each attempt of a launch. Silence is not a refusal. */
export function verdictsOf(attempts: readonly Attempt[], result: RunResult | undefined): readonly Verdict[] {
  const lines = new Map(linesOf(result?.stdout ?? '').map(line => [line.attempt, line]))
  const silence = result === undefined ? 'the supervisor gave no result' : describe(result)
  return attempts.map(({ name, guarantee }) => {
    const line = lines.get(name)
    if (line === undefined) return { attempt: name, guarantee, result: 'unanswered', detail: silence }
    const said = line.succeeded ? 'succeeded' : line.absent === true ? 'absent' : 'refused'
    return { attempt: name, guarantee, result: said, detail: line.detail }
  })
}

/** A run in one line, for a verdict's detail. */
export function describe({ status, ending, code, stdout, stderr }: RunResult): string {
  const said = stderr.trim().split('\n').slice(-3).join(' | ')
  return `${ending} ${code ?? status ?? ''} after ${stdout.length} characters: ${said}`
}

/** A verdict on something that was seen from outside. */
export function observed(name: Observation, broken: boolean, detail: string): Verdict {
  return { attempt: name, guarantee: OBSERVATIONS[name], result: broken ? 'succeeded' : 'refused', detail }
}

/** Something that should have been seen and could not be looked at. */
export function unobserved(name: Observation, detail: string): Verdict {
  return { attempt: name, guarantee: OBSERVATIONS[name], result: 'unanswered', detail }
}
