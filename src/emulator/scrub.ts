/** Takes secrets out of what is recorded: the values of the exchange's own headers, and what looks like a credential. Pure. */
import type { IncomingHttpHeaders } from 'node:http'
import { isJsonObject, type Json } from '../json.js'
import { redactor } from '../wires/redact.js'

/** Headers whose values name or admit somebody: credentials, cookies, accounts and organizations. */
const TELLING =
  /auth|key|token|secret|cookie|credential|session|organi[sz]ation|\borg\b|project|workspace|account|user-id/i
/** Shorter values would be found all over ordinary text. */
const VALUE_CHARS_MIN = 8

/** Shapes that vendors give their credentials and ids. */
const SHAPES: readonly RegExp[] = [
  /\b(?:sk|rk|pk)-[A-Za-z0-9_-]{16,}/g,
  /\b(?:org|proj|user|acct)[-_][A-Za-z0-9]{16,}/g,
  /\bgh[pousr]_[A-Za-z0-9]{30,}/g,
  /\bgithub_pat_[A-Za-z0-9_]{30,}/g,
  /\bglpat-[A-Za-z0-9_-]{16,}/g,
  /\bxox[abeoprs]-[A-Za-z0-9-]{10,}/g,
  /\bAKIA[A-Z0-9]{16}\b/g,
  /\bAIza[A-Za-z0-9_-]{30,}/g,
  /\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*/g,
  /\b[Bb]earer +[A-Za-z0-9._~+/-]{16,}=*/g,
  /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g,
]

/** The secret values of these headers: the whole, and without the word of its scheme or the names of cookies. */
export function secretsOf(headers: IncomingHttpHeaders): readonly string[] {
  const values = Object.entries(headers)
    .filter(([name]) => TELLING.test(name))
    .flatMap(([, value]) => value ?? [])
  const parts = values.flatMap(value => [value, ...value.split(/[\s;,]+/), ...cookieValues(value)])
  return [...new Set(parts)].filter(part => part.length >= VALUE_CHARS_MIN)
}

function cookieValues(value: string): readonly string[] {
  return [...value.matchAll(/[^=;\s]+=([^;\s]+)/g)].map(match => match[1] ?? '')
}

/** `value` with every text in it cleaned; keys stay as they are. */
export function scrub<Value>(value: Value, secrets: readonly string[]): Value {
  const redact = redactor(secrets)
  const clean = (text: string): string =>
    SHAPES.reduce((left, shape) => left.replace(shape, '[redacted]'), redact(text))
  const walk = (one: Json): Json => {
    if (typeof one === 'string') return clean(one)
    if (Array.isArray(one)) return (one as readonly Json[]).map(walk)
    if (isJsonObject(one)) return Object.fromEntries(Object.entries(one).map(([key, inner]) => [key, walk(inner)]))
    return one
  }
  return walk(value as Json) as Value
}
