/** The configuration file under real words of the command line: which flags it reaches, and what `profiles` says of it. */
import { existsSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { profiles } from '../../src/cli/commands/profiles.js'
import { providers } from '../../src/cli/commands/providers.js'
import { COMMANDS } from '../../src/cli/commands-table.js'
import { configurationPath, configured } from '../../src/cli/configuration.js'
import { confineChoice } from '../../src/cli/confinement-options.js'
import { controlFiles } from '../../src/cli/control-files.js'
import { PROFILED } from '../../src/cli/flag-rows/row.js'
import { FLAGS, flagsOf } from '../../src/cli/flags.js'
import { openHooks } from '../../src/cli/hook-options.js'
import { auditFile } from '../../src/cli/hookcheck/auditing.js'
import type { Io } from '../../src/cli/io.js'
import { type Given, parseArgv, parseHookcheck } from '../../src/cli/parse.js'
import { credentialVariables, modelChoice } from '../../src/cli/provider-options.js'
import { refuseUnheld } from '../../src/cli/unheld.js'
import { PROFILE_KEYS } from '../../src/config/profile-keys.js'
import { isRefusal } from '../../src/errors.js'
import { closeInherited } from '../../src/supervise/descriptors.js'
import { moment, program, ran } from '../support/hooks.js'
import { projectRoot } from '../support/root.js'
import { scratch } from '../support/scratch.js'

closeInherited()

interface Place {
  readonly env: NodeJS.ProcessEnv
  /** The workspace, and the working folder. */
  readonly cwd: string
  readonly folder: string
  readonly file: string
}

/** A configuration folder with `toml` in it (null: no file) and a workspace beside it. */
function place(t: Test, toml: string | null): Place {
  const root = scratch(t)
  const folder = join(root, 'config', 'b10x')
  mkdirSync(folder, { recursive: true, mode: 0o755 })
  mkdirSync(join(root, 'ws'))
  const file = join(folder, 'harness.toml')
  if (toml !== null) writeFileSync(file, toml, { mode: 0o644 })
  const env = { XDG_CONFIG_HOME: join(root, 'config'), XDG_STATE_HOME: join(root, 'state'), PATH: '/usr/bin:/bin' }
  return { env, cwd: join(root, 'ws'), folder, file }
}

async function given(words: readonly string[], at: Place): Promise<Given> {
  if (words[0] === 'hookcheck') {
    const parsed = parseHookcheck(words.slice(1))
    if (parsed.kind === 'command') return (await configured('hookcheck', parsed, at)).given
  }
  const parsed = parseArgv(words)
  if (parsed.kind !== 'command') throw new Error('no command')
  return (await configured(parsed.command, parsed, at)).given
}

async function refused(act: Promise<unknown> | (() => unknown)): Promise<string> {
  try {
    await (typeof act === 'function' ? act() : act)
    return 'none'
  } catch (error) {
    if (isRefusal(error)) return `${error.code}: ${error.message}`
    throw error
  }
}

const isBuilt = (flag: string): boolean => FLAGS.some(({ name, built }) => name === flag && built)

/** Runs `harness profiles …` or `harness providers …`; what it prints. */
async function said(words: readonly string[], at: Place): Promise<string> {
  const parsed = parseArgv(words)
  if (parsed.kind !== 'command') throw new Error('no command')
  const out: string[] = []
  const io = { ...at, out: { write: (text: string) => out.push(text) }, err: { write: () => {} } } as unknown as Io
  const run = parsed.command === 'providers' ? providers : profiles
  const invocation = parsed.command === 'providers' ? await configured('providers', parsed, at) : parsed
  return (await run(invocation, io)) === 0 ? out.join('') : 'not 0'
}

const WORDS: Readonly<Record<string, readonly string[]>> = {
  exec: ['true'],
  explain: ['true'],
  'check-path': ['.'],
  context: ['show'],
}

t.test('where the file is looked for', async t => {
  t.equal(configurationPath({ XDG_CONFIG_HOME: '/c', HOME: '/h' }), '/c/b10x/harness.toml')
  t.equal(configurationPath({ XDG_CONFIG_HOME: '/c/', HOME: '/h' }), '/c/b10x/harness.toml')
  t.equal(configurationPath({ XDG_CONFIG_HOME: 'c', HOME: '/h' }), '/h/.config/b10x/harness.toml')
  t.equal(configurationPath({ HOME: '/' }), '/.config/b10x/harness.toml')
  t.equal(configurationPath({ HOME: 'h' }), null)
})

t.test('each key agrees with its flag, and reaches every command that has it and is built', async t => {
  const rows = PROFILE_KEYS.filter(({ kind }) => kind !== 'joined')
  let reached = 0
  for (const { key, flag, kind, choices } of rows) {
    for (const row of FLAGS.filter(({ name }) => name === flag)) {
      t.equal(row.value === undefined, kind === 'switch', `${key}: a switch`)
      t.equal(row.repeat === true, kind === 'list', `${key}: a list`)
      t.strictSame(row.choices, choices, `${key}: choices`)
    }
    const word = choices?.[0] ?? 'w'
    const toml = { switch: 'true', number: '7', text: `"${word}"`, list: `["/${word}"]`, joined: '' }[kind]
    const at = place(t, `[[profiles]]\nname = "p"\n${key} = ${toml}\n`)
    for (const command of PROFILED) {
      const row = flagsOf(command).find(({ name }) => name === flag)
      const typed = COMMANDS.find(({ name }) => name === command)?.words ?? [command]
      const words = [...typed, '-p', 'p', ...(WORDS[command] ?? [])]
      if (row?.built === false || FLAGS.every(({ name }) => name !== flag)) {
        t.match(await refused(given(words, at)), /^not-built-yet: .*\(profile p of .*harness\.toml\)/, words.join(' '))
        continue
      }
      const got = await given(words, at)
      t.equal(got.values.has(flag), row !== undefined, `${command} ${flag}`)
      if (row === undefined) continue
      reached += 1
      t.strictSame(
        got.values.get(flag),
        { switch: true, number: '7', text: kind === 'text' ? got.one(flag) : '', list: [`/${word}`], joined: '' }[kind],
      )
      if (kind === 'text') t.equal(got.one(flag)?.endsWith(word), true)
    }
  }
  t.ok(reached > 40, `${reached} flags were reached`)
})

t.test('without a file nothing changes, and -p has nothing to choose from', async t => {
  const at = place(t, null)
  t.equal((await given(['run', '--input', 'x'], at)).configuration.file, null)
  t.match(await refused(given(['exec', '-p', 'ci', 'true'], at)), /^profile-unknown: .*harness profiles init/)
  t.match(await refused(given(['run', '-p', 'ci'], { ...at, env: {} })), /HOME and XDG_CONFIG_HOME are not set/)
})

t.test('a broken file refuses, whatever was asked', async t => {
  const at = place(t, '[default]\nlimits = []\n')
  for (const words of [['exec', 'true'], ['run'], ['hookcheck', 'f'], ['providers', 'list']])
    t.match(await refused(given(words, at)), /^bad-document: .*:2: .*did you mean limit\?/, words.join(' '))
  symlinkSync('/nowhere/at/all', join(at.folder, 'dangling'))
  const dangling = { ...at, env: { XDG_CONFIG_HOME: join(at.folder, 'other') } }
  mkdirSync(join(at.folder, 'other', 'b10x'), { recursive: true })
  symlinkSync('/nowhere/at/all', join(at.folder, 'other', 'b10x', 'harness.toml'))
  t.match(await refused(given(['exec', 'true'], dangling)), /^dangling-link: /, 'a link to nothing is not nothing')
})

t.test('a file in the workspace decides nothing', async t => {
  const at = place(t, '[default]\nconfine = "auto"\n')
  const inside = join(at.cwd, '..')
  for (const words of [
    ['run', '--workspace', inside],
    ['exec', '--workspace', inside, 'true'],
    ['hookcheck', '--workspace', inside, 'f'],
  ])
    t.match(
      await refused(given(words, at)),
      /^control-file-inside: .*harness\.toml lies in the workspace/,
      words.join(' '),
    )
  symlinkSync(at.folder, join(at.cwd, 'b10x'))
  t.equal(
    await refused(given(['run'], { ...at, env: { XDG_CONFIG_HOME: at.cwd } })).then(text => text.split(':')[0]),
    'control-file-inside',
  )
  const io = { env: at.env, cwd: at.cwd, installation: '/opt/x' }
  const files = controlFiles(await given(['run'], at), io).map(({ path }) => path)
  t.ok(files.includes(at.file), 'and is kept from every write grant')
})

const LAYERED = `
[default]
model = "d"
max-turns = 3
read = ["/a", "/b"]
approve-up-to = "low"
[[profiles]]
name = "p"
model = "p"
read = ["/c"]
[[profiles]]
name = "q"
max-turns = 9
write = true
[[profiles]]
name = "off"
confine = "off"
allow-program = ["node"]
`

t.test('[default] < -p in order < typed', async t => {
  const at = place(t, LAYERED)
  const run = (...words: string[]) => given(['run', ...words], at)
  t.strictSame([(await run()).one('--model'), (await run()).all('--read')], ['d', ['/a', '/b']])
  t.strictSame([(await run('-p', 'p')).one('--model'), (await run('-p', 'p')).all('--read')], ['p', ['/c']])
  const both = await run('-p', 'p', '--profile', 'q', '--read', '/t')
  t.strictSame([both.one('--model'), both.one('--max-turns'), both.all('--read')], ['p', '9', ['/t']])
  t.strictSame(
    both.configuration.profiles.map(({ name, source }) => [name, source]),
    ['default', 'p', 'q'].map(name => [name, at.file]),
  )
  const yes = await run('--yes')
  t.equal(yes.one('--approve-up-to'), undefined, 'a typed rival leaves nothing of it')
  t.equal(yes.isTyped('--yes') && !yes.isTyped('--model'), true)
  t.equal((await run()).one('--surface'), 'flat', 'defaults of flags stay')
  t.match(await refused(run('-p', 'pp')), /^profile-unknown: .*did you mean p\?/)
  t.match(await refused(run('-p', 'nowhere')), /it has p, q, off/)
})

t.test('write, and grants that nothing would hold', async t => {
  const at = place(t, LAYERED)
  const write = await given(['run', '-p', 'q'], at)
  t.equal(confineChoice('run', write), 'native')
  t.strictSame(write.all('--write-scope'), ['.git/**=denied', '**=allowed'])
  t.equal(confineChoice('run', await given(['run', '-p', 'q', '--confine', 'off'], at)), 'off')
  t.equal(confineChoice('run', await given(['run', '-p', 'off', '--substrate-embedded'], at)), 'native')
  t.match(
    await refused(async () => refuseUnheld(await given(['run', '-p', 'off'], at))),
    /^confinement-off: --allow-program \(profile off of .*\) needs a boundary: say write = true or confine/,
  )
})

const PROVIDERS = `
[default]
provider = "mine"
[providers.mine]
base-url = "http://127.0.0.1:9/v1"
wire = "openai-chat"
model = "fast"
api-key-env = "MINE_KEY"
[providers.mine.aliases]
fast = "mine-7b"
[providers.claude]
base-url = "https://proxy/v1"
oauth-token-file = "token.json"
oauth-token-pointer = "/t"
[providers.claude.aliases]
opus = "opus-next"
[[profiles]]
name = "c"
provider = "anthropic"
`

t.test('providers: defined, merged by field, and set aside by a typed address', async t => {
  const at = place(t, PROVIDERS)
  writeFileSync(join(at.folder, 'token.json'), '{"t":"token-1"}')
  const env = { ...at.env, MINE_KEY: 'key-1' }
  const choice = async (...words: string[]) => modelChoice(await given(['run', ...words], at), { env, cwd: at.cwd })
  const mine = await choice()
  t.match(mine, {
    baseUrl: 'http://127.0.0.1:9/v1',
    wire: 'openai-chat',
    model: 'mine-7b',
    credentialSource: 'provider:mine',
  })
  t.equal(mine.credential.kind === 'none' ? '' : mine.credential.read(), 'key-1')
  const claude = await choice('-p', 'c')
  t.match(claude, {
    baseUrl: 'https://proxy/v1',
    wire: 'anthropic-messages',
    model: 'opus-next',
    credentialSource: 'provider:anthropic',
  })
  t.equal(claude.credential.kind, 'bearer', 'the token takes the place of the built-in key')
  t.equal(claude.credential.kind === 'none' ? '' : claude.credential.read(), 'token-1')
  t.equal((await choice('-p', 'c', '--model', 'sonnet')).model, 'claude-sonnet-5', 'aliases are merged')
  t.equal((await choice('--api-key-env', 'MINE_KEY', '-p', 'c')).credentialSource, 'api-key:environment')
  const typed = await choice('--base-url', 'http://x', '--model', 'fast')
  t.match(typed, { baseUrl: 'http://x', wire: 'openai-responses', model: 'fast', credentialSource: 'none' })
  const variables = credentialVariables(await given(['run'], at))
  t.ok(variables.has('MINE_KEY') && variables.has('OPENAI_API_KEY'), 'no hook is given any of their keys')
  const io = { env: at.env, cwd: at.cwd, installation: '/opt/x' }
  const files = controlFiles(await given(['run'], at), io).map(({ path }) => path)
  t.ok(files.includes(join(at.folder, 'token.json')))
  t.match(await refused(choice('--provider', 'nobody')), /^provider-unknown: .*mine/)
})

t.test('providers that cannot be', async t => {
  const cases: readonly (readonly [string, RegExp])[] = [
    ['[providers.new]\nwire = "openai-chat"', /needs base-url and wire/],
    ['[providers.demo]\nbase-url = "http://x"', /runs in this process/],
    ['[providers.claude]\nmodel = "a"\n[providers.anthropic]\nmodel = "b"', /is the same provider/],
    ['[providers.openai]\noauth-token-pointer = "/t"', /needs oauth-token-file/],
  ]
  for (const [toml, says] of cases) t.match(await refused(given(['run'], place(t, toml))), says, toml)
})

t.test('providers list and show', async t => {
  const at = place(t, PROVIDERS)
  const list = await said(['providers', 'list'], at)
  t.match(list, /^anthropic: https:\/\/proxy\/v1, anthropic-messages, model opus, token in .*token\.json\n/)
  t.match(list, /\nmine: http:\/\/127\.0\.0\.1:9\/v1, openai-chat, model fast, key in MINE_KEY \(not set\)\n$/)
  const shown = JSON.parse(await said(['providers', 'show', 'mine', '--json'], at)) as object
  t.match(shown, { name: 'mine', model_sent: 'mine-7b', aliases: { fast: 'mine-7b' } })
})

t.test('profiles list, show, explain', async t => {
  const at = place(t, LAYERED + PROVIDERS.replace('[default]\nprovider = "mine"', ''))
  t.strictSame(
    (await said(['profiles', 'list'], at)).split('\n').map(line => line.split(/ {2}/)[0]),
    ['default', 'p', 'q', 'off', 'c', ''],
  )
  const shown = await said(['profiles', 'show', 'p'], at)
  t.match(shown, /^\[\[profiles\]\]\nname = "p"\nmodel = "p"\nread = \[ "\/c" \]\n# sha256 [0-9a-f]{64}\n$/)
  t.match(await said(['profiles', 'show', 'default'], at), /^\[default\]\nmodel = "d"/)
  t.match(await refused(said(['profiles', 'show', 'x'], at)), /^profile-unknown/)
  const lines = (await said(['profiles', 'explain', '-p', 'c', '-p', 'p'], at)).split('\n')
  for (const line of [
    '--base-url https://proxy/v1',
    '--wire anthropic-messages',
    '--provider anthropic',
    '--model p',
    '--read /c',
    '--max-turns 3',
    `--oauth-token-file ${at.folder}/token.json`,
  ])
    t.ok(lines.includes(line), line)
  t.notOk(
    lines.some(line => line.startsWith('--api-key-env')),
    'the token has replaced the key',
  )
  const digest = /sha256 ([0-9a-f]{12})/.exec(shown)?.[1]
  t.ok(lines.includes(`profile p ${digest}`))
  t.ok(lines.some(line => /^left out by exec: .*--model/.test(line)))
  const json = JSON.parse(await said(['profiles', 'explain', '-p', 'p', '--json'], at)) as {
    values: { flag: string; value: unknown; from: object }[]
    left_out: Record<string, string[]>
  }
  t.strictSame(
    json.values.find(({ flag }) => flag === '--model'),
    {
      flag: '--model',
      value: 'p',
      from: { kind: 'profile', name: 'p' },
      told: 'profile p',
    },
  )
  t.ok(json.left_out.exec?.includes('--max-turns'))
  const VALUES = { text: '"x"', switch: 'true', number: '2', list: '["x"]', joined: '["x"]' } as const
  for (const { key, flag, kind } of PROFILE_KEYS.filter(one => !isBuilt(one.flag) || one.key === 'flow-parallel')) {
    const early = place(t, `[default]\nconfine = "auto"\n${key} = ${VALUES[kind]}\n`)
    const told = JSON.parse(await said(['profiles', 'explain', '--json'], early)) as {
      not_built: string[]
      left_out: Record<string, string[]>
    }
    t.equal(told.not_built.includes(flag), !isBuilt(flag), `${flag}: what a run refuses is not called left out`)
    t.equal(told.left_out.exec?.includes(flag) ?? false, isBuilt(flag), flag)
  }
  t.match(await refused(said(['profiles', 'explain', '-p', 'off'], at)), /^confinement-off: --allow-program/)
  t.match(await refused(said(['profiles', 'list', '-p', 'p'], at)), /^bad-arguments/)
  for (const words of [['lists'], ['show'], ['list', 'x']])
    t.match(await refused(said(['profiles', ...words], at)), /^bad-arguments: write harness profiles/)
})

t.test('what explain says is what a run takes', async t => {
  const at = place(t, PROVIDERS)
  writeFileSync(join(at.folder, 'token.json'), '{"t":"token-1"}')
  for (const words of [[], ['-p', 'c']]) {
    const lines = (await said(['profiles', 'explain', ...words], at)).split('\n')
    const value = (flag: string) => lines.find(line => line.startsWith(`${flag} `))?.slice(flag.length + 1)
    const run = await given(['run', ...words], at)
    const { baseUrl, wire } = modelChoice(run, { env: { MINE_KEY: 'k' }, cwd: at.cwd })
    t.strictSame([value('--base-url'), value('--wire')], [baseUrl, wire])
  }
})

t.test('profiles init makes a file that says nothing, once', async t => {
  const at = place(t, null)
  const env = { HOME: join(at.cwd, '..', 'home') }
  const file = join(env.HOME, '.config', 'b10x', 'harness.toml')
  t.equal(await said(['profiles', 'init'], { ...at, env }), `${file}\n`)
  t.equal(statSync(file).mode & 0o777, 0o600)
  t.equal(statSync(join(env.HOME, '.config')).mode & 0o777, 0o700)
  t.equal(await said(['profiles', 'list'], { ...at, env }), '')
  const text = readFileSync(file, 'utf8')
  t.match(await refused(said(['profiles', 'init'], { ...at, env })), /^config-exists/)
  t.equal(readFileSync(file, 'utf8'), text)
  writeFileSync(file, text.replaceAll(/^# (?=[a-z[])/gm, ''))
  t.equal(await refused(given(['run', '-p', 'edit'], { ...at, env })), 'none', 'and all of its examples are right')
  symlinkSync('/nowhere/x', at.file)
  t.match(await refused(said(['profiles', 'init'], at)), /^config-exists/, 'nothing is made through a link')
  t.equal(existsSync('/nowhere'), false)
})

t.test('the example of the README is right', async t => {
  const [, toml = ''] = /```toml\n(.*?)```/s.exec(readFileSync(join(projectRoot, 'README.md'), 'utf8')) ?? []
  const at = place(t, toml)
  const run = await given(['run', '-p', 'edit', '-p', 'local'], at)
  t.match(modelChoice(run, { env: {}, cwd: at.cwd }), { baseUrl: 'http://127.0.0.1:8080/v1', model: 'some-model-7b' })
  t.strictSame([confineChoice('run', run), run.all('--allow-program')], ['auto', ['node', 'npm']])
  t.strictSame(
    run.configuration.profiles.map(({ name }) => name),
    ['default', 'edit', 'local'],
  )
})

const HOOKS = `
[default]
hook-reap = "group"
[hooks]
path = ["/usr/sbin"]
env = ["COLOUR"]
timeout-ms = 300
`

t.test('[hooks] reaches the hooks of a run', async t => {
  const at = place(t, HOOKS)
  const file = join(at.folder, 'hooks.json')
  const show = program(at.folder, 'show.sh', '#!/bin/sh\nprintf "%s|%s" "$COLOUR" "$PATH" >&2\nexit 2\n')
  const hooks = [
    { on: 'before-call', command: [show] },
    { on: 'stop', command: ['sleep', '5'] },
  ]
  writeFileSync(file, JSON.stringify({ version: 1, hooks }))
  const env = { ...at.env, COLOUR: 'green' }
  const open = async (more: readonly string[]) =>
    openHooks({
      command: 'run',
      given: await given(['run', ...more], at),
      io: { env, cwd: at.cwd, kill: new AbortController().signal },
      facts: { home: at.folder, pid1WithoutInit: false, bwrap: null, installHint: '' },
      request: { workspace: at.cwd, writeSubtrees: [] },
      runId: '0123456789abcdef',
    })
  t.equal(await open([]), null, 'settings of hooks need no hooks')
  t.match(await refused(open(['--hook-env', 'A'])), /^bad-arguments: --hook-env needs --hooks/)
  const run = await open(['--hooks', file])
  t.teardown(() => run?.close())
  const port = run?.port(at.cwd, null)
  const call = { call_id: 'c', name: 'run', arguments: {}, entry: 'run' }
  const before = await port?.beforeCall(call, moment())
  t.match(before?.decision, { kind: 'block', reason: /^green\|\/usr\/sbin:/ })
  const asked = moment()
  await port?.stop({ text: '', continuations: 0 }, asked)
  t.match(ran(asked.events), [{ point: 'stop', timed_out: true }])
  const key = place(t, '[hooks]\nenv = ["OPENAI_API_KEY"]\n')
  t.match(
    await refused(
      open(['--hooks', file]).then(async () =>
        openHooks({
          command: 'run',
          given: await given(['run', '--hooks', file], key),
          io: { env, cwd: at.cwd, kill: new AbortController().signal },
          facts: { home: at.folder, pid1WithoutInit: false, bwrap: null, installHint: '' },
          request: { workspace: at.cwd, writeSubtrees: [] },
          runId: '0123456789abcdef',
        }),
      ),
    ),
    /^hook-env-refused: \[hooks\] env of .*OPENAI_API_KEY/,
  )
})

t.test('[hooks] reaches hookcheck', async t => {
  const at = place(t, HOOKS)
  const run = await given(['hookcheck', 'f'], at)
  const bytes = Buffer.from('{"version": 1, "hooks": []}')
  const request = {
    path: join(at.folder, 'hooks.json'),
    bytes,
    writeSet: null,
    profile: 'default',
    selected: [],
    ignored: [],
    compat: false,
    deep: false,
  } as const
  const { environment } = auditFile({
    ...request,
    hooks: run.configuration.hooks,
    io: { env: { ...at.env, COLOUR: 'green' }, cwd: at.cwd },
  })
  t.match(environment, { COLOUR: 'green', PATH: /^\/usr\/sbin:/ })
})
