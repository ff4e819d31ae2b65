/** JSON texts that are not parsed: what is between tokens goes, what is in them stays. */
import t from 'tap'
import { compactJson, exactJson, nestingOf, withExactText } from '../src/json.js'

t.test('white space goes where it means nothing', async t => {
  const cases: readonly (readonly [text: string, compact: string])[] = [
    ['{}', '{}'],
    [' { "a" : [ 1 ,\t2 ]\r\n} ', '{"a":[1,2]}'],
    ['{"a b":" \\" { \\\\"}', '{"a b":" \\" { \\\\"}'],
    [
      '{"n": 9223372036854775807, "e": 1e400, "z": -0, "d": 0.10}',
      '{"n":9223372036854775807,"e":1e400,"z":-0,"d":0.10}',
    ],
    ['{"b":1, "2":1, "a":"\\u0041\\/"}', '{"b":1,"2":1,"a":"\\u0041\\/"}'],
    [' "x" ', '"x"'],
  ]
  for (const [text, compact] of cases) {
    t.equal(compactJson(text), compact, text)
    t.strictSame(JSON.parse(compactJson(text)), JSON.parse(text))
  }
})

t.test('depth is counted outside of strings, in texts that are cut as well', async t => {
  const cases: readonly (readonly [text: string, depth: number])[] = [
    ['1', 0],
    ['[]', 1],
    ['{"a":[{}]}', 3],
    ['{"a":"[[[["}', 1],
    ['{"a":"\\"[["}', 1],
    ['[[],[]]', 2],
    ['[[[', 3],
    ['"[[', 0],
    ['"\\', 0],
    ['['.repeat(100_000), 100_000],
  ]
  for (const [text, depth] of cases) t.equal(nestingOf(text), depth, text.slice(0, 20))
})

t.test('a value is told as it was written where that is known', async t => {
  t.equal(exactJson({ a: 1 }), '{"a":1}')
  t.equal(exactJson(withExactText({ a: 1 }, '{"a":1.0}')), '{"a":1.0}')
  t.equal(exactJson('x'), '"x"')
})
