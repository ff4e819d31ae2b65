/**
 * SHA-256 by Node's own code, which is loaded with its first use: `node:crypto` costs a short command several milliseconds of
 * its start, and most have nothing to digest.
 */
import type { Hash } from 'node:crypto'

/** A hash to be fed piece by piece. */
export function sha256(): Hash {
  return process.getBuiltinModule('node:crypto').createHash('sha256')
}

/** 64 lower-case hex digits. Text is taken as UTF-8. */
export function sha256Of(data: string | Uint8Array): string {
  return sha256().update(data).digest('hex')
}
