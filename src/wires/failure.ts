/** What an endpoint's answer means when it is no turn: statuses, error objects, `Retry-After`. Pure. */
import { isJsonObject } from '../json.js'
import type { WireFailure } from './port.js'

/** Characters of an endpoint's own words that reach a message of ours. */
const WORDS_CHARS_MAX = 600

/** Error codes inside a stream by what they mean; any other is `refused`. */
const CODES: Readonly<Record<string, Pick<WireFailure, 'code' | 'retriable'>>> = {
  rate_limit_exceeded: { code: 'rate-limited', retriable: true },
  server_error: { code: 'transport', retriable: true },
  server_is_overloaded: { code: 'transport', retriable: true },
  overloaded_error: { code: 'transport', retriable: true },
  slow_down: { code: 'rate-limited', retriable: true },
  vector_store_timeout: { code: 'transport', retriable: true },
  context_length_exceeded: { code: 'too-large', retriable: false },
  invalid_api_key: { code: 'unauthorized', retriable: false },
}

/** The endpoint did not keep to the protocol; the same request would meet the same. `what` continues "the endpoint". */
export function protocolFailure(what: string): WireFailure {
  return { code: 'protocol', retriable: false, message: `the endpoint ${what}` }
}

/** A foreign value as one line without control characters, cut at the bound. Absent reads as `nothing`. */
export function wordsOf(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? 'nothing')
  return cutText(text.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ').trim(), WORDS_CHARS_MAX)
}

/** At most `max` characters, never half of a surrogate pair; a cut is marked. */
export function cutText(text: string, max: number): string {
  return text.length > max ? `${text.slice(0, max).replace(/[\ud800-\udbff]$/, '')}…` : text
}

/** The `error` object of a `response.failed` or `error` event. */
export function failureOfErrorObject(error: unknown): WireFailure {
  const code = isJsonObject(error) ? error.code : null
  const type = isJsonObject(error) ? error.type : null
  const known = [code, type].find(one => typeof one === 'string' && Object.hasOwn(CODES, one))
  const meaning = typeof known === 'string' ? CODES[known] : undefined
  return {
    code: meaning?.code ?? 'refused',
    retriable: meaning?.retriable ?? false,
    message: `the endpoint failed the turn: ${errorWords(error)}`,
  }
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

function meaningOfStatus(status: number): Pick<WireFailure, 'code' | 'retriable'> {
  if (status === 401 || status === 403) return { code: 'unauthorized', retriable: false }
  if (status === 429) return { code: 'rate-limited', retriable: true }
  if (status === 408 || status >= 500) return { code: 'transport', retriable: true }
  return { code: 'refused', retriable: false }
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

/** The error inside a JSON body, by the shapes servers use, else the text itself. */
function bodyError(body: string): unknown {
  try {
    const value: unknown = JSON.parse(body)
    return isJsonObject(value) && value.error !== undefined ? value.error : value
  } catch {
    return body
  }
}

function errorWords(error: unknown): string {
  if (!isJsonObject(error)) return wordsOf(error)
  const { message, code, type } = error
  const label = [code, type].find(one => typeof one === 'string' && one !== '')
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
