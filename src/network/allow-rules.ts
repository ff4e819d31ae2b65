/**
 * `--allow-host` as rules, and what they say of a host and port. Pure.
 *
 * A name opens that name alone, `*.NAME` every name below it and not the name itself, an address that very address. Without a port
 * 80 and 443 are meant: what a URL without one would use. A rule that could be read in two ways refuses.
 */
import { ALLOWED_HOSTS_MAX } from '../bounds.js'
import { Refusal } from '../errors.js'
import type { NetworkDenialWhy } from '../outcome.js'
import { kindOf } from './address.js'
import { type Host, hostText, readHost, readPort, splitAuthority } from './host.js'

/** A host that the network is open to. */
export interface AllowedHost {
  /** `below`: every name that ends in `.host`, at any depth. */
  readonly kind: 'name' | 'below' | 'address'
  /** In its one spelling; see `readHost`. */
  readonly host: string
  /** At least one. */
  readonly ports: readonly number[]
  /** The flag as given. */
  readonly source: string
}

/** The ports of http and https URLs. */
const DEFAULT_PORTS: readonly number[] = [80, 443]

/** Names for the own machine, on whatever it runs (RFC 6761 §6.3). */
const LOCAL_NAME = /(^|\.)localhost$/

/** The rules in the order they were given, doubles left out. Throws `unsupported-rule` for what is no rule, with one that works. */
export function readAllowRules(given: readonly string[]): readonly AllowedHost[] {
  if (given.length > ALLOWED_HOSTS_MAX) {
    throw refusal('--allow-host', `more than ${ALLOWED_HOSTS_MAX} are given`, 'use *.NAME for names with a common end')
  }
  const rules = given.map(readRule)
  const seen = new Map(rules.map(rule => [`${rule.kind} ${rule.host} ${rule.ports.join()}`, rule]))
  return [...seen.values()]
}

function readRule(given: string): AllowedHost {
  const source = `--allow-host ${given}`
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(given)) throw refusal(source, 'it is a URL', 'write NAME or NAME:PORT')
  const { text, port } = splitRule(given)
  const ports = port === null ? DEFAULT_PORTS : portsOf(source, port)
  if (text.includes('*')) return wildcard(source, text, ports)
  if (/^[\d.]+\/\d+$/.test(text)) throw refusal(source, 'a range is no address', 'name each address that is meant')
  const host = readHost(text)
  if (host.kind === 'bad')
    throw refusal(source, host.why, 'write NAME, NAME:PORT, 192.0.2.1:PORT or [2001:db8::1]:PORT')
  return host.kind === 'name' ? named(source, host.text, ports) : literal(source, host, text, ports)
}

/** Colons in an address without brackets are the address's own. */
function splitRule(given: string): { readonly text: string; readonly port: string | null } {
  const bare = !given.startsWith('[') && given.indexOf(':') !== given.lastIndexOf(':')
  const split = bare ? null : splitAuthority(given)
  return split === null ? { text: given, port: null } : { text: split.host, port: split.port }
}

function portsOf(source: string, text: string): readonly number[] {
  const port = readPort(text)
  if (port === null)
    throw refusal(source, `${JSON.stringify(text)} is no port`, 'write one from 1 to 65535, or none for 80 and 443')
  return [port]
}

function named(source: string, host: string, ports: readonly number[]): AllowedHost {
  if (LOCAL_NAME.test(host)) {
    throw refusal(source, 'that name means this machine, on which nothing is open by name', 'write 127.0.0.1:PORT')
  }
  return { kind: 'name', host, ports, source }
}

function wildcard(source: string, text: string, ports: readonly number[]): AllowedHost {
  const rest = text.startsWith('*.') ? text.slice(2) : ''
  const host = readHost(rest)
  if (host.kind !== 'name' || rest.includes('*')) {
    throw refusal(source, 'a star stands at the front, for whole parts of a name', 'write *.example.org')
  }
  if (!host.text.includes('.') || LOCAL_NAME.test(host.text)) {
    throw refusal(source, 'it would open more than one owner’s names', 'write *.example.org')
  }
  return { kind: 'below', host: host.text, ports, source }
}

/** One spelling alone, so that a rule can be read; a request may use any. */
function literal(
  source: string,
  host: Extract<Host, { kind: 'address' }>,
  text: string,
  ports: readonly number[],
): AllowedHost {
  const written = text.toLowerCase().replace(/^\[|\]$/g, '')
  if (written !== host.text) {
    const port = ports === DEFAULT_PORTS ? '' : `:${ports.join()}`
    throw refusal(source, `it means the address ${host.text}`, `write ${hostText(host)}${port}`)
  }
  const kind = kindOf(host)
  if (kind === 'unspecified') {
    throw refusal(
      source,
      'it is the address of no host, and means this machine where it is dialled',
      'write 127.0.0.1:PORT',
    )
  }
  return { kind: 'address', host: host.text, ports, source }
}

function refusal(rule: string, why: string, instead: string): Refusal {
  return new Refusal('unsupported-rule', { rule, why }, `${rule}: ${why}; ${instead}`)
}

/** Null where a rule names `host` with `port`; else which of the two none names. */
export function deniedBy(
  rules: readonly AllowedHost[],
  host: Host,
  port: number,
): Extract<NetworkDenialWhy, 'host-not-allowed' | 'port-not-allowed'> | null {
  const matching = rules.filter(rule => names(rule, host))
  if (matching.length === 0) return 'host-not-allowed'
  return matching.some(({ ports }) => ports.includes(port)) ? null : 'port-not-allowed'
}

function names({ kind, host: named }: AllowedHost, host: Host): boolean {
  if (kind === 'address') return host.kind === 'address' && host.text === named
  if (host.kind !== 'name') return false
  return kind === 'name' ? host.text === named : host.text.endsWith(`.${named}`)
}

/** A rule for people: `*.example.org:443`, and without ports where they are the usual two. */
export function ruleText({ kind, host, ports }: AllowedHost): string {
  const name = kind === 'below' ? `*.${host}` : host.includes(':') ? `[${host}]` : host
  return ports === DEFAULT_PORTS ? name : `${name}:${ports.join(',')}`
}
