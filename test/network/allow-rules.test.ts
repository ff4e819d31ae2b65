/** `--allow-host`: what is a rule, what it opens, and what a rule that is none is told. */
import t from 'tap'
import { isRefusal } from '../../src/errors.js'
import { deniedBy, readAllowRules, ruleText } from '../../src/network/allow-rules.js'
import { readHost } from '../../src/network/host.js'

const READ: readonly [given: string, kind: string, host: string, ports: readonly number[], text: string][] = [
  ['example.org', 'name', 'example.org', [80, 443], 'example.org'],
  ['Example.ORG.', 'name', 'example.org', [80, 443], 'example.org'],
  ['example.org:8443', 'name', 'example.org', [8443], 'example.org:8443'],
  ['*.example.org', 'below', 'example.org', [80, 443], '*.example.org'],
  ['*.example.org:22', 'below', 'example.org', [22], '*.example.org:22'],
  ['bücher.example', 'name', 'xn--bcher-kva.example', [80, 443], 'xn--bcher-kva.example'],
  ['intranet', 'name', 'intranet', [80, 443], 'intranet'],
  ['127.0.0.1:3000', 'address', '127.0.0.1', [3000], '127.0.0.1:3000'],
  ['10.1.2.3', 'address', '10.1.2.3', [80, 443], '10.1.2.3'],
  ['169.254.169.254', 'address', '169.254.169.254', [80, 443], '169.254.169.254'],
  ['[::1]:3000', 'address', '::1', [3000], '[::1]:3000'],
  ['::1', 'address', '::1', [80, 443], '[::1]'],
  ['2001:DB8::1', 'address', '2001:db8::1', [80, 443], '[2001:db8::1]'],
]

t.test('rules are read into one spelling', async t => {
  for (const [given, kind, host, ports, text] of READ) {
    const [rule] = readAllowRules([given])
    t.match(rule, { kind, host, ports, source: `--allow-host ${given}` }, given)
    t.equal(rule && ruleText(rule), text)
  }
  t.equal(readAllowRules(['a.test', 'A.test.', 'a.test:80']).length, 2, 'the same rule counts once')
  t.strictSame(readAllowRules([]), [])
})

const REFUSED: readonly [given: string, says: RegExp][] = [
  ['', /it is empty; write NAME/],
  ['https://example.org/', /it is a URL; write NAME or NAME:PORT/],
  ['example.org/path', /a character that no host has/],
  ['user@example.org', /a character that no host has/],
  ['example.org:0', /"0" is no port; write one from 1 to 65535/],
  ['example.org:', /"" is no port/],
  ['example.org:*', /"\*" is no port/],
  ['example.org:65536', /is no port/],
  ['*', /a star stands at the front.*write \*\.example\.org/],
  ['*:443', /a star stands at the front/],
  ['*example.org', /a star stands at the front/],
  ['a.*.org', /a star stands at the front/],
  ['*.*.org', /a star stands at the front/],
  ['*.0.0.1', /a star stands at the front/],
  ['*.org', /more than one owner’s names/],
  ['*.localhost', /more than one owner’s names/],
  ['localhost', /means this machine.*write 127\.0\.0\.1:PORT/],
  ['localhost:3000', /means this machine/],
  ['x.localhost', /means this machine/],
  ['10.0.0.0/8', /a range is no address; name each/],
  ['127.1', /it means the address 127\.0\.0\.1; write 127\.0\.0\.1$/],
  ['127.1:5432', /; write 127\.0\.0\.1:5432$/],
  ['[::ffff:127.0.0.1]:5432', /; write 127\.0\.0\.1:5432$/],
  ['[0::1]:5432', /; write \[::1\]:5432$/],
  ['2130706433', /it means the address 127\.0\.0\.1/],
  ['[::ffff:10.0.0.1]', /it means the address 10\.0\.0\.1/],
  ['[0:0:0:0:0:0:0:1]', /it means the address ::1; write \[::1\]/],
  ['0.0.0.0:80', /the address of no host.*write 127\.0\.0\.1:PORT/],
  ['[::]:80', /the address of no host/],
  ['[fe80::1%eth0]', /a character that no host has/],
  ['exa mple.org', /a character that no host has/],
  ['example.org\0', /a character that no host has/],
  ['example..org', /an empty part/],
  ['1.2.3.4.5', /ends in a number and is no address/],
]

t.test('what could be read in two ways refuses, with what works', async t => {
  for (const [given, says] of REFUSED) {
    try {
      readAllowRules([given])
      t.fail(`${JSON.stringify(given)} was taken`)
    } catch (error) {
      if (!isRefusal(error)) throw error
      t.equal(error.code, 'unsupported-rule')
      t.match(error.message, says, JSON.stringify(given))
    }
  }
  t.throws(() => readAllowRules(Array.from({ length: 1_001 }, (_, at) => `h${at}.test`)), { code: 'unsupported-rule' })
})

t.test('a rule opens what it names and nothing beside it', async t => {
  const rules = readAllowRules(['good.test', '*.wild.test', 'ssh.test:22', '127.0.0.1:3000', '[::1]:3000'])
  const cases: readonly [host: string, port: number, why: string | null][] = [
    ['good.test', 443, null],
    ['good.test', 80, null],
    ['GOOD.test.', 443, null],
    ['good.test', 22, 'port-not-allowed'],
    ['www.good.test', 443, 'host-not-allowed'],
    ['good.test.evil.test', 443, 'host-not-allowed'],
    ['evilgood.test', 443, 'host-not-allowed'],
    ['test', 443, 'host-not-allowed'],
    ['a.wild.test', 443, null],
    ['a.b.wild.test', 443, null],
    ['wild.test', 443, 'host-not-allowed'],
    ['awild.test', 443, 'host-not-allowed'],
    ['a.wild.test.evil', 443, 'host-not-allowed'],
    ['ssh.test', 22, null],
    ['ssh.test', 443, 'port-not-allowed'],
    ['127.0.0.1', 3000, null],
    ['127.1', 3000, null],
    ['[::ffff:127.0.0.1]', 3000, null],
    ['127.0.0.1', 3001, 'port-not-allowed'],
    ['127.0.0.2', 3000, 'host-not-allowed'],
    ['[::1]', 3000, null],
    ['[::2]', 3000, 'host-not-allowed'],
    ['localhost', 3000, 'host-not-allowed'],
  ]
  for (const [text, port, why] of cases) {
    const host = readHost(text)
    if (host.kind === 'bad') t.fail(text)
    else t.equal(deniedBy(rules, host, port), why, `${text}:${port}`)
  }
})
