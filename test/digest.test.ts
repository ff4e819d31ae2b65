/** Our own SHA-256 is the one of `node:crypto`, at every length and for published values. */
import { createHash } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import { sha256, sha256Of } from '../src/digest.js'
import { shortSha256 } from '../src/short-digest.js'

const nodes = (data: string | Uint8Array): string => createHash('sha256').update(data).digest('hex')

t.test('published values (FIPS 180-2, appendix B)', async t => {
  t.equal(shortSha256(Buffer.from('abc')), 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad')
  t.equal(
    shortSha256(Buffer.from('abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq')),
    '248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1',
  )
  t.equal(shortSha256(new Uint8Array(0)), 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855')
})

t.test('every length around the blocks', async t => {
  const wrong = Array.from({ length: 400 }, (_, length) => Buffer.alloc(length, length)).filter(
    bytes => shortSha256(bytes) !== nodes(bytes),
  )
  t.strictSame(wrong, [])
})

t.test('whatever the bytes', async () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 5_000 }), bytes => {
      if (shortSha256(bytes) !== nodes(bytes)) throw new Error(`${bytes.length} bytes`)
    }),
  )
})

t.test('a part of a buffer is digested, not what it lies in', async t => {
  const whole = Buffer.from('before abc after')
  t.equal(shortSha256(whole.subarray(7, 10)), nodes('abc'))
})

t.test('one answer for short and long, text and bytes, few and many', async t => {
  const texts = ['', 'é', 'a'.repeat(2_048), 'a'.repeat(2_049), 'ü'.repeat(2_000)]
  for (const text of texts) t.equal(sha256Of(text), nodes(text), `${text.length}`)
  t.equal(sha256().update('a').update('b').digest('hex'), nodes('ab'))
  for (let many = 0; many < 100; many++) if (sha256Of(`${many}`) !== nodes(`${many}`)) t.fail(`${many}`)
})
