/** The configuration file as text: what each table takes, in which words a wrong one is refused, and on which line. */
import { dirname } from 'node:path'
import t from 'tap'
import { type ConfigDocument, readDocument } from '../../src/config/document.js'
import { PROFILE_KEYS, type ProfileKey } from '../../src/config/profile-keys.js'
import { lineOf } from '../../src/config/toml.js'
import { isRefusal } from '../../src/errors.js'

const FILE = '/etc/op/harness.toml'

function read(text: string | Uint8Array): ConfigDocument {
  const flags = new Set(['hooks', 'input', 'max-turns', 'hooks-unchecked'])
  return readDocument(typeof text === 'string' ? Buffer.from(text) : text, FILE, { flags })
}

function refusal(text: string | Uint8Array): string {
  try {
    read(text)
    return 'taken'
  } catch (error) {
    if (isRefusal(error, 'bad-document')) return error.message
    throw error
  }
}

/** A value of the key as TOML, and as its flag is given it. */
function sample({ key, kind, choices, isPath }: ProfileKey): readonly [toml: string, given: unknown] {
  switch (kind) {
    case 'switch':
      return ['true', true]
    case 'number':
      return ['7', '7']
    case 'joined':
      return ['["a", "b"]', 'a,b']
    case 'list':
      return ['["a", "/b"]', isPath ? ['/etc/op/a', '/b'] : ['a', '/b']]
    case 'text': {
      const word = choices?.[0] ?? `some-${key}`
      return [JSON.stringify(word), isPath ? `/etc/op/${word}` : word]
    }
  }
}

t.test('every key reaches its flag, paths relative to the file, in [default] and in a profile', async t => {
  for (const row of PROFILE_KEYS) {
    const [toml, given] = sample(row)
    const { defaults, profiles } = read(
      `[default]\n${row.key} = ${toml}\n[[profiles]]\nname = "p"\n${row.key} = ${toml}\n`,
    )
    for (const table of [defaults, profiles[0]]) t.strictSame([...(table?.values ?? [])], [[row.flag, given]], row.key)
  }
})

t.test('the keys are those of the interface and no others', async t => {
  const names =
    'provider model confine toolchain approve-up-to hook-reap log-level cgroup-root driver log-file read-host cache allow-nesting protect-strict no-keys strict-documents max-turns stream-idle-ms flow-parallel container-uid unprotect allow-host grant limit env allow-program process-write-subtree write-scope hook-env header read hide allow-socket plugin-dir toolchains toolchain-specs'
  t.strictSame(PROFILE_KEYS.map(({ key }) => key).sort(), names.split(' ').sort())
})

t.test('a value of the wrong type is refused by key and expected type', async t => {
  const wrong: Readonly<Record<ProfileKey['kind'], readonly (readonly [string, RegExp])[]>> = {
    switch: [
      ['1', /true or false is expected, and it is 1/],
      ['"yes"', /true or false is expected, and it is "yes"/],
    ],
    number: [
      ['"7"', /a whole number of \d or more is expected, and it is "7"/],
      ['1.5', /and it is 1\.5/],
      ['-1', /and it is -1/],
      ['inf', /and it is Infinity/],
    ],
    text: [
      ['3', /is expected, and it is 3/],
      ['[]', /and it is an array/],
      ['2020-01-01', /and it is a date/],
      ['""', /and it is empty/],
    ],
    list: [
      ['"a"', /an array of texts is expected, and it is "a"/],
      ['["a", 1]', /an array of texts is expected, and it holds 1/],
      ['[""]', /and it holds empty/],
      ['["a\\u0000b"]', /and it holds a text with a NUL in it/],
      ['{a = 1}', /and it is a table/],
    ],
    joined: [['"node"', /an array of texts is expected/]],
  }
  for (const { key, kind } of PROFILE_KEYS) {
    for (const [toml, says] of wrong[kind]) {
      const said = refusal(`\n[default]\n${key} = ${toml}\n`)
      t.match(said, says, `${key} = ${toml}`)
      t.ok(said.startsWith(`${FILE}:3: [default] "${key}": `), said)
    }
  }
})

const REFUSED: readonly (readonly [toml: string, says: RegExp])[] = [
  ['[default]\nmax-turn = 1', /:2: \[default\] "max-turn": there is no such key: did you mean max-turns\?/],
  ['[default]\nmodel = "m"\n\n# why\nallow_program = []', /:5: .*did you mean allow-program\?/],
  ['[default]\nqqqqqqqq = 1', /:2: .*known are .*allow-program/],
  ['[default]\nhooks = "h.json"', /on the command line alone, as --hooks/],
  ['[default]\nhooks-unchecked = true', /on the command line alone, as --hooks-unchecked/],
  ['[default]\nbase-url = "http://x"', /belongs in \[providers\.NAME\]/],
  ['[default]\nname = "x"', /\[default\] has no name/],
  ['[default]\n__proto__ = 1', /"__proto__": there is no such key/],
  ['[default]\nconstructor = 1', /"constructor": there is no such key/],
  ['[default]\napprove-up-to = "all"', /one of "low", "medium", "high", "destructive" is expected, and it is "all"/],
  ['[default]\nhide = ["/a", "~/.ssh"]', /:2: .*"hide": "~\/\.ssh": only a shell knows where that is/],
  ['[default]\ndriver = "$HOME/driver"', /"driver": "\$HOME\/driver": only a shell/],
  ['[default]\nwrite = "true"', /"write": true or false is expected/],
  ['[default]\ntoolchain = "node"\ntoolchains = ["go"]', /:3: .*"toolchains": it says --toolchain a second time/],
  ['default = 1', /:1: \[default\]: a table is expected, and it is a number/],
  ['[defaults]\nx = 1', /:1: the file "defaults": there is no such key: did you mean default\?/],
  ['[profiles]\nname = "x"', /:1: profiles: write each one as \[\[profiles\]\]/],
  ['profiles = [1]', /write each one as \[\[profiles\]\]/],
  ['[[profiles]]\nmodel = "m"', /:1: \[\[profiles\]\] 1 has no "name"/],
  ['[[profiles]]\nname = "default"', /\[default\] has it already/],
  ['[[profiles]]\nname = "a b"', /can be no name/],
  ['[[profiles]]\nname = "a"\n[[profiles]]\nname = "a"', /:4: .*"a" is there twice/],
  ['[[profiles]]\nname = "a"\n[[profiles]]\nname = "b"\nmodell = "m"', /:5: \[\[profiles\]\] 2 "modell": .*model\?/],
  ['[hooks]\npaths = []', /:2: \[hooks\] "paths": .*did you mean path\?/],
  ['[hooks]\npath = "/bin"', /an array of texts is expected/],
  ['[hooks]\npath = ["/a:/b"]', /holds a colon/],
  ['[hooks]\nenv = ["A=1"]', /no name of a variable/],
  ['[hooks]\nenv = ["LD_PRELOAD"]', /it lets LD_PRELOAD through/],
  ['[hooks]\ntimeout-ms = 99', /a whole number from 100 to 600000 is expected, and it is 99/],
  ['[hooks]\ntimeout-ms = 600001', /from 100 to 600000/],
  ['[hooks]\nreap = "none"', /one of "group", "namespace" is expected/],
  ['[providers.a]\nurl = "http://x"', /:2: \[providers\.a\] "url": there is no such key/],
  ['[providers.a]\nbase-url = "ftp://x"', /an http or https address is expected/],
  ['[providers.a]\nwire = "chat"', /one of "openai-responses", "anthropic-messages", "openai-chat"/],
  ['[providers.a]\napi-key-env = "sk-1234"', /the name of a variable is expected/],
  ['[providers.a]\napi-key-env = "K"\noauth-token-file = "t"', /keep one of the two credentials/],
  ['[providers.a]\napi-key-env = "K"\noauth-token-pointer = "/t"', /points into an oauth-token-file/],
  ['[providers.a]\noauth-token-file = "t"\noauth-token-pointer = "t"', /a JSON pointer, which begins with \//],
  ['[providers.a.aliases]\nfast = 1', /:2: \[providers\.a\.aliases\] "fast": a text is expected, and it is 1/],
  ['[providers.a]\naliases = ["x"]', /a table is expected, and it is an array/],
  ['[providers]\na = 1', /\[providers\.a\]: a table is expected, and it is a number/],
  ['[providers."a b"]\nwire = "openai-chat"', /make a name/],
  ['[default]\nmodel = "a"\nmodel = "b"', /:3:1: this is no TOML: .*redefine/],
  ['[default', /:1:\d+: this is no TOML/],
  ['x = 99999999999999999999', /this is no TOML/],
  ['model = [', /this is no TOML/],
]

for (const [toml, says] of REFUSED) {
  t.test(`refused: ${toml.replaceAll('\n', ' | ')}`, async t => {
    const said = refusal(toml)
    t.match(said, says)
    t.ok(said.startsWith(`${FILE}:`))
    t.notMatch(said, /\n/, 'one line')
  })
}

t.test('no UTF-8, a byte order mark, CRLF, nothing at all', async t => {
  t.match(refusal(Uint8Array.of(0x61, 0xff)), /it is no UTF-8/)
  t.strictSame(read('\ufeff[default]\r\nmodel = "m"\r\n').defaults?.values, new Map([['--model', 'm']]))
  const { defaults, profiles, providers, hooks } = read('')
  t.strictSame([defaults, profiles, providers.size], [null, [], 0])
  t.strictSame(hooks, { path: null, env: [], timeoutMs: null, reap: null })
})

t.test('[hooks] and [providers.NAME]', async t => {
  const { hooks, providers } = read(`
[hooks]
path = ["bin", "/usr/bin"]
env = ["GOPATH"]
timeout-ms = 100
reap = "namespace"
[providers.a]
base-url = "https://x/v1"
wire = "openai-chat"
model = "fast"
oauth-token-file = "token.json"
oauth-token-pointer = "/t"
aliases = { fast = "m-1", __proto__ = "m-2" }
`)
  t.strictSame(hooks, { path: ['/etc/op/bin', '/usr/bin'], env: ['GOPATH'], timeoutMs: 100, reap: 'namespace' })
  const table = providers.get('a')
  t.match(table, { baseUrl: 'https://x/v1', wire: 'openai-chat', tokenFile: '/etc/op/token.json', tokenPointer: '/t' })
  t.strictSame(Object.entries(table?.aliases ?? {}), [
    ['fast', 'm-1'],
    ['__proto__', 'm-2'],
  ])
})

t.test('the digest is of what a table says: order and layout do not count, values do', async t => {
  const digest = (body: string): string | undefined => read(`[default]\n${body}`).defaults?.sha256
  const one = digest('model = "m"\nread = ["a", "b"]')
  t.match(one, /^[0-9a-f]{64}$/)
  t.equal(digest('# a word\nread = [\n  "a",\n  "b",\n]\nmodel = \'m\''), one)
  for (const other of ['model = "n"\nread = ["a", "b"]', 'model = "m"\nread = ["b", "a"]', 'model = "m"'])
    t.not(digest(other), one, other)
  const [a, b] = read('[[profiles]]\nname = "a"\n[[profiles]]\nname = "b"').profiles
  t.not(a?.sha256, b?.sha256, 'the name is part of it')
})

t.test('a line is that on which the statement begins', async t => {
  const text = [
    '# head',
    '[default]',
    'model = """',
    'a = 1',
    '[default.x]',
    '"""',
    '',
    'read = [',
    '  "a", # ]',
    '  "b",',
    ']',
    '[[profiles]]',
    'name = "p"',
    '',
    '# why',
    '"quoted key" = { a = 1 }',
    '[[profiles]]',
    'name = "q"',
  ].join('\n')
  const cases: readonly (readonly [(string | number)[], number])[] = [
    [['default'], 2],
    [['default', 'model'], 3],
    [['default', 'read'], 8],
    [['profiles', 0], 12],
    [['profiles', 0, 'name'], 13],
    [['profiles', 0, 'quoted key'], 16],
    [['profiles', 0, 'quoted key', 'a'], 16],
    [['profiles', 1], 17],
    [['profiles', 1, 'name'], 18],
  ]
  for (const [path, line] of cases) t.equal(lineOf(text, path), line, path.join('.'))
})

t.test('a pattern keeps its spelling, so that what is no pattern is refused where it is landed', async t => {
  const toml = '[default]\nhide = ["**/../x", "sub/../y", "./*.pem"]\nread = ["sub/../[y]/z"]\n'
  const values = readDocument(Buffer.from(toml), FILE, { flags: new Set() }).defaults?.values
  const folder = dirname(FILE)
  t.same(values?.get('--hide'), [`${folder}/**/../x`, `${folder}/y`, `${folder}/*.pem`])
  t.same(values?.get('--read'), [`${folder}/[y]/z`])
})
