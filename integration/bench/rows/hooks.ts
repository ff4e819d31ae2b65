/** What asking a hook costs over starting the same program by hand, alone, over a program that takes 20 ms, and two a call. */
import { spawn } from 'node:child_process'
import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { parseHooks } from '../../../src/hooks/document.js'
import { gatherHookHost } from '../../../src/hooks/hook-host.js'
import type { HookMoment, HookPort } from '../../../src/hooks/port.js'
import { prepareHooks } from '../../../src/hooks/prepare.js'
import { hookPort } from '../../../src/hooks/run.js'
import { realFiles } from '../../../src/paths/file-view.js'
import { closeInherited } from '../../../src/supervise/descriptors.js'
import { needs } from '../../../test/support/needs.js'
import type { Bench, Found, Row } from '../row.js'
import { interleave } from '../sampling.js'
import { workspace } from '../scratch.js'

export const hooks: Row = {
  name: 'hooks',
  about: 'a hook against the same program started by hand: trivial, one of 20 ms, and two trivial hooks a call',
  needs: () => needs('linux'),
  async measure(bench) {
    closeInherited()
    const place = await placeOf(bench)
    const trivial = await program(place.op, 'trivial', 'cat > /dev/null\n')
    const slow = await program(place.op, 'slow', 'cat > /dev/null\nsleep 0.02\n')
    const [one, taking20, two] = [[trivial], [slow], [trivial, trivial]].map(files => portOf(place, files))
    if (one === undefined || taking20 === undefined || two === undefined) throw new Error('three ports were asked for')
    return [
      await against(bench, 'a trivial sh hook', { port: one, file: trivial }, { accept: 2 }),
      await against(bench, 'a hook that takes 20 ms', { port: taking20, file: slow }, { accept: 1.2 }),
      await twoACall(bench, two),
    ]
  },
}

interface Place {
  readonly ws: string
  readonly op: string
  readonly tmp: string
}

async function placeOf(bench: Bench): Promise<Place> {
  const ws = await workspace(bench, 'hooks-ws')
  const [op, tmp] = [join(bench.scratch, 'hooks-op'), join(bench.scratch, 'hooks-tmp')]
  await mkdir(op)
  await mkdir(tmp)
  return { ws, op, tmp }
}

async function program(folder: string, name: string, body: string): Promise<string> {
  const path = join(folder, name)
  await writeFile(path, `#!/bin/sh\n${body}`)
  await chmod(path, 0o755)
  return path
}

/** The whole way of a run: found, recorded, and looked at again before each start. */
function portOf({ ws, op, tmp }: Place, files: readonly string[]): HookPort {
  const hooksFile = { version: 1, hooks: files.map(file => ({ on: 'before-call', command: [file] })) }
  const { document } = parseHooks(Buffer.from(JSON.stringify(hooksFile)), join(op, 'hooks.json'))
  if (document === null) throw new Error('the hooks file of the bench is wrong')
  const writeSet = { origin: 'given', roots: [{ path: ws, source: 'bench' }], held: [] } as const
  const env = { PATH: '/usr/bin:/bin' }
  const host = gatherHookHost({ view: realFiles, env, home: op, tmpdir: tmp, writeSet, cwd: ws, path: null })
  const { hooks: prepared } = prepareHooks({ document, host, lock: null, names: [], reap: 'group' })
  const run = { runId: '0123456789abcdef', sessionId: null, workspace: ws }
  return hookPort({ hooks: prepared, run, timeoutMs: null, reap: 'group' })
}

const CALL = { call_id: 'c1', name: 'run', arguments: { argv: ['true'] }, entry: 'run' }
const MOMENT: HookMoment = {
  turn: 1,
  model: 'm',
  delegate: null,
  signal: new AbortController().signal,
  emit: () => {},
}

/** Milliseconds of one consultation; one that does not proceed has measured something else. */
async function asked(port: HookPort): Promise<number> {
  const start = performance.now()
  const { decision } = await port.beforeCall(CALL, MOMENT)
  if (decision.kind !== 'proceed') throw new Error(`the hook of the bench did not proceed: ${decision.reason}`)
  return performance.now() - start
}

/** Milliseconds from the spawn to the exit, with a document on stdin and both outputs read. */
function byHand(file: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const start = performance.now()
    const child = spawn(file, [], { stdio: 'pipe', env: { PATH: '/usr/bin:/bin' }, cwd: '/' })
    child.stdout.resume()
    child.stderr.resume()
    child.stdin.end(`${JSON.stringify({ hook: 'before-call', call: CALL })}\n`)
    child.once('error', reject)
    child.once('close', status =>
      status === 0 ? resolve(performance.now() - start) : reject(new Error(`${file} ended with ${status}`)),
    )
  })
}

async function against(
  bench: Bench,
  name: string,
  { port, file }: { readonly port: HookPort; readonly file: string },
  target: { readonly accept: number },
): Promise<Found> {
  const { ours, baseline } = await interleave(
    { ours: () => asked(port), baseline: () => byHand(file) },
    bench.rounds(40),
  )
  return {
    name,
    unit: 'ms',
    ours,
    baseline: { name: 'the program by hand', value: baseline },
    target: { by: 'ratio', ...target },
  }
}

async function twoACall(bench: Bench, port: HookPort): Promise<Found> {
  const { ours } = await interleave({ ours: () => asked(port) }, bench.rounds(40))
  return { name: 'two trivial hooks a call', unit: 'ms', ours, target: { by: 'figure', accept: 8, proud: 5 } }
}
