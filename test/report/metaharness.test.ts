import t from 'tap'
import { RECORD_LINE_BYTES_MAX } from '../../src/bounds.js'
import { Fnv1a } from '../../src/report/fnv1a.js'
import { MetaharnessConverter } from '../../src/report/metaharness.js'
import { RecordLines } from '../../src/report/record-lines.js'
import { EVENTS, STOPS } from '../support/record-samples.js'

interface Made {
  readonly [key: string]: unknown
  readonly format: string
  readonly seq: number
  readonly event: string
  readonly vendor_subtype?: string | null
}

interface Out {
  readonly lines: readonly Made[]
  readonly texts: readonly string[]
  readonly garbage: readonly string[]
}

function converted(record: string | Buffer, pieceBytes = Number.POSITIVE_INFINITY): Out {
  const bytes = Buffer.from(record as string)
  const lines = new RecordLines()
  const converter = new MetaharnessConverter('1.2.3')
  const texts: string[] = []
  const garbage: string[] = []
  const all = [...piecesOf(bytes, pieceBytes)].flatMap(piece => lines.push(piece))
  const last = lines.end()
  for (const line of last === null ? all : [...all, last]) {
    const made = converter.convert(line)
    if (made === null) continue
    texts.push(made.text)
    if (made.garbage !== null) garbage.push(made.garbage)
  }
  return { lines: texts.map(text => JSON.parse(text) as Made), texts, garbage }
}

function* piecesOf(bytes: Buffer, size: number): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, Math.min(bytes.length, at + size))
}

const record = (...events: readonly object[]): string => events.map(event => `${JSON.stringify(event)}\n`).join('')

/** The definition, in numbers of any size. */
function fnv(bytes: Buffer): string {
  let hash = 0xcbf29ce484222325n
  for (const byte of bytes) hash = ((hash ^ BigInt(byte)) * 0x100000001b3n) & 0xffffffffffffffffn
  return hash.toString(16).padStart(16, '0')
}

t.test('the digest', async t => {
  const of = (bytes: Buffer): string => {
    const digest = new Fnv1a()
    digest.add(bytes.subarray(0, 1))
    digest.add(bytes.subarray(1))
    return digest.hex()
  }
  t.equal(of(Buffer.from('')), 'cbf29ce484222325')
  t.equal(of(Buffer.from('a')), 'af63dc4c8601ec8c')
  t.equal(of(Buffer.from('foobar')), '85944171f73967e8')
  const bytes = Buffer.from(Array.from({ length: 2_000 }, (_, index) => (index * 167) % 256))
  t.equal(of(bytes), fnv(bytes))
})

t.test('a run', async t => {
  const { lines, garbage } = converted(
    record(
      EVENTS.started,
      EVENTS['turn-started'],
      EVENTS['text-delta'],
      EVENTS.usage,
      EVENTS.cost,
      EVENTS['tool-requested'],
      EVENTS['approval-required'],
      EVENTS['approval-resolved'],
      { ...EVENTS['approval-resolved'], approved: true },
      EVENTS['tool-completed'],
      { kind: 'tool-requested', call_id: 'c2', name: 'skill', arguments: {} },
      { kind: 'usage', model: 'm-2', input_tokens: 1, output_tokens: 1, cached_input_tokens: 0 },
      EVENTS['delegate-started'],
      { kind: 'delegated', call_id: 'c1', event: EVENTS.cost },
      EVENTS.finished,
      EVENTS.session,
    ),
  )
  t.strictSame(garbage, [])
  t.strictSame(
    lines.map(({ event, vendor_subtype = null }) => (vendor_subtype === null ? event : `${event} ${vendor_subtype}`)),
    [
      'session.started',
      'opaque turn-started',
      'text',
      'usage',
      'opaque cost',
      'tool.requested',
      'opaque approval-required',
      'warning',
      'opaque approval-resolved',
      'tool.result',
      'tool.requested',
      'usage',
      'opaque delegate-started',
      'opaque delegated',
      'session.ended',
      'opaque session',
    ],
  )
  t.strictSame(
    lines.map(({ format, seq }) => `${format} ${seq}`),
    lines.map((_, index) => `metaharness.event/1 ${index + 1}`),
  )
  const [begun, turn] = lines
  t.match(begun, { adapter: 'b10x', adapter_class: 'direct_provider', harness_version: '1.2.3', model: 'm-1' })
  t.strictSame([begun?.offered_tools, begun?.available_operations], [['file_read'], ['file.read']])
  t.strictSame(begun?.withheld, EVENTS.started.withheld)
  t.strictSame(begun?.mcp_servers, [{ name: 'tickets', status: null }])
  t.equal(turn?.digest, fnv(Buffer.from(JSON.stringify(EVENTS['turn-started']))), 'of the line without its end')
  t.strictSame(lines[7], {
    ...{ format: 'metaharness.event/1', seq: 8, event: 'warning', code: 'approval-denied' },
    message: 'the approver denied c1',
  })
  const [call, result, owned] = [lines[5], lines[9], lines[10]]
  t.match(call, { call_id: 'c1', name: 'file_read', operations: ['file.read'], subjects: ['file:a'] })
  t.strictSame([call?.input, call?.decision_required], [{ path: 'a' }, false])
  t.strictSame([owned?.operations, owned?.subjects], [[], []], 'of a tool that no operation stands for')
  t.strictSame([result?.call_id, result?.is_error, result?.content], ['c1', true, null])
  const figures = { service_tier: null, thinking_tokens: null, iterations: null, speed: null, cost_usd: null }
  const usage = { input_tokens: 1, output_tokens: 1, cache_read_input_tokens: 0, cache_creation_input_tokens: null }
  t.strictSame(lines[11]?.usage, { ...usage, ...figures }, 'what was not reported is null')
  const end = lines[14]
  t.strictSame([end?.is_error, end?.subtype, end?.num_turns], [false, 'completed', 2])
  t.equal(end?.total_cost_usd, 0.000024, "with the delegate's")
  t.equal(end?.subagents_spawned, 1)
  t.match(end?.usage, { input_tokens: 4, output_tokens: 3, cache_creation_input_tokens: 0 })
})

t.test('endings', async t => {
  for (const stop of Object.values(STOPS)) {
    const [end] = converted(record({ kind: 'finished', stop, turns: 3 })).lines
    t.strictSame(
      [end?.subtype, end?.is_error, end?.total_cost_usd, end?.usage],
      [...[stop.kind, stop.kind !== 'completed', null, null]],
    )
  }
  const [failed, refused] = converted(record(EVENTS.failed, EVENTS.refused)).lines
  t.match(failed, {
    event: 'session.ended',
    subtype: 'failed',
    is_error: true,
    stop_reason: 'it said so',
    num_turns: 1,
  })
  t.match(refused, { event: 'session.ended', subtype: 'refused', is_error: true, num_turns: null })
  const cut = converted(`${record(EVENTS.started, EVENTS['text-delta'])}{"kind":"finis`)
  t.strictSame(
    cut.lines.map(({ event }) => event),
    ['session.started', 'text', 'opaque'],
    'a record that was cut has none',
  )
  t.strictSame(cut.garbage, ['no JSON object'])
  t.notMatch(converted(record(EVENTS.started)).texts.join(''), /session\.ended/)
})

t.test('each run of a record has sums of its own', async t => {
  const run = [EVENTS.started, EVENTS.cost, EVENTS.finished]
  const ends = converted(record(...run, ...run, EVENTS.started, EVENTS.finished)).lines.filter(
    ({ event }) => event === 'session.ended',
  )
  t.strictSame(
    ends.map(end => end.total_cost_usd),
    [0.000012, 0.000012, null],
  )
  for (const micro of [1, 999_999, 123_456_789, 2 ** 52 + 1]) {
    const priced = record(EVENTS.started, { ...EVENTS.cost, micro_usd: micro }, EVENTS.finished)
    const whole = String(micro).padStart(7, '0')
    const decimal = `${whole.slice(0, -6)}.${whole.slice(-6)}`.replace(/\.?0+$/, '')
    t.match(converted(priced).texts[2], `"total_cost_usd":${decimal},`)
  }
})

t.test('what is no event crosses as opaque, and is named', async t => {
  const cases: readonly (readonly [line: string | Buffer, subtype: string | null, garbage: string | null])[] = [
    ['not json', null, 'no JSON object'],
    ['[1]', null, 'no JSON object'],
    ['null', null, 'no JSON object'],
    ['{"turn":1}', null, 'an object without a kind'],
    ['{"kind":7}', null, 'an object without a kind'],
    [Buffer.from([0x7b, 0xff, 0x7d]), null, 'no UTF-8'],
    ['{"kind":"group-entered","path":"root"}', 'group-entered', null],
    ['{"kind":"__proto__"}', '__proto__', null],
    ['{"kind":"text-delta"}', 'text-delta', 'a "text-delta" without what it must hold'],
    ['{"kind":"started"}', 'started', 'a "started" without what it must hold'],
    [
      '{"kind":"tool-requested","call_id":"c","name":"n"}',
      'tool-requested',
      'a "tool-requested" without what it must hold',
    ],
    ['{"kind":"tool-completed","call_id":"c"}', 'tool-completed', 'a "tool-completed" without what it must hold'],
    [
      '{"kind":"approval-resolved","call_id":"c"}',
      'approval-resolved',
      'a "approval-resolved" without what it must hold',
    ],
    ['{"kind":"usage","model":"m"}', 'usage', 'a "usage" without what it must hold'],
    ['{"kind":"finished","stop":"completed"}', 'finished', 'a "finished" without what it must hold'],
  ]
  for (const [line, subtype, garbage] of cases) {
    const { lines, garbage: named } = converted(line)
    const digest = fnv(Buffer.from(line as string))
    const common = { format: 'metaharness.event/1', seq: 1, event: 'opaque', vendor_type: 'b10x' }
    t.strictSame(lines, [{ ...common, vendor_subtype: subtype, digest }], String(line))
    t.strictSame(named, garbage === null ? [] : [garbage], String(line))
  }
  t.strictSame(converted(' \n\r\n\n').lines, [], 'blank lines are none')
})

t.test('arguments stand as they were written', async t => {
  const deep = '['.repeat(100_000) + ']'.repeat(100_000)
  for (const input of ['{"n":12345678901234567890.10,"t":"\\u00e9\\/"}', deep]) {
    const [text] = converted(`{"arguments":${input},"kind":"tool-requested","call_id":"c","name":"n"}`).texts
    t.ok(text?.includes(`"input":${input},`), input.slice(0, 50))
  }
})

t.test('how the record is cut into pieces changes nothing', async t => {
  const text = `${record(EVENTS.started, { kind: 'text-delta', text: 'é😀' })}\n${record(EVENTS.finished)}tail`
  const whole = converted(text).texts
  t.equal(whole.length, 4)
  for (const size of [1, 2, 3, 7, 64]) t.strictSame(converted(text, size).texts, whole, `${size} bytes`)
})

t.test('a line over the bound is digested and not held', async t => {
  const long = Buffer.alloc(RECORD_LINE_BYTES_MAX + 1, 'x')
  const { lines, garbage } = converted(Buffer.concat([long, Buffer.from(`\n${record(EVENTS.finished)}`)]), 65_536)
  const digest = new Fnv1a()
  digest.add(long)
  t.equal(lines[0]?.digest, digest.hex())
  t.match(garbage, [/^8388609 bytes/])
  t.equal(lines[1]?.event, 'session.ended', 'what follows is read again')
})
