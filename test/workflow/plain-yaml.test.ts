/** The fast reader of plain YAML says what the library says, or nothing. */
import fc from 'fast-check'
import t from 'tap'
import { readPlainYaml } from '../../src/workflow/plain-yaml.js'
import { readYaml } from '../../src/workflow/yaml-tree.js'

t.test('plain documents are read, with the same tree and the same places', async t => {
  const cases = [
    'id: f\nroot:\n  id: root\n  nodes:\n    - id: a\n      needs: []\n    - {id: b, needs: [a, c], run: {kind: command, command: [node, "x y", \'z\']}}\n',
    '# a comment\n\nid: f\nroot:\n  nodes:\n  - id: a\n  - id: b\n    run:\n      prompt: do it, please\n'.replace(
      ', ',
      ' ',
    ),
    'a: null\nb: ~x\n'.replace('~', ''),
    '- a\n- [b, c]\n- k: v\n  l: w\n-   deep: 1\n',
    'a: "x # y: z"\nb: \'it: is\'\nc: ""',
    'a: "\u00a0x\u2028"\n  \n  # c\nb: y  ',
  ]
  for (const text of cases) {
    t.not(readPlainYaml(text), null, encodeURI(text))
    t.strictSame(readPlainYaml(text), readYaml(text), encodeURI(text))
  }
})

t.test('what is not plain is left to the library', async t => {
  const cases = [
    ...[
      '',
      'a',
      'a: b: c',
      'a: b # c',
      'a: &x b',
      'a: *x',
      'a: !t b',
      'a: |\n  b',
      'a: >\n  b',
      'a:\n  b\n  c',
      'a: b\n  c',
      '? a',
      'a: "x\\n"',
    ],
    ...[
      'a: {b}',
      'a: {b: c,}',
      'a: [b,c]',
      'a: [b',
      'a: b]',
      'a:',
      'a: \nb: c',
      '- - a',
      '-',
      '--- a',
      'a: b\n---\nc: d',
      'a: b\na: c',
      'a:\tb',
      'a: b\r\n',
    ],
    ...[
      '<<: {a: b}',
      '%YAML 1.2',
      '@a: b',
      'a: - b',
      'a: "b" c',
      "a: 'b''c'",
      'a: {b: {c: d}',
      '\ufeffa: b',
      'null: a',
      'a: 🙂',
      // Blanks of Unicode are letters to YAML.
      ...['a: b\u00a0', 'a:\u00a0b', '- \u3000a', '\u00a0a: b', 'a: b\n\u2003# c', 'a: b\n\u2028'],
    ],
  ]
  for (const text of cases) t.equal(readPlainYaml(text), null, encodeURI(text))
})

t.test('property: never another tree than the library', async t => {
  const scraps = fc.constantFrom(
    ...[
      'a',
      'b',
      'id',
      'null',
      'yes',
      '1.5',
      '"q"',
      "'s'",
      "it's",
      '- ',
      '-',
      ': ',
      ':',
      ', ',
      ',',
      '[',
      ']',
      '{',
      '}',
      '#',
      ' # c',
      '|',
      '>',
      '&x',
      '*x',
      '!t',
    ],
    ...[
      '\n',
      '\n  ',
      '\n    ',
      '\n- ',
      '\n  - ',
      ' ',
      '  ',
      '\u00a0',
      '\u2028',
      '\u3000',
      '"',
      "'",
      '\\',
      '~',
      '%',
      '?',
      '---',
      '=',
      'é',
    ],
  )
  const soup = fc.array(scraps, { maxLength: 14 }).map(parts => parts.join(''))
  const line = fc
    .tuple(fc.nat(3), fc.constantFrom('a: ', 'b: ', '- ', 'c:', '- a: ', '- b:'), fc.array(scraps, { maxLength: 3 }))
    .map(([depth, head, parts]) => `${'  '.repeat(depth)}${head}${parts.join('')}`)
  const shaped = fc.array(line, { maxLength: 6 }).map(lines => lines.join('\n'))
  for (const texts of [soup, shaped]) {
    fc.assert(
      fc.property(texts, text => {
        const plain = readPlainYaml(text)
        return plain === null || JSON.stringify(plain) === JSON.stringify(readYaml(text))
      }),
      { numRuns: 4_000 },
    )
  }
  t.pass('held')
})
