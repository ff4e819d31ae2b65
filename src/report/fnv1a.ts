/**
 * FNV-1a, 64 bits (Fowler, Noll, Vo): says that two lines are the same line, and nothing about who wrote them. In halves of 32
 * bits, because numbers of any size cost a hundred times as much a byte.
 */

const OFFSET_HIGH = 0xcbf29ce4
const OFFSET_LOW = 0x84222325
/** The prime is 2^40 + 0x1b3. */
const PRIME_LOW = 0x1b3
const TWO_32 = 0x1_0000_0000

export class Fnv1a {
  #high = OFFSET_HIGH
  #low = OFFSET_LOW

  add(bytes: Uint8Array): void {
    let [high, low] = [this.#high, this.#low]
    for (const byte of bytes) {
      low = (low ^ byte) >>> 0
      // Each product is below 2^41, so it is exact.
      const product = low * PRIME_LOW
      high = (high * PRIME_LOW + Math.floor(product / TWO_32) + ((low << 8) >>> 0)) >>> 0
      low = product >>> 0
    }
    this.#high = high
    this.#low = low
  }

  /** 16 hex digits. */
  hex(): string {
    return [this.#high, this.#low].map(half => half.toString(16).padStart(8, '0')).join('')
  }
}
