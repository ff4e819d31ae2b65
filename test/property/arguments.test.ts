/** Our judgement of call arguments is the one of a general JSON Schema validator, for every schema that is published. */
import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import t from 'tap'
import type { JsonObject } from '../../src/json.js'
import { misfit } from '../../src/tools/arguments.js'
import { catalogue } from '../../src/tools/catalogue.js'
import { verbSpecs } from '../../src/tools/verbs.js'

const { entries } = catalogue({ workspace: { kind: 'open' }, programs: ['node', 'npm'] })
const ajv = new Ajv2020({ strict: false })

const anything = fc.oneof(
  fc.constantFrom<unknown>('', 'node', 0, 1, 1.5, 6, 600_001, -1, true, null, [], {}, ['node'], ['sh'], ['node', 1]),
  fc.string({ maxLength: 3 }),
  fc.integer({ min: -2, max: 700_000 }),
  fc.jsonValue({ maxDepth: 2 }),
)

/** Mostly what the schema of one property asks for. */
function likely(schema: JsonObject): fc.Arbitrary<unknown> {
  const { type, enum: values } = schema
  const fitting: Record<string, fc.Arbitrary<unknown>> = {
    string: fc.string({ minLength: 1, maxLength: 3 }),
    integer: fc.integer({ min: 1, max: 5 }),
    boolean: fc.boolean(),
    array: fc.array(fc.string({ maxLength: 2 }), { maxLength: 2 }).map(rest => ['node', ...rest]),
    object: fc.constant({}),
  }
  const wanted = Array.isArray(values)
    ? fc.constantFrom<unknown>(...values)
    : ((typeof type === 'string' ? fitting[type] : undefined) ?? anything)
  return fc.oneof({ weight: 4, arbitrary: wanted }, { weight: 1, arbitrary: anything })
}

for (const { name, input_schema } of [...entries.map(entry => entry.spec), ...verbSpecs(entries)]) {
  t.test(name, async t => {
    const validate = ajv.compile(input_schema)
    const properties = Object.entries(input_schema.properties ?? {}) as [string, JsonObject][]
    const known = fc.record(Object.fromEntries(properties.map(([key, schema]) => [key, likely(schema)])), {
      requiredKeys: [],
    })
    const stray = fc.oneof({ weight: 9, arbitrary: fc.constant({}) }, fc.constantFrom({ stray: 1 }, { toString: 1 }))
    let fitting = 0
    fc.assert(
      fc.property(known, stray, (drawn, more) => {
        const args = JSON.parse(JSON.stringify({ ...drawn, ...more })) as JsonObject
        const fits = validate(args)
        if (fits) fitting += 1
        return (misfit(input_schema, args) === null) === fits
      }),
      { numRuns: 400 },
    )
    t.ok(fitting > 0, `${fitting} of 400 fit, so both answers were met`)
  })
}
