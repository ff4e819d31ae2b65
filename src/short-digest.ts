/**
 * SHA-256 of a short text without `node:crypto`, whose loading costs a short command more than all that it has to digest
 * (FIPS 180-4, sections 5 and 6.2). Pure. For what is public: it takes no care of how long it takes.
 */

/** First 32 bits of the fractions of the cube roots of the first 64 primes (FIPS 180-4, 4.2.2). */
// biome-ignore format: a table
const ROUNDS = Uint32Array.of(
  0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
  0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
  0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
  0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
  0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
  0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
  0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
  0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
)

/** Of the square roots of the first eight (5.3.3). */
// biome-ignore format: a table
const START = [
  0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
] as const

const BLOCK = 64

/** 64 lower-case hex digits. */
export function shortSha256(bytes: Uint8Array): string {
  const padded = padding(bytes)
  const state = Uint32Array.from(START)
  const schedule = new Uint32Array(64)
  for (let at = 0; at < padded.byteLength; at += BLOCK) {
    for (let word = 0; word < 16; word++) schedule[word] = padded.getUint32(at + word * 4)
    extend(schedule)
    mix(state, schedule)
  }
  return Array.from(state, word => word.toString(16).padStart(8, '0')).join('')
}

/** A one bit, zeros, and the length in bits as the last 64 of a whole number of blocks (5.1.1). */
function padding(bytes: Uint8Array): DataView {
  const length = Math.ceil((bytes.length + 9) / BLOCK) * BLOCK
  const padded = new Uint8Array(length)
  padded.set(bytes)
  padded[bytes.length] = 0x80
  const view = new DataView(padded.buffer)
  view.setUint32(length - 8, Math.floor(bytes.length / 2 ** 29))
  view.setUint32(length - 4, bytes.length << 3)
  return view
}

/** W of 6.2.2, step 1; a word of the table is never absent. */
function extend(schedule: Uint32Array): void {
  for (let at = 16; at < 64; at++) {
    const a = schedule[at - 15] ?? 0
    const b = schedule[at - 2] ?? 0
    const near = ((a >>> 7) | (a << 25)) ^ ((a >>> 18) | (a << 14)) ^ (a >>> 3)
    const far = ((b >>> 17) | (b << 15)) ^ ((b >>> 19) | (b << 13)) ^ (b >>> 10)
    schedule[at] = (schedule[at - 16] ?? 0) + near + (schedule[at - 7] ?? 0) + far
  }
}

/** Steps 2 to 4 for one block. */
function mix(state: Uint32Array, schedule: Uint32Array): void {
  let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = state
  for (let at = 0; at < 64; at++) {
    const e1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7))
    const t1 = (h + e1 + ((e & f) ^ (~e & g)) + (ROUNDS[at] ?? 0) + (schedule[at] ?? 0)) | 0
    const a0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10))
    const t2 = (a0 + ((a & b) ^ (a & c) ^ (b & c))) | 0
    h = g
    g = f
    f = e
    e = (d + t1) | 0
    d = c
    c = b
    b = a
    a = (t1 + t2) | 0
  }
  for (const [at, word] of [a, b, c, d, e, f, g, h].entries()) state[at] = (state[at] ?? 0) + word
}
