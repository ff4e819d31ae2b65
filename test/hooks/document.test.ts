/** The hooks file: what is accepted, and that everything else is refused where it stands, with what was meant. */
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { HOOKS_FILE_BYTES_MAX, HOOKS_MAX } from '../../src/bounds.js'
import { Refusal } from '../../src/errors.js'
import { type DocumentProblem, type HookSpec, parseHooks } from '../../src/hooks/document.js'
import { hookEnvironment } from '../../src/hooks/environment.js'
import { classOf, refusedName, runsAsFunction } from '../../src/hooks/environment-names.js'
import { loadHooks } from '../../src/hooks/load.js'
import { scratch } from '../support/scratch.js'

const HOOK = { on: 'before-call', command: ['/bin/true'] }
const SUM = 'a'.repeat(64)

function parse(text: string | object): ReturnType<typeof parseHooks> {
  return parseHooks(Buffer.from(typeof text === 'string' ? text : JSON.stringify(text)), '/etc/h/hooks.json')
}

/** Problems as `RULE line:column hook nearest`, absent parts left out. */
function lines(problems: readonly DocumentProblem[]): string[] {
  return problems.map(({ rule, place, hook, nearest }) =>
    [
      rule,
      place === null ? '-' : `${place.line}:${place.column}`,
      ...(hook === null ? [] : [`#${hook}`]),
      ...(nearest === undefined ? [] : [nearest]),
    ].join(' '),
  )
}

/** What a hook says, without where in the file it says it. */
function withoutPlaces(hook: HookSpec): Partial<HookSpec> {
  const said: { -readonly [Key in keyof HookSpec]?: HookSpec[Key] } = { ...hook }
  delete said.place
  delete said.places
  return said
}

t.test('a file with the five keys, and one with all of them', async t => {
  const plain = parse({
    version: 1,
    hooks: [
      { on: 'after-call', tools: ['run'], command: ['a', ''] },
      { on: 'stop', command: ['b'] },
    ],
  })
  t.strictSame(plain.problems, [])
  t.strictSame(plain.document?.hooks.map(withoutPlaces), [
    {
      index: 1,
      name: null,
      on: 'after-call',
      tools: ['run'],
      command: ['a', ''],
      timeoutMs: null,
      cwd: null,
      env: [],
      digest: null,
    },
    {
      index: 2,
      name: null,
      on: 'stop',
      tools: null,
      command: ['b'],
      timeoutMs: null,
      cwd: null,
      env: [],
      digest: null,
    },
  ])
  t.equal(plain.document?.folder, '/etc/h')
  t.match(plain.document?.sha256, /^[0-9a-f]{64}$/)
  const full = parse({
    $schema: 'x',
    description: 'y',
    version: 1,
    hooks: [
      {
        ...HOOK,
        $schema: 'z',
        description: 'w',
        name: 'guard-1',
        'timeout-ms': 100,
        cwd: '/',
        env: ['SSH_AUTH_SOCK', 'PYTHONUNBUFFERED'],
        digest: { '/bin/true': `sha256:${SUM}`, '/__proto__': `sha256:${SUM}` },
      },
      { ...HOOK, 'timeout-ms': 600_000, digest: `sha256:${SUM}` },
    ],
  })
  t.strictSame(full.problems, [])
  t.match(full.document?.hooks[0], {
    name: 'guard-1',
    timeoutMs: 100,
    cwd: '/',
    env: ['SSH_AUTH_SOCK', 'PYTHONUNBUFFERED'],
  })
  t.strictSame(Object.keys(full.document?.hooks[0]?.digest ?? {}), ['/bin/true', '/__proto__'])
  t.strictSame(full.document?.hooks[0]?.places.get('name')?.line, 1)
  t.strictSame(parse({ version: 1, hooks: [] }).document?.hooks, [], 'no hooks is a file')
})

t.test('what the file as a whole can be wrong in', async t => {
  const cases: readonly [string, string | object, string[]][] = [
    ['empty', '', ['HC101 1:1']],
    ['no JSON', '{"version": 1,\n  "hooks": [,]}', ['HC101 2:13']],
    ['trailing comma', '{"version":1,"hooks":[],}', ['HC101 1:25']],
    ['an end that is missing', '{"version":1,\n"hooks":[', ['HC101 2:10']],
    ['a comment', '// no\n{}', ['HC101 1:1']],
    ['two documents', '{"version":1,"hooks":[]} {}', ['HC101 1:26']],
    ['a byte order mark', '\ufeff{"version":1,"hooks":[]}', ['HC101 1:1']],
    ['a raw tab in a string', '{"version":1,\n "hooks":[{"on":"stop","command":["a\tb"]}]}', ['HC101 2:37']],
    ['depth', `{"version":1,"hooks":${'['.repeat(8)}${']'.repeat(8)}}`, ['HC101 1:29']],
    ['depth without end', '['.repeat(100_000), ['HC101 1:9']],
    ['a list', '[]', ['HC101 1:1']],
    ['null', 'null', ['HC101 1:1']],
    ['nothing in it', '{}', ['HC102 1:1', 'HC103 1:1']],
    ['version as text', { version: '1', hooks: [] }, ['HC102 1:12']],
    ['version 2', { version: 2, hooks: [] }, ['HC102 1:12']],
    ['version 1.5', { version: 1.5, hooks: [] }, ['HC102 1:12']],
    ['hooks as an object', { version: 1, hooks: {} }, ['HC103 1:22']],
    ['an unknown key', { version: 1, hooks: [], hook: [] }, ['HC103 1:25 hooks']],
    ['a key far from any', { version: 1, hooks: [], defaults: {} }, ['HC103 1:25']],
    ['a prototype', '{"version":1,"hooks":[],"__proto__":{"x":1}}', ['HC103 1:25']],
    ['description as a number', { version: 1, hooks: [], description: 1 }, ['HC103 1:39']],
    ['version twice', '{"version":1,"version":2,"hooks":[]}', ['HC101 1:14']],
  ]
  for (const [name, text, expected] of cases) {
    const { document, problems } = parse(text)
    t.strictSame(lines(problems), expected, name)
    if (expected.some(line => !/HC103 1:(?:25|39)/.test(line)) && name !== 'version twice')
      t.equal(document, null, name)
  }
  const said = (text: string): string | undefined => parse(text).problems[0]?.message
  t.equal(
    said('{"version":1,"hooks":['),
    'it is not JSON: it ends too early',
    'each place stands once, before the text',
  )
  t.equal(said('{"version":1,}'), 'it is not JSON: unexpected }')
  t.strictSame(lines(parseHooks(Uint8Array.of(0x22, 0xff, 0x22), '/h').problems), ['HC101 -'], 'not UTF-8')
  const big = Buffer.alloc(HOOKS_FILE_BYTES_MAX + 1, ' ')
  t.match(parseHooks(big, '/h').problems, [{ rule: 'HC101', message: /more than 4194304 bytes/ }])
  t.match(parse({ version: 1, hooks: Array(HOOKS_MAX + 1).fill(HOOK) }).problems, [
    { rule: 'HC101', message: /10001 hooks/ },
  ])
  t.strictSame(parse({ version: 1, hooks: Array(HOOKS_MAX).fill(HOOK) }).problems, [])
})

t.test('what one hook can be wrong in (A15: a NUL; P062: a point of a later version)', async t => {
  const cases: readonly [string, object, string[]][] = [
    ['not an object', [], ['HC103']],
    ['no point', { command: ['a'] }, ['HC104']],
    ['no command', { on: 'stop' }, ['HC201']],
    ['another point', { ...HOOK, on: 'PreToolUse' }, ['HC104']],
    ['a point in another case', { ...HOOK, on: 'Before_Call' }, ['HC104 before-call']],
    ['a point misspelt', { ...HOOK, on: 'transitoin' }, ['HC104 transition']],
    ['a point as a list', { ...HOOK, on: ['stop'] }, ['HC104']],
    ['a shell line', { ...HOOK, command: 'rm -rf /' }, ['HC201']],
    ['an empty command', { ...HOOK, command: [] }, ['HC201']],
    ['an empty program', { ...HOOK, command: [''] }, ['HC201']],
    ['a number in the command', { ...HOOK, command: ['a', 1] }, ['HC201']],
    ['a NUL', { ...HOOK, command: ['a', 'b\0c'] }, ['HC201']],
    ['half a surrogate pair', { ...HOOK, command: ['a', '\ud800'] }, ['HC201']],
    ['a word too long', { ...HOOK, command: ['a', 'x'.repeat(131_072)] }, ['HC201']],
    ['no tools', { ...HOOK, tools: [] }, ['HC701']],
    ['tools as text', { ...HOOK, tools: 'run' }, ['HC701']],
    ['an empty tool', { ...HOOK, tools: [''] }, ['HC701']],
    ['tools at stop', { on: 'stop', tools: ['run'], command: ['a'] }, ['HC701']],
    ['tools at transition', { on: 'transition', tools: ['run'], command: ['a'] }, ['HC701']],
    ['a key misspelt', { ...HOOK, timeoutms: 100 }, ['HC103 timeout-ms']],
    ['a key of another client', { ...HOOK, matcher: '*' }, ['HC103']],
    ['a digest misspelt', { ...HOOK, digests: {} }, ['HC103 digest']],
    ['a name with capitals', { ...HOOK, name: 'Guard' }, ['HC103']],
    ['a name too long', { ...HOOK, name: 'a'.repeat(49) }, ['HC103']],
    ['timeout 0', { ...HOOK, 'timeout-ms': 0 }, ['HC702']],
    ['timeout 99', { ...HOOK, 'timeout-ms': 99 }, ['HC702']],
    ['timeout 600001', { ...HOOK, 'timeout-ms': 600_001 }, ['HC702']],
    ['timeout as a fraction', { ...HOOK, 'timeout-ms': 100.5 }, ['HC702']],
    ['timeout as text', { ...HOOK, 'timeout-ms': '5000' }, ['HC702']],
    ['a relative cwd', { ...HOOK, cwd: 'scripts' }, ['HC601']],
    ['cwd with a NUL', { ...HOOK, cwd: '/a\0b' }, ['HC601']],
    ['env as an object', { ...HOOK, env: { A: 'b' } }, ['HC103']],
    ['env with a value', { ...HOOK, env: ['A=b'] }, ['HC103']],
    ['env with a wildcard', { ...HOOK, env: ['AWS_*'] }, ['HC103']],
    ['33 names', { ...HOOK, env: Array.from({ length: 33 }, (_, at) => `N${at}`) }, ['HC103']],
    ['env that loads code', { ...HOOK, env: ['LD_PRELOAD'] }, ['HC504']],
    ['env in lower case', { ...HOOK, env: ['npm_config_registry'] }, ['HC504']],
    ['env at stop', { on: 'stop', command: ['a'], env: ['NODE_OPTIONS', 'PATH'] }, ['HC504', 'HC504']],
    ['env of ours', { ...HOOK, env: ['HARNESS_RUN_ID'] }, ['HC504']],
    ['a digest of another kind', { ...HOOK, digest: 'sha1:00' }, ['HC803']],
    ['a digest in capitals', { ...HOOK, digest: `sha256:${'A'.repeat(64)}` }, ['HC803']],
    ['digests by a relative path', { ...HOOK, digest: { 'a.sh': `sha256:${SUM}` } }, ['HC803']],
    ['no digests', { ...HOOK, digest: {} }, ['HC803']],
    ['a digest as a number', { ...HOOK, digest: 1 }, ['HC803']],
  ]
  for (const [name, hook, expected] of cases) {
    const { document, problems } = parse({ version: 1, hooks: [HOOK, hook] })
    t.strictSame(
      problems.map(({ rule, nearest }) => [rule, ...(nearest === undefined ? [] : [nearest])].join(' ')),
      expected,
      name,
    )
    t.ok(
      problems.every(one => one.hook === 2 && one.place !== null),
      `${name}: says which hook`,
    )
    t.strictSame(
      document?.hooks.map(({ index }) => index),
      [1],
      `${name}: only the sound one is kept`,
    )
  }
  const later = parse({ version: 1, hooks: [{ ...HOOK, on: 'before-handoff' }, HOOK] })
  t.match(
    later.problems,
    [{ rule: 'HC104', message: /"before-handoff": version 1, .*knows before-call, after-call, stop, transition$/ }],
    'a point of a later version is told with what this one knows (P062)',
  )
  t.strictSame(later.document?.hooks.length, 1, 'and takes no other hook with it')
  const twice = parse({
    version: 1,
    hooks: [
      { ...HOOK, name: 'a' },
      { ...HOOK, name: 'b' },
      { ...HOOK, name: 'a' },
    ],
  })
  t.match(twice.problems, [{ rule: 'HC103', hook: 3, message: /that of hook 1/ }])
  const key = parse(
    '{"version":1,"hooks":[{"on":"stop","command":["a"]},\n{"on":"stop","command":["a"],"command":["b"]}]}',
  )
  t.strictSame(lines(key.problems), ['HC101 2:30 #2'], 'reviewer and program read the same command')
  t.strictSame(
    key.document?.hooks.map(({ index }) => index),
    [1],
  )
  const several = parse({
    version: 1,
    hooks: [
      { on: 'x', command: [] },
      { ...HOOK, cwd: 1, env: 2 },
    ],
  })
  t.strictSame(
    several.problems.map(({ rule, hook }) => `${rule} ${hook}`),
    ['HC104 1', 'HC201 1', 'HC601 2', 'HC103 2'],
    'all problems are told',
  )
})

t.test('the file on disk', async t => {
  const folder = scratch(t)
  const file = join(folder, 'hooks.json')
  const refusal = (path: string): string => {
    const loaded = loadHooks(path)
    return loaded instanceof Refusal ? `${loaded.code}: ${loaded.message}` : 'loaded'
  }
  writeFileSync(file, JSON.stringify({ version: 1, hooks: [HOOK] }))
  const loaded = loadHooks(file)
  t.match(loaded, { path: file, folder })
  symlinkSync(file, join(folder, 'link.json'))
  t.match(
    loadHooks(join(folder, 'link.json')),
    { path: join(folder, 'link.json') },
    'a link is followed; who may change it is another question',
  )
  t.match(refusal(join(folder, 'absent.json')), /^file-unreadable: --hooks .*ENOENT/)
  symlinkSync('round.json', join(folder, 'round.json'))
  t.match(refusal(join(folder, 'round.json')), /^file-unreadable: --hooks .*ELOOP.*name the real path/)
  mkdirSync(join(folder, 'dir'))
  t.match(refusal(join(folder, 'dir')), /^not-a-file: .* is a folder/)
  writeFileSync(file, '{"version":1,"hooks":[{"on":"stop","command":["a"]},{"on":"stpo","command":["a"]},{}]}')
  t.match(refusal(file), /^bad-document: .*hooks\.json:1:59: hook 2: .*did you mean stop\? \[HC104\] \(and 2 more/)
  if (process.getuid?.() !== 0) {
    chmodSync(file, 0)
    t.match(refusal(file), /^file-unreadable: .*EACCES/)
  }
})

t.test('classes of variables', async t => {
  const cases: Readonly<Record<string, string>> = {
    A: 'LD_PRELOAD LD_X GLIBC_TUNABLES DYLD_INSERT_LIBRARIES BASH_ENV ENV IFS PS4 BASH_FUNC_x%% NODE_OPTIONS node_options npm_config_x PYTHONPATH PYTHONSTARTUP PIP_INDEX_URL UV_INDEX PERL5OPT PERLIO_DEBUG RUBYOPT JAVA_TOOL_OPTIONS CLASSPATH GIT_DIR GIT_INDEX_FILE GIT_SSH_COMMAND MAKEFLAGS CC LD AR EDITOR PAGER OPENSSL_CONF GST_A_HELPER_B VK_ADD_LAYER_PATH TERMINFO KRB5_CONFIG ERL_A_FLAGS',
    B: 'XDG_CONFIG_HOME http_proxy HTTPS_PROXY NODE_EXTRA_CA_CERTS SSL_CERT_FILE DOCKER_HOST KUBECONFIG TF_VAR_x DISPLAY TMP UV_THREADPOOL_SIZE VIRTUAL_ENV',
    C: 'OPENAI_API_KEY ANTHROPIC_API_KEY GITHUB_TOKEN my_secret DB_PASSWORD SSH_AUTH_SOCK AWS_PROFILE DATABASE_URL SIGNING_KEY',
    null: 'PATH HOME LANG FOO PYTHONSAFEPATH PYTHONUNBUFFERED GIT_TERMINAL_PROMPT MAKER CCACHE LDAP KEYBOARD EDITORIAL CI',
  }
  for (const [kind, names] of Object.entries(cases))
    for (const name of names.split(' ')) t.equal(String(classOf(name)), kind, name)
  t.equal(refusedName('HARNESS_HOOK_POINT') === null, false)
  t.equal(refusedName('SSH_AUTH_SOCK'), null)
  t.equal(runsAsFunction('() { :;}; x'), true)
  t.equal(runsAsFunction('a () {'), false)
})

t.test('the environment is built from nothing', async t => {
  const base = { path: '/usr/bin', home: '/home/op', user: 'op', tmpdir: '/tmp/p', names: [] }
  const secrets = {
    MARKER_TOKEN: 'x',
    OPENAI_API_KEY: 'y',
    GIT_DIR: '/outer/.git',
    PATH: '/evil',
    HOME: '/evil',
    USER: 'evil',
    TMPDIR: '/evil',
    LD_PRELOAD: '/evil',
  }
  t.strictSame(hookEnvironment({ ...base, inherited: secrets }), {
    PATH: '/usr/bin',
    HOME: '/home/op',
    USER: 'op',
    LOGNAME: 'op',
    SHELL: '/bin/sh',
    LANG: 'C.UTF-8',
    TMPDIR: '/tmp/p',
    TERM: 'dumb',
    NO_COLOR: '1',
    PYTHONSAFEPATH: '1',
    PYTHONNOUSERSITE: '1',
    PYTHONDONTWRITEBYTECODE: '1',
    GIT_TERMINAL_PROMPT: '0',
    GIT_OPTIONAL_LOCKS: '0',
  })
  const value = (inherited: Record<string, string>, name: string, names: string[] = []): string | undefined =>
    hookEnvironment({ ...base, inherited, names })[name]
  const cases: readonly [Record<string, string>, string, string | undefined][] = [
    [{ LANG: 'de_DE.UTF-8' }, 'LANG', 'de_DE.UTF-8'],
    [{ LANG: '../x' }, 'LANG', 'C.UTF-8'],
    [{ LC_ALL: '%s' }, 'LC_ALL', 'C.UTF-8'],
    [{ LC_CTYPE: '' }, 'LC_CTYPE', undefined],
    [{ TZ: 'Europe/Berlin' }, 'TZ', 'Europe/Berlin'],
    [{ TZ: ':Europe/Berlin' }, 'TZ', undefined],
    [{ TZ: '/etc/shadow' }, 'TZ', undefined],
    [{ TZ: '/usr/share/zoneinfo/UTC' }, 'TZ', '/usr/share/zoneinfo/UTC'],
    [{ TZ: '/usr/share/zoneinfo/../x' }, 'TZ', undefined],
    [{ TZ: 'a b' }, 'TZ', undefined],
  ]
  for (const [inherited, name, expected] of cases) t.equal(value(inherited, name), expected, JSON.stringify(inherited))
  t.equal(value({ MARKER_TOKEN: 'x' }, 'MARKER_TOKEN', ['MARKER_TOKEN']), 'x', 'what the operator names is passed on')
  t.equal(value({}, 'MARKER_TOKEN', ['MARKER_TOKEN']), undefined, 'absence stays absence')
  t.equal(value({ FOO: '() { :; }; evil' }, 'FOO', ['FOO']), undefined)
  t.equal(value({ TERM: 'xterm' }, 'TERM', ['TERM']), 'dumb', 'what is built wins')
  t.throws(() => value({ LD_PRELOAD: 'x' }, 'LD_PRELOAD', ['LD_PRELOAD']))
})
