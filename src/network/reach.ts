/**
 * From a host and a port to a connection: the rules are asked, a name is looked up once, every address of the answer is judged,
 * and one that was judged is dialled. Nothing looks a name up a second time, so an answer that changes changes nothing.
 */
import { connect, type Socket } from 'node:net'
import { NETWORK_CONNECT_MS, NETWORK_LOOKUP_MS } from '../bounds.js'
import type { NetworkDenialWhy } from '../outcome.js'
import { onAbort } from '../supervise/on-abort.js'
import { type Address, kindOf, readAddress } from './address.js'
import { type AllowedHost, deniedBy } from './allow-rules.js'
import { type Host, hostText, readHost, readPort } from './host.js'

/** The addresses of a name, as text. Rejects with a system error where there are none. `signal` aborted: nobody waits for it any more. */
export type Resolve = (name: string, signal: AbortSignal) => Promise<readonly string[]>

export interface ReachSeams {
  readonly resolve: Resolve
  /** The addresses of this machine's own interfaces, asked at each dial because they change. */
  readonly ownAddresses: () => readonly string[]
}

export type Opened =
  /** `authority`: what was judged, in its one spelling, with the port where it is not 80 (RFC 9110 §4.2.1). */
  | { readonly kind: 'open'; readonly socket: Socket; readonly authority: string }
  | { readonly kind: 'denied'; readonly why: NetworkDenialWhy; readonly host: string; readonly port: number | null }
  /** The rules open it, and nobody answers there. */
  | { readonly kind: 'failed'; readonly why: 'unresolved' | 'unreachable' | 'timed-out' }

/** What is asked for, as it was written. */
export interface Asked {
  readonly host: string
  readonly port: string
}

/** What was asked for, read and let through by the rules; or why it is not. */
export type Judged =
  | { readonly kind: 'allowed'; readonly host: Host; readonly port: number }
  | Extract<Opened, { kind: 'denied' }>

/** Pure: what the rules say before any name is looked up. */
export function judge(rules: readonly AllowedHost[], asked: Asked): Judged {
  const host = readHost(asked.host)
  const port = readPort(asked.port)
  if (host.kind === 'bad') return { kind: 'denied', why: 'bad-host', host: asked.host, port }
  if (port === null) return { kind: 'denied', why: 'bad-request', host: host.text, port }
  const why = deniedBy(rules, host, port)
  return why === null ? { kind: 'allowed', host, port } : { kind: 'denied', why, host: host.text, port }
}

export class Reach {
  constructor(
    private readonly rules: readonly AllowedHost[],
    private readonly seams: ReachSeams,
  ) {}

  /** Asks the rules, then dials. `signal` aborted: the socket on the way is destroyed and the answer is `failed`. */
  async open(asked: Asked, signal: AbortSignal): Promise<Opened> {
    const judged = judge(this.rules, asked)
    if (judged.kind === 'denied') return judged
    const { host, port } = judged
    const authority = port === 80 ? hostText(host) : `${hostText(host)}:${port}`
    if (host.kind === 'address') return dial([host], { port, authority, signal })
    const addresses = await this.#lookUp(host.text, signal)
    if (addresses === null) return { kind: 'failed', why: 'unresolved' }
    const open = addresses.filter(address => this.#mayBeDialled(address, port))
    if (open.length === 0) return { kind: 'denied', why: 'address-not-allowed', host: host.text, port }
    return dial(open, { port, authority, signal })
  }

  /** Null: there is no answer. What is no address in it is left out. */
  async #lookUp(name: string, signal: AbortSignal): Promise<readonly Address[] | null> {
    try {
      const texts = await within(NETWORK_LOOKUP_MS, signal, given => this.seams.resolve(name, given))
      const addresses = (texts ?? []).map(readAddress).filter(address => address !== null)
      return addresses.length === 0 ? null : addresses
    } catch (error) {
      // Codes of getaddrinfo(3) (`EAI_AGAIN`, `ENOTFOUND`), or of whoever stands in for it; anything else is a bug.
      if (typeof (error as { code?: unknown } | null)?.code !== 'string') throw error
      return null
    }
  }

  /** A name leads to the outside alone, unless the very address is named too. */
  #mayBeDialled(address: Address, port: number): boolean {
    if (deniedBy(this.rules, { kind: 'address', ...address }, port) === null) return true
    if (kindOf(address) !== 'public') return false
    return !this.seams.ownAddresses().some(own => readAddress(own.replace(/%.*$/, ''))?.text === address.text)
  }
}

/** Null: not in time, or not wanted any more. What comes later is nobody's. */
async function within<Value>(
  ms: number,
  signal: AbortSignal,
  ask: (given: AbortSignal) => Promise<Value>,
): Promise<Value | null> {
  const given = new AbortController()
  const late = new Promise<null>(resolve => onAbort(given.signal, () => resolve(null)))
  const timer = setTimeout(() => given.abort(), ms)
  const forget = onAbort(signal, () => given.abort())
  try {
    return await Promise.race([late, ask(given.signal)])
  } finally {
    clearTimeout(timer)
    forget()
  }
}

interface Dial {
  readonly port: number
  readonly authority: string
  readonly signal: AbortSignal
}

/**
 * The first of `addresses` that answers. Where there are several, Node tries them one after the other without waiting long for
 * each (RFC 8305); it gets them from us, so that what it dials is what was judged.
 */
function dial(addresses: readonly Address[], { port, authority, signal }: Dial): Promise<Opened> {
  if (signal.aborted) return Promise.resolve({ kind: 'failed', why: 'unreachable' })
  const list = addresses.map(({ text, family }) => ({ address: text, family }))
  const socket = connect({
    host: list.length === 1 ? (list[0]?.address ?? '') : 'judged.invalid',
    port,
    allowHalfOpen: true,
    noDelay: true,
    ...(list.length === 1 ? {} : { autoSelectFamily: true, lookup: (_name, _options, answer) => answer(null, list) }),
  })
  return new Promise(resolve => {
    const settle = (opened: Opened): void => {
      clearTimeout(timer)
      forget()
      socket.off('error', gone).off('connect', came)
      if (opened.kind !== 'open') socket.on('error', () => undefined).destroy()
      resolve(opened)
    }
    const gone = (): void => settle({ kind: 'failed', why: 'unreachable' })
    const came = (): void => settle({ kind: 'open', socket, authority })
    const timer = setTimeout(() => settle({ kind: 'failed', why: 'timed-out' }), NETWORK_CONNECT_MS)
    const forget = onAbort(signal, gone)
    socket.once('error', gone).once('connect', came)
  })
}
