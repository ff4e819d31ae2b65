/** The two clients that play the same script: ours, and the floor. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { projectRoot } from '../../test/support/root.js'
import type { EndpointRecord, Script } from './endpoint.js'
import { type Command, peakMib, type Run, runWell } from './process.js'
import type { Bench } from './row.js'

export const HARNESS = join(projectRoot, 'dist/bin/harness.cjs')
const FLOOR = join(projectRoot, 'integration/bench/floor.mjs')

/** False, or the predicate for `n/a`: the rows about the command line measure what is installed, which is the bundle. */
export function needsCli(): false | string {
  return existsSync(HARNESS) ? false : 'needs the built command line: npm run build'
}

/** How a client is started on the endpoint in a workspace. */
export type Client = (bench: Bench, baseUrl: string, workspace: string) => Command

export const floor: Client = (bench, baseUrl, workspace) => ({
  argv: [process.execPath, FLOOR, baseUrl, 'go on'],
  env: bench.env,
  cwd: workspace,
})

/** `harness run`, with its record and further flags. No bound of ours may end the script early. */
export function harness(...flags: readonly string[]): Client {
  return answering('--json', ...flags)
}

/** The same, which files its session in `folder`. */
export function filing(folder: string): Client {
  return (bench, baseUrl, workspace) => ({
    argv: [process.execPath, HARNESS, ...runWords(baseUrl, workspace, ['--session-dir', folder]), '--json'],
    env: bench.env,
    cwd: workspace,
  })
}

/** The same without its record: stdout holds the answer alone. */
export function answering(...flags: readonly string[]): Client {
  return (bench, baseUrl, workspace) => ({
    argv: [process.execPath, HARNESS, ...runWords(baseUrl, workspace), ...flags],
    env: bench.env,
    cwd: workspace,
  })
}

function runWords(baseUrl: string, workspace: string, session = ['--no-session']): string[] {
  const where = ['--base-url', baseUrl, '--model', 'm', '--workspace', workspace]
  return ['run', ...where, '--input', 'go on', ...session]
}

/** A run of a client, and what the endpoint saw of it. */
export interface Played {
  readonly run: Run
  readonly seen: EndpointRecord
}

/** Plays `script` once. Rejects unless the client ended with 0 after exactly the script's requests. */
export async function play(bench: Bench, client: Client, script: Script, workspace: string): Promise<Played> {
  const endpoint = await bench.endpoint()
  await endpoint.play(script)
  const ended = await runWell(client(bench, endpoint.baseUrl, workspace))
  const seen = await endpoint.seen()
  whole(script, seen)
  return { run: ended, seen }
}

/** Highest resident size of a client over the script, MiB. */
export async function peak(bench: Bench, client: Client, script: Script, workspace: string): Promise<number> {
  const endpoint = await bench.endpoint()
  await endpoint.play(script)
  const mib = await peakMib(client(bench, endpoint.baseUrl, workspace), bench.scratch)
  whole(script, await endpoint.seen())
  return mib
}

function whole(script: Script, seen: EndpointRecord): void {
  const expected = script.turns + 1
  if (seen.requests.length === expected) return
  throw new Error(`the script has ${expected} turns and the endpoint saw ${seen.requests.length} requests`)
}

/** Milliseconds between a reply and the next request, one for each tool turn. */
export function gaps(seen: EndpointRecord): number[] {
  return seen.requests.slice(1).map((request, index) => request.at - (seen.requests[index]?.answered ?? Number.NaN))
}

/** No tool turn: one request, one text. */
export const ONE_TURN: Script = { turns: 0, call: { name: '', arguments: {} }, text: 'done' }

/** The floor's shell tool running `true`, the cheapest call it has. */
export function floorTurns(turns: number): Script {
  return { turns, call: { name: 'shell', arguments: { command: 'true' } }, text: 'done' }
}

/** Our read tool on the workspace's small file. */
export function readTurns(turns: number): Script {
  return { turns, call: { name: 'file_read', arguments: { path: SMALL_FILE } }, text: 'done' }
}

/** Our confined `run`. */
export function runTurns(turns: number, argv: readonly string[]): Script {
  return { turns, call: { name: 'run', arguments: { argv } }, text: 'done' }
}

/** Flags that open the boundary and admit `programs`, without writing. */
export function confined(...programs: readonly string[]): string[] {
  return ['--confine', 'auto', '--yes', ...programs.flatMap(name => ['--allow-program', name])]
}

export const SMALL_FILE = 'notes.txt'
