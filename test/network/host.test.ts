/** Addresses and names: every spelling comes to one, and what has no meaning has none. */
import t from 'tap'
import { type AddressKind, kindOf, readAddress } from '../../src/network/address.js'
import { hostText, readHost, readPort, splitAuthority } from '../../src/network/host.js'

const SAME: Readonly<Record<string, readonly string[]>> = {
  '127.0.0.1': [
    '127.0.0.1',
    '127.1',
    '127.0.1',
    '2130706433',
    '0x7f000001',
    '0X7F.0.0.1',
    '0x7f.1',
    '0177.0.0.1',
    '017700000001',
    '127.0.0.1.',
    '[::ffff:127.0.0.1]',
    '::ffff:127.0.0.1',
    '[::FFFF:7F00:1]',
    '[0:0:0:0:0:ffff:7f00:0001]',
    '１２７.０.０.１',
    '127。0。0。1',
    '①②⑦.0.0.1',
  ],
  '0.0.0.0': ['0', '0.0.0.0', '0x0', '00', '0.0'],
  '::1': ['[::1]', '::1', '[0:0:0:0:0:0:0:1]', '[0::1]', '[::0.0.0.1]', '[0000:0000::0001]'],
  '64:ff9b::7f00:1': ['[64:ff9b::127.0.0.1]', '[64:FF9B::7f00:1]', '[0064:ff9b:0:0:0:0:7f00:1]'],
  '2001:db8::1:0:0:1': ['[2001:db8:0:0:1:0:0:1]', '[2001:DB8::1:0:0:1]'],
  'example.org': [
    'example.org',
    'EXAMPLE.ORG',
    'example.org.',
    'ｅxample.org',
    'example。org',
    'exam\u00adple.org',
    'example\uff0eorg',
  ],
  'xn--bcher-kva.example': [
    'bücher.example',
    'BÜCHER.example',
    'xn--bcher-kva.example',
    'XN--BCHER-KVA.EXAMPLE',
    'bu\u0308cher.example',
  ],
  a_b: ['a_b', 'A_B'],
}

t.test('every spelling of a host comes to one', async t => {
  for (const [one, spellings] of Object.entries(SAME)) {
    for (const spelling of spellings) {
      const host = readHost(spelling)
      t.match(host, { text: one }, JSON.stringify(spelling))
      if (host.kind !== 'bad') t.match(readHost(hostText(host)), { text: one }, 'and is read again as itself')
    }
  }
})

const NONE = [
  ...['', '.', '..', 'a..b', '.a', 'a..', '-a', 'a-', 'a.-b'],
  ...[
    'a b',
    'a\tb',
    'a\0',
    'good.test\0.evil.test',
    'a\r\nb',
    'a\u007f',
    'a/b',
    'a\\b',
    'a?b',
    'a#b',
    'a@b',
    'user:pw@a',
    'a%00',
    'a%2eb',
  ],
  ...['256.0.0.1', '1.2.3.4.5', '08.0.0.1', '4294967296', 'a.1', 'a.0x', '1.2.3.0x100', '127.0.0.256'],
  ...[
    '[::1',
    '::1]',
    '[]',
    '[::1%lo]',
    '[::1%25lo]',
    'fe80::1%eth0',
    '[1::2::3]',
    '[12345::]',
    '[::1.2.3]',
    '[::1.2.3.256]',
    '[::01.2.3.4]',
    'a:b',
    '[example.org]',
    '[127.0.0.1]',
  ],
  ...[`${'a'.repeat(64)}.test`, `${'a.'.repeat(127)}test`, 'a'.repeat(2_000), '*.example.org', 'a,b', 'a;b', "a'b"],
]

t.test('what is no host is none, by a reason', async t => {
  for (const text of NONE) t.match(readHost(text), { kind: 'bad', why: /./ }, JSON.stringify(text).slice(0, 60))
})

const KINDS: Readonly<Record<AddressKind, readonly string[]>> = {
  public: [
    '1.1.1.1',
    '8.8.8.8',
    '100.128.0.1',
    '172.32.0.1',
    '192.0.1.1',
    '223.255.255.255',
    '2606:4700::1',
    '64:ff9b::808:808',
    '2001:200::1',
  ],
  loopback: ['127.0.0.1', '127.255.255.254', '::1', '::ffff:127.0.0.1', '64:ff9b::7f00:1'],
  private: [
    '10.0.0.1',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.1.1',
    '100.64.0.1',
    'fc00::1',
    'fdff::1',
    'fec0::1',
    '64:ff9b:1::1',
    '64:ff9b::a00:1',
    '::ffff:10.1.1.1',
  ],
  'link-local': ['169.254.1.1', 'fe80::1', 'febf::1', '64:ff9b::a9fe:101'],
  metadata: [
    '169.254.169.254',
    '169.254.170.2',
    '168.63.129.16',
    '100.100.100.200',
    '192.0.0.192',
    'fd00:ec2::254',
    '::ffff:169.254.169.254',
    '64:ff9b::a9fe:a9fe',
  ],
  unspecified: ['0.0.0.0', '0.1.2.3', '::', '::ffff:0.0.0.0'],
  reserved: [
    ...[
      '192.0.0.1',
      '192.0.2.1',
      '192.88.99.1',
      '198.18.0.1',
      '198.51.100.1',
      '203.0.113.1',
      '224.0.0.1',
      '240.0.0.1',
      '255.255.255.255',
    ],
    ...[
      '::2',
      '::7f00:1',
      '100::1',
      '2001::1',
      '2001:db8::1',
      '2002:7f00:1::',
      '3fff::1',
      '5f00::1',
      '4000::1',
      'ff02::1',
      '64:ff9b:2::1',
    ],
  ],
}

t.test('what lies behind an address', async t => {
  for (const [kind, texts] of Object.entries(KINDS)) {
    for (const text of texts) {
      const address = readAddress(text)
      t.equal(address === null ? null : kindOf(address), kind, text)
    }
  }
})

t.test('ports and authorities', async t => {
  const ports = { '1': 1, '443': 443, '00443': 443, '65535': 65_535 }
  for (const [text, port] of Object.entries(ports)) t.equal(readPort(text), port)
  for (const text of ['', '0', '00000', '65536', '99999', '100000', '-1', '+80', ' 80', '0x50', '8e1', '８０'])
    t.equal(readPort(text), null, text)
  t.strictSame(splitAuthority('a:1'), { host: 'a', port: '1' })
  t.strictSame(splitAuthority('[::1]:1'), { host: '[::1]', port: '1' })
  for (const text of ['a', '::1', '::1:80', '[::1]', '[[::1]]:1', 'a:b:1', 'a]:1'])
    t.equal(splitAuthority(text), null, text)
  t.strictSame(splitAuthority('user@a:1'), { host: 'user@a', port: '1' }, 'whose host is none')
})
