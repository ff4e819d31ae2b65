/** One turn whose stream is as long as we take: how fast it is read, and that no more of it stays in memory than has to. */
import { answering, floor, needsCli, ONE_TURN, peak, play } from '../client.js'
import type { Script } from '../endpoint.js'
import type { Found, Row } from '../row.js'
import { interleave } from '../sampling.js'
import { workspace } from '../scratch.js'

/** Just below the bound of a stream, 32 MiB. */
const STREAM_BYTES = 31 * 1024 * 1024
const LONG: Script = { ...ONE_TURN, thought: STREAM_BYTES }

const WIRES = ['openai-responses', 'anthropic-messages', 'openai-chat'] as const

export const longStream: Row = {
  name: 'long-stream',
  about: 'a turn with 31 MiB of reasoning in its stream, against the floor, and the memory it adds to one turn',
  needs: needsCli,
  async measure(bench) {
    const folder = await workspace(bench)
    const lines: Found[] = []
    for (const wire of WIRES) {
      // Reasoning is not written, so that the reading alone is measured.
      const client = answering('--wire', wire, '--quiet')
      const wall = await interleave(
        {
          ours: async () => (await play(bench, client, LONG, folder)).run.wallMs,
          floor: async () => (await play(bench, floor, LONG, folder)).run.wallMs,
        },
        bench.rounds(6),
      )
      const memory = await interleave(
        {
          long: () => peak(bench, client, LONG, folder),
          short: () => peak(bench, client, ONE_TURN, folder),
        },
        bench.rounds(5),
      )
      lines.push(
        {
          name: `${wire}: a stream of 31 MiB`,
          unit: 'ms',
          ours: wall.ours,
          baseline: { name: 'floor on openai-responses', value: wall.floor },
          target: { by: 'ratio', accept: 3, proud: 2 },
        },
        {
          name: `${wire}: memory that a stream of 31 MiB adds`,
          unit: 'MiB',
          ours: memory.long,
          baseline: { name: 'one short turn', value: memory.short },
          target: { by: 'difference', accept: 40, proud: 20 },
        },
      )
    }
    return lines
  },
}
