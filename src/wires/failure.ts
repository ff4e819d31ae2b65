/** What an endpoint's answer means when it is no turn: statuses, error objects, `Retry-After`. Pure. */
import { isJsonObject } from '../json.js'
import type { WireFailure } from './port.js'

/** Characters of an endpoint's own words that reach a message of ours. */
const WORDS_CHARS_MAX = 600

type Meaning = Pick<WireFailure, 'code' | 'retriable'>

const TRANSPORT: Meaning = { code: 'transport', retriable: true }
const RATE_LIMITED: Meaning = { code: 'rate-limited', retriable: true }
const UNAUTHORIZED: Meaning = { code: 'unauthorized', retriable: false }
const TOO_LARGE: Meaning = { code: 'too-large', retriable: false }
const REFUSED: Meaning = { code: 'refused', retriable: false }

/** Error codes and types inside a stream by what they mean; any other is `refused`. */
const CODES: Readonly<Record<string, Meaning>> = {
  // Responses and Chat Completions.
  rate_limit_exceeded: RATE_LIMITED,
  slow_down: RATE_LIMITED,
  server_error: TRANSPORT,
  internal_server_error: TRANSPORT,
  service_unavailable: TRANSPORT,
  server_is_overloaded: TRANSPORT,
  vector_store_timeout: TRANSPORT,
  context_length_exceeded: TOO_LARGE,
  exceed_context_size_error: TOO_LARGE,
  invalid_api_key: UNAUTHORIZED,
  // Messages.
  overloaded_error: TRANSPORT,
  api_error: TRANSPORT,
  timeout_error: TRANSPORT,
  rate_limit_error: RATE_LIMITED,
  authentication_error: UNAUTHORIZED,
  permission_error: UNAUTHORIZED,
  request_too_large: TOO_LARGE,
}

/** The endpoint did not keep to the protocol; the same request would meet the same. `what` continues "the endpoint". */
export function protocolFailure(what: string): WireFailure {
  return { code: 'protocol', retriable: false, message: `the endpoint ${what}` }
}

/** A foreign value as one line without control characters, cut at the bound. Absent reads as `nothing`. */
export function wordsOf(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? 'nothing')
  return cutText(lineOf(text), WORDS_CHARS_MAX)
}

/** One line without control characters, as long as it is. */
export function lineOf(text: string): string {
  return text.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ').trim()
}

/** At most `max` characters, never half of a surrogate pair; a cut is marked. */
export function cutText(text: string, max: number): string {
  return text.length > max ? `${text.slice(0, max).replace(/[\ud800-\udbff]$/, '')}…` : text
}

/** The stream ended, cleanly or not, before the endpoint said how the turn did. */
export function endedEarly(): WireFailure {
  return { ...TRANSPORT, message: 'the endpoint ended the stream before the turn was over' }
}

/** An error that came inside a stream: an object with a code or a type, where some servers repeat a status, or a text. */
export function failureOfErrorObject(error: unknown): WireFailure {
  return { ...meaningOfError(error), message: `the endpoint failed the turn: ${errorWords(error)}` }
}

function meaningOfError(error: unknown): Meaning {
  const { code, type } = isJsonObject(error) ? error : {}
  const known = [code, type].find(one => typeof one === 'string' && Object.hasOwn(CODES, one))
  if (typeof known === 'string') return CODES[known] ?? REFUSED
  const status = typeof code === 'string' && /^[45]\d\d$/.test(code) ? Number(code) : code
  return typeof status === 'number' && status >= 400 && status <= 599 ? meaningOfStatus(status) : REFUSED
}

/** An HTTP status outside 2xx (contract §20). `body` is what was read of it, at most the bound. */
export function failureOfStatus(
  status: number,
  body: string,
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
  nowMs: number,
): WireFailure {
  const retryAfterMs = retryAfter(headers, nowMs)
  return {
    ...meaningOfStatus(status),
    status,
    message: statusMessage(status, body, headers.location),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  }
}

function meaningOfStatus(status: number): Meaning {
  if (status === 401 || status === 403) return UNAUTHORIZED
  if (status === 429) return RATE_LIMITED
  return status === 408 || status >= 500 ? TRANSPORT : REFUSED
}

function statusMessage(status: number, body: string, location: unknown): string {
  if (status >= 300 && status < 400) {
    // The target may carry a token in its query.
    const target = typeof location === 'string' ? ` to ${wordsOf(location.split(/[?#]/)[0])}` : ''
    return `the endpoint answered ${status}, a redirect${target}; redirects are not followed: name the final base URL`
  }
  const words = errorWords(bodyError(body))
  return `the endpoint answered ${status}${words === '' ? '' : `: ${words}`}`
}

/** The error inside a JSON body, by the shapes servers use (some put it into an array), else the text itself. */
function bodyError(body: string): unknown {
  try {
    const parsed: unknown = JSON.parse(body)
    const value: unknown = Array.isArray(parsed) ? parsed[0] : parsed
    return isJsonObject(value) ? (value.error ?? value.detail ?? value) : value
  } catch {
    return body
  }
}

function errorWords(error: unknown): string {
  if (!isJsonObject(error)) return wordsOf(error)
  const { message, code, type } = error
  const label = [code, type].find(one => typeof one === 'number' || (typeof one === 'string' && one !== ''))
  if (typeof message !== 'string' || message === '') return wordsOf(label ?? error)
  return label === undefined ? wordsOf(message) : `${wordsOf(message)} (${wordsOf(label)})`
}

/**
 * Milliseconds to wait, from `retry-after-ms`, else `Retry-After` in seconds (fractions are read, though RFC 9110
 * §10.2.3 has none) or as an HTTP date; a past date is 0. Undefined when absent, negative or unreadable.
 */
export function retryAfter(
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
  nowMs: number,
): number | undefined {
  const millis = decimal(headers['retry-after-ms'])
  if (millis !== undefined) return Math.ceil(millis)
  const value = headers['retry-after']
  const seconds = decimal(value)
  if (seconds !== undefined) return Math.ceil(seconds * 1000)
  // Only what begins like an HTTP date: Date.parse takes "-5" and "abc 1" for dates.
  if (typeof value !== 'string' || !/^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? /.test(value)) return undefined
  const at = Date.parse(value)
  return Number.isNaN(at) ? undefined : Math.max(0, at - nowMs)
}

function decimal(value: unknown): number | undefined {
  return typeof value === 'string' && /^\d{1,12}(\.\d{1,9})?$/.test(value.trim()) ? Number(value) : undefined
}
