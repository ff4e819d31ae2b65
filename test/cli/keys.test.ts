/** Which bytes of a terminal are key presses of ours, however they are cut. */
import fc from 'fast-check'
import t from 'tap'
import { type Key, KeyReader } from '../../src/cli/keys.js'
import { HandClock } from '../support/hand-clock.js'

function pressed(chunks: readonly string[], gapMs = 5): Key[] {
  const clock = new HandClock()
  const keys: Key[] = []
  const reader = new KeyReader(clock, key => keys.push(key))
  for (const chunk of chunks) {
    reader.push(Buffer.from(chunk, 'latin1'))
    clock.pass(gapMs)
  }
  clock.pass(1_000)
  return keys
}

const CASES: readonly { name: string; bytes: string; keys: Key[] }[] = [
  { name: 'Esc alone', bytes: '\u001b', keys: ['esc'] },
  { name: 'Esc twice in one read', bytes: '\u001b\u001b', keys: ['esc', 'esc'] },
  { name: 'Esc three times in one read', bytes: '\u001b\u001b\u001b', keys: ['esc', 'esc', 'esc'] },
  { name: 'Esc, then Alt with a letter', bytes: '\u001b\u001bf', keys: ['esc'] },
  { name: 'Alt with an arrow, as ESC before its sequence', bytes: '\u001b\u001b[A\u001b\u001bOB', keys: [] },
  { name: 'Alt with Page Up, then Esc', bytes: '\u001b\u001b[5~\u001b', keys: ['esc'] },
  { name: 'Ctrl-C', bytes: '\u0003', keys: ['interrupt'] },
  { name: 'Ctrl-Z', bytes: '\u001a', keys: ['suspend'] },
  { name: 'arrows', bytes: '\u001b[A\u001b[B\u001bOC\u001bOD', keys: [] },
  { name: 'a function key with modifiers', bytes: '\u001b[15;5~', keys: [] },
  { name: 'Alt with a letter', bytes: '\u001bf', keys: [] },
  { name: 'ordinary text', bytes: 'hello\r', keys: [] },
  { name: 'a mouse report', bytes: '\u001b[<0;10;20M', keys: [] },
  { name: 'a paste that holds controls', bytes: '\u001b[200~a\u0003b\u001a\u001bc\u001b[201~', keys: [] },
  { name: 'Ctrl-C after a paste', bytes: '\u001b[200~x\u001b[201~\u0003', keys: ['interrupt'] },
  { name: 'Ctrl-C after an arrow', bytes: '\u001b[A\u0003', keys: ['interrupt'] },
  { name: 'Esc after text', bytes: 'abc\u001b', keys: ['esc'] },
]

for (const { name, bytes, keys } of CASES) {
  t.test(name, async t => {
    t.strictSame(pressed([bytes]), keys, 'in one read')
    t.strictSame(pressed(bytes.split('')), keys, 'a byte at a time, within the gap')
  })
}

t.test('the gap tells Esc from a sequence', async t => {
  t.strictSame(pressed(['\u001b', '[A'], 5), [], 'the rest came in time')
  t.strictSame(pressed(['\u001b', '[A'], 50), ['esc'], 'the rest came late: the press stood alone')
  t.strictSame(pressed(['\u001b', '\u001b'], 50), ['esc', 'esc'])
})

t.test('what has come while we were kept waiting longer than the gap is read first', async t => {
  const due: (() => void)[] = []
  const after = (_ms: number, then: () => void): (() => void) => {
    due.push(then)
    return () => void due.splice(due.indexOf(then), 1)
  }
  const keys: Key[] = []
  const reader = new KeyReader({ after }, key => keys.push(key))
  reader.push(Buffer.from('\u001b'))
  due.shift()?.()
  reader.push(Buffer.from('[A'))
  for (const then of due) then()
  t.strictSame(keys, [])
})

t.test('what is typed beside keys and sequences goes to who asks for it', async t => {
  const clock = new HandClock()
  const bytes: number[] = []
  const reader = new KeyReader(
    clock,
    () => undefined,
    byte => bytes.push(byte),
  )
  reader.push(Buffer.from('y\u001b[A\u0003\u007f\u00e9\u001b[200~n\u001b[201~\r'))
  clock.pass(100)
  t.strictSame(bytes, [0x79, 0x7f, 0xc3, 0xa9, 0x0d])
})

t.test('a sequence that never ends is dropped, and no key is lost for good', async t => {
  t.strictSame(pressed([`\u001b[${'1;'.repeat(40)}`, '\u0003'], 50), ['interrupt'])
  const clock = new HandClock()
  const keys: Key[] = []
  const reader = new KeyReader(clock, key => keys.push(key))
  reader.push(Buffer.from('\u001b'))
  reader.stop()
  clock.pass(100)
  t.strictSame(keys, [], 'stopped: what was half read is forgotten')
})

t.test('however it is cut, it is read the same', async t => {
  const piece = fc.constantFrom(
    '\u001b[A',
    '\u001bOP',
    'x',
    '\u0003',
    '\u001a',
    '\u001b[200~p\u0003\u001b[201~',
    '\u001b[1;2C',
    '\u001b\u001b[D',
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), fc.array(fc.nat(5), { maxLength: 60 }), (pieces, cuts) => {
      const bytes = pieces.join('')
      const chunks: string[] = []
      let at = 0
      for (const cut of cuts) {
        chunks.push(bytes.slice(at, at + cut + 1))
        at += cut + 1
      }
      chunks.push(bytes.slice(at))
      t.strictSame(pressed(chunks.filter(chunk => chunk !== '')), pressed([bytes]))
    }),
    { numRuns: 300 },
  )
})
