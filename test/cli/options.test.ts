/** Flags → what a run is made of: model, credential, budget, sampling, files and headers. */
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { operatorFiles, workspaceTexts } from '../../src/cli/context-files.js'
import { controlFiles } from '../../src/cli/control-files.js'
import { type Given, parseArgv } from '../../src/cli/parse.js'
import { modelChoice } from '../../src/cli/provider-options.js'
import { refuseGarbledFolders } from '../../src/cli/raw-words.js'
import { budgetOf, headersOf, samplingOf } from '../../src/cli/run-options.js'
import { workspaceReader } from '../../src/cli/workspace-reader.js'
import { isRefusal, Refusal } from '../../src/errors.js'
import { indexControlFiles } from '../../src/paths/control-files.js'
import { landPlace } from '../../src/paths/resolve.js'

function given(...words: string[]): Given {
  const parsed = parseArgv(['run', ...words])
  if (parsed.kind !== 'command') throw new Error('no command')
  return parsed.given
}

function code(act: () => unknown): string {
  try {
    act()
    return 'none'
  } catch (error) {
    if (isRefusal(error)) return error.code
    throw error
  }
}

t.test('provider, endpoint, model and alias', async t => {
  const io = { env: { OPENAI_API_KEY: 'sk-one', ANTHROPIC_API_KEY: 'ak' }, cwd: '/' }
  const openai = modelChoice(given('--provider', 'openai', '--model', 'x'), io)
  t.match(openai, {
    baseUrl: 'https://api.openai.com/v1',
    model: 'x',
    wire: 'openai-responses',
    credentialSource: 'provider:openai',
  })
  t.equal(openai.credential.kind === 'none' ? '' : openai.credential.read(), 'sk-one')
  const claude = modelChoice(given('--provider', 'claude'), io)
  t.match(claude, {
    baseUrl: 'https://api.anthropic.com/v1',
    wire: 'anthropic-messages',
    model: 'claude-opus-5',
    credentialSource: 'provider:anthropic',
    credential: { kind: 'api-key' },
  })
  t.same(modelChoice(given('--provider', 'anthropic', '--model', 'haiku'), io).model, 'claude-haiku-4-5-20251001')
  for (const name of ['claude-next', 'constructor', '__proto__']) {
    t.equal(modelChoice(given('--provider', 'anthropic', '--model', name), io).model, name, 'passes through')
  }
  t.equal(
    code(() => modelChoice(given('--provider', 'claude'), { env: {}, cwd: '/' })),
    'credential-missing',
  )
  t.match(modelChoice(given('--provider', 'ollama', '--model', 'qwen3'), { env: {}, cwd: '/' }), {
    baseUrl: 'http://127.0.0.1:11434/v1',
    wire: 'openai-chat',
    credential: { kind: 'none' },
    credentialSource: 'none',
  })
  t.equal(
    modelChoice(given('--provider', 'anthropic', '--wire', 'openai-chat'), io).wire,
    'openai-chat',
    'a typed wire wins',
  )
  t.match(modelChoice(given('--provider', 'demo'), io), { demo: true, model: 'demo', credentialSource: 'none' })
  const typed = modelChoice(given('--provider', 'openai', '--base-url', 'http://127.0.0.1:9/v1', '--model', 'x'), io)
  t.match(
    typed,
    { baseUrl: 'http://127.0.0.1:9/v1', credentialSource: 'none', demo: false },
    'a typed address sets the bundle and its key aside',
  )
  t.equal(
    code(() => modelChoice(given('--provider', 'openai', '--model', 'x'), { env: {}, cwd: '/' })),
    'credential-missing',
  )
  t.equal(
    code(() => modelChoice(given('--provider', 'openai'), io)),
    'model-missing',
  )
  t.equal(
    code(() => modelChoice(given('--model', 'x'), io)),
    'bad-arguments',
  )
  t.equal(
    code(() => modelChoice(given('--provider', 'constructor', '--model', 'x'), io)),
    'provider-unknown',
  )
  t.equal(
    code(() => modelChoice(given('--base-url', 'file:///etc', '--model', 'x'), io)),
    'bad-arguments',
  )
})

t.test('credentials: read when asked for, re-read from files, never more than one word', async t => {
  const dir = t.testdir({ key: 'sk-file\n', json: '{"a":{"b/c":"tok"}}', empty: ' \n', two: 'one two' })
  const io = { env: { TOKEN: '{"t":"x"}' }, cwd: dir }
  const base = ['--base-url', 'http://127.0.0.1:9/v1', '--model', 'm']
  const file = modelChoice(given(...base, '--api-key-file', 'key'), io)
  t.equal(file.credentialSource, 'api-key:file')
  if (file.credential.kind !== 'none') {
    t.equal(file.credential.read(), 'sk-file')
    writeFileSync(join(dir, 'key'), 'sk-renewed')
    t.equal(file.credential.read(), 'sk-renewed')
  }
  const pointed = modelChoice(given(...base, '--oauth-token-file', 'json', '--oauth-token-pointer', '/a/b~1c'), io)
  t.equal(pointed.credential.kind === 'none' ? '' : pointed.credential.read(), 'tok')
  t.equal(pointed.credentialSource, 'oauth:file')
  t.match(modelChoice(given(...base, '--oauth-token-env', 'TOKEN', '--oauth-token-pointer', '/t'), io), {
    credentialSource: 'oauth:environment',
  })
  const bad: readonly [string[], string][] = [
    [['--api-key-file', 'nowhere'], 'file-unreadable'],
    [['--api-key-file', 'empty'], 'credential-missing'],
    [['--api-key-file', 'two'], 'credential-missing'],
    [['--oauth-token-file', 'json', '--oauth-token-pointer', '/a/x'], 'credential-missing'],
    [['--oauth-token-file', 'key', '--oauth-token-pointer', '/a'], 'credential-missing'],
    [['--api-key-env', 'UNSET'], 'credential-missing'],
    [['--oauth-token-pointer', '/a'], 'bad-arguments'],
    [['--api-key-file', 'json', '--oauth-token-pointer', '/a/b~1c'], 'bad-arguments'],
    [['--oauth-token-file', 'json', '--oauth-token-pointer', 'a'], 'bad-arguments'],
  ]
  for (const [words, expected] of bad)
    t.equal(
      code(() => modelChoice(given(...base, ...words), io)),
      expected,
      words.join(' '),
    )
})

t.test('numbers: absent stays absent, nonsense refuses with the range', async t => {
  t.strictSame(budgetOf(given()), {})
  t.strictSame(samplingOf(given()), {})
  t.strictSame(budgetOf(given('--max-turns', '3', '--max-duration-ms', '9000')), { maxTurns: 3, maxDurationMs: 9000 })
  t.strictSame(samplingOf(given('--temperature', '0', '--top-p', '1')), { temperature: 0, topP: 1 })
  for (const text of ['0', '-1', '1.5', 'x', '', '1e3', ' 3', '9999999999999999']) {
    t.equal(
      code(() => budgetOf(given('--max-turns', text))),
      'bad-arguments',
      `--max-turns "${text}"`,
    )
  }
  for (const text of ['2.1', '-1', 'warm', 'NaN', ''])
    t.equal(
      code(() => samplingOf(given('--temperature', text))),
      'bad-arguments',
      text,
    )
  for (const text of ['0', '1.1'])
    t.equal(
      code(() => samplingOf(given('--top-p', text))),
      'bad-arguments',
      text,
    )
})

t.test('headers come from variables', async t => {
  t.strictSame(headersOf(given('--header', 'X-Team=TEAM'), { TEAM: 'a=b' }), { 'X-Team': 'a=b' })
  for (const bad of ['X-Team', 'X-Team=UNSET', '=TEAM'])
    t.equal(
      code(() => headersOf(given('--header', bad), { TEAM: 'a' })),
      'bad-arguments',
      bad,
    )
})

t.test('context files and what the workspace says of itself', async t => {
  const dir = t.testdir({
    'AGENTS.md': `${'line of text\n'.repeat(3_000)}`,
    'note.md': 'note',
    '.git': { HEAD: 'ref: refs/heads/feature/x\n' },
  })
  const files = operatorFiles(given('--context', 'note.md', '--instructions-file', 'note.md'), dir)
  t.match(files, { operatorInstructions: { source: 'note.md', text: 'note' }, provided: [{ source: 'note.md' }] })
  writeFileSync(join(dir, 'image.png'), Uint8Array.of(0x89, 0x50, 0x4e, 0x47))
  t.equal(
    code(() => operatorFiles(given('--context', 'image.png'), dir)),
    'bad-document',
    'bytes that are no UTF-8 would reach the model as others',
  )
  t.equal(
    code(() => operatorFiles(given('--context', 'nowhere.md'), dir)),
    'file-unreadable',
  )
  writeFileSync(join(dir, 'large.md'), 'x'.repeat(300 * 1024))
  t.equal(
    code(() => operatorFiles(given('--context', 'large.md'), dir)),
    'over-bound',
  )

  const place = landPlace(dir, { cwd: '/' })
  if (place instanceof Refusal) throw place
  const { facts, warnings } = workspaceTexts(given(), dir, workspaceReader(place))
  t.strictSame(warnings, [])
  t.equal(facts.branch, 'feature/x')
  t.match(facts.project?.text, /line of text\n\[cut here: the file is longer than 32768 bytes\]\n$/)
  t.ok(Buffer.byteLength(facts.project?.text ?? '') < 33 * 1024)
  t.equal(workspaceTexts(given('--no-project-instructions'), dir, workspaceReader(place)).facts.project, null)
})

t.test('project instructions that are there and cannot be read are told', async t => {
  const dir = t.testdir({ ws: {}, 'outside.md': 'not yours' })
  const ws = join(dir, 'ws')
  const place = landPlace(ws, { cwd: '/' })
  if (place instanceof Refusal) throw place
  const texts = (...words: string[]) => workspaceTexts(given(...words), ws, workspaceReader(place))
  t.strictSame(texts().warnings, [], 'what is not there is no news')
  const kinds: readonly [string, (path: string) => void, RegExp][] = [
    ['a folder', path => mkdirSync(path), /folder/],
    ['a link out of the workspace', path => symlinkSync('../outside.md', path), /outside the workspace/],
    ['a link to itself', path => symlinkSync('AGENTS.md', path), /AGENTS\.md/],
  ]
  for (const [what, make, why] of kinds) {
    const path = join(ws, 'AGENTS.md')
    make(path)
    const { facts, warnings } = texts()
    t.equal(facts.project, null, what)
    t.match(
      warnings,
      [{ kind: 'warning', code: 'document-refused', message: /^AGENTS\.md of the workspace is not/ }],
      what,
    )
    t.match(warnings, [{ message: why }], what)
    t.strictSame(texts('--no-project-instructions').warnings, [], 'nobody asked for them')
    writeFileSync(join(ws, 'CLAUDE.md'), 'use tabs')
    const both = texts()
    t.equal(both.facts.project?.text, 'use tabs', 'the other one counts as it would alone')
    t.equal(both.warnings.length, 1, 'and the first is told all the same')
    rmSync(join(ws, 'CLAUDE.md'))
    rmSync(path, { recursive: true })
  }
})

t.test('control files: what the run obeys, and our own folders', async t => {
  const io = { env: { HOME: '/home/u', XDG_STATE_HOME: 'relative' }, cwd: '/w', installation: '/opt/harness/bin' }
  const paths = controlFiles(given('--prices', 'p.json', '--api-key-file', '/k'), io).map(({ path }) => path)
  for (const path of [
    '/opt/harness/bin',
    '/w/p.json',
    '/k',
    '/home/u/.config/b10x',
    '/home/u/.local/state/b10x-harness',
    '/home/u/.cache/b10x-harness',
    process.execPath,
  ]) {
    t.ok(paths.includes(path), path)
  }
  for (const env of [{ HOME: '/dev/null' }, { HOME: process.execPath }, { HOME: '/', XDG_CACHE_HOME: '/dev/null' }]) {
    const files = controlFiles(given(), { ...io, env })
    t.notOk(isRefusal(indexControlFiles(files, '/')), `no folder, no home: ${JSON.stringify(env)}`)
    t.ok(
      files.some(({ path }) => path === Object.values(env).at(-1)),
      'and what stands there is not to be replaced',
    )
  }
  const unseen = { env: { HOME: '/dev/null/home', XDG_STATE_HOME: '/s' }, cwd: '/w', installation: '/opt/harness/bin' }
  t.match(
    indexControlFiles(controlFiles(given(), unseen), '/'),
    { code: 'not-a-directory', message: /^where our configuration \(HOME\) lies cannot be told: .*"\/dev\/null"/ },
    'the variable to mend is named',
  )
  t.ok(controlFiles(given(), unseen).some(({ what }) => what === 'our state folder (XDG_STATE_HOME)'))
})

t.test('a folder variable whose bytes are no UTF-8 is refused by name', async t => {
  for (const name of ['HOME', 'XDG_CACHE_HOME', 'TMPDIR']) {
    t.equal(
      code(() => refuseGarbledFolders({ [name]: '/tmp/h\ufffd' })),
      'bad-arguments',
      name,
    )
  }
  t.equal(
    code(() => refuseGarbledFolders({ HOME: '/home/é', OTHER: '\ufffd' })),
    'none',
  )
})
