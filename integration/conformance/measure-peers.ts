/**
 * What the attempts come to under a peer, as data that is kept for the table of guarantees. Run as a program it measures the
 * peers that are installed and leaves the others as they were.
 */
import { writeFileSync } from 'node:fs'
import { execa } from 'execa'
import type { Guarantee } from '../../src/outcome.js'
import { GUARANTEES } from '../matrix.js'
import { MEASURED_FILE, type MeasuredPeer, measuredPeers } from './measured.js'
import { needsPeer, PEER_NAMES, type PeerName, peerProgram } from './peers.js'
import { judge } from './suite.js'
import { TREE_CHECKS, type TreeCheck } from './trees.js'
import type { Verdict } from './verdict.js'

/** Verdicts by guarantee, in the order of the table. */
export function byGuarantee(verdicts: readonly Verdict[]): MeasuredPeer['guarantees'] {
  return Object.fromEntries(
    (Object.keys(GUARANTEES) as Guarantee[]).flatMap(guarantee => {
      const mine = verdicts.filter(verdict => verdict.guarantee === guarantee)
      const answered = mine.filter(({ result }) => result === 'refused' || result === 'succeeded')
      const through = mine.filter(({ result }) => result === 'succeeded').map(({ attempt }) => attempt)
      return answered.length === 0 ? [] : [[guarantee, { tried: answered.length, through: through.sort() }]]
    }),
  )
}

/** All but the kills at the very start of a launch, whose instants are those of our own start. */
const TREES = TREE_CHECKS.filter(check => check !== 'early-kill')

/** As its program says. */
export async function peerVersion(name: PeerName): Promise<string> {
  const [file = '', ...words] = peerProgram(name) ?? []
  const { stdout } = await execa(file, [...words, '--version'])
  return /\d+(?:\.\d+)+/.exec(stdout)?.[0] ?? stdout.trim()
}

/** What is tried of the product, tried of a peer. */
export async function measurePeer(name: PeerName, trees: readonly TreeCheck[] = TREES): Promise<MeasuredPeer> {
  const { verdicts } = await judge(name, 'user', { trees })
  const version = await peerVersion(name)
  return { version, measured: new Date().toISOString().slice(0, 7), guarantees: byGuarantee(verdicts) }
}

if (process.argv[1]?.endsWith('measure-peers.js') === true) {
  const kept: Record<string, MeasuredPeer> = { ...measuredPeers() }
  for (const name of PEER_NAMES) {
    const lacking = needsPeer(name)
    process.stderr.write(`${name}: ${lacking === false ? 'trying' : lacking}\n`)
    if (lacking === false) kept[name] = await measurePeer(name)
  }
  writeFileSync(MEASURED_FILE, `${JSON.stringify(kept, null, 2)}\n`)
}
