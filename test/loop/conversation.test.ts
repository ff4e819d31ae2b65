/** The pairing of calls and results, and the bounds of what is kept. */
import fc from 'fast-check'
import t from 'tap'
import { CALL_ARGUMENTS_BYTES_MAX, TOOL_RESULT_BYTES_MAX } from '../../src/bounds.js'
import { boundedItems, boundedOutcome, isId, pairItems } from '../../src/loop/conversation.js'
import type { Item } from '../../src/wires/port.js'

const user = (text: string): Item => ({ kind: 'user-text', text })
const said = (text: string): Item => ({ kind: 'assistant-text', text })
const call = (call_id: string): Item => ({ kind: 'tool-call', call_id, name: 'look', arguments: {} })
const result = (call_id: string, output = call_id): Item => ({ kind: 'tool-result', call_id, output, failed: false })

/** `u`, `t`, `cX`, `rX` (`!` for one that was filled). */
function short(items: readonly Item[]): string {
  return items
    .map(item => {
      if (item.kind === 'tool-call') return `c${item.call_id}`
      if (item.kind === 'tool-result') return `r${item.call_id}${item.failed ? '!' : ''}`
      return item.kind === 'user-text' ? 'u' : 't'
    })
    .join(' ')
}

function read(text: string): Item[] {
  return text.split(' ').map(word => {
    if (word === 'u') return user('u')
    if (word === 't') return said('t')
    return word.startsWith('c') ? call(word.slice(1)) : result(word.slice(1))
  })
}

const CASES: readonly (readonly [string, string, string])[] = [
  ['a whole history is unchanged', 'u t ca cb ra rb t', 'u t ca cb ra rb t'],
  ['a missing result at the end is filled', 'u ca', 'u ca ra!'],
  ['one of three is filled, in order', 'u ca cb cc rb', 'u ca cb cc ra! rb rc!'],
  ['results out of order are put in order', 'u ca cb rb ra', 'u ca cb ra rb'],
  ['an orphan is dropped', 'u ra t', 'u t'],
  ['a second result for a call is dropped', 'u ca ra ra t', 'u ca ra t'],
  ['a result after the next word of the user is an orphan', 'u ca u ra', 'u ca ra! u'],
  ['an id used again in a later turn is another call', 'u ca ra t ca ra', 'u ca ra t ca ra'],
  ['a new turn closes the one before', 'u ca cb ra t cc rc', 'u ca cb ra rb! t cc rc'],
  ['empty stays empty', 'u', 'u'],
]
for (const [name, before, after] of CASES) {
  t.test(name, async t => {
    t.equal(short(pairItems(read(before)).items), after)
  })
}

t.test('what was filled and dropped is named', async t => {
  t.match(pairItems(read('u ca rz')), { filled: ['a'], dropped: ['z'] })
})

t.test('any history comes out paired, keeps its other items in order, and is then left alone', async _t => {
  const word = fc.constantFrom('u', 't', 'ca', 'cb', 'cc', 'ra', 'rb', 'rc')
  fc.assert(
    fc.property(fc.array(word, { minLength: 1, maxLength: 12 }), words => {
      const items = read(words.join(' '))
      const { items: paired } = pairItems(items)
      const calls = paired.flatMap(item => (item.kind === 'tool-call' ? [item.call_id] : []))
      const results = paired.flatMap(item => (item.kind === 'tool-result' ? [item.call_id] : []))
      const others = (all: readonly Item[]): string => short(all.filter(item => item.kind !== 'tool-result'))
      return (
        calls.join() === results.join() &&
        others(items) === others(paired) &&
        JSON.stringify(pairItems(paired).items) === JSON.stringify(paired)
      )
    }),
  )
})

t.test('bounds are measured in bytes of compact JSON, and equality fits', async t => {
  const args = (bytes: number): Item => ({
    kind: 'tool-call',
    call_id: 'a',
    name: 'n',
    arguments: { x: 'y'.repeat(bytes - 8) },
  })
  const fits = args(CALL_ARGUMENTS_BYTES_MAX)
  t.equal(boundedItems([fits])[0], fits)
  t.match(boundedItems([args(CALL_ARGUMENTS_BYTES_MAX + 1)])[0], { arguments: { omitted: /^65537 bytes/ } })
  const whole = { output: 'x'.repeat(TOOL_RESULT_BYTES_MAX - 2), failed: false }
  t.equal(boundedOutcome(whole), whole)
  t.match(boundedOutcome({ output: 'é'.repeat(TOOL_RESULT_BYTES_MAX / 2), failed: false }), {
    failed: true,
    output: { code: 'result-too-large', error: /^the result has 262146 bytes, over the bound of 262144/ },
  })
  t.match(boundedOutcome({ output: 'x'.repeat(TOOL_RESULT_BYTES_MAX), failed: true, programRefused: 'p' }), {
    programRefused: 'p',
  })
})

t.test('ids', async t => {
  for (const id of ['a', 'call_1-x', '~!', 'x'.repeat(256)]) t.ok(isId(id), id)
  for (const id of ['', 'x'.repeat(257), 'é', 'a\n', 'a\u007f']) t.notOk(isId(id), JSON.stringify(id))
})
