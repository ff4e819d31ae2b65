/** What one judgement of a folder costs, and one guarded write of a file, against the bare system calls. */
import { accessSync, constants, realpathSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { Refusal } from '../../../src/errors.js'
import { NO_CONTROL_FILES } from '../../../src/paths/control-files.js'
import { protectedNames } from '../../../src/paths/protected-names.js'
import { type LandedPlace, landPlace } from '../../../src/paths/resolve.js'
import { checkWritableFolder, type FolderRules } from '../../../src/paths/writable-folder.js'
import type { Bench, Found, Row } from '../row.js'
import { interleave } from '../sampling.js'
import { workspace } from '../scratch.js'

export const folders: Row = {
  name: 'folders',
  about: 'one folder check, and one guarded write against the same work unguarded',
  needs: () => false,
  async measure(bench) {
    const root = await workspace(bench)
    const inner = join(root, 'src/deep/inner')
    await mkdir(inner, { recursive: true })
    return [await oneCheck(bench, root, inner)]
  },
}

/** Calls a sample; a single one is below what the clock tells. */
const CALLS = 500

function microseconds(calls: number, call: () => void): number {
  const start = performance.now()
  for (let done = 0; done < calls; done += 1) call()
  return ((performance.now() - start) * 1000) / calls
}

async function oneCheck(bench: Bench, root: string, folder: string): Promise<Found> {
  const rules = rulesFor(root)
  const { ours, bare } = await interleave(
    {
      ours: async () => microseconds(CALLS, () => unrefused(checkWritableFolder(folder, rules))),
      bare: async () => microseconds(CALLS, () => accessSync(realpathSync.native(folder), constants.W_OK)),
    },
    bench.rounds(20),
  )
  return {
    name: 'one folder check',
    unit: 'µs',
    ours,
    baseline: { name: 'realpath + access', value: bare },
    target: { by: 'figure', accept: 100, proud: 50 },
  }
}

function rulesFor(root: string): FolderRules {
  const home = landPlace(homedir(), { cwd: root })
  return {
    cwd: root,
    mode: 'write',
    roots: [landed(root)],
    writes: [landed(root)],
    protects: [],
    protectedNames: protectedNames(),
    hidden: [],
    controlFiles: NO_CONTROL_FILES,
    home: home instanceof Refusal ? null : home,
  }
}

function landed(path: string): LandedPlace {
  return unrefused(landPlace(path, { cwd: path }))
}

/** A measurement of refusals would be a measurement of something else. */
function unrefused<Value>(value: Value | Refusal): Value {
  if (value instanceof Refusal) throw value
  return value
}
