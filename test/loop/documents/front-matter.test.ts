/** Fences, fields and the narrow recovery, as tables: what is accepted, what is refused on which line, what stays as written. */
import t from 'tap'
import { FRONT_MATTER_BYTES_MAX } from '../../../src/bounds.js'
import { splitFrontMatter } from '../../../src/loop/documents/front-matter.js'
import { readHead } from '../../../src/loop/documents/head.js'
import { isDefect, problemText } from '../../../src/loop/documents/problems.js'
import { readRecovering } from '../../../src/loop/documents/recover.js'
import { readFields, textOf } from '../../../src/loop/documents/yaml-fields.js'

const head = (text: string) => readHead({ file: 'a.md', text, stem: 'a' })

/** Name, description, body and warnings of a document, or its refusal in words. */
function told(text: string): unknown {
  const read = head(text)
  if (isDefect(read)) return problemText({ file: 'a.md', ...read })
  const { name, description, body, problems } = read
  return { name, description, body, says: problems.map(({ line, reason }) => `${line ?? '-'} ${reason}`) }
}

/** All fields as text, or the defect's line. */
function fields(yaml: string): Record<string, string | null> | number | null {
  const read = readRecovering(yaml, 1)
  if (isDefect(read)) return read.line
  return Object.fromEntries(
    read.fields.all.map(field => {
      const text = textOf(read.fields, field)
      return [field.key, isDefect(text) ? `defect ${text.line}` : text]
    }),
  )
}

const LINES = ['---', 'name: n', 'description: d', '---', 'Body', 'two', '']

t.test('line ends, marks and blank lines change nothing (G06, P115)', async t => {
  const same = { name: 'n', description: 'd', says: [] }
  t.strictSame(told(LINES.join('\n')), { ...same, body: 'Body\ntwo\n' })
  t.strictSame(told(LINES.join('\r\n')), { ...same, body: 'Body\r\ntwo\r\n' })
  t.strictSame(told(`\ufeff${LINES.join('\n')}`), { ...same, body: 'Body\ntwo\n' })
  t.strictSame(told(`\ufeff${LINES.join('\r\n')}`), { ...same, body: 'Body\r\ntwo\r\n' })
  t.strictSame(told('---\r\nname: n\ndescription: d\r\n---\nBody\r\n'), { ...same, body: 'Body\r\n' }, 'mixed')
  t.strictSame(told('---\nname: n\ndescription: d\n---'), { ...same, body: '' }, 'front matter alone')
  t.strictSame(told('---\nname: n\ndescription: d\n---\n\n\n\nBody'), { ...same, body: 'Body' })
})

t.test('what is unusual is accepted and named', async t => {
  const note = (text: string): unknown => (told(text) as { says: string[] }).says
  t.strictSame(note('\n \n---\nname: n\ndescription: d\n---\n'), ['1 2 blank lines before the front matter: accepted'])
  t.strictSame(note('--- \nname: n\ndescription: d\n---\n'), ['1 spaces behind ---: accepted'])
  t.strictSame(note('---\nname: n\ndescription: d\n---\t\n'), ['1 spaces behind ---: accepted'])
  t.strictSame(note('---\nname: n\ndescription: d\n...\n'), [
    '1 the front matter ends with ... in place of ---: accepted',
  ])
})

t.test('without both fences nothing is guessed', async t => {
  for (const text of [
    '',
    '# Title\n',
    'name: n\n---\n',
    '----\nname: n\n---\n',
    '---name: n\n---\n',
    ' ---\nname: n\n---\n',
  ]) {
    t.match(told(text), /"a.md" line 1: it has no front matter: begin the file with a line ---/, JSON.stringify(text))
  }
  t.match(told('\n---\nname: n\ndescription: d\n'), /line 2: its front matter has no end: add a line ---/)
  const wide = splitFrontMatter(`---\n# ${'x'.repeat(FRONT_MATTER_BYTES_MAX)}\n---\n`)
  t.match(isDefect(wide) && wide.reason, /over the bound of 65536/)
})

t.test('text is kept as written, whatever YAML makes of it elsewhere (G18)', async t => {
  const cases: readonly (readonly [string, string | null])[] = [
    ['123', '123'],
    ['1.10', '1.10'],
    ['yes', 'yes'],
    ['null', 'null'],
    ['~', '~'],
    ['2024-01-01', '2024-01-01'],
    ['0x1F', '0x1F'],
    ['[apk-file, b]', '[apk-file, b]'],
    ['{a: b}', '{a: b}'],
    ['"a: b # c"', 'a: b # c'],
    ["'it''s'", "it's"],
    ['use # note', 'use'],
    ['use#1 of 2', 'use#1 of 2'],
    ['!!int 5', '5'],
    ['!evil 5', '5'],
  ]
  for (const [written, text] of cases) {
    t.strictSame(fields(`description: ${written}`), { description: text }, written)
  }
})

t.test('a description that YAML cuts off is told', async t => {
  t.match(told('---\nname: n\ndescription: use #1 of 2\n---\n'), {
    description: 'use',
    says: ['3 description ends before " #", where a comment begins'],
  })
  t.match(told('---\nname: n # a\ndescription: "use #1" # b\n---\n'), { description: 'use #1', says: { length: 0 } })
})

t.test('every multi-line form gives the joined text (G07)', async t => {
  const cases: readonly (readonly [string, string])[] = [
    ['description:\n  one\n  two', 'one two'],
    ['description: one\n  two\n\n  three', 'one two\nthree'],
    ['description: >\n  one\n  two', 'one two'],
    ['description: >-\n  one\n  two: three', 'one two: three'],
    ['description: |\n  one\n  two', 'one\ntwo'],
    ['description: |-\n  one\n  two', 'one\ntwo'],
    ['description: |2\n    one\n  two', '  one\ntwo'.trim()],
    ['description: "one\n  two"', 'one two'],
    ["description: 'one\n  two'", 'one two'],
  ]
  for (const [yaml, text] of cases)
    t.strictSame(fields(`name: n\n${yaml}\nmodel: m`), { name: 'n', description: text, model: 'm' })
})

t.test('a broken description alone is recovered, and its neighbours mean what YAML says (G01 G03 G08)', async t => {
  const around = (lines: string): string =>
    `name: n\ntools: [Read, "Grep"]\n${lines}\nmetadata: |\n  a: b\n  c\nmodel: x # note`
  const same = { name: 'n', tools: '[Read, "Grep"]', metadata: 'a: b\n  c'.replace('\n  c', '\nc'), model: 'x' }
  const cases: readonly (readonly [string, string])[] = [
    ['description: Use when X: do Y', 'Use when X: do Y'],
    ['description: Use "this" when X: do \'Y\'', 'Use "this" when X: do \'Y\''],
    ['description: Use when X: do Y # 3', 'Use when X: do Y # 3'],
    ['description: Use when [a]: do {b}', 'Use when [a]: do {b}'],
    ['description: [Beta] Use it', '[Beta] Use it'],
    ['description: @here and there', '@here and there'],
    ['description: Use when X:\\n do: Y', 'Use when X:\\n do: Y'],
    ['description: Use when\n  one\n  word: word\n  end', 'Use when one word: word end'],
    ['description:\n  one\n  two: three\n  four', 'one two: three four'],
    ['description: Use: it\nuser: "a" b\n<x>\n\nuser: "c"\n</x>', 'Use: it user: "a" b <x>\nuser: "c" </x>'],
  ]
  for (const [lines, description] of cases) t.strictSame(fields(around(lines)), { ...same, description }, lines)
  t.match(told('---\nname: n\ndescription: X: do Y\n---\n'), {
    description: 'X: do Y',
    says: ['3 description is not valid YAML and was taken as written'],
  })
})

t.test('what may have been meant otherwise is refused on its line', async t => {
  const cases: readonly (readonly [why: string, yaml: string, line: number])[] = [
    ['the name is no text for people', 'name: a: b\ndescription: d', 1],
    ['a second error elsewhere', 'description: a: b\nmetadata: c: d', 1],
    ['an error elsewhere', 'description: d\nmetadata: c: d', 2],
    ['an open quote', 'name: n\ndescription: "open', 2],
    ['a quote that ends early', 'description: "a" b', 1],
    ['a broken block', 'description: |\n  a\n b', 3],
    ['an indented line could be a key that narrows', 'description: a: b\n  tools: Read', 1],
    ['whatever its spelling', 'description: a: b\n  - disallowed-tools : x', 1],
    ['or a letter away', 'description: a: b\n  dissallowedTools: x', 1],
    ['a key stands twice', 'name: a\nname: b', 2],
    ['in a map below', 'name: a\nmetadata:\n  x: 1\n  x: 2', 4],
    ['twice behind a recovery', 'description: a: b\ntools: Read\ntools: Bash', 1],
    ['a merge key', 'base: &b {tools: Read}\n<<: *b', 2],
    ['a list', '- a', 1],
    ['one word', 'word', 1],
    ['nothing', '', 1],
    ['a key that is a list', '? [a]\n: b', 1],
    ['a tab as indentation', 'metadata:\n\ta: b', 2],
  ]
  for (const [why, yaml, line] of cases) t.equal(fields(yaml), line, why)
  t.match(told('---\nname: *a\ndescription: d\n---\n'), /name is no text|not valid YAML/, 'an alias is not expanded')
})

t.test('a name of its own or that of the file; a description always', async t => {
  t.match(told('---\ndescription: d\n---\n'), { name: 'a', says: ['- it has no name and is called "a"'] })
  t.match(told('---\nname:\ndescription: d\n---\n'), { name: 'a' })
  t.match(told('---\nname: n\n---\n'), /line 2: it has no description/)
  t.match(told('---\nname: n\ndescription:\n---\n'), /line 3: it has no description/)
  t.match(told('---\nname: n\ndescription: ""\n---\n'), /line 3: it has no description/)
  t.match(told('---\nname:\n  a: b\ndescription: d\n---\n'), /line 2: name is no text/)
  t.match(
    told('---\nname: New Relic Incident Agent\ndescription: d\n---\n'),
    { name: 'New Relic Incident Agent' },
    'G20',
  )
  t.match(told(`---\nname: ${'n'.repeat(201)}\ndescription: d\n---\n`), /201 characters, over the bound of 200/)
  t.match(told('---\nname: "a\\eb"\ndescription: d\n---\n'), /its name holds U\+001B/)
  t.match(told('---\nname: n\ndescription: "a\u202eb"\n---\n'), /line 3: its description holds U\+202E/)
})

t.test('what is made to hang a reader is refused in no time', async t => {
  const many = (text: string): string => text.repeat(Math.floor(FRONT_MATTER_BYTES_MAX / text.length))
  t.ok(isDefect(readFields(many('['), 1)), 'nested')
  t.ok(isDefect(readFields(many('{a: '), 1)), 'nested maps')
  const keys = Array.from({ length: 9_000 }, (_, index) => `k${index}:`).join('\n')
  t.notOk(isDefect(readFields(keys, 1)), 'many keys')
  const laughs = Array.from({ length: 30 }, (_, index) => `a${index + 1}: &a${index + 1} [*a${index}, *a${index}]`)
  t.notOk(isDefect(readFields(['a0: &a0 [x]', ...laughs].join('\n'), 1)), 'aliases are never expanded')
})
