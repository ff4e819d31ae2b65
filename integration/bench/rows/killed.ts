/** kill -9 of whoever supervises, at random instants while it launches what leaves its session: processes that are alive 1 s later. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fixture } from '../../../test/support/children.js'
import { needs } from '../../../test/support/needs.js'
import { projectRoot } from '../../../test/support/root.js'
import { leftOver, marker } from '../live-run.js'
import { findPeer, PEER, type Peer } from '../peer.js'
import type { Bench, Found, Row } from '../row.js'
import { workspace } from '../scratch.js'

const KILLS = 100
/** Of a peer: each that leaves something costs the whole wait. */
const PEER_KILLS = 20
const VANISH_MS = 1_000
/** The instants lie within this time, in which a launch starts, stands and is started over. */
const WITHIN_MS = 80

export const killed: Row = {
  name: 'killed',
  about: `kill -9 of the supervisor ${KILLS} times at random: processes left alive 1 s later`,
  needs: () => needs('linux', 'bubblewrap'),
  async measure(bench) {
    const kills = bench.quick ? KILLS / 5 : KILLS
    const ours = await left(kills, await ourSupervisor(bench))
    const peer = await findPeer(bench)
    const theirs = typeof peer === 'string' ? peer : await left(PEER_KILLS, await peerSupervisor(bench, peer))
    const found: Found[] = [
      {
        name: `processes left after ${kills} kill -9 of us`,
        unit: 'count',
        ours,
        ...(typeof theirs === 'string' ? {} : { baseline: { name: `${PEER}, ${PEER_KILLS} kills`, value: theirs } }),
        target: { by: 'figure', accept: 0, proud: 0 },
      },
    ]
    return typeof theirs === 'string' ? [...found, { name: 'processes left by a peer', predicate: theirs }] : found
  },
}

/** What runs inside: one beside in a session of its own, one that has no parent any more, and itself. */
const script = (word: string): string => `setsid sh -c "sleep ${word}; :" & setsid sleep ${word} & exec sleep ${word}`

interface Supervisor {
  readonly argv: (word: string) => readonly string[]
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  /** What it says once it launches, and what it wants to hear for each launch. */
  readonly ready: string
  readonly ask: string
}

async function ourSupervisor(bench: Bench): Promise<Supervisor> {
  const folder = await workspace(bench, 'killed')
  const request = { workspace: folder, writes: ['.'], env: {}, wallMs: 30, repeat: true }
  const argv = (word: string) => [
    fixture('supervise/launcher'),
    JSON.stringify({ ...request, argv: ['sh', '-c', script(word)] }),
  ]
  return { argv, cwd: folder, env: bench.env, ready: 'open', ask: '' }
}

async function peerSupervisor(bench: Bench, peer: Peer): Promise<Supervisor> {
  const folder = await workspace(bench, 'killed-peer')
  const program = join(projectRoot, 'integration/bench/peer-launches.mjs')
  return {
    argv: word => [program, peer.library, script(word)],
    cwd: folder,
    env: bench.env,
    ready: 'ready',
    ask: 'launch\n',
  }
}

async function left(kills: number, supervisor: Supervisor): Promise<number> {
  let count = 0
  for (let kill = 0; kill < kills; kill += 1) {
    const word = marker()
    const { cwd, env, ready, ask } = supervisor
    const child = spawn(process.execPath, supervisor.argv(word), { cwd, env, stdio: ['pipe', 'pipe', 'ignore'] })
    const ended = once(child, 'exit')
    for (let said = ''; !said.includes(ready); ) {
      const next = await Promise.race([once(child.stdout, 'data') as Promise<[Buffer]>, ended.then(() => null)])
      if (next === null) throw new Error('the supervisor ended by itself')
      said += next[0].toString()
    }
    child.stdout.resume()
    child.stdin.on('error', () => undefined)
    if (ask !== '') child.stdin.write(ask)
    await pause(Math.random() * WITHIN_MS)
    child.kill('SIGKILL')
    await ended
    count += await leftOver(word, VANISH_MS)
  }
  return count
}
