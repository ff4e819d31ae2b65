/** Digests are those of the standard, of text and bytes alike, whole or piece by piece. */
import t from 'tap'
import { sha256, sha256Of } from '../src/digest.js'

const ABC = 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad'

t.test('published values (FIPS 180-2, appendix B)', async t => {
  t.equal(sha256Of('abc'), ABC)
  t.equal(sha256Of(new Uint8Array(0)), 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855')
  t.equal(
    sha256Of('abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq'),
    '248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1',
  )
})

t.test('pieces, text and parts of a buffer', async t => {
  t.equal(sha256().update('a').update('bc').digest('hex'), ABC)
  t.equal(sha256Of(Buffer.from('before abc after').subarray(7, 10)), ABC)
  t.equal(sha256Of('é'), sha256Of(Buffer.from('c3a9', 'hex')))
})
