/**
 * The peer we are compared with: @anthropic-ai/sandbox-runtime, fetched on demand into a cache folder of the system's
 * temporary one, never into this project.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { createInterface } from 'node:readline'
import { execa } from 'execa'
import { projectRoot } from '../../test/support/root.js'
import type { Bench } from './row.js'

/** The newest version whose `engines` admit Node 20. */
const PACKAGE = '@anthropic-ai/sandbox-runtime'
const VERSION = '0.0.78'

export const PEER = `sandbox-runtime ${VERSION}`

export interface Peer {
  /** Its command line. */
  readonly cli: string
  /** Its library's entry. */
  readonly library: string
}

const folder = (): string => join(tmpdir(), 'harness-bench-peers', `sandbox-runtime-${VERSION}`)

/** Programs that the peer refuses to start without. */
const PROGRAMS = ['bwrap', 'socat', 'rg']

/** The peer, installed, or the predicate that is lacking. */
export async function findPeer(bench: Bench): Promise<Peer | string> {
  const lacking = PROGRAMS.filter(program => !onPath(program, bench.env.PATH ?? ''))
  if (lacking.length > 0) return `needs ${lacking.join(', ')} on PATH for ${PACKAGE}`
  const home = join(folder(), 'node_modules', PACKAGE)
  if (!existsSync(home)) {
    if (!bench.peers) return `needs ${PACKAGE} ${VERSION}: run with --peers to fetch it`
    await install(bench)
  }
  return { cli: join(home, 'dist/cli.js'), library: join(home, 'dist/index.js') }
}

function onPath(program: string, path: string): boolean {
  return path.split(delimiter).some(entry => entry !== '' && existsSync(join(entry, program)))
}

async function install(bench: Bench): Promise<void> {
  bench.progress(`fetching ${PACKAGE} ${VERSION} into ${folder()}`)
  await mkdir(folder(), { recursive: true })
  const words = ['install', '--no-save', '--ignore-scripts', '--no-audit', '--no-fund', '--prefix', folder()]
  await execa('npm', [...words, `${PACKAGE}@${VERSION}`], { cwd: folder(), stdin: 'ignore' })
}

/** A process that launches `command` through the peer's library when asked. */
export interface PeerLauncher {
  /** Milliseconds of one launch, as that process saw it. */
  launch(): Promise<number>
  close(): void
}

export async function startPeer(bench: Bench, peer: Peer, command: string, workspace: string): Promise<PeerLauncher> {
  const program = join(projectRoot, 'integration/bench/peer-launches.mjs')
  const argv = [program, peer.library, command]
  const child = spawn(process.execPath, argv, { env: bench.env, cwd: workspace, stdio: ['pipe', 'pipe', 'inherit'] })
  const lines = createInterface({ input: child.stdout })
  const ended = once(child, 'exit').then(([status]) => new Error(`the peer's process ended with ${status}`))
  const answer = async (): Promise<string> => {
    const first = await Promise.race([once(lines, 'line') as Promise<[string]>, ended])
    if (first instanceof Error) throw first
    return first[0]
  }
  await answer()
  return {
    async launch() {
      const next = answer()
      child.stdin.write('launch\n')
      return Number(await next)
    },
    close: () => child.stdin.end(),
  }
}
