/** Chunking never changes a stream: not its events, not its outcome, one byte at a time included. */
import fc from 'fast-check'
import t from 'tap'
import { responsesStream } from '../../src/emulator/responses-stream.js'
import type { ScenarioReply } from '../../src/emulator/scenario.js'
import type { Item, TurnOutcome } from '../../src/wires/port.js'
import { decodeResponses } from '../../src/wires/responses-reply.js'
import { encodeResponses } from '../../src/wires/responses-request.js'
import { SseFrames } from '../../src/wires/sse-frames.js'
import { turnRequest } from '../support/turns.js'

const text = fc.string({ unit: 'binary', maxLength: 60 })
const id = fc.string({ minLength: 1, maxLength: 20, unit: fc.constantFrom(...'abcXYZ019-_'.split('')) })

const reply: fc.Arbitrary<ScenarioReply> = fc.record(
  {
    text,
    reasoning: text,
    calls: fc.uniqueArray(fc.record({ name: id, arguments: fc.oneof(text, fc.dictionary(text, fc.string())), id }), {
      maxLength: 3,
      selector: call => call.id,
    }),
    usage: fc.record({ input: fc.nat(), output: fc.nat(), cached: fc.nat() }),
    incomplete: fc.constantFrom('max_output_tokens', 'content_filter'),
  },
  { requiredKeys: [] },
)

/** The same stream in another framing, which means the same. */
const framing = fc.record({
  newline: fc.constantFrom('\n', '\r\n', '\r'),
  space: fc.boolean(),
  /** The JSON of an event over several data lines. */
  pretty: fc.boolean(),
  comment: fc.constantFrom('', ': ping\n', ':\nid: 7\n', 'event: keepalive\n\n'),
})

type Framing = typeof framing extends fc.Arbitrary<infer F> ? F : never

function bytesOf(frames: readonly string[], as: Framing): Uint8Array {
  const lines = frames.flatMap(frame => [...as.comment.split('\n').slice(0, -1), ...linesOf(frame, as.pretty)])
  const spaced = as.space ? lines : lines.map(line => line.replace(/^(event|data): /, '$1:'))
  return Buffer.from(spaced.map(line => line + as.newline).join(''))
}

/** A frame as its lines, the empty one at its end included. */
function linesOf(frame: string, pretty: boolean): readonly string[] {
  const lines = frame.split('\n').slice(0, -1)
  if (!pretty) return lines
  return lines.flatMap(line => {
    if (!line.startsWith('data: {')) return [line]
    return JSON.stringify(JSON.parse(line.slice(6)), null, 1)
      .split('\n')
      .map(part => `data: ${part}`)
  })
}

/** Cuts `bytes` at the given places, in any order, wrapped into its length. */
function cutAt(bytes: Uint8Array, places: readonly number[]): Uint8Array[] {
  const cuts = [...new Set(places.map(place => place % (bytes.length + 1)))].sort((a, b) => a - b)
  return [0, ...cuts].map((from, index) => bytes.subarray(from, cuts[index] ?? bytes.length))
}

function play(chunks: readonly Uint8Array[]): { outcome: TurnOutcome; shown: unknown[] } {
  const frames = new SseFrames()
  const decoder = decodeResponses({ model: 'asked', items: [] })
  const data = chunks.flatMap(chunk => frames.push(chunk)).filter(one => one !== '[DONE]')
  const shown: unknown[] = data.flatMap(one => [...decoder.push(JSON.parse(one))])
  const { outcome, late } = decoder.finish()
  return { outcome, shown: [...shown, ...late] }
}

t.test('any cut of any framing gives the same turn', async t => {
  fc.assert(
    fc.property(reply, framing, fc.array(fc.nat(), { maxLength: 12 }), (played, as, places) => {
      const frames = responsesStream({ reply: played, turn: 1, model: 'm' })
      const whole = play([Buffer.from(frames.join(''))])
      const bytes = bytesOf(frames, as)
      t.strictSame(play(cutAt(bytes, places)), whole)
    }),
    { numRuns: 150 },
  )
})

t.test('one byte at a time gives the same turn', async t => {
  fc.assert(
    fc.property(reply, framing, (played, as) => {
      const frames = responsesStream({ reply: played, turn: 1, model: 'm' })
      const bytes = bytesOf(frames, as)
      const single = Array.from(bytes, byte => Uint8Array.of(byte))
      t.strictSame(play(single), play([Buffer.from(frames.join(''))]))
    }),
    { numRuns: 40 },
  )
})

t.test('a stream cut off anywhere is a failure or the turn, never something else', async t => {
  fc.assert(
    fc.property(reply, fc.nat(), (played, place) => {
      const bytes = Buffer.from(responsesStream({ reply: played, turn: 1, model: 'm' }).join(''))
      const whole = play([bytes])
      const cut = play([bytes.subarray(0, place % bytes.length)])
      if (cut.outcome.kind === 'turn') t.strictSame(cut.outcome, whole.outcome)
      else t.match(cut.outcome.failure, { code: 'transport', retriable: true })
    }),
    { numRuns: 100 },
  )
})

t.test('what the model said comes back in the next request, whatever it is', async t => {
  fc.assert(
    fc.property(reply, played => {
      const { outcome } = play([Buffer.from(responsesStream({ reply: played, turn: 1, model: 'm' }).join(''))])
      if (outcome.kind !== 'turn') throw new Error(outcome.failure.message)
      const results: Item[] = outcome.result.calls.map(call => ({
        kind: 'tool-result',
        call_id: call.call_id,
        output: null,
        failed: call.malformed !== undefined,
      }))
      const before = turnRequest({ items: [{ kind: 'user-text', text: 'go' }, ...outcome.result.items] })
      const after = turnRequest({ items: [...before.items, ...results] })
      const shared = JSON.stringify(encodeResponses(before).input).slice(0, -1)
      t.ok(JSON.stringify(encodeResponses(after).input).startsWith(shared))
    }),
    { numRuns: 100 },
  )
})
