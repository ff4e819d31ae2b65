/**
 * A credential where the operator said it is: a file that is read again at every request, or a variable. What cannot be
 * a credential is refused here, by its source and never by its value.
 */
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'
import { CREDENTIAL_BYTES_MAX } from '../bounds.js'
import { Refusal, unusableFile } from '../errors.js'
import { isJsonObject, parsedOrNull, pointerKeys } from '../json.js'

export interface Source {
  /** A JSON pointer (RFC 6901) to the token in a JSON source. Absent: the source is the credential itself. */
  readonly pointer: string | undefined
}

/**
 * The credential in the file at `path`. Throws `file-unreadable`, `not-a-file` for what is no plain file (a FIFO gives
 * its bytes once, and would be waited for), `too-large`, and `credential-missing` for a file that holds none.
 */
export function credentialInFile(path: string, source: Source): string {
  return credentialIn(readSmallFile(path), path, source)
}

/** The credential in the variable's value. Throws `credential-missing`. */
export function credentialInVariable(name: string, env: NodeJS.ProcessEnv, source: Source): string {
  const value = env[name]
  if (value !== undefined && value !== '') return credentialIn(value, name, source)
  throw new Refusal(
    'credential-missing',
    { source: name },
    `the variable ${name} is not set: export it, or name another source with --api-key-env NAME or --api-key-file FILE`,
  )
}

function readSmallFile(path: string): string {
  let fd: number | null = null
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY)
    const stat = fstatSync(fd)
    if (!stat.isFile()) throw noFile(path, stat.isDirectory() ? 'a folder' : 'a pipe or a device')
    return readBounded(fd, path)
  } catch (error) {
    throw unusableFile(error, { path, named: `the credential file ${path}`, asked: 'read' })
  } finally {
    if (fd !== null) closeSync(fd)
  }
}

function noFile(path: string, is: string): Refusal {
  const message = `the credential file ${path} is ${is}: give a plain file, which can be read again at every request, or a variable`
  return new Refusal('not-a-file', { path, is }, message)
}

function readBounded(fd: number, path: string): string {
  const bytes = Buffer.alloc(CREDENTIAL_BYTES_MAX + 1)
  let length = 0
  for (let read = -1; read !== 0 && length < bytes.length; length += read) {
    read = readSync(fd, bytes, length, bytes.length - length, null)
  }
  if (length <= CREDENTIAL_BYTES_MAX) return bytes.toString('utf8', 0, length)
  const message = `the credential file ${path} is over ${CREDENTIAL_BYTES_MAX} bytes, more than a credential has: name the file that holds the credential alone`
  throw new Refusal('too-large', { path, bytes: length, limit: CREDENTIAL_BYTES_MAX }, message)
}

/** White space around it and a byte order mark are the editor's, not the credential's. */
function credentialIn(text: string, source: string, { pointer }: Source): string {
  const clean = text.replace(/^\ufeff/, '').trim()
  const found = pointer === undefined ? clean : follow(clean, pointer)
  if (typeof found === 'string' && /^[\x21-\x7e]+$/.test(found)) return found
  const why = pointer === undefined ? 'is empty or holds more than one printable word' : `has no text at ${pointer}`
  throw new Refusal(
    'credential-missing',
    { source },
    `the credential in ${source} ${why}: put the key or token there, and nothing else`,
  )
}

/** Through own members alone: `constructor` is in no document. Undefined: it points at nothing. */
function follow(text: string, pointer: string): unknown {
  if (!pointer.startsWith('/')) return undefined
  return pointerKeys(pointer).reduce<unknown>((value, key) => {
    const inside = isJsonObject(value) || (Array.isArray(value) && /^(0|[1-9]\d*)$/.test(key))
    return inside && Object.hasOwn(value, key) ? (value as Record<string, unknown>)[key] : undefined
  }, parsedOrNull(text))
}
