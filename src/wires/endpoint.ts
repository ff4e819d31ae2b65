/** What of an endpoint is decided before any request: its base URL, the headers, the credential. Pure but for `read`. */
import { isRefusal, Refusal } from '../errors.js'
import { wordsOf } from './failure.js'
import type { Wire } from './wire.js'

/** Where the credential comes from. `read` is called for every request, so a file that was renewed is seen. */
export type Credential =
  | { readonly kind: 'none' }
  /**
   * `read` gives the bare value; what it throws fails the turn as unauthorized. A bearer travels as
   * `authorization: Bearer` and with nothing else; a key in the header that the wire has for it.
   */
  | { readonly kind: 'api-key' | 'bearer'; readonly read: () => string }

/** Headers that belong to the framing of the request. */
const NOT_OURS_TO_SET = /^(host|connection|content-length|transfer-encoding|te|trailer|upgrade|expect|proxy-.*)$/i

export interface HeaderParts {
  readonly wire: Pick<Wire, 'headers' | 'keyHeader'>
  readonly sessionId: string
  readonly credential: Credential
  /** Takes in what must never be shown. */
  readonly secrets: string[]
}

/** The headers of one request, lower case. The credential is read now and added to `secrets`. */
export function requestHeaders({ wire, sessionId, credential, secrets }: HeaderParts): Record<string, string> {
  return {
    accept: 'text/event-stream',
    'content-type': 'application/json',
    ...wire.headers(sessionId),
    ...authorization(wire, credential, secrets),
  }
}

function authorization(
  { keyHeader }: HeaderParts['wire'],
  credential: Credential,
  secrets: string[],
): Record<string, string> {
  if (credential.kind === 'none') return {}
  const value = readCredential(credential)
  if (!/^[\x21-\x7e]+$/.test(value)) {
    const message = `the ${credential.kind} is empty or holds characters that no header can carry; check where it comes from`
    throw new Refusal('credential-missing', { source: credential.kind }, message)
  }
  secrets.push(value)
  const header = credential.kind === 'bearer' ? 'authorization' : keyHeader
  return { [header]: header === 'authorization' ? `Bearer ${value}` : value }
}

/** Whatever keeps a credential from being read, the turn is unauthorized. */
function readCredential(credential: Exclude<Credential, { kind: 'none' }>): string {
  try {
    return credential.read().trim()
  } catch (error) {
    if (!isRefusal(error)) throw error
    throw new Refusal('credential-missing', { source: credential.kind }, error.message, { cause: error })
  }
}

/** Refuses `bad-arguments` with the option `flag` it is from; the text itself is not repeated, since it may hold a password. */
export function readBaseUrl(text: string, flag = '--base-url'): URL {
  const url = URL.canParse(text) ? new URL(text) : null
  const plain = url?.username === '' && url.password === '' && url.search === '' && url.hash === ''
  if (url !== null && plain && (url.protocol === 'http:' || url.protocol === 'https:')) return url
  throw new Refusal(
    'bad-arguments',
    { argument: flag },
    `the base URL (${flag}) cannot be used: give http:// or https://, a host and a path, without a user, a query or a fragment`,
  )
}

/** Where requests go: the base with the wire's path behind it, however many slashes the base ends in. */
export function endpointUrl(base: URL, path: string): URL {
  return new URL(`${base.href.replace(/\/+$/, '')}${path}`)
}

/** Names in lower case. Refuses `bad-arguments` by the header's name. */
export function readHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  for (const [name, value] of Object.entries(headers)) {
    if (/^[!#$%&'*+.^_`|~\w-]+$/.test(name) && !NOT_OURS_TO_SET.test(name) && /^[\t\x20-\x7e]*$/.test(value)) continue
    throw new Refusal(
      'bad-arguments',
      { argument: `--header ${name}` },
      `the header ${wordsOf(name)} cannot be sent: its name is reserved or no header name, or its value is not printable ASCII`,
    )
  }
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
}
