/** The numbers and words of `run`'s flags → budget, sampling, rates. Pure but for reading the rate card. */
import { isUtf8 } from 'node:buffer'
import { resolve } from 'node:path'
import { CONTEXT_WINDOW_TOKENS_DEFAULT } from '../bounds.js'
import { Refusal } from '../errors.js'
import type { Budget } from '../loop/budget.js'
import { parseRates, type RateCard } from '../loop/rates.js'
import type { Sampling } from '../loop/run-state.js'
import { readOperatorFile } from './operator-file.js'
import type { Given } from './parse.js'

const WHOLE = /^\d{1,15}$/
const DECIMAL = /^\d{1,4}(\.\d{1,9})?$/

/** A whole number from 1 to 15 digits of 9, or undefined when the flag was not given. */
export function whole(given: Given, flag: string): number | undefined {
  const text = given.one(flag)
  if (text === undefined) return undefined
  const value = WHOLE.test(text) ? Number(text) : Number.NaN
  if (value >= 1) return value
  throw new Refusal(
    'bad-arguments',
    { argument: flag },
    `${flag} ${text}: give a whole number ${text.length > 15 ? 'of at most 15 digits' : 'of 1 or more'}, or leave it out`,
  )
}

function decimal(given: Given, flag: string, fits: (value: number) => boolean, range: string): number | undefined {
  const text = given.one(flag)
  if (text === undefined) return undefined
  const value = DECIMAL.test(text) ? Number(text) : Number.NaN
  if (fits(value)) return value
  throw new Refusal('bad-arguments', { argument: flag }, `${flag} ${text}: give a number ${range}`)
}

/** Ceilings of `run` and `chat` (contract §11), each absent when its flag is. */
export function budgetOf(given: Given): Budget {
  return defined({
    maxTurns: whole(given, '--max-turns'),
    maxOutputTokens: whole(given, '--max-output-tokens'),
    maxOutputTokensPerTurn: whole(given, '--max-output-tokens-per-turn'),
    maxDurationMs: whole(given, '--max-duration-ms'),
    maxCostMicroUsd: whole(given, '--max-cost-microunits'),
  })
}

/** Tokens that a request may hold. */
export function windowOf(given: Given): number {
  return whole(given, '--context-window') ?? CONTEXT_WINDOW_TOKENS_DEFAULT
}

export function samplingOf(given: Given): Sampling {
  return defined({
    temperature: decimal(given, '--temperature', value => value >= 0 && value <= 2, 'from 0.0 to 2.0'),
    topP: decimal(given, '--top-p', value => value > 0 && value <= 1, 'above 0 and up to 1'),
    reasoningEffort: given.one('--reasoning-effort'),
  })
}

/** Keys without a value left out: absence stays absence. */
function defined<T extends object>(values: { [K in keyof T]: T[K] | undefined }): T {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as T
}

export function ratesOf(given: Given, cwd: string): RateCard | undefined {
  const file = given.one('--prices')
  return file === undefined ? undefined : parseRates(readText(resolve(cwd, file), '--prices'), file)
}

/** `--header NAME=ENV`: the value comes from a variable, so that no secret stands in argv. */
export function headersOf(given: Given, env: NodeJS.ProcessEnv): Record<string, string> {
  return Object.fromEntries(
    given.all('--header').map(entry => {
      const [name = '', variable = ''] = entry.split(/=(.*)/s, 2)
      const value = env[variable]
      if (name !== '' && value !== undefined) return [name, value]
      const why = variable === '' ? 'write NAME=ENV, the name of a variable' : `the variable ${variable} is not set`
      throw new Refusal('bad-arguments', { argument: '--header' }, `--header ${name}: ${why}`)
    }),
  )
}

/**
 * A text file the operator named, a byte order mark included. Throws `file-unreadable`, `too-large` and, for what is no
 * UTF-8 (its bytes would reach a model or a document as others), `bad-document`, with the flag that named it.
 */
export function readText(path: string, flag: string): string {
  const bytes = readOperatorFile(path, flag)
  if (isUtf8(bytes)) return bytes.toString()
  throw new Refusal('bad-document', { file: path }, `${flag} ${path} is not UTF-8: name a text file in UTF-8`)
}
