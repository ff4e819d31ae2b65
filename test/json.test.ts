/** JSON texts that are not parsed: what is between tokens goes, what is in them stays. */
import fc from 'fast-check'
import t from 'tap'
import {
  compactJson,
  exactJson,
  type Json,
  memberText,
  nestingOf,
  ownText,
  partsOf,
  withExactText,
} from '../src/json.js'

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
  const one = withExactText({ a: 1 }, '{"a":1.0}')
  t.equal(exactJson({ b: [one, null, { c: one }] }), '{"b":[{"a":1.0},null,{"c":{"a":1.0}}]}', 'at any depth')
  t.same(ownText({ a: 1 }, ' {"a": 1} '), {})
  t.same(ownText({ a: 1 }, '{"a": 1.0}'), { text: '{"a":1.0}' })
  t.same(ownText({ a: 1 }, undefined), {})
})

t.test('parts of a text stand as they were written', async t => {
  t.same(partsOf(' { "a" : 1.0 , "b\\"" : [ "," , {"x":"}"} ] } '), [
    { key: 'a', text: '1.0' },
    { key: 'b"', text: '[ "," , {"x":"}"} ]' },
  ])
  t.same(partsOf('[ 1e400 ,"a,]" ]'), [
    { key: null, text: '1e400' },
    { key: null, text: '"a,]"' },
  ])
  for (const none of ['{}', '[ ]', '1', '"{:,}"']) t.same(partsOf(none), [], none)
  t.equal(memberText('{"a":1,"\\u0061":2.0}', 'a'), '2.0', 'of one key twice, the last')
  t.equal(memberText('{"__proto__":1.0}', '__proto__'), '1.0')
  t.equal(memberText('{"a":{"b":1}}', 'b'), undefined)
  t.equal(memberText('{}', 'a'), undefined)
  const text = '{ "a" : 1.50, "b{" : {"c":[1,"}\\"]"]} , "\\u0061":"x,y" , "d":[ ] }'
  const members = ['a', 'b{', 'd'].map(key => memberText(text, key))
  t.strictSame(members, ['"x,y"', '{"c":[1,"}\\"]"]}', '[ ]'])
  fc.assert(
    fc.property(fc.jsonValue(), fc.nat(3), (value, indent) => {
      const text = JSON.stringify(value, null, indent)
      const made = partsOf(text).map(part => [part.key, JSON.parse(part.text) as unknown])
      const parsed: unknown = JSON.parse(text)
      const entries = typeof parsed === 'object' && parsed !== null ? Object.entries(parsed) : []
      t.strictSame(made, Array.isArray(parsed) ? parsed.map(entry => [null, entry]) : entries)
      t.equal(exactJson(parsed as Json), JSON.stringify(parsed))
    }),
    { numRuns: 200 },
  )
})
