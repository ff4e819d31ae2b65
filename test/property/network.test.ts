/** Whatever is written for a host, the rules let through what they name and nothing else: held to the URL parser of Node as a second reader. */
import fc from 'fast-check'
import t from 'tap'
import { readAddress } from '../../src/network/address.js'
import { readAllowRules } from '../../src/network/allow-rules.js'
import { readHost } from '../../src/network/host.js'
import { judge } from '../../src/network/reach.js'

const RUNS = 10_000

/** Rules, and beside each the answers that the second reader may give for it. */
const RULES = [
  'good.test',
  'b\u00fccher.example:443',
  '*.wild.test:8080',
  '127.0.0.1:3000',
  '10.1.2.3',
  '[2001:db8::1]:443',
  '[::1]:3000',
]
const rules = readAllowRules(RULES)

const NAMED: readonly { readonly opens: (host: string) => boolean; readonly ports: readonly number[] }[] = [
  { opens: host => host === 'good.test', ports: [80, 443] },
  { opens: host => host === 'xn--bcher-kva.example', ports: [443] },
  { opens: host => host.endsWith('.wild.test'), ports: [8080] },
  { opens: host => host === '127.0.0.1' || host === '[::ffff:7f00:1]', ports: [3000] },
  { opens: host => host === '10.1.2.3' || host === '[::ffff:a01:203]', ports: [80, 443] },
  { opens: host => host === '[2001:db8::1]', ports: [443] },
  { opens: host => host === '[::1]', ports: [3000] },
]

/** The host as the URL Standard reads it, without the dot of the root; null where it is none. */
function secondReading(text: string): string | null {
  const bracketed = text.includes(':') && !text.startsWith('[') ? `[${text}]` : text
  try {
    return new URL(`http://${bracketed}/`).hostname.replace(/\.$/, '')
  } catch {
    return null
  }
}

const hex = (value: number): string => `0x${value.toString(16)}`
const octal = (value: number): string => `0${value.toString(8)}`
const plain = String
const number = fc.constantFrom(hex, octal, plain)

/** An IPv4 address in one of the many ways to write it. */
const ipv4 = fc
  .tuple(
    fc.constantFrom(0x7f000001, 0x0a010203, 0x7f000002, 0, 0xa9fea9fe, 0x08080808),
    fc.integer({ min: 1, max: 4 }),
    number,
    number,
    number,
    number,
  )
  .map(([whole, parts, ...spell]) => {
    const octets = [24, 16, 8, 0].map(shift => Math.floor(whole / 2 ** shift) % 256)
    const head = octets.slice(0, parts - 1)
    const tail = octets.slice(parts - 1).reduce((sum, octet) => sum * 256 + octet, 0)
    return [...head, tail].map((value, at) => (spell[at] ?? plain)(value)).join('.')
  })

const ipv6 = fc
  .tuple(
    fc.constantFrom(
      '::1',
      '::ffff:127.0.0.1',
      '::ffff:7f00:1',
      '64:ff9b::7f00:1',
      '2001:db8::1',
      '::',
      '::7f00:1',
      '::ffff:10.1.2.3',
      '2001:db8:0:0:0:0:0:1',
    ),
    fc.boolean(),
  )
  .map(([text, brackets]) => (brackets ? `[${text}]` : text))
  .chain(text => fc.constantFrom(text, text.toUpperCase()))

/** Letters that IDNA makes others of, or nothing. */
const FULL = (char: string): string => (/[!-~]/.test(char) ? String.fromCharCode(char.charCodeAt(0) + 0xfee0) : char)
const respelt = fc.constantFrom<(char: string) => string>(
  char => char,
  char => char,
  char => char.toUpperCase(),
  FULL,
  char => (char === '.' ? '\u3002' : char),
  char => `${char}\u00ad`,
)

const names = fc.constantFrom(
  'good.test',
  'b\u00fccher.example',
  'xn--bcher-kva.example',
  'a.wild.test',
  'wild.test',
  'a.b.wild.test',
  'evil.test',
  'localhost',
  '127.0.0.1',
  'good.test.evil',
)
const name = fc
  .tuple(names, fc.array(respelt, { minLength: 25, maxLength: 25 }), fc.constantFrom('', '', '.', '..'))
  .map(([text, spell, end]) => Array.from(text, (char, at) => (spell[at] ?? plain)(char)).join('') + end)

const NOISE = [
  '\0',
  '%00',
  '%2e',
  '@',
  '#',
  '/',
  '\\',
  '?',
  ':',
  ' ',
  '\t',
  '\n',
  '[',
  ']',
  '.',
  '-',
  '_',
  '*',
  '\u200b',
  '\u2024',
  '\uff0e',
  '\u0131',
  '1',
  'x',
  '0x',
  '\u{1f600}',
]

/** Anything of the above with something put into it. */
const disturbed = fc
  .tuple(fc.oneof(name, ipv4, ipv6), fc.nat(30), fc.constantFrom(...NOISE))
  .map(([text, at, noise]) => text.slice(0, at) + noise + text.slice(at))

const hosts = fc.oneof(name, ipv4, ipv6, disturbed, fc.string({ unit: 'binary', maxLength: 40 }))
const ports = fc.constantFrom('80', '443', '3000', '8080', '22', '0', '00443', '65616', '', '+80')

t.test('no spelling is let through that the rules do not name', async t => {
  let [allowed, refused] = [0, 0]
  fc.assert(
    fc.property(hosts, ports, (host, port) => {
      const judged = judge(rules, { host, port })
      if (judged.kind === 'denied') {
        refused++
        return true
      }
      allowed++
      const second = secondReading(host)
      return second !== null && NAMED.some(({ opens, ports: named }) => opens(second) && named.includes(Number(port)))
    }),
    { numRuns: RUNS },
  )
  t.ok(allowed > 300 && refused > 300, `${allowed} were let through and ${refused} were not`)
})

t.test('what is dialled is what was judged: the one spelling is its own', async t => {
  fc.assert(
    fc.property(hosts, host => {
      const read = readHost(host)
      if (read.kind === 'bad') return true
      const again = readHost(read.text)
      return again.kind === read.kind && again.text === read.text && /^[a-z0-9._:-]+$/.test(read.text)
    }),
    { numRuns: RUNS },
  )
  t.pass()
})

t.test('addresses of both families come to the spelling that the URL parser gives them', async t => {
  const groups = fc.array(fc.oneof(fc.constant(0), fc.nat(0xffff)), { minLength: 8, maxLength: 8 })
  fc.assert(
    fc.property(groups, list => {
      const text = list.map(group => group.toString(16)).join(':')
      const address = readAddress(text)
      const mapped = list.slice(0, 5).every(group => group === 0) && list[5] === 0xffff
      return address !== null && (mapped ? address.family === 4 : `[${address.text}]` === secondReading(text))
    }),
    { numRuns: RUNS },
  )
  fc.assert(
    fc.property(ipv4, text => readAddress(text)?.text === secondReading(text)),
    { numRuns: RUNS },
  )
  t.pass()
})
