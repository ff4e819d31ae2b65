/** Folders as they are on disk: skills, agents, plugins, memories; links, bad files, names that stand twice. */
import { chmodSync, linkSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { DOCUMENT_BYTES_MAX } from '../../../src/bounds.js'
import { isRefusal } from '../../../src/errors.js'
import type { Documents } from '../../../src/loop/documents/documents.js'
import { type DocumentFolders, loadDocuments } from '../../../src/loop/documents/load.js'
import { needs } from '../../support/needs.js'
import { scratch } from '../../support/scratch.js'

type Files = Readonly<Record<string, string | Buffer>>

function put(root: string, files: Files): void {
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true })
    writeFileSync(join(root, name), content)
  }
}

const doc = (name: string, body = `${name}'s body`): string =>
  `---\nname: ${name}\ndescription: of ${name}\n---\n${body}`

const NONE = { skills: [], agents: [], plugins: [], memories: [], agentsAre: 'read', problems: 'tell' } as const

function load(cwd: string, folders: Partial<DocumentFolders>): Documents {
  return loadDocuments({ ...NONE, cwd, ...folders })
}

/** Names, and problems as `code file: reason`. */
function told({ skills, agents, problems }: Documents): unknown {
  return {
    ...(skills.length === 0 ? {} : { skills: skills.map(({ name }) => name) }),
    ...(agents.length === 0 ? {} : { agents: agents.map(({ name }) => name) }),
    says: problems.map(({ code, file, reason }) => `${code} ${file}: ${reason}`),
  }
}

function refusal(act: () => unknown): string {
  try {
    act()
    return 'accepted'
  } catch (error) {
    if (isRefusal(error)) return `${error.code} ${error.message}`
    throw error
  }
}

t.test('a bad skill is named, and the rest of its folder loads', async t => {
  const cwd = scratch(t)
  put(cwd, {
    'sk/a/SKILL.md': doc('a'),
    'sk/b/SKILL.md': 'no fence',
    'sk/c/skill.md': doc('c'),
    'sk/d/README.md': 'not a skill',
    'sk/e/SKILL.md': Buffer.from('---\nname: e\ndescription: \xff\n---\n', 'latin1'),
    'sk/f/SKILL.md': `${doc('f')}${'x'.repeat(DOCUMENT_BYTES_MAX)}`,
    'sk/g': 'a file',
    'sk/h/SKILL.md/x': 'a folder',
    'sk/z/SKILL.md': doc('z'),
  })
  const { skills } = load(cwd, { skills: ['sk/'] })
  t.strictSame(skills[0], { name: 'a', description: 'of a', body: "a's body", file: 'sk/a/SKILL.md' })
  t.match(told(load(cwd, { skills: ['sk/'] })), {
    skills: ['a', 'z'],
    says: [
      /^document-refused sk\/b\/SKILL.md: it has no front matter$/,
      /^document-refused sk\/c\/skill.md: its name is not SKILL.md$/,
      /^document-refused sk\/e\/SKILL.md: it is not UTF-8$/,
      /^document-refused sk\/f\/SKILL.md: it has \d+ bytes, over the bound of 262144$/,
      /^document-refused sk\/h\/SKILL.md: .*only plain files/,
    ],
  })
  t.equal(load(cwd, { skills: ['sk'] }).problems.find(({ file }) => file === 'sk/e/SKILL.md')?.line, 3)
  t.match(
    refusal(() => load(cwd, { skills: ['sk'], problems: 'refuse' })),
    /^bad-document "sk\/b\/SKILL.md" line 1: /,
  )
  t.match(
    refusal(() => load(cwd, { skills: ['nope'] })),
    /^missing --skills-dir "nope" does not exist/,
  )
  t.match(
    refusal(() => load(cwd, { skills: ['sk/g'] })),
    /^not-a-directory --skills-dir "sk\/g" is a file/,
  )
  t.match(told(load(cwd, { skills: ['sk/a'] })), {
    says: [/sk\/a\/SKILL.md: a folder of skills holds them one level down/],
  })
})

t.test('strict refuses each kind of problem, and not what asks to be left out', async t => {
  const cwd = scratch(t)
  put(cwd, {
    'ignored/a/SKILL.md': '---\nname: a\ndescription: d\nlicense: x\n---\n',
    'broken/a/SKILL.md': '---\nname: a\ndescription: x: y\n---\n',
    'twice/a/SKILL.md': doc('a'),
    'twice/b/SKILL.md': doc('a'),
    'manual/a/SKILL.md': '---\nname: a\ndescription: d\ndisable-model-invocation: true\n---\n',
    'plug/skills/a/SKILL.md': doc('a'),
  })
  const strict = (folders: Partial<DocumentFolders>): string =>
    refusal(() => load(cwd, { ...folders, problems: 'refuse' }))
  t.match(strict({ skills: ['ignored'] }), /ignored: license/)
  t.match(strict({ skills: ['broken'] }), /line 3: description is not valid YAML/)
  t.match(strict({ skills: ['twice'] }), /a is also in "?twice\/a\/SKILL.md/)
  t.match(strict({ plugins: ['plug'] }), /no manifest/)
  t.equal(strict({ skills: ['manual'] }), 'accepted')
  t.match(told(load(cwd, { skills: ['manual'] })), {
    says: [/^document-withheld manual\/a\/SKILL.md: a is not offered/],
  })
})

t.test('the first of a name wins, folders before plugins, and it is told', async t => {
  const cwd = scratch(t)
  put(cwd, {
    'one/x/SKILL.md': doc('same', 'one'),
    'two/x/SKILL.md': doc('same', 'two'),
    'ag/a.md': doc('same'),
    'ag/b.md': doc('same'),
    'plug/.claude-plugin/plugin.json': '{"name":"plug"}',
    'plug/skills/x/SKILL.md': doc('same', 'three'),
  })
  const all = load(cwd, { skills: ['one', 'two'], agents: ['ag'], plugins: ['plug'] })
  t.strictSame(
    all.skills.map(({ name, body }) => `${name} ${body}`),
    ['same one', 'plug:same three'],
  )
  t.strictSame(told(all), {
    skills: ['same', 'plug:same'],
    agents: ['same'],
    says: [
      'document-shadowed two/x/SKILL.md: same is also in one/x/SKILL.md, and the first is used',
      'document-shadowed ag/b.md: same is also in ag/a.md, and the first is used',
    ],
  })
})

t.test('links stay in the folder and count once (G17)', async t => {
  const cwd = scratch(t)
  put(cwd, { 'sk/a/SKILL.md': doc('a'), 'out/SKILL.md': doc('out'), 'sk/hard/other.md': '' })
  symlinkSync('a', join(cwd, 'sk/b'))
  mkdirSync(join(cwd, 'sk/c'))
  symlinkSync('../a/SKILL.md', join(cwd, 'sk/c/SKILL.md'))
  symlinkSync('../out', join(cwd, 'sk/d'))
  mkdirSync(join(cwd, 'sk/e'))
  symlinkSync('../../out/SKILL.md', join(cwd, 'sk/e/SKILL.md'))
  mkdirSync(join(cwd, 'sk/f'))
  symlinkSync('gone', join(cwd, 'sk/f/SKILL.md'))
  mkdirSync(join(cwd, 'sk/g'))
  symlinkSync('SKILL.md', join(cwd, 'sk/g/SKILL.md'))
  linkSync(join(cwd, 'sk/a/SKILL.md'), join(cwd, 'sk/hard/SKILL.md'))
  symlinkSync('sk', join(cwd, 'linked'))
  for (const folder of ['sk', 'linked']) {
    t.match(told(load(cwd, { skills: [folder] })), {
      skills: ['a'],
      says: [
        /^document-refused (sk|linked)\/d\/SKILL.md: it lands at ".*\/out\/SKILL.md", outside ".*\/sk"$/,
        /^document-refused (sk|linked)\/e\/SKILL.md: it lands at/,
        /^document-refused (sk|linked)\/f\/SKILL.md: .*points at "gone", and nothing is there/,
        /^document-refused (sk|linked)\/g\/SKILL.md: .*loop/,
      ],
    })
  }
})

t.test('agents are the .md files of the folder itself, by name', async t => {
  const cwd = scratch(t)
  put(cwd, {
    'ag/b.md': doc('two'),
    'ag/a.md': '---\ndescription: d\n---\n',
    'ag/README.md': '# Agents\n',
    'ag/x.txt': doc('x'),
    'ag/sub/c.md': doc('c'),
  })
  t.strictSame(told(load(cwd, { agents: ['ag'] })), {
    agents: ['a', 'two'],
    says: [
      'document-refused ag/README.md: it has no front matter',
      'document-recovered ag/a.md: it has no name and is called "a"',
    ],
  })
  t.strictSame(told(load(cwd, { agents: ['ag'], agentsAre: 'unread' })), { says: [] })
})

const MANIFEST = '.claude-plugin/plugin.json'

t.test('a plugin is found by its defaults unless a field is given, for each kind (G11)', async t => {
  const cwd = scratch(t)
  put(cwd, {
    [`p/${MANIFEST}`]: '{"name":"p","version":"1","commands":["./commands"],"hooks":"./hooks.json"}',
    'p/skills/s/SKILL.md': doc('s'),
    'p/agents/a.md': doc('a'),
    'p/more/t/SKILL.md': doc('t'),
    'p/one.md': doc('one'),
  })
  t.strictSame(told(load(cwd, { plugins: ['p'] })), { skills: ['p:s'], agents: ['p:a'], says: [] })
  t.strictSame(told(load(cwd, { plugins: ['p'], agentsAre: 'unread' })), { skills: ['p:s'], says: [] })
  const given = (fields: object): unknown => {
    put(cwd, { [`p/${MANIFEST}`]: JSON.stringify({ name: 'p', ...fields }) })
    return told(load(cwd, { plugins: ['p'] }))
  }
  t.strictSame(given({ skills: './more' }), { skills: ['p:t'], agents: ['p:a'], says: [] })
  t.strictSame(given({ agents: ['./one.md'] }), { skills: ['p:s'], agents: ['p:one'], says: [] })
  t.strictSame(given({ skills: [], agents: [] }), { says: [] })
})

t.test('paths of a manifest: the documented set, and nothing outside (G09)', async t => {
  const cwd = scratch(t)
  put(cwd, {
    'p/skills/s/SKILL.md': doc('s'),
    'p/t/SKILL.md': doc('t'),
    'x/SKILL.md': doc('x'),
    'x/y/SKILL.md': doc('y'),
  })
  const skills = (value: unknown): unknown => {
    put(cwd, { [`p/${MANIFEST}`]: JSON.stringify({ name: 'p', skills: value }) })
    return told(load(cwd, { plugins: ['p'] }))
  }
  for (const form of [
    'skills',
    'skills/',
    './skills',
    './skills/',
    ['./skills'],
    ['skills/s'],
    './skills/s/SKILL.md',
  ]) {
    t.strictSame(skills(form), { skills: ['p:s'], says: [] }, JSON.stringify(form))
  }
  for (const form of ['./', '.', ['./']])
    t.strictSame(skills(form), { skills: ['p:t'], says: [] }, JSON.stringify(form))
  symlinkSync('../x', join(cwd, 'p/link'))
  const cases: readonly (readonly [unknown, RegExp])[] = [
    ['../x', /plugin.json: skills entry "..\/x" goes up/],
    ['./skills/../../x', /goes up/],
    [join(cwd, 'x'), /is not relative to the plugin/],
    ['~/x', /is not relative/],
    ['C:\\x', /is not relative/],
    ['..\\x', /goes up/],
    ['', /is empty/],
    [5, /skills holds an entry that is no text/],
    [{ a: 'b' }, /no text/],
    ['./link', /p\/link\/SKILL.md: it lands at/],
    ['./nope', /p\/nope: it does not exist/],
    ['./nope.md', /p\/nope.md: it does not exist/],
  ]
  for (const [entry, says] of cases) {
    t.match(skills(['./t', entry]), { skills: ['p:t'], says: [says] }, JSON.stringify(entry))
  }
})

t.test(
  'a manifest that is broken or nameless refuses the plugin by name; without one the folder qualifies',
  async t => {
    const cwd = scratch(t)
    put(cwd, { 'p/skills/s/SKILL.md': doc('s'), 'ok/s/SKILL.md': doc('s') })
    t.strictSame(told(load(cwd, { plugins: ['p'] })), {
      skills: ['p:s'],
      says: ['plugin-unqualified p: it has no manifest and is called "p"'],
    })
    const cases: readonly (readonly [string, RegExp])[] = [
      ['{', /the plugin "p" is refused: /],
      ['[]', /it is no JSON object/],
      ['{}', /its name is empty/],
      ['{"name":""}', /its name is empty/],
      ['{"name":5}', /its name is empty/],
      ['{"name":"a:b"}', /its name holds a colon/],
      ['{"name":"a\\u0000"}', /its name holds U\+0000/],
      ['{"name":"a","name":"b"}', /the plugin "p" is refused/],
    ]
    for (const [text, says] of cases) {
      put(cwd, { [`p/${MANIFEST}`]: text })
      const all = load(cwd, { skills: ['ok'], plugins: ['p'] })
      t.match(told(all), { skills: ['s'], says: [says] }, text)
      t.equal(all.skills.length, 1, text)
    }
  },
)

const memory = (fields: string, body = 'Detail\n'): string => `---\n${fields}\n---\n${body}`
const ACTIVE = 'kind: fact\nsummary: s\ntrust: unreviewed\nstatus: active'

t.test('memories are taken whole or not at all (contract §15)', async t => {
  const cwd = scratch(t)
  put(cwd, {
    'm/b.md': memory(`${ACTIVE}\nsupersedes: a`),
    'm/a.md': memory(ACTIVE.replace('active', 'superseded')),
    'm/note.txt': 'no record',
  })
  t.strictSame(load(cwd, { memories: ['m'] }).memories, [
    {
      id: 'a',
      kind: 'fact',
      summary: 's',
      trust: 'unreviewed',
      status: 'superseded',
      body: 'Detail\n',
      file: 'm/a.md',
    },
    {
      id: 'b',
      kind: 'fact',
      summary: 's',
      trust: 'unreviewed',
      status: 'active',
      supersedes: 'a',
      body: 'Detail\n',
      file: 'm/b.md',
    },
  ])
  const cases: readonly (readonly [string, RegExp])[] = [
    ['no fence', /no front matter/],
    [memory('kind: fact'), /it has no summary/],
    [memory(`${ACTIVE}\nid: x`), /line 6: unknown key "id"/],
    [memory(`${ACTIVE}\nkind: fact`), /line 6: the key "kind" stands twice/],
    [memory(ACTIVE.replace('fact', 'rumour')), /line 2: kind is "rumour": write decision, fact/],
    [memory(ACTIVE.replace('unreviewed', 'reviewed')), /trust is "reviewed"/],
    [memory(ACTIVE.replace('active', 'open')), /status is "open"/],
    [memory(ACTIVE.replace('summary: s', 'summary: ""')), /it has no summary/],
    [memory(ACTIVE.replace('summary: s', 'summary: a: b')), /line 3: it is not valid YAML/],
    [memory(`${ACTIVE}\nsupersedes: c`), /it supersedes itself/],
    [memory(`${ACTIVE}\nsupersedes: zz`), /it supersedes "zz", which is not there/],
    [memory(ACTIVE.replace('summary: s', 'summary: "a\\tb"')), /its summary holds U\+0009/],
    [memory(ACTIVE, 'a\u2066b'), /its text holds U\+2066/],
    [memory(ACTIVE, 'a\u009bb'), /its text holds U\+009B/],
    [memory(ACTIVE, 'a\rb'), /its text holds U\+000D/],
  ]
  for (const [text, says] of cases) {
    put(cwd, { 'm/c.md': text })
    t.match(
      refusal(() => load(cwd, { memories: ['m'] })),
      /^bad-document "m\/c.md"/,
      String(says),
    )
    t.match(
      refusal(() => load(cwd, { memories: ['m'] })),
      says,
    )
  }
  put(cwd, { 'm/c.md': memory(ACTIVE, 'a\tb\r\nc'), 'n/a.md': memory(ACTIVE), 'e/ .md': memory(ACTIVE) })
  t.equal(load(cwd, { memories: ['m'] }).memories.length, 3, 'tab and CRLF')
  t.match(
    refusal(() => load(cwd, { memories: ['m', 'n'] })),
    /"n\/a.md": m\/a.md has the same id/,
  )
  t.match(
    refusal(() => load(cwd, { memories: ['e'] })),
    /its id, the name of the file, is empty/,
  )
})

t.test('what may not be read is told', { skip: needs('not-root') }, async t => {
  const cwd = scratch(t)
  put(cwd, { 'sk/a/SKILL.md': doc('a'), 'sk/b/SKILL.md': doc('b'), 'sk/c/SKILL.md': doc('c') })
  chmodSync(join(cwd, 'sk/a/SKILL.md'), 0)
  chmodSync(join(cwd, 'sk/b'), 0)
  t.teardown(() => chmodSync(join(cwd, 'sk/b'), 0o700))
  t.match(told(load(cwd, { skills: ['sk'] })), {
    skills: ['c'],
    says: [
      /^document-refused sk\/a\/SKILL.md: .*(?:EACCES|permission)/,
      /^document-refused sk\/b\/SKILL.md: .*(?:EACCES|permission)/,
    ],
  })
})
