/** What compaction may and may not do to a conversation, for any conversation; and prices, against fractions that lose nothing. */
import fc from 'fast-check'
import t from 'tap'
import { FOLD_BYTES_MIN } from '../../src/bounds.js'
import { conversationBytes, elide, foldOf, goalOf, itemBytes } from '../../src/loop/compaction/plan.js'
import { SUMMARY_MARKER, transcript } from '../../src/loop/compaction/summary.js'
import { pairItems } from '../../src/loop/conversation.js'
import { parseRates, priceTurn } from '../../src/loop/rates.js'
import type { Item } from '../../src/wires/port.js'

/** Sizes from nothing to several times what is protected. */
const text = fc.oneof(
  fc.string(),
  fc.integer({ min: 0, max: 30_000 }).map(n => 'x'.repeat(n)),
  fc.constant('é🙂'.repeat(500)),
)

const word = text.map((said): Item[] => [{ kind: 'user-text', text: said }])
const answer = fc
  .record({ said: fc.option(text), thought: fc.boolean(), outputs: fc.array(text, { maxLength: 3 }) })
  .map(({ said, thought, outputs }): Item[] => [
    ...(thought ? [{ kind: 'opaque', wire: 'openai-responses', payload: { type: 'reasoning' } } as const] : []),
    ...(said === null ? [] : [{ kind: 'assistant-text', text: said } as const]),
    ...outputs.map((_, n) => ({ kind: 'tool-call', call_id: `c${n}`, name: 'look', arguments: {} }) as const),
    ...outputs.map((output, n) => ({ kind: 'tool-result', call_id: `c${n}`, output, failed: false }) as const),
  ])
const conversation = fc
  .tuple(word, fc.array(fc.oneof(word, answer), { maxLength: 12 }))
  .map(([first, rest]) => [...first, ...rest.flat()].map(renamed()))

/** Call ids are told apart over the whole conversation, as endpoints want them. */
function renamed(): (item: Item) => Item {
  let calls = 0
  let results = 0
  return item => {
    if (item.kind === 'tool-call') return { ...item, call_id: `call-${calls++}` }
    return item.kind === 'tool-result' ? { ...item, call_id: `call-${results++}` } : item
  }
}

const goal = fc.integer({ min: 0, max: 200_000 })

function isWhole(items: readonly Item[]): boolean {
  const { items: paired, filled, dropped } = pairItems(items)
  return filled.length === 0 && dropped.length === 0 && JSON.stringify(paired) === JSON.stringify(items)
}

t.test('leaving results out changes nothing else, makes it no longer, and spares the newest', async () => {
  fc.assert(
    fc.property(conversation, goal, (items, goal) => {
      const before = JSON.stringify(items)
      const { items: out, results, bytes } = elide(items, goal)
      const changed = out.filter((item, index) => item !== items[index])
      const newest = items.findLastIndex(({ kind }) => kind === 'tool-result')
      return (
        isWhole(out) &&
        out.length === items.length &&
        changed.length === results &&
        changed.every(({ kind }) => kind === 'tool-result') &&
        conversationBytes(items) - conversationBytes(out) === bytes &&
        (results === 0 || bytes > 0) &&
        out[newest] === items[newest] &&
        JSON.stringify(items) === before
      )
    }),
  )
})

t.test('results go oldest first, and no more of them than it takes', async () => {
  fc.assert(
    fc.property(conversation, goal, (items, goal) => {
      const { items: out, results } = elide(items, goal)
      const places = [...items.keys()].filter(index => out[index] !== items[index])
      const last = places.at(-1) ?? -1
      // With the last one put back it would still be over the goal.
      const less = out.map((item, index) => (index === last ? (items[index] ?? item) : item))
      const older = items
        .slice(0, Math.max(last, 0))
        .filter((item, index) => item.kind === 'tool-result' && out[index] === item)
      return results === 0 || (conversationBytes(less) > goal && older.every(item => itemBytes(item) < 300))
    }),
  )
})

t.test(
  'folding never divides an answer, keeps the task, the last word, the newest turn and what is opaque',
  async t => {
    const summary: Item = { kind: 'user-text', text: SUMMARY_MARKER }
    let folds = 0
    fc.assert(
      fc.property(conversation, goal, (items, goal) => {
        const fold = foldOf(items, goal)
        if (fold === null) return true
        folds += 1
        const out = fold.with(summary)
        const kept = out.filter(item => item !== summary)
        const lastWord = items.findLast(({ kind }) => kind === 'user-text')
        return (
          isWhole(out) &&
          isWhole(fold.folded) &&
          out[0] === items[0] &&
          out[1] === summary &&
          out.at(-1) === items.at(-1) &&
          kept.length + fold.folded.length === items.length &&
          // In their order, each once.
          JSON.stringify(items.filter(item => kept.includes(item))) === JSON.stringify(kept) &&
          JSON.stringify(items.filter(item => fold.folded.includes(item))) === JSON.stringify(fold.folded) &&
          !fold.folded.some(item => item.kind === 'opaque' || item === lastWord) &&
          fold.bytes >= FOLD_BYTES_MIN &&
          conversationBytes(out) < conversationBytes(items)
        )
      }),
      { numRuns: 300 },
    )
    t.ok(folds > 30, `${folds} of them could be folded`)
  },
)

t.test('a transcript keeps its bounds and its first and last line', async () => {
  fc.assert(
    fc.property(fc.array(conversation, { maxLength: 8 }), parts => {
      const items = parts.flat().filter(({ kind }) => kind !== 'opaque')
      const lines = transcript(items).split('\n')
      const head = items[0] === undefined ? '' : JSON.stringify(items[0]).slice(0, 40)
      return (
        Buffer.byteLength(lines.join('\n')) <= 128 * 1024 &&
        lines.every(line => Buffer.byteLength(line) <= 4 * 1024) &&
        (lines[0] ?? '').startsWith(head.slice(0, 20)) &&
        !lines.join('').includes('\ufffd')
      )
    }),
    { numRuns: 60 },
  )
})

t.test('room is made at eight tenths of the window and down to half of it, by whichever count is larger', async t => {
  const items: Item[] = [{ kind: 'user-text', text: 'x'.repeat(4_000 - 30) }]
  t.equal(conversationBytes(items), 4_000)
  t.equal(goalOf(items, { contextWindow: 1_250, reported: null }), 2_500)
  t.equal(goalOf(items, { contextWindow: 1_251, reported: null }), null)
  t.equal(goalOf(items, { contextWindow: 10_000, reported: 8_000 }), 2_500, 'a byte stands for two tokens')
  t.equal(goalOf(items, { contextWindow: 10_000, reported: 7_999 }), null)
  const big: Item[] = [{ kind: 'user-text', text: 'x'.repeat(192 * 1024 - 30) }]
  t.equal(goalOf(big, { reported: 1e9 }), 96 * 1024, 'bytes alone where no window is known')
  t.equal(goalOf(items, { reported: 1e9 }), null)
})

// --- money ---

const rate = fc.integer({ min: 0, max: 200_000_000 })
const tokens = fc.integer({ min: 0, max: 2_000_000_000 })

t.test('a price is the exact sum, rounded once, half up', async () => {
  fc.assert(
    fc.property(
      fc.record({ input: rate, cached: rate, output: rate, created: rate }),
      fc.record({ fresh: tokens, cached: tokens, created: tokens, output: tokens }),
      (rates, used) => {
        // As a card has them: a decimal of at most six places.
        const usd = (millionths: number): string =>
          `${Math.floor(millionths / 1e6)}.${String(millionths % 1e6).padStart(6, '0')}`
        const row = `{"input_usd_per_mtok":${usd(rates.input)},"cached_input_usd_per_mtok":${usd(rates.cached)},"output_usd_per_mtok":${usd(rates.output)},"cache_creation_input_usd_per_mtok":${usd(rates.created)}}`
        const card = parseRates(`{"source":"s","as_of":"2026-01-01","models":{"m":${row}}}`, 'p.json')
        const price = priceTurn(card, 'm', {
          inputTokens: used.fresh + used.cached + used.created,
          cachedInputTokens: used.cached,
          cacheCreationInputTokens: used.created,
          outputTokens: used.output,
        })
        // Dollars as a fraction of 10^12: a rate is millionths of a dollar for 10^6 tokens.
        const sum =
          BigInt(used.fresh) * BigInt(rates.input) +
          BigInt(used.cached) * BigInt(rates.cached) +
          BigInt(used.created) * BigInt(rates.created) +
          BigInt(used.output) * BigInt(rates.output)
        if (price.kind !== 'priced') return false
        const error = BigInt(price.microUsd) * 1_000_000n - sum
        return error > -500_000n && error <= 500_000n
      },
    ),
  )
})
