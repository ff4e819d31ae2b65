/** Names of sessions (contract §17). Pure but for the clock. */
import { SESSION_ID_CHARS_MAX } from '../bounds.js'

/** ASCII letters, digits, `-_.`; no dot in front and no two in a row, so that a name never leaves its folder. */
export function isSessionId(text: string): boolean {
  return text.length <= SESSION_ID_CHARS_MAX && /^[A-Za-z0-9_-][A-Za-z0-9_.-]*$/.test(text) && !text.includes('..')
}

/** 16 hex digits of nanoseconds since 1970, `-`, 8 of the pid: later ones sort behind earlier ones. */
export function newSessionId(): string {
  const nanoseconds = BigInt(Date.now()) * 1_000_000n + (process.hrtime.bigint() % 1_000_000n)
  return `${nanoseconds.toString(16).padStart(16, '0')}-${process.pid.toString(16).padStart(8, '0')}`
}

/** The session of the `n`-th delegate of `parent`. */
export function delegateId(parent: string, n: number): string {
  return `${parent}.d${n}`
}

/** Sessions of a flow's sections, `<flow>.root.…`: they are gone on with by the flow (contract §22). */
export function isOfFlow(id: string): boolean {
  return /^[^.]+\.root\./.test(id)
}

/** File name → id and kind; null for a name that is no session's. */
export function sessionOfName(name: string): { readonly id: string; readonly version: 1 | 2 } | null {
  const [, id, ending] = /^(.+)\.(jsonl|json)$/.exec(name) ?? []
  if (id === undefined || !isSessionId(id)) return null
  return { id, version: ending === 'jsonl' ? 2 : 1 }
}
