/**
 * SHA-256 by Node's own code, which is loaded with its first use: `node:crypto` costs a short command several milliseconds of
 * its start. Most have nothing to digest, and others only what is digested sooner than that is loaded.
 */
import type { Hash } from 'node:crypto'
import { shortSha256 } from './short-digest.js'

/** Up to here Node's code is slower, loading included, and its loading is all of it. */
const SHORT_BYTES_MAX = 2_048
/** What is digested piece after piece is worth the loading: a list of a thousand is as long as one long text. */
const SHORT_ONES_MAX = 64
let shortOnes = 0

/** A hash to be fed piece by piece. */
export function sha256(): Hash {
  return process.getBuiltinModule('node:crypto').createHash('sha256')
}

/** 64 lower-case hex digits. Text is taken as UTF-8. */
export function sha256Of(data: string | Uint8Array): string {
  const bytes = typeof data === 'string' ? Buffer.from(data, 'utf8') : data
  if (bytes.length <= SHORT_BYTES_MAX && shortOnes++ < SHORT_ONES_MAX) return shortSha256(bytes)
  return sha256().update(bytes).digest('hex')
}
