/**
 * The floor against itself. A ratio that is not about 1 means that the machine or the method drifts, and that no other
 * ratio of this run is to be believed.
 */
import { floor, floorTurns, ONE_TURN, play } from '../client.js'
import type { Found, Row } from '../row.js'
import { interleave } from '../sampling.js'
import { workspace } from '../scratch.js'

export const floorItself: Row = {
  name: 'floor',
  about: 'the floor against itself: how far the ratios of this run can be trusted',
  needs: () => false,
  async measure(bench) {
    const folder = await workspace(bench)
    const once = async () => (await play(bench, floor, ONE_TURN, folder)).run.wallMs
    const long = async () => (await play(bench, floor, floorTurns(50), folder)).run.wallMs
    const [turn, run] = [
      await interleave({ a: once, b: once }, bench.rounds(20)),
      await interleave({ a: long, b: long }, bench.rounds(7)),
    ]
    return [halves('floor against itself, one turn', turn), halves('floor against itself, 50 turns', run)]
  },
}

/** The slower series over the faster one: off by as much in either direction is equally bad. */
function halves(name: string, { a, b }: { readonly a: number; readonly b: number }): Found {
  const [fast, slow] = a < b ? [a, b] : [b, a]
  const baseline = { name: 'floor', value: fast }
  return { name, unit: 'ms', ours: slow, baseline, target: { by: 'ratio', accept: 1.1, proud: 1.05 } }
}
