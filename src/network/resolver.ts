/**
 * Names looked up as this machine does (/etc/hosts, DNS, whatever nsswitch.conf says), a few at a time: each look-up holds one of
 * the threads that Node shares with the files of this process, and a confined program can ask for any number (getaddrinfo(3)).
 */
import { lookup } from 'node:dns/promises'
import { NETWORK_LOOKUPS_AT_ONCE } from '../bounds.js'
import type { Resolve } from './reach.js'

let running = 0
const waiting: (() => void)[] = []

/** Rejects with the system's error where a name has no address. */
export const resolveHere: Resolve = async name => {
  if (running >= NETWORK_LOOKUPS_AT_ONCE) await new Promise<void>(resolve => waiting.push(resolve))
  running++
  try {
    return (await lookup(name, { all: true, verbatim: true })).map(({ address }) => address)
  } finally {
    running--
    waiting.shift()?.()
  }
}
