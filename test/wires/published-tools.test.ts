/** What every request carries, on each wire: our tools in words that vendors take, small, and a prefix that stays. */
import t from 'tap'
import { isRefusal } from '../../src/errors.js'
import { isJsonObject, type Json, type JsonObject } from '../../src/json.js'
import { buildContext } from '../../src/loop/context.js'
import { catalogue } from '../../src/tools/catalogue.js'
import { toolPort } from '../../src/tools/port-local.js'
import type { Item, TurnRequest, WireName } from '../../src/wires/port.js'
import { WIRES } from '../../src/wires/wires.js'
import { sampleConversation, thrownBy, turnRequest } from '../support/turns.js'

const NAMES: readonly WireName[] = ['openai-responses', 'anthropic-messages', 'openai-chat']

const port = toolPort({
  surface: 'flat',
  catalogue: catalogue({ workspace: { kind: 'open' }, programs: ['node', 'npm'] }),
  handlers: {},
})
const { instruction } = buildContext({
  tools: port,
  writeScope: ['.git/**=denied', '**=allowed'],
  operatorInstructions: null,
  provided: [],
  workspace: { path: '/home/someone/projects/sample', branch: 'main', project: null },
  execution: { path: 'direct', boundary: 'bubblewrap', programs: ['node', 'npm'], writes: ['.'], hosts: [] },
  platform: { os: 'linux', arch: 'x64' },
  now: new Date('2026-05-04T10:20:30.456Z'),
})
const tools = port.specs.map(({ name, description, input_schema }) => ({ name, description, input_schema }))

/**
 * Keywords that OpenAI, Anthropic, Gemini's compatible endpoint, vLLM, llama.cpp and Ollama all take.
 * `prefixItems` is the one of `run` that the contract asks for (§8); `items` beside it says the same to those who pass it over.
 */
const COMMON: ReadonlySet<string> = new Set([
  'type',
  'properties',
  'required',
  'additionalProperties',
  'items',
  'prefixItems',
  'enum',
  'description',
  'minimum',
  'maximum',
  'minLength',
  'minItems',
])
const TYPES: ReadonlySet<Json | undefined> = new Set(['object', 'array', 'string', 'integer', 'boolean', undefined])

/** What in a schema some vendor refuses, by its place. */
function foreign(schema: Json | undefined, place: string): readonly string[] {
  if (!isJsonObject(schema)) return [`${place}: no object`]
  const { properties, items, prefixItems, additionalProperties, enum: values } = schema
  const inside: readonly (readonly [string, Json])[] = [
    ...Object.entries(isJsonObject(properties) ? properties : {}),
    ...(items === undefined ? [] : [['items', items] as const]),
    ...(Array.isArray(prefixItems) ? (prefixItems as readonly Json[]).map(one => ['prefixItems', one] as const) : []),
  ]
  return [
    ...Object.keys(schema).flatMap(keyword => (COMMON.has(keyword) ? [] : [`${place}: ${keyword}`])),
    ...(TYPES.has(schema.type) ? [] : [`${place}: type ${JSON.stringify(schema.type)}`]),
    ...(additionalProperties === undefined || additionalProperties === false ? [] : [`${place}: additionalProperties`]),
    // Gemini takes enumerations of strings alone.
    ...(Array.isArray(values) && values.some(value => typeof value !== 'string') ? [`${place}: enum`] : []),
    ...(schema.type === 'array' && items === undefined ? [`${place}: an array without items`] : []),
    ...inside.flatMap(([name, one]) => foreign(one, `${place}.${name}`)),
  ]
}

t.test('our seven tools use the schema words that every vendor takes (F15)', async t => {
  t.equal(tools.length, 7)
  t.same(
    tools.flatMap(({ name, input_schema }) => foreign(input_schema, name)),
    [],
  )
  t.ok(tools.every(({ input_schema }) => input_schema.type === 'object'))
  const strict: JsonObject = {
    type: 'object',
    $schema: 'x',
    properties: { a: { const: 1, enum: [1], type: ['null'] } },
  }
  t.same(foreign(strict, 'x'), ['x: $schema', 'x.a: const', 'x.a: type ["null"]', 'x.a: enum'], 'the check can fail')
})

for (const wire of NAMES) {
  const encode = (request: TurnRequest): JsonObject => WIRES[wire].encode(request)

  t.test(`${wire}: the first request with seven tools, byte for byte the same (P119)`, async t => {
    const body = `${JSON.stringify(encode(turnRequest({ instruction, tools })))}\n`
    t.ok(Buffer.byteLength(body) <= 8_192, `${Buffer.byteLength(body)} bytes`)
    t.equal(`${JSON.stringify(encode(turnRequest({ instruction, tools })))}\n`, body, 'same inputs, same bytes')
  })

  // Optional properties are legal, so a schema goes out as it is and never as a strict one.
  t.test(`${wire}: a schema of a user goes out as it is, with what is optional in it (F01)`, async t => {
    const input_schema: JsonObject = {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      properties: { optional: { type: 'string' }, nested: { $ref: '#/$defs/n' } },
      $defs: { n: { type: 'object', properties: { deep: { type: 'integer', exclusiveMinimum: 0 } } } },
    }
    const body = JSON.stringify(encode(turnRequest({ tools: [{ name: 'answer', description: 'd', input_schema }] })))
    t.ok(body.includes(JSON.stringify(input_schema)), 'to the byte')
    t.notMatch(body, '"strict":true')
  })

  // One such tool would break every request of the run.
  t.test(`${wire}: a schema whose root no vendor takes is refused before the first request (F04)`, async t => {
    const roots: readonly (readonly [JsonObject, string | undefined])[] = [
      [{ oneOf: [{ type: 'object' }] }, 'oneOf'],
      [{ type: 'object', anyOf: [{}] }, 'anyOf'],
      [{ type: 'object', allOf: [{}] }, 'allOf'],
      [{ $ref: '#/$defs/A', $defs: { A: { type: 'object' } } }, '$ref'],
      [{ type: 'array', items: {} }, undefined],
      [{}, undefined],
    ]
    for (const [input_schema, keyword] of roots) {
      const request = turnRequest({ tools: [{ name: 'answer', description: 'd', input_schema }] })
      const thrown = thrownBy(() => encode(request))
      t.ok(isRefusal(thrown, 'tool-schema-unsendable'), JSON.stringify(input_schema))
      t.equal(isRefusal(thrown, 'tool-schema-unsendable') ? thrown.details.keyword : 'none', keyword)
    }
  })

  // By turns: the conversation grows only at its end, and nothing else of the request changes.
  t.test(`${wire}: consecutive requests share their beginning to the byte (P119)`, async t => {
    const turns: Item[][] = [sampleConversation.slice(0, 1)]
    for (let n = 1; n <= 4; n++) turns.push([...(turns.at(-1) ?? []), ...turn(n, wire)])
    const requests = turns.map(items => encode(turnRequest({ instruction, tools, items })))
    for (const [index, later] of requests.slice(1).entries()) {
      const earlier = requests[index] ?? {}
      const [was, is] = [split(earlier), split(later)]
      t.ok(
        is.conversation.startsWith(was.conversation),
        `request ${index + 2} goes on where request ${index + 1} ended`,
      )
      t.ok(is.conversation.length > was.conversation.length)
      t.equal(is.rest, was.rest, 'and nothing else changed')
    }
  })
}

/** The turn number `n`: what the model said and called, sealed where the wire seals, and the results. */
function turn(n: number, wire: WireName): Item[] {
  const sealed: Item = { kind: 'opaque', wire, payload: { type: 'thinking', thinking: 'Hm', signature: `s${n}` } }
  return [
    ...(wire === 'openai-chat' ? [] : [sealed]),
    { kind: 'assistant-text', text: `Turn ${n} – 🙂` },
    { kind: 'tool-call', call_id: `a${n}`, name: 'file_read', arguments: { path: `f${n}` } },
    { kind: 'tool-call', call_id: `b${n}`, name: 'run', arguments: { argv: ['node', '-v'] } },
    { kind: 'tool-result', call_id: `a${n}`, output: { text: `line ${n}` }, failed: false },
    { kind: 'tool-result', call_id: `b${n}`, output: 'no', failed: true },
  ]
}

/** The conversation as the bytes of its messages without their closing bracket, cache marks left out; and the rest. */
function split(body: JsonObject): { readonly conversation: string; readonly rest: string } {
  const { messages, input, ...rest } = body
  const conversation = JSON.stringify(messages ?? input, (key, value: unknown) =>
    key === 'cache_control' ? undefined : value,
  )
  return { conversation: conversation.slice(0, -1), rest: JSON.stringify(rest) }
}
