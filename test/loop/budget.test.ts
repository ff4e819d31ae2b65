/** Ceilings and the rate card: what is refused before the start, and what a turn costs. */
import t from 'tap'
import { isRefusal } from '../../src/errors.js'
import { type Budget, NOTHING_SPENT, reachedCeiling, refuseBudget, spend, unobservable } from '../../src/loop/budget.js'
import { parseRates, priceTurn } from '../../src/loop/rates.js'
import type { Usage } from '../../src/wires/port.js'

const ROW = { input_usd_per_mtok: 2.5, cached_input_usd_per_mtok: 0.25, output_usd_per_mtok: 10 }
const card = (models: unknown, over: object = {}): string =>
  JSON.stringify({ source: 'a list', as_of: '2026-02-28', models, ...over })
const CARD = parseRates(card({ m: ROW, created: { ...ROW, cache_creation_input_usd_per_mtok: 0.000001 } }), 'p.json')

const KEYS: readonly (keyof Budget)[] = [
  'maxTurns',
  'maxInputTokens',
  'maxOutputTokens',
  'maxOutputTokensPerTurn',
  'maxDurationMs',
  'maxCostMicroUsd',
]
t.test('0, fractions, negatives and what is no number are refused in every ceiling', async t => {
  for (const key of KEYS) {
    for (const value of [0, -1, 1.5, Number.NaN, Infinity, 2 ** 53]) {
      t.match(refuseBudget({ [key]: value }, CARD, 'm'), { code: 'budget-refused' }, `${key} ${value}`)
    }
    t.equal(refuseBudget({ [key]: 1 }, CARD, 'm'), null, key)
  }
  t.match(refuseBudget({ maxTurns: 0 }, undefined, 'm')?.message, /^--max-turns is 0: nothing could run/)
})

t.test('a cost ceiling needs a card that prices the model asked for', async t => {
  t.match(refuseBudget({ maxCostMicroUsd: 1 }, undefined, 'm')?.message, /--prices FILE/)
  t.match(refuseBudget({ maxCostMicroUsd: 1 }, CARD, 'other')?.message, /has no model "other"/)
  t.equal(refuseBudget({}, undefined, 'm'), null)
})

const BAD_CARDS: readonly (readonly [string, string, RegExp])[] = [
  ['not JSON', '{', /^the rate card p\.json: it is not JSON: .*README/],
  ['text of two lines', 'a\nb', /^the rate card p\.json: it is not JSON: .*$/],
  ['a list', '[]', /must be an object/],
  ['no source', card({}, { source: ' ' }), /source must say/],
  ['no date', card({}, { as_of: '28.02.2026' }), /as_of must be a date/],
  ['a day that is none', card({}, { as_of: '2026-02-30' }), /as_of must be a date/],
  ['a stray key', card({}, { currency: 'EUR' }), /currency is not known; known: source, as_of, models/],
  ['a stray rate', card({ m: { ...ROW, input: 1 } }), /models\.m\.input is not known/],
  [
    'a missing rate',
    card({ m: { input_usd_per_mtok: 1, output_usd_per_mtok: 1 } }),
    /models\.m\.cached_input_usd_per_mtok must be/,
  ],
  ['a negative rate', card({ m: { ...ROW, output_usd_per_mtok: -1 } }), /models\.m\.output_usd_per_mtok must be/],
  ['text for a rate', card({ m: { ...ROW, output_usd_per_mtok: '1' } }), /must be a number/],
  ['seven decimals', card({ m: { ...ROW, output_usd_per_mtok: 0.1234567 } }), /at most six decimals/],
  ['a rate below six decimals', card({ m: { ...ROW, output_usd_per_mtok: 1e-7 } }), /at most six decimals/],
  ['a good row beside a bad one', card({ m: ROW, n: { ...ROW, output_usd_per_mtok: null } }), /models\.n/],
]
for (const [name, text, says] of BAD_CARDS) {
  t.test(`a rate card with ${name} is refused whole`, async t => {
    try {
      parseRates(text, 'p.json')
      t.fail('it was accepted')
    } catch (error) {
      t.ok(isRefusal(error, 'bad-document'))
      t.match(error, { message: says, details: { file: 'p.json' } })
    }
  })
}

const use = (inputTokens: number, outputTokens: number, cachedInputTokens = 0, created?: number): Usage => ({
  inputTokens,
  outputTokens,
  cachedInputTokens,
  ...(created === undefined ? {} : { cacheCreationInputTokens: created }),
})

const PRICES: readonly (readonly [string, string, Usage, number | RegExp])[] = [
  ['input and output', 'm', use(1_000_000, 100_000), 3_500_000],
  ['the cached part at its own rate', 'm', use(100, 0, 100), 25],
  ['half a micro-dollar rounds up, once', 'm', use(1, 0), 3],
  ['a quarter rounds down', 'm', use(1, 0, 1), 0],
  ['parts are summed before rounding', 'm', use(3, 0, 2), 3],
  ['nothing costs nothing', 'm', use(0, 0), 0],
  ['zero created tokens need no rate', 'm', use(10, 0, 0, 0), 25],
  ['created tokens need a rate', 'm', use(10, 0, 0, 5), /no cache-creation rate/],
  ['created tokens at theirs', 'created', use(10, 0, 0, 10), 0],
  ['ten million created', 'created', use(10_000_000, 0, 0, 10_000_000), 10],
  ['a model that is not there', 'm-2', use(1, 1), /has no model "m-2"/],
  ['cache figures over the input', 'm', use(10, 0, 11), /exceed the input/],
  ['far beyond 2^53 pico-dollars', 'm', use(1_000_000_000_000, 0), 2_500_000_000_000],
]
for (const [name, model, usage, expected] of PRICES) {
  t.test(`price: ${name}`, async t => {
    const price = priceTurn(CARD, model, usage)
    if (typeof expected === 'number') t.same(price, { kind: 'priced', microUsd: expected })
    else t.match(price, { kind: 'unpriceable', why: expected })
  })
}

t.test('absence is not zero', async t => {
  t.same(spend(NOTHING_SPENT, undefined, undefined), { usage: null, microUsd: null })
  const once = spend(NOTHING_SPENT, use(1, 2, 1), { kind: 'priced', microUsd: 0 })
  t.same(once, { usage: use(1, 2, 1), microUsd: 0 })
  t.same(spend(once, use(1, 1, 0, 4), { kind: 'unpriceable', why: '' }), { usage: use(2, 3, 1, 4), microUsd: 0 })
  t.equal(reachedCeiling({ maxInputTokens: 1, maxCostMicroUsd: 1 }, NOTHING_SPENT), null)
})

t.test('what cannot be watched names the ceiling', async t => {
  t.match(unobservable({ maxInputTokens: 1 }, undefined, undefined), {
    kind: 'budget-unobservable',
    name: 'max-input-tokens',
  })
  t.match(unobservable({ maxOutputTokens: 1 }, undefined, undefined), { name: 'max-output-tokens' })
  t.match(unobservable({ maxCostMicroUsd: 1 }, undefined, undefined), {
    name: 'max-cost-microunits',
    reason: /no usage/,
  })
  t.match(unobservable({ maxCostMicroUsd: 1 }, use(1, 1), { kind: 'unpriceable', why: 'no rate' }), {
    reason: 'no rate',
  })
  t.equal(unobservable({ maxTurns: 1, maxDurationMs: 1 }, undefined, undefined), null)
})
