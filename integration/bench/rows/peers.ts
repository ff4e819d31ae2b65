/** Our library and command line against those of sandbox-runtime, each with no network and write in the workspace. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { needs } from '../../../test/support/needs.js'
import { requestFor } from '../bare-launch.js'
import { HARNESS, needsCli } from '../client.js'
import { openOurs, ourLaunch } from '../library.js'
import { findPeer, PEER, type Peer, startPeer } from '../peer.js'
import { type Command, wallOf } from '../process.js'
import type { Bench, Found, Row } from '../row.js'
import { interleave } from '../sampling.js'
import { workspace } from '../scratch.js'

export const peers: Row = {
  name: 'peers',
  about: `library and command line against ${PEER} (--peers fetches it)`,
  needs: () => needs('linux', 'bubblewrap'),
  async measure(bench) {
    const peer = await findPeer(bench)
    if (typeof peer === 'string') return [{ name: 'peers', predicate: peer }]
    // Its own workspace, since the peer leaves empty files at the names it protects.
    const folder = await workspace(bench, 'peer')
    const theirs = await peerCli(bench, peer, folder)
    return [...(await libraries(bench, peer, folder, theirs)), await programs(bench, folder, theirs)]
  },
}

async function peerCli(bench: Bench, peer: Peer, cwd: string): Promise<Command> {
  const settings = join(bench.scratch, 'peer.json')
  const network = { allowedDomains: [], deniedDomains: [] }
  const filesystem = { denyRead: [], allowWrite: ['.'], denyWrite: [] }
  await writeFile(settings, JSON.stringify({ network, filesystem }))
  return { argv: [process.execPath, peer.cli, '--settings', settings, 'true'], env: bench.env, cwd }
}

async function libraries(bench: Bench, peer: Peer, folder: string, theirs: Command): Promise<Found[]> {
  const boundary = await openOurs(requestFor(folder, { writeSubtrees: ['.'] }))
  const launcher = await startPeer(bench, peer, 'true', folder)
  try {
    const { ours, library, cli } = await interleave(
      { ours: () => ourLaunch(boundary, ['true']), library: () => launcher.launch(), cli: wallOf(theirs) },
      bench.rounds(15),
    )
    return [
      faster('library launch, peer library', ours, { name: `${PEER}, library`, value: library }, 4.5),
      faster('library launch, peer CLI', ours, { name: `${PEER}, CLI`, value: cli }, 40),
    ]
  } finally {
    launcher.close()
    await boundary.close()
  }
}

async function programs(bench: Bench, folder: string, theirs: Command): Promise<Found> {
  const name = 'harness exec -- true, peer CLI'
  const lacking = needsCli()
  if (lacking !== false) return { name, predicate: lacking }
  const argv = [process.execPath, HARNESS, 'exec', '--process-write-subtree', '.', '--', 'true']
  const { ours, cli } = await interleave(
    { ours: wallOf({ argv, env: bench.env, cwd: folder }), cli: wallOf(theirs) },
    bench.rounds(15),
  )
  return faster(name, ours, { name: `${PEER}, CLI`, value: cli }, 5)
}

function faster(name: string, ours: number, baseline: { name: string; value: number }, accept: number): Found {
  return { name, unit: 'ms', ours, baseline, target: { by: 'speed-up', accept } }
}
