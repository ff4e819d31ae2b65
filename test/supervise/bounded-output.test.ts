/** What is kept of a stream, and how it is shown. */
import t from 'tap'
import { BoundedOutput, renderCaptured } from '../../src/supervise/bounded-output.js'

function kept(bound: number, ...chunks: (string | Uint8Array)[]) {
  const output = new BoundedOutput(bound)
  for (const chunk of chunks) output.push(typeof chunk === 'string' ? Buffer.from(chunk) : chunk)
  const captured = output.captured()
  t.equal(captured.head.length + captured.droppedBytes + captured.tail.length, captured.totalBytes)
  t.ok(captured.head.length + captured.tail.length <= bound)
  return {
    ...captured,
    headText: Buffer.from(captured.head).toString(),
    tailText: Buffer.from(captured.tail).toString(),
  }
}

t.test('head and tail, in bytes (A12)', async t => {
  const cases: { name: string; bound: number; chunks: string[]; head: string; tail: string; dropped: number }[] = [
    { name: 'nothing', bound: 8, chunks: [], head: '', tail: '', dropped: 0 },
    { name: 'less than the bound', bound: 8, chunks: ['abc'], head: 'abc', tail: '', dropped: 0 },
    { name: 'exactly the bound is whole', bound: 8, chunks: ['abcd', 'efgh'], head: 'abcdefgh', tail: '', dropped: 0 },
    { name: 'one more', bound: 8, chunks: ['abcdefghi'], head: 'abcd', tail: 'fghi', dropped: 1 },
    { name: 'chunk by chunk', bound: 8, chunks: 'abcdefghijklm'.split(''), head: 'abcd', tail: 'jklm', dropped: 5 },
    {
      name: 'an odd bound keeps one more at the start',
      bound: 5,
      chunks: ['abcdefgh'],
      head: 'abc',
      tail: 'gh',
      dropped: 3,
    },
    {
      name: 'a character is not cut at the end of the head',
      bound: 8,
      chunks: ['abc€efghijkl'],
      head: 'abc',
      tail: 'ijkl',
      dropped: 7,
    },
    { name: 'characters are no measure', bound: 8, chunks: ['€€€'], head: '€', tail: '€', dropped: 3 },
    { name: 'nor at the start of the tail', bound: 8, chunks: ['abcdefgh€ij'], head: 'abcd', tail: 'ij', dropped: 7 },
  ]
  for (const { name, bound, chunks, head, tail, dropped } of cases) {
    const is = kept(bound, ...chunks)
    t.same([is.headText, is.tailText, is.droppedBytes], [head, tail, dropped], name)
  }
})

t.test('what is no UTF-8 is cut at the byte', async t => {
  const bytes = Buffer.alloc(20, 0x80)
  const is = kept(8, bytes)
  t.equal(is.head.length, 4)
  t.equal(is.tail.length, 4)
})

t.test('pushed memory may be used again', async t => {
  const output = new BoundedOutput(8)
  const buffer = Buffer.from('abcd')
  output.push(buffer)
  buffer.fill('z')
  t.equal(Buffer.from(output.captured().head).toString(), 'abcd')
})

t.test('as text', async t => {
  const whole = renderCaptured(kept(100, 'a\nb'))
  t.same(whole, { text: 'a\nb', truncated: false, omittedBytes: 0, invalidBytes: 0 })
  const cut = renderCaptured(kept(8, 'abcdefghijkl'))
  t.same(cut, { text: 'abcd\n[… 4 bytes omitted …]\nijkl', truncated: true, omittedBytes: 4, invalidBytes: 0 })
  const after = renderCaptured(kept(8, 'abc\nefghijkl'))
  t.equal(after.text, 'abc\n[… 4 bytes omitted …]\nijkl', 'no empty line after a line that ended')
  const cases: [string, number[], number][] = [
    ['a lone continuation', [0x61, 0x80, 0x62], 1],
    ['an unfinished character', [0x61, 0xe2, 0x82], 2],
    ['an overlong form', [0xc0, 0xaf], 2],
    ['a surrogate', [0xed, 0xa0, 0x80], 3],
    ['beyond the last code point', [0xf4, 0x90, 0x80, 0x80], 4],
    ['the replacement character itself', [0xef, 0xbf, 0xbd], 0],
    ['four bytes', [0xf0, 0x9f, 0x98, 0x80], 0],
  ]
  for (const [name, bytes, invalid] of cases)
    t.equal(renderCaptured(kept(100, Buffer.from(bytes))).invalidBytes, invalid, name)
})
