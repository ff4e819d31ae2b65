/** Answer schemas: which are refused and where, what each draft checks, and how a misfit is told. */
import t from 'tap'
import { ANSWER_PROBLEMS_TOLD_MAX, ANSWER_SCHEMA_BYTES_MAX } from '../../../src/bounds.js'
import { isRefusal } from '../../../src/errors.js'
import type { Json, JsonObject } from '../../../src/json.js'
import { type AnswerSchema, openAnswerSchema } from '../../../src/loop/answer/validator.js'

const open = (schema: Json | string): Promise<AnswerSchema> =>
  openAnswerSchema(Buffer.from(typeof schema === 'string' ? schema : JSON.stringify(schema)), 's.json')

const of = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({ type: 'object', properties, ...more })

t.test('refused before any request, with the place and what works', async t => {
  const deep = (levels: number): string =>
    `${'{"type":"object","properties":{"a":'.repeat(levels)}{}${'}}'.repeat(levels)}`
  const cases: readonly { name: string; schema: Json | string; place: string; says: RegExp }[] = [
    { name: 'no JSON', schema: '{"type":', place: '', says: /no JSON in UTF-8/ },
    { name: 'a list', schema: [], place: '', says: /its root is a list .* wrap it, \{"type":"object"/ },
    { name: 'true', schema: true, place: '', says: /is a boolean/ },
    {
      name: 'array at the root (F06, P097)',
      schema: { type: 'array' },
      place: '/type',
      says: /is "array" where "object" .*wrap/,
    },
    { name: 'string at the root', schema: { type: 'string', enum: ['a'] }, place: '/type', says: /wrap it/ },
    { name: 'two types', schema: { type: ['object', 'null'] }, place: '/type', says: /\["object","null"\]/ },
    { name: 'no type', schema: { properties: {} }, place: '/type', says: /is missing/ },
    ...['oneOf', 'anyOf', 'allOf', 'not', '$ref', 'enum'].map(keyword => ({
      name: `${keyword} at the root (F04)`,
      schema: { type: 'object', [keyword]: keyword === '$ref' ? '#/$defs/A' : [{}] },
      place: `/${keyword}`,
      says: /cannot stand at the root; providers take only an object there: wrap it/,
    })),
    {
      name: 'a type that is none',
      schema: of({ 'a/b': { type: 'strin' } }),
      place: '/properties/a~1b/type',
      says: /"strin"/,
    },
    {
      name: 'a list of schemas where one is',
      schema: of({ a: { items: [{}] } }),
      place: '/properties/a/items',
      says: /object,boolean/,
    },
    {
      name: 'a pattern',
      schema: of({ a: { pattern: '(' } }),
      place: '/properties/a/pattern',
      says: /no regular expression/,
    },
    {
      name: 'a pattern of keys',
      schema: of({}, { patternProperties: { '(/': {} } }),
      place: '/patternProperties/(~1',
      says: /no reg/,
    },
    {
      name: 'a reference to elsewhere',
      schema: of({ a: { $ref: 'https://x.test/y' } }),
      place: '/properties/a/$ref',
      says: /refers to https:\/\/x\.test\/y.*\$defs/,
    },
    {
      name: 'a reference to nothing',
      schema: of({ a: { $ref: '#/$defs/none' } }),
      place: '/properties/a/$ref',
      says: /refers to/,
    },
    {
      name: 'another draft',
      schema: of({}, { $schema: 'http://json-schema.org/draft-03/schema#' }),
      place: '/$schema',
      says: /draft-03.*known: .*2020-12/,
    },
    {
      name: 'a reference to itself',
      schema: of({ a: { $ref: '#/$defs/x' } }, { $defs: { x: { $ref: '#/$defs/x' } } }),
      place: '/$defs/x',
      says: /refers to itself without going into the value/,
    },
    {
      name: 'a reference to itself by way of another, an anchor and an encoded name',
      schema: of(
        { a: { $ref: '#/$defs/a%20b' } },
        {
          $defs: {
            'a b': { allOf: [{ type: 'object' }, { $ref: '#y' }] },
            y: { $anchor: 'y', if: { $ref: '#/$defs/a b' } },
          },
        },
      ),
      place: '/$defs/a b',
      says: /refers to itself/,
    },
    { name: '$async', schema: of({}, { $async: true }), place: '/$async', says: /no keyword/ },
    { name: 'too deep', schema: deep(150), place: '', says: /levels deep, over the bound/ },
  ]
  for (const { name, schema, place, says } of cases) {
    const error = await open(schema).then(
      () => null,
      (thrown: unknown) => thrown,
    )
    if (!isRefusal(error, 'bad-document')) {
      t.fail(`${name}: ${String(error)}`)
      continue
    }
    t.equal(error.details.place, place, name)
    t.match(error.message, says, name)
  }
  const bytes = Buffer.alloc(ANSWER_SCHEMA_BYTES_MAX + 1, ' ')
  await t.rejects(openAnswerSchema(bytes, 's.json'), { code: 'too-large' })
  await t.rejects(openAnswerSchema(Buffer.from([0x7b, 0xff, 0x7d]), 's.json'), { code: 'bad-document' }, 'no UTF-8')
  await t.resolves(open(deep(90)))
})

t.test('drafts: the same data, what each of them says of it (F10)', async t => {
  const NAMES = {
    none: undefined,
    '2020-12': 'https://json-schema.org/draft/2020-12/schema',
    '2019-09': 'https://json-schema.org/draft/2019-09/schema',
    'draft-07': 'http://json-schema.org/draft-07/schema#',
    'draft-06': 'http://json-schema.org/draft-06/schema#',
    'draft-04': 'http://json-schema.org/draft-04/schema#',
  }
  type Name = keyof typeof NAMES
  const cases: readonly { name: string; schema: JsonObject; value: JsonObject; fits: readonly Name[] }[] = [
    {
      name: 'a keyword beside $ref counts from 2019-09 on',
      schema: of({ a: { $ref: '#/definitions/n', minimum: 5 } }, { definitions: { n: { type: 'number' } } }),
      value: { a: 1 },
      fits: ['draft-07', 'draft-06', 'draft-04'],
    },
    {
      name: 'prefixItems is of 2020-12',
      schema: of({ a: { prefixItems: [{ type: 'string' }] } }),
      value: { a: [1] },
      fits: ['2019-09', 'draft-07', 'draft-06', 'draft-04'],
    },
    {
      name: 'if is of draft 07',
      schema: of({ a: { if: { type: 'number' }, then: { minimum: 5 } } }),
      value: { a: 1 },
      fits: ['draft-06', 'draft-04'],
    },
    {
      name: 'const is of draft 06',
      schema: of({ a: { const: 2 } }),
      value: { a: 1 },
      fits: ['draft-04'],
    },
    {
      name: 'unevaluatedProperties is of 2019-09',
      schema: of({ a: { properties: { b: {} }, unevaluatedProperties: false } }),
      value: { a: { c: 1 } },
      fits: ['draft-07', 'draft-06', 'draft-04'],
    },
    {
      name: 'nullable is of another standard',
      schema: of({ a: { type: 'string', nullable: true } }),
      value: { a: null },
      fits: [],
    },
  ]
  for (const { name, schema, value, fits } of cases) {
    for (const [draft, address] of Object.entries(NAMES)) {
      const one = await open(address === undefined ? schema : { $schema: address, ...schema })
      t.equal(one.judge(value).length === 0, fits.includes(draft as Name), `${name}: ${draft}`)
    }
  }
  const old = await open({ $schema: NAMES['draft-04'], ...of({ a: { maximum: 5, exclusiveMaximum: true } }) })
  t.equal(old.judge({ a: 5 }).length, 1, 'exclusiveMaximum of draft 04 is true or false')
})

t.test('formats: known ones are checked, others are told once (F13, P086)', async t => {
  const cases: Readonly<Record<string, { readonly fits: string; readonly not: string }>> = {
    'date-time': { fits: '2026-05-04T10:00:00Z', not: '2026-05-04 10:00:00Z' },
    date: { fits: '2026-02-28', not: '2026-02-30' },
    time: { fits: '10:00:00Z', not: '25:00:00Z' },
    duration: { fits: 'P1DT2H', not: '1 day' },
    email: { fits: 'a@b.test', not: 'a@' },
    hostname: { fits: 'a.test', not: '-a.test' },
    uri: { fits: 'https://a.test/x', not: '/x' },
    'uri-reference': { fits: '/x', not: '\\x' },
    uuid: { fits: '01234567-89ab-cdef-0123-456789abcdef', not: '0123' },
    ipv4: { fits: '127.0.0.1', not: '127.0.0.256' },
    ipv6: { fits: '::1', not: ':::1' },
    regex: { fits: '^a+$', not: '(' },
    'json-pointer': { fits: '/a/0', not: 'a' },
  }
  for (const [format, { fits, not }] of Object.entries(cases)) {
    const schema = await open(of({ a: { type: 'string', format } }))
    t.strictSame(schema.judge({ a: fits }), [], `${format}: ${fits}`)
    t.equal(schema.judge({ a: not }).length, 1, `${format}: ${not}`)
    t.strictSame(schema.warnings, [])
  }
  const made = await open(of({ a: { format: 'made-up' }, b: { format: 'other' }, c: { 'x-note': 1, format: 'email' } }))
  t.strictSame(made.judge({ a: 'anything' }), [])
  t.strictSame(made.warnings, [
    'not checked in answers: keywords not known to 2020-12: x-note; formats not known: made-up, other',
  ])
})

t.test('a misfit is told with its place', async t => {
  const { judge } = await open(
    of(
      {
        n: { type: 'integer', maximum: 10 },
        list: { type: 'array', minItems: 2, items: of({ 'a/b': { enum: ['x', 'y'] } }, { required: ['a/b'] }) },
      },
      { required: ['n', 'toString'], additionalProperties: false },
    ),
  )
  t.strictSame(judge({ n: 1.5, list: [{ 'a/b': 'z' }], stray: 1 }), [
    "the answer: must have required property 'toString'",
    'the answer: must NOT have additional properties: "stray"',
    '/n: must be integer; it is 1.5',
    '/list: must NOT have fewer than 2 items; it is [{"a/b":"z"}]',
    '/list/0/a~1b: must be equal to one of the allowed values: ["x","y"]; it is "z"',
  ])
  const many = await open(of({ a: { type: 'array', items: { type: 'string' } } }))
  const told = many.judge({ a: Array.from({ length: 100 }, (_, n) => n) })
  t.equal(told.length, ANSWER_PROBLEMS_TOLD_MAX + 1)
  t.equal(told.at(-1), 'and 80 more')
  t.match(many.judge({ a: ['x'.repeat(10), 'y', { long: 'z'.repeat(500) }] })[0], /…$/)
})

t.test('numbers are judged as doubles, past their range as infinite (F09)', async t => {
  const { judge } = await open(of({ a: { type: 'integer' }, b: { type: 'number', maximum: 5 } }))
  t.strictSame(judge(JSON.parse('{"a":9223372036854775807}')), [])
  t.strictSame(judge(JSON.parse('{"a":1e400}')), [])
  t.strictSame(judge(JSON.parse('{"a":-0}')), [])
  t.match(judge(JSON.parse('{"b":1e400}')), [/^\/b: must be <= 5; it is past the range of numbers$/])
})

t.test('a tree of 200 levels is checked to its leaves, and what would leave the stack is no answer (F12)', async t => {
  const tree = (levels: number, leaf: Json): JsonObject => {
    let value: JsonObject = { leaf }
    for (let n = 0; n < levels; n += 1) value = { child: value }
    return value
  }
  const node = { type: 'object', properties: { child: { $ref: '#/$defs/node' }, leaf: { type: 'string' } } }
  const schemas: readonly JsonObject[] = [
    of({ child: { $ref: '#' }, leaf: { type: 'string' } }),
    of({ child: { $ref: '#/$defs/node' } }, { $defs: { node } }),
    { $id: 'https://x.test/tree', ...of({ child: { $ref: 'tree' }, leaf: { type: 'string' } }) },
    { $dynamicAnchor: 'node', ...of({ child: { $dynamicRef: '#node' }, leaf: { type: 'string' } }) },
  ]
  for (const schema of schemas) {
    const { judge } = await open(schema)
    t.strictSame(judge(tree(200, 'x')), [])
    t.match(judge(tree(200, 1)), [new RegExp(`^${'/child'.repeat(200)}/leaf: must be string; it is 1$`)])
    t.strictSame(judge(tree(100_000, 'x')), ['the answer is nested too deeply to be checked'])
  }
})

t.test('a pattern cannot hold the run up where the engine in linear time knows it', async t => {
  const { judge, warnings } = await open(of({ a: { pattern: '^(a+)+$' } }))
  t.equal(judge({ a: `${'a'.repeat(50_000)}!` }).length, 1)
  t.strictSame(warnings, [])
  const two = await open(of({ a: { pattern: '^a$' }, b: { pattern: '^b$' } }))
  t.strictSame(two.judge({ a: 'a', b: 'b' }), [], 'each by its own pattern')
  t.equal(two.judge({ a: 'b', b: 'a' }).length, 2)
  const slow = await open(of({ a: { pattern: '^(?!x)[a-z]+$' }, b: { pattern: '^\\S+$' } }))
  t.match(slow.warnings, [/make these patterns slow.*: \/properties\/a\/pattern, \/properties\/b\/pattern$/])
  t.strictSame(slow.judge({ a: 'abc' }), [])
  t.equal(slow.judge({ a: 'xbc' }).length, 1)
})

t.test('no answer holds the run up, whatever its schema leaves open', async t => {
  const form = (k: string): JsonObject => of({ x: { $ref: '#/$defs/e' }, k: { const: k } }, { required: ['k'] })
  const forms = of({ e: { $ref: '#/$defs/e' } }, { $defs: { e: { anyOf: ['num', 'neg', 'inc', 'dec'].map(form) } } })
  let nested: JsonObject = { k: 'none' }
  for (let n = 0; n < 40; n += 1) nested = { k: 'neg', x: nested }
  const cases: readonly { name: string; schema: JsonObject; value: JsonObject }[] = [
    { name: 'alternatives in alternatives', schema: forms, value: { e: nested } },
    {
      name: 'a pattern that goes back',
      schema: of({ a: { pattern: '^(?!x)(a+)+$' } }),
      value: { a: `${'a'.repeat(60)}!` },
    },
  ]
  for (const { name, schema, value } of cases) {
    const { judge } = await open(schema)
    t.match(judge(value), [/could not be checked within 2000 ms/], name)
  }
})

t.test('alternatives are left at their first misfit, so that deep ones are decided', async t => {
  const form = (k: string): JsonObject => of({ k: { const: k }, x: { $ref: '#/$defs/e' } }, { required: ['k'] })
  const forms = of({ e: { $ref: '#/$defs/e' } }, { $defs: { e: { anyOf: ['num', 'neg', 'inc', 'dec'].map(form) } } })
  const { judge } = await open(forms)
  const nested = (leaf: string): JsonObject => {
    let value: JsonObject = { k: leaf }
    for (let n = 0; n < 40; n += 1) value = { k: 'neg', x: value }
    return { e: value }
  }
  t.strictSame(judge(nested('num')), [])
  t.match(
    judge(nested('none'))[0],
    /must be equal to constant/,
    'and where there is no time for every misfit, some are told',
  )
})

t.test('a key that stands twice does not fit: another parser reads the other one', async t => {
  const { judge } = await open(of({ a: { type: 'integer' }, b: { items: {} } }))
  const cases: readonly { text: string; key: string | null }[] = [
    { text: '{"a":"x","a":1}', key: 'a' },
    { text: '{"a":1,"b":[0,{"c":1,"\\u0063":2}]}', key: 'c' },
    { text: '{"a":1,"b":[{"c":1},{"c":2,"d":{"c":"\\"c\\":1,"}}]}', key: null },
  ]
  for (const { text, key } of cases) {
    const says = key === null ? [] : [`the answer: the key ${JSON.stringify(key)} stands twice in one object`]
    t.strictSame(judge(JSON.parse(text), text), says, text)
  }
})

t.test('a long list of allowed values is told in part', async t => {
  const { judge } = await open(of({ a: { enum: Array.from({ length: 5_000 }, (_, n) => `value-${n}`) } }))
  t.ok((judge({ a: 'none' })[0] ?? '').length < 700)
})
