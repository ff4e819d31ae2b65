/**
 * A host in its one spelling, whatever was written: what is compared with the rules is what is dialled, so no spelling can mean
 * one thing here and another there. Pure.
 */
import { domainToASCII } from 'node:url'
import { DNS_LABEL_CHARS_MAX, DNS_NAME_CHARS_MAX, HOST_TEXT_CHARS_MAX } from '../bounds.js'
import { type Address, endsInNumber, readIpv4, readIpv6 } from './address.js'

export type Host =
  /** Lower case, A-labels (RFC 5890), without the dot of the root. Never something that reads as a number. */
  { readonly kind: 'name'; readonly text: string } | ({ readonly kind: 'address' } & Address)

export interface BadHost {
  readonly kind: 'bad'
  /** Continues "…: ". */
  readonly why: string
}

/** Everything that no host name and no address holds: blanks, controls, and what separates the parts of a URL. */
const FORBIDDEN = /[\u0000-\u0020\u007f%@/\\?#,;'"<>^`{|}()*!$&+=~]/

/** `text` is a name, an IPv4 address in any spelling, or an IPv6 address with or without brackets; no port. */
export function readHost(text: string): Host | BadHost {
  if (text === '') return bad('it is empty')
  if (text.length > HOST_TEXT_CHARS_MAX) return bad('it is longer than any name')
  if (FORBIDDEN.test(text)) return bad('it holds a character that no host has')
  if (/[[\]:]/.test(text)) return readBracketed(text)
  const ascii = isAscii(text) ? text : domainToASCII(text)
  if (ascii === '') return bad('it is no name that can be looked up (IDNA)')
  return readName(ascii.toLowerCase())
}

function readBracketed(text: string): Host | BadHost {
  const inner = /^\[([^[\]]*)\]$/.exec(text)?.[1] ?? text
  const address = readIpv6(inner)
  return address === null ? bad('it is no IPv6 address, and no name holds a colon') : { kind: 'address', ...address }
}

function readName(lower: string): Host | BadHost {
  const text = lower.endsWith('.') ? lower.slice(0, -1) : lower
  if (endsInNumber(text)) {
    const address = readIpv4(text)
    return address === null ? bad('it ends in a number and is no address') : { kind: 'address', ...address }
  }
  if (text.length > DNS_NAME_CHARS_MAX) return bad('it is longer than any name')
  const labels = text.split('.')
  if (labels.some(label => label === '')) return bad('it has an empty part')
  if (labels.some(label => label.length > DNS_LABEL_CHARS_MAX)) return bad('a part of it is longer than any name has')
  if (!labels.every(label => /^[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?$/.test(label))) return bad('it is no name of a host')
  return { kind: 'name', text }
}

function isAscii(text: string): boolean {
  return /^[\u0000-\u007f]*$/.test(text)
}

function bad(why: string): BadHost {
  return { kind: 'bad', why }
}

/** A port as decimal digits, 1 to 65 535; null otherwise. */
export function readPort(text: string): number | null {
  const port = /^[0-9]{1,5}$/.test(text) ? Number(text) : 0
  return port >= 1 && port <= 65_535 ? port : null
}

/** A host and a port as a request spells them together, in brackets where it is IPv6; null where there is no port (RFC 9110 §7.2). */
export function splitAuthority(text: string): { readonly host: string; readonly port: string } | null {
  const match = /^(\[[^[\]]*\]|[^[\]:]*):([^:]*)$/.exec(text)
  return match === null ? null : { host: match[1] ?? '', port: match[2] ?? '' }
}

/** As in a URL: IPv6 in brackets. */
export function hostText(host: Host): string {
  return host.kind === 'address' && host.family === 6 ? `[${host.text}]` : host.text
}
