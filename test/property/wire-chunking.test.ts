/** Chunking never changes a stream: cut at every byte, one byte at a time, and anywhere in any framing; on each wire. */
import fc from 'fast-check'
import t from 'tap'
import type { StreamEvent, TurnOutcome } from '../../src/wires/port.js'
import { SseFrames } from '../../src/wires/sse-frames.js'
import { WIRES } from '../../src/wires/wires.js'
import { turnRequest } from '../support/turns.js'
import { SAMPLE_SHOWN, WIRE_SAMPLES, type WireSample } from '../support/wire-samples.js'

function play({ wire }: WireSample, chunks: readonly Uint8Array[]): { outcome: TurnOutcome; shown: StreamEvent[] } {
  const frames = new SseFrames()
  const decoder = WIRES[wire].decode(turnRequest())
  const shown: StreamEvent[] = []
  for (const data of chunks.flatMap(chunk => frames.push(chunk))) {
    if (data === '[DONE]') decoder.sentinel()
    else shown.push(...decoder.push(JSON.parse(data)))
  }
  const { outcome, late } = decoder.finish()
  return { outcome, shown: [...shown, ...late] }
}

const NEWLINES = ['\n', '\r\n', '\r'] as const

for (const sample of WIRE_SAMPLES) {
  const text = sample.frames.join('')
  const whole = play(sample, [Buffer.from(text)])

  t.test(`${sample.wire}: the whole in one chunk is the turn`, async t => {
    t.equal(whole.outcome.kind, 'turn')
    t.strictSame(whole.shown, SAMPLE_SHOWN)
  })

  for (const newline of NEWLINES) {
    const bytes = Buffer.from(text.replaceAll('\n', newline))

    t.test(`${sample.wire}: cut in two at every byte, lines ending in ${JSON.stringify(newline)}`, async t => {
      const differing: number[] = []
      const expected = JSON.stringify(whole)
      for (let at = 0; at <= bytes.length; at++) {
        const cut = play(sample, [bytes.subarray(0, at), bytes.subarray(at)])
        if (JSON.stringify(cut) !== expected) differing.push(at)
      }
      t.same(differing, [])
    })

    t.test(`${sample.wire}: one byte at a time, lines ending in ${JSON.stringify(newline)}`, async t => {
      t.strictSame(
        play(
          sample,
          Array.from(bytes, byte => Uint8Array.of(byte)),
        ),
        whole,
      )
    })
  }

  t.test(`${sample.wire}: any cuts of any framing`, async t => {
    const framing = fc.record({
      newline: fc.constantFrom(...NEWLINES),
      space: fc.boolean(),
      noise: fc.constantFrom('', ': ping\n', ':\nid: 7\nretry: 3\n', 'event: x\n\n'),
      places: fc.array(fc.nat(), { maxLength: 12 }),
    })
    fc.assert(
      fc.property(framing, ({ newline, space, noise, places }) => {
        const spaced = space ? text : text.replace(/^(data|event): /gm, '$1:')
        const noisy = spaced.replace(/^data/gm, `${noise.endsWith('\n\n') ? '' : noise}data`)
        const bytes = Buffer.from(noisy.replaceAll('\n', newline))
        const cuts = [...new Set(places.map(place => place % (bytes.length + 1)))].sort((a, b) => a - b)
        const chunks = [0, ...cuts].map((from, index) => bytes.subarray(from, cuts[index] ?? bytes.length))
        t.strictSame(play(sample, chunks), whole)
      }),
      { numRuns: 60 },
    )
  })
}
