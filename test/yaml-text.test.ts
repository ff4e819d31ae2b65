/** Reading YAML at a bounded cost: the faults that the library finds, of very many the first ones, and nothing deep composed. */
import { execFileSync } from 'node:child_process'
import fc from 'fast-check'
import t from 'tap'
import { parseDocument } from 'yaml'
import { YAML_DEPTH_MAX, YAML_ERRORS_MAX } from '../src/bounds.js'
import { findProblems } from '../src/emulator/scenario-problems.js'
import { readFields } from '../src/loop/documents/yaml-fields.js'
import { readYaml } from '../src/workflow/yaml-tree.js'
import { parseYaml, repeatedKeys } from '../src/yaml-text.js'

const PARTS = '[ ] { } , : - ? a b " \' | > # &a *a !a %a --- ... @ \\ << 1'
  .split(' ')
  .concat([' ', '\n', '\n  ', '\t', ': ', '- '])

t.test('the faults are those of the library, in the order of the text', async t => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...PARTS), { maxLength: 24 }), parts => {
      const text = parts.join('')
      const options = { schema: 'failsafe', uniqueKeys: false, prettyErrors: false, logLevel: 'error' } as const
      const { errors, warnings } = parseDocument(text, options)
      const told = [...errors, ...warnings].map(({ pos, code }) => `${pos[0]} ${code}`)
      const { faults, document } = parseYaml(text, { schema: 'failsafe', further: 'a fault' })
      // The library forgets what is wrong in a second document, which is refused as such; ours tells that as well.
      const hasSecond = errors.some(({ code }) => code === 'MULTIPLE_DOCS')
      const ours = faults.map(({ offset, code }) => `${offset} ${code}`).sort()
      const compared = hasSecond ? ours.filter(fault => told.includes(fault)) : ours
      t.strictSame(compared, told.sort(), JSON.stringify(text))
      t.strictSame(
        faults.map(({ offset }) => offset),
        faults.map(({ offset }) => offset).sort((a, b) => a - b),
      )
      if (document === null) t.fail('it was composed to its end')
    }),
    { numRuns: 400, examples: [[['...', '\n', '*a', 'a', '---', ',', '1', '<<', ',', '-']]] },
  )
})

t.test('of very many faults the first ones are told, and composing ends there', async t => {
  const many = 200_000
  const cases: readonly (readonly [begin: string, unit: string])[] = [
    ['', '}'],
    ['', '@'],
    ['', '"'],
    ['', '&a '],
    ['', '- }'],
    ['a: ', '\na'],
    ['a: |\n  ', '\n@'],
    ['{a: [', ','],
    ['- [', '!a '],
    ['a: ', '!a - a\n'],
  ]
  for (const [begin, unit] of cases) {
    const { faults } = parseYaml(begin + unit.repeat(many / unit.length), { schema: 'failsafe', further: 'a fault' })
    t.ok(faults.length > 0 && faults.length <= 2 * YAML_ERRORS_MAX, `${JSON.stringify(begin + unit)}: ${faults.length}`)
    t.ok((faults[0]?.offset ?? many) < 200, 'the first is at the beginning')
    t.notOk(faults.some(({ code }) => code === 'RESOURCE_EXHAUSTION'))
  }
})

t.test('what is nested deeper than the bound is composed by no reader', async t => {
  const { tooDeepAt } = parseYaml('['.repeat(YAML_DEPTH_MAX + 1), { schema: 'core', further: 'a fault' })
  t.equal(tooDeepAt, YAML_DEPTH_MAX)
  const shapes = (levels: number): Readonly<Record<string, string>> => ({
    brackets: '['.repeat(levels) + ']'.repeat(levels),
    braces: `${'{a: '.repeat(levels)}b${'}'.repeat(levels)}`,
    'keys of keys': `${'{? '.repeat(levels)}b${'}'.repeat(levels)}`,
    dashes: `${'- '.repeat(levels)}a`,
    indentation: Array.from({ length: levels }, (_, at) => `${' '.repeat(at)}a:`).join('\n'),
  })
  for (const [name, text] of Object.entries(shapes(YAML_DEPTH_MAX))) {
    const read = parseYaml(text, { schema: 'core', further: 'a fault' })
    t.strictSame([read.tooDeepAt, read.faults], [null, []], `${name}: as deep as is read`)
  }
  for (const levels of [YAML_DEPTH_MAX + 1, 1_000, 2_000])
    for (const [name, text] of Object.entries(shapes(levels))) {
      t.type(parseYaml(text, { schema: 'core', further: 'a fault' }).tooDeepAt, 'number', `${name}, ${levels} levels`)
      t.match(readYaml(text), { message: /nested deeper/ }, `a flow: ${name}`)
      t.match(findProblems(text), { problems: [{ why: /nested deeper/ }] }, `a scenario: ${name}`)
      t.match(readFields(text, 1), { reason: /nested too deep/ }, `front matter: ${name}`)
    }
})

t.test('P073: no variable makes the library print what it reads', async t => {
  const script = `import { parseYaml } from ${JSON.stringify(new URL('../src/yaml-text.js', import.meta.url).href)}
    parseYaml('a: [1, "x"]', { schema: 'core', further: 'a fault' })
    process.stdout.write(String(process.env.LOG_TOKENS))`
  const env = { ...process.env, LOG_TOKENS: '1', LOG_STREAM: '1' }
  const words = ['--input-type=module', '--eval', script]
  t.equal(execFileSync(process.execPath, words, { env, encoding: 'utf8' }), '1', 'and it is there afterwards')
})

t.test('a second document is a fault, or left out', async t => {
  const text = 'a: 1\n---\nb: ]\n'
  t.match(parseYaml(text, { schema: 'core', further: 'a fault' }).faults, [{ code: 'MULTIPLE_DOCS' }])
  const { document, faults } = parseYaml(text, { schema: 'core', further: 'left out' })
  t.strictSame([document?.toJS(), faults], [{ a: 1 }, []])
})

t.test('keys that stand twice, wherever they are, and many keys that do not', async t => {
  const { document } = parseYaml('a: 1\nb: {c: 1, "c": 2}\n? a\n: 2\n1: x\n"1": y\n', {
    schema: 'core',
    further: 'a fault',
  })
  t.strictSame(repeatedKeys(document?.contents ?? null), [
    { name: 'c', offset: 15 },
    { name: 'a', offset: 25 },
    { name: '1', offset: 36 },
  ])
  t.match(findProblems('version: 1\nmodel: m\nmodel: n\n').problems, [{ line: 3, why: /"model" stands twice/ }])
  const many = Array.from({ length: 50_000 }, (_, at) => `k${at}: 1`).join('\n')
  t.equal(repeatedKeys(parseYaml(many, { schema: 'core', further: 'a fault' }).document?.contents ?? null).length, 0)
})
