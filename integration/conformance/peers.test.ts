/**
 * Other sandboxes, where they are installed, against the same attempts: the kept measurement is compared with what is seen now,
 * so that the table of guarantees says of them what is so. Nothing is fetched.
 */
import t from 'tap'
import type { Guarantee } from '../../src/outcome.js'
import { needs } from '../../test/support/needs.js'
import { measurePeer, peerVersion } from './measure-peers.js'
import { measuredPeers } from './measured.js'
import { needsPeer, PEER_NAMES, type PeerName } from './peers.js'

const TIMEOUT_MS = 240_000
t.setTimeout(2 * TIMEOUT_MS)

/** Another version may hold something else: `npm run readme -- --peers` measures it. */
async function needsVersion(name: PeerName, version: string | undefined): Promise<false | string> {
  return (await peerVersion(name)) === version ? false : `needs ${name} ${version ?? ''}, the version that was measured`
}

for (const name of PEER_NAMES) {
  const kept = measuredPeers()[name]
  const skip = needs('linux', 'perl', 'git') || needsPeer(name) || (await needsVersion(name, kept?.version))
  t.test(`${name}: the kept measurement is what is seen`, { skip, timeout: TIMEOUT_MS }, async t => {
    // How trees end is left out: most of it is waiting for what they leave.
    const now = await measurePeer(name, ['kill'])
    const before = Object.keys(kept?.guarantees ?? {}).filter(guarantee => guarantee !== 'tree-ends')
    t.strictSame(Object.keys(now.guarantees), before, 'the same was tried')
    for (const [guarantee, { through }] of Object.entries(now.guarantees)) {
      const then = kept?.guarantees[guarantee as Guarantee]?.through ?? []
      t.equal(through.length > 0, then.length > 0, `${guarantee}: ${through.join(' ') || 'nothing got through'}`)
    }
  })
}
