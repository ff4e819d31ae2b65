/** Providers as they are listed, and credentials from files that are anything. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { CREDENTIAL_BYTES_MAX } from '../../src/bounds.js'
import { providers } from '../../src/cli/commands/providers.js'
import { credentialInFile, credentialInVariable } from '../../src/cli/credential-source.js'
import type { Io } from '../../src/cli/io.js'
import { parseArgv } from '../../src/cli/parse.js'
import { isRefusal } from '../../src/errors.js'

const KEY = 'sk-canary-0123456789'

/** Runs `harness providers …` with the given environment; the text of stdout. */
async function said(words: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<string> {
  const parsed = parseArgv(['providers', ...words])
  if (parsed.kind !== 'command') throw new Error('no command')
  let text = ''
  const io = { env, out: { write: (more: string) => (text += more) } } as unknown as Io
  const status = await providers(parsed, io)
  return status === 0 ? text : `status ${status}`
}

function refusedAs(act: () => unknown): { code: string; message: string } {
  try {
    act()
    return { code: 'none', message: '' }
  } catch (error) {
    if (isRefusal(error)) return { code: error.code, message: error.message }
    throw error
  }
}

t.test('providers list', async t => {
  t.equal(
    await said(['list'], { OPENAI_API_KEY: KEY, ANTHROPIC_API_KEY: '' }),
    [
      'anthropic: https://api.anthropic.com/v1, anthropic-messages, model opus, key in ANTHROPIC_API_KEY (not set)',
      'openai: https://api.openai.com/v1, openai-responses, model to be named, key in OPENAI_API_KEY (set)',
      'ollama: http://127.0.0.1:11434/v1, openai-chat, model to be named, no key',
      'demo: in this process, openai-responses, model demo, no key',
      '',
    ].join('\n'),
  )
  const listed = JSON.parse(await said(['list', '--json'], { OPENAI_API_KEY: KEY })) as { name: string }[]
  t.same(
    listed.map(({ name }) => name),
    ['anthropic', 'openai', 'ollama', 'demo'],
  )
  t.notMatch(JSON.stringify(listed), KEY)
})

t.test('providers show', async t => {
  t.equal(
    await said(['show', 'claude']),
    [
      'name: anthropic, claude',
      'base URL: https://api.anthropic.com/v1',
      'wire: anthropic-messages',
      'model: opus (claude-opus-5)',
      'alias opus: claude-opus-5',
      'alias sonnet: claude-sonnet-5',
      'alias haiku: claude-haiku-4-5-20251001',
      'credential: key in ANTHROPIC_API_KEY (not set)',
      '',
    ].join('\n'),
  )
  t.same(JSON.parse(await said(['show', 'openai', '--json'], { OPENAI_API_KEY: KEY })), {
    name: 'openai',
    spellings: [],
    base_url: 'https://api.openai.com/v1',
    wire: 'openai-responses',
    model: null,
    model_sent: null,
    aliases: {},
    credential: { env: 'OPENAI_API_KEY', set: true },
  })
  await t.rejects(said(['show', 'nobody']), { code: 'provider-unknown', message: /anthropic, claude, demo/ })
  for (const words of [['show'], ['list', 'x'], ['lists'], ['show', 'a', 'b']]) {
    await t.rejects(said(words), { code: 'bad-arguments' }, words.join(' '))
  }
})

/** What a file holds → the credential, or the code of its refusal. */
const files: {
  name: string
  bytes: string | Uint8Array
  pointer?: string
  gives: { key: string } | { code: string }
}[] = [
  { name: 'bare', bytes: KEY, gives: { key: KEY } },
  { name: 'newline', bytes: `${KEY}\n`, gives: { key: KEY } },
  { name: 'CRLF', bytes: `${KEY}\r\n`, gives: { key: KEY } },
  { name: 'blanks around', bytes: ` \t${KEY} \n\n`, gives: { key: KEY } },
  { name: 'byte order mark', bytes: `\ufeff${KEY}\n`, gives: { key: KEY } },
  { name: 'empty', bytes: '', gives: { code: 'credential-missing' } },
  { name: 'white space', bytes: ' \n', gives: { code: 'credential-missing' } },
  { name: 'NUL at the end', bytes: `${KEY}\0`, gives: { code: 'credential-missing' } },
  { name: 'NUL inside', bytes: `sk-\0canary`, gives: { code: 'credential-missing' } },
  { name: 'two words', bytes: `${KEY} x`, gives: { code: 'credential-missing' } },
  { name: 'two lines', bytes: `${KEY}\nx`, gives: { code: 'credential-missing' } },
  { name: 'a header smuggled in', bytes: `${KEY}\r\nx-evil: 1`, gives: { code: 'credential-missing' } },
  { name: 'letters no header carries', bytes: 'schlüssel', gives: { code: 'credential-missing' } },
  { name: 'no UTF-8', bytes: Uint8Array.of(0xff, 0xfe, 0x73, 0x00), gives: { code: 'credential-missing' } },
  {
    name: 'as large as may be',
    bytes: 'k'.repeat(CREDENTIAL_BYTES_MAX),
    gives: { key: 'k'.repeat(CREDENTIAL_BYTES_MAX) },
  },
  { name: 'too large', bytes: 'k'.repeat(CREDENTIAL_BYTES_MAX + 1), gives: { code: 'too-large' } },
  { name: 'pointer', bytes: `{"a":{"b/c":["x","${KEY}"]}}`, pointer: '/a/b~1c/1', gives: { key: KEY } },
  { name: 'pointer behind a byte order mark', bytes: `\ufeff{"~":"${KEY}"}`, pointer: '/~0', gives: { key: KEY } },
  { name: 'pointer to nothing', bytes: '{"a":1}', pointer: '/b', gives: { code: 'credential-missing' } },
  { name: 'pointer to a number', bytes: '{"a":1}', pointer: '/a', gives: { code: 'credential-missing' } },
  { name: 'pointer into a text', bytes: '{"a":"xyz"}', pointer: '/a/0', gives: { code: 'credential-missing' } },
  {
    name: 'pointer to what every object has',
    bytes: '{}',
    pointer: '/constructor/name',
    gives: { code: 'credential-missing' },
  },
  { name: 'pointer with a leading zero', bytes: '["x"]', pointer: '/00', gives: { code: 'credential-missing' } },
  { name: 'pointer into no JSON', bytes: KEY, pointer: '/a', gives: { code: 'credential-missing' } },
]

for (const { name, bytes, pointer, gives } of files) {
  t.test(`a credential file: ${name}`, async t => {
    const path = join(t.testdir(), 'key')
    writeFileSync(path, bytes)
    if ('key' in gives) t.equal(credentialInFile(path, { pointer }), gives.key)
    else {
      const { code, message } = refusedAs(() => credentialInFile(path, { pointer }))
      t.equal(code, gives.code)
      t.match(message, path)
      t.notMatch(message, /canary|kkkk|evil/, 'by its source, never by its value')
    }
  })
}

t.test('what is no plain file is refused and not waited for', async t => {
  const dir = t.testdir({ real: KEY })
  mkdirSync(join(dir, 'folder'))
  execFileSync('mkfifo', [join(dir, 'fifo')])
  symlinkSync('real', join(dir, 'link'))
  symlinkSync('nowhere', join(dir, 'dangling'))
  const code = (name: string): string => refusedAs(() => credentialInFile(join(dir, name), { pointer: undefined })).code
  t.equal(code('fifo'), 'not-a-file')
  t.equal(code('folder'), 'not-a-file')
  t.equal(refusedAs(() => credentialInFile('/dev/null', { pointer: undefined })).code, 'not-a-file')
  t.equal(code('dangling'), 'file-unreadable')
  t.equal(code('absent'), 'file-unreadable')
  t.equal(code('real/below'), 'file-unreadable')
  t.equal(
    credentialInFile(join(dir, 'link'), { pointer: undefined }),
    KEY,
    'a link to a file is read: secrets are mounted so',
  )
})

t.test('a file is read again each time: replaced by a rename, gone, back', async t => {
  const dir = t.testdir({ key: 'one', next: 'two\n' })
  const path = join(dir, 'key')
  const read = (): string => credentialInFile(path, { pointer: undefined })
  t.equal(read(), 'one')
  renameSync(join(dir, 'next'), path)
  t.equal(read(), 'two')
  rmSync(path)
  t.equal(refusedAs(read).code, 'file-unreadable')
  writeFileSync(path, 'three')
  t.equal(read(), 'three')
})

t.test('a variable: unset and empty are the same', async t => {
  t.equal(credentialInVariable('K', { K: ` ${KEY}\n` }, { pointer: undefined }), KEY)
  for (const env of [{}, { K: '' }]) {
    t.match(
      refusedAs(() => credentialInVariable('K', env, { pointer: undefined })),
      {
        code: 'credential-missing',
        message: /the variable K is not set: export it/,
      },
    )
  }
  const wrong = refusedAs(() => credentialInVariable('K', { K: `${KEY} x` }, { pointer: undefined }))
  t.match(wrong, { code: 'credential-missing', message: /in K is empty or holds more than one printable word/ })
  t.notMatch(wrong.message, /canary/)
})
