/**
 * Addresses of both families: read in every spelling that a resolver would read, written in one, and sorted by what lies
 * behind them. Pure.
 *
 * An address is public where nothing else is known of it for IPv4, and for IPv6 where it is inside the one block that is given
 * out to anybody (2000::/3) and in none of the parts with another meaning: unknown is not public.
 */

/** What an address leads to. Only `public` is dialled for a name; the others have to be named as they are. */
export type AddressKind = 'public' | 'loopback' | 'private' | 'link-local' | 'metadata' | 'unspecified' | 'reserved'

/** An address in its one spelling: IPv4 as four decimal numbers, IPv6 as RFC 5952 has it, IPv4-mapped IPv6 as IPv4. */
export interface Address {
  readonly family: 4 | 6
  readonly text: string
}

/** Octets of `text` as inet_aton(3) reads it: one to four parts, decimal, octal (`0…`) or hexadecimal (`0x…`); null otherwise. */
function looseOctets(text: string): readonly number[] | null {
  const parts = text.split('.')
  if (parts.length > 4) return null
  const values = parts.map(partValue)
  if (values.some(value => value === null)) return null
  const numbers = values as number[]
  const last = numbers.pop() ?? 0
  const room = 256 ** (4 - numbers.length)
  if (numbers.some(value => value > 255) || last >= room) return null
  const whole = numbers.reduce((sum, value, at) => sum + value * 256 ** (3 - at), last)
  return [24, 16, 8, 0].map(shift => Math.floor(whole / 2 ** shift) % 256)
}

function partValue(part: string): number | null {
  if (/^0x[0-9a-f]{1,8}$/i.test(part)) return Number.parseInt(part.slice(2), 16)
  if (/^0[0-7]{1,11}$/.test(part)) return Number.parseInt(part, 8)
  return /^(0|[1-9][0-9]{0,9})$/.test(part) ? Number(part) : null
}

/** True where the last label is a number: then the whole is an address or nothing, never a name (URL Standard, "ends in a number"). */
export function endsInNumber(host: string): boolean {
  return /^([0-9]+|0x[0-9a-f]*)$/i.test(host.slice(host.lastIndexOf('.') + 1))
}

/** An IPv4 address in any spelling that inet_aton(3) takes; null where it takes none of it. */
export function readIpv4(text: string): Address | null {
  const octets = looseOctets(text)
  return octets === null ? null : { family: 4, text: octets.join('.') }
}

/** An IPv6 address without brackets and without a zone (RFC 4291 §2.2); null otherwise. IPv4-mapped ones come back as IPv4. */
export function readIpv6(text: string): Address | null {
  const groups = groupsOf(text)
  if (groups === null) return null
  const mapped = groups.slice(0, 5).every(group => group === 0) && groups[5] === 0xffff
  return mapped ? { family: 4, text: embedded(groups) } : { family: 6, text: canonical(groups) }
}

/** Either family, as a resolver or an interface tells it; null where it is neither. */
export function readAddress(text: string): Address | null {
  return text.includes(':') ? readIpv6(text) : readIpv4(text)
}

function groupsOf(text: string): readonly number[] | null {
  const halves = text.split('::')
  if (halves.length > 2) return null
  const [head, tail] = [groupsIn(halves[0] ?? ''), halves[1] === undefined ? [] : groupsIn(halves[1])]
  if (head === null || tail === null) return null
  const missing = 8 - head.length - tail.length
  if (halves.length === 1) return missing === 0 ? head : null
  return missing < 1 ? null : [...head, ...Array.from({ length: missing }, () => 0), ...tail]
}

/** Without leading zeros, which some read as octal. */
const DOTTED = /^(0|[1-9]\d{0,2})(\.(0|[1-9]\d{0,2})){3}$/

/** Groups of one side of `::`; the last may be an IPv4 address. Empty for no text. */
function groupsIn(text: string): readonly number[] | null {
  if (text === '') return []
  const words = text.split(':')
  const groups: number[] = []
  for (const [at, word] of words.entries()) {
    if (/^[0-9a-f]{1,4}$/i.test(word)) groups.push(Number.parseInt(word, 16))
    else if (at === words.length - 1 && DOTTED.test(word)) {
      const octets = looseOctets(word)
      if (octets === null) return null
      const [a = 0, b = 0, c = 0, d = 0] = octets
      groups.push(a * 256 + b, c * 256 + d)
    } else return null
  }
  return groups
}

/** RFC 5952: lower case, no leading zeros, `::` for the first of the longest runs of at least two zeros. */
function canonical(groups: readonly number[]): string {
  const words = groups.map(group => group.toString(16))
  const { start, length } = longestZeros(groups)
  if (length < 2) return words.join(':')
  return `${words.slice(0, start).join(':')}::${words.slice(start + length).join(':')}`
}

function longestZeros(groups: readonly number[]): { readonly start: number; readonly length: number } {
  let best = { start: 0, length: 0 }
  for (let start = 0; start < groups.length; start++) {
    let end = start
    while (groups[end] === 0) end++
    if (end - start > best.length) best = { start, length: end - start }
  }
  return best
}

/** The IPv4 address in the last two groups. */
function embedded(groups: readonly number[]): string {
  return groups
    .slice(6)
    .flatMap(group => [group >> 8, group & 0xff])
    .join('.')
}

type Block = readonly [prefix: string, kind: AddressKind]

/** IANA's registries of special addresses (RFC 6890 and what it lists), and the clouds' own; the first block that fits counts. */
const BLOCKS: Readonly<Record<4 | 6, readonly Block[]>> = {
  4: [
    ['0.0.0.0/8', 'unspecified'],
    ['127.0.0.0/8', 'loopback'],
    // Where clouds tell a machine who it is, with keys: the address of most, and those of Azure, Alibaba and Oracle.
    ['169.254.169.254/32', 'metadata'],
    ['169.254.170.2/32', 'metadata'],
    ['168.63.129.16/32', 'metadata'],
    ['100.100.100.200/32', 'metadata'],
    ['192.0.0.192/32', 'metadata'],
    ['169.254.0.0/16', 'link-local'],
    ['10.0.0.0/8', 'private'],
    ['172.16.0.0/12', 'private'],
    ['192.168.0.0/16', 'private'],
    ['100.64.0.0/10', 'private'],
    ['192.0.0.0/24', 'reserved'],
    ['192.0.2.0/24', 'reserved'],
    ['192.88.99.0/24', 'reserved'],
    ['198.18.0.0/15', 'reserved'],
    ['198.51.100.0/24', 'reserved'],
    ['203.0.113.0/24', 'reserved'],
    // Multicast, the reserved class and broadcast.
    ['224.0.0.0/3', 'reserved'],
  ],
  6: [
    ['::/128', 'unspecified'],
    ['::1/128', 'loopback'],
    ['fd00:ec2::254/128', 'metadata'],
    ['fc00::/7', 'private'],
    ['fec0::/10', 'private'],
    ['64:ff9b:1::/48', 'private'],
    ['fe80::/10', 'link-local'],
    // Protocol assignments, Teredo and ORCHID; documentation; 6to4, whose relays go to an IPv4 address inside.
    ['2001::/23', 'reserved'],
    ['2001:db8::/32', 'reserved'],
    ['2002::/16', 'reserved'],
    ['3fff::/20', 'reserved'],
    ['2000::/3', 'public'],
  ],
}

/** What lies behind `address`. A translator's address (64:ff9b::/96, RFC 6052) is what the IPv4 address in it is. */
export function kindOf({ family, text }: Address): AddressKind {
  const bits = bitsOf(family, text)
  if (family === 6 && fits(bits, '64:ff9b::/96')) {
    return kindOf({ family: 4, text: embedded(groupsOf(text) ?? []) })
  }
  const found = BLOCKS[family].find(([prefix]) => fits(bits, prefix))
  return found?.[1] ?? (family === 4 ? 'public' : 'reserved')
}

function fits(bits: string, prefix: string): boolean {
  const [address = '', length = ''] = prefix.split('/')
  return bits.startsWith(bitsOf(address.includes(':') ? 6 : 4, address).slice(0, Number(length)))
}

function bitsOf(family: 4 | 6, text: string): string {
  const [parts, width] = family === 4 ? [text.split('.').map(Number), 8] : [groupsOf(text) ?? [], 16]
  return parts.map(part => part.toString(2).padStart(width, '0')).join('')
}
