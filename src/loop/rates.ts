/**
 * The rate card: what a token costs, read strictly, and priced in whole pico-dollars. One dollar per million tokens
 * is one micro-dollar per token, so six decimals of a rate are exactly pico-dollars per token and nothing is rounded
 * until the turn's sum. Pure.
 */
import { Refusal } from '../errors.js'
import { isJsonObject, type JsonObject, syntaxFault } from '../json.js'
import type { Usage } from '../wires/port.js'

/** Pico-dollars per token. */
export interface Rates {
  readonly input: bigint
  readonly cachedInput: bigint
  readonly output: bigint
  /** Absent: a turn that reports cache-creation tokens cannot be priced. */
  readonly cacheCreationInput?: bigint
}

export interface RateCard {
  readonly source: string
  /** `YYYY-MM-DD`. */
  readonly asOf: string
  readonly models: ReadonlyMap<string, Rates>
}

export type Price =
  | { readonly kind: 'priced'; readonly microUsd: number }
  | { readonly kind: 'unpriceable'; readonly why: string }

const PICO_PER_MICRO = 1_000_000n

/** The card in `text`, or a thrown `bad-document`: one bad rate refuses the whole card. */
export function parseRates(text: string, file: string): RateCard {
  const reader = new CardReader(file)
  const card = reader.object(readJson(text, reader), '')
  reader.only(card, ['source', 'as_of', 'models'], '')
  const source = card.source
  if (typeof source !== 'string' || source.trim() === '')
    return reader.refuse('source', 'must say where the rates are from')
  const asOf = card.as_of
  if (typeof asOf !== 'string' || !isDate(asOf)) return reader.refuse('as_of', 'must be a date, YYYY-MM-DD')
  const models = Object.entries(reader.object(card.models, 'models'))
  return { source, asOf, models: new Map(models.map(([name, row]) => [name, ratesOf(row, `models.${name}`, reader)])) }
}

class CardReader {
  constructor(readonly file: string) {}

  refuse(place: string, why: string): never {
    const where = place === '' ? '' : ` ${place}`
    throw new Refusal(
      'bad-document',
      { file: this.file, place },
      `the rate card ${this.file}:${where} ${why}; the README shows one under Prices`,
    )
  }

  object(value: unknown, place: string): JsonObject {
    return isJsonObject(value) ? value : this.refuse(place, `${place === '' ? 'it ' : ''}must be an object`)
  }

  only(value: JsonObject, known: readonly string[], place: string): void {
    const stray = Object.keys(value).find(key => !known.includes(key))
    if (stray !== undefined)
      this.refuse(`${place}${place === '' ? '' : '.'}${stray}`, `is not known; known: ${known.join(', ')}`)
  }
}

function readJson(text: string, reader: CardReader): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    return reader.refuse('', `it is not JSON: ${syntaxFault(error)}`)
  }
}

function isDate(text: string): boolean {
  const date = new Date(`${text}T00:00:00Z`)
  return /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text)
}

const KEYS = {
  input: 'input_usd_per_mtok',
  cachedInput: 'cached_input_usd_per_mtok',
  output: 'output_usd_per_mtok',
  cacheCreationInput: 'cache_creation_input_usd_per_mtok',
} as const

function ratesOf(value: unknown, place: string, reader: CardReader): Rates {
  const row = reader.object(value, place)
  reader.only(row, Object.values(KEYS), place)
  const rate = (key: string): bigint => pico(row[key], `${place}.${key}`, reader)
  return {
    input: rate(KEYS.input),
    cachedInput: rate(KEYS.cachedInput),
    output: rate(KEYS.output),
    ...(row[KEYS.cacheCreationInput] === undefined ? {} : { cacheCreationInput: rate(KEYS.cacheCreationInput) }),
  }
}

/** A rate in dollars per million tokens as pico-dollars per token. */
function pico(value: unknown, place: string, reader: CardReader): bigint {
  const match = typeof value === 'number' ? /^(\d+)(?:\.(\d{1,6}))?$/.exec(String(value)) : null
  if (match === null) return reader.refuse(place, 'must be a number of dollars, 0 or more, with at most six decimals')
  return BigInt(match[1] ?? '0') * PICO_PER_MICRO + BigInt((match[2] ?? '').padEnd(6, '0'))
}

/**
 * What one turn cost, rounded to whole micro-dollars once. `model` is the one the provider reported. Both cache
 * figures are parts of the input; a report in which they exceed it cannot be priced.
 */
export function priceTurn(card: RateCard, model: string, usage: Usage): Price {
  const rates = card.models.get(model)
  if (rates === undefined) return { kind: 'unpriceable', why: `the rate card has no model ${JSON.stringify(model)}` }
  const created = usage.cacheCreationInputTokens ?? 0
  if (created > 0 && rates.cacheCreationInput === undefined) {
    return { kind: 'unpriceable', why: `the rate card has no cache-creation rate for ${JSON.stringify(model)}` }
  }
  const fresh = usage.inputTokens - usage.cachedInputTokens - created
  if (fresh < 0) return { kind: 'unpriceable', why: 'the reported cache figures exceed the input' }
  const sum =
    BigInt(fresh) * rates.input +
    BigInt(usage.cachedInputTokens) * rates.cachedInput +
    BigInt(created) * (rates.cacheCreationInput ?? 0n) +
    BigInt(usage.outputTokens) * rates.output
  return { kind: 'priced', microUsd: Number((sum + PICO_PER_MICRO / 2n) / PICO_PER_MICRO) }
}
