/**
 * Random names, from the kernel's generator (random(4)). Not `node:crypto`: loading it costs a short command several
 * milliseconds, and nothing here is a key.
 */
import { closeSync, openSync, readSync } from 'node:fs'

/** `bytes` random bytes as lower-case hex digits. */
export function randomHex(bytes: number): string {
  const buffer = Buffer.alloc(bytes)
  const fd = openSync('/dev/urandom', 'r')
  try {
    if (readSync(fd, buffer, 0, bytes, null) !== bytes) throw new Error('/dev/urandom gave fewer bytes than asked for')
  } finally {
    closeSync(fd)
  }
  return buffer.toString('hex')
}
