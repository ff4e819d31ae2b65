/** What one judgement of a folder costs, and one guarded write of a file, against the bare system calls. */
import { accessSync, closeSync, constants, fsyncSync, openSync, realpathSync, renameSync, writeSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { Refusal } from '../../../src/errors.js'
import { NO_CONTROL_FILES } from '../../../src/paths/control-files.js'
import { replaceGuardedFile } from '../../../src/paths/guarded-file.js'
import { protectedNames } from '../../../src/paths/protected-names.js'
import { type LandedPlace, landPlace } from '../../../src/paths/resolve.js'
import { checkWritableFile, checkWritableFolder, type FolderRules } from '../../../src/paths/writable-folder.js'
import type { Bench, Found, Row } from '../row.js'
import { interleave } from '../sampling.js'
import { workspace } from '../scratch.js'

export const folders: Row = {
  name: 'folders',
  about: 'folder checks, and one guarded write, against the same work unguarded',
  needs: () => false,
  async measure(bench) {
    const root = await workspace(bench)
    const inner = join(root, 'src/deep/inner')
    await mkdir(inner, { recursive: true })
    return [
      await oneCheck(bench, root, inner),
      await manyChecks(bench, root),
      await oneWrite(bench, root, join(inner, 'file.txt')),
    ]
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

const PATHS = 1_000
const RULES = 15

/** A thousand files, there and not, four folders deep, under 30 rules of which none is about them. */
async function manyChecks(bench: Bench, root: string): Promise<Found> {
  const paths = Array.from({ length: PATHS }, (_, at) => join(root, `part-${at % 10}/a/b/file-${at}.txt`))
  for (const path of paths.slice(0, PATHS / 2)) {
    await mkdir(dirname(path), { recursive: true })
    await writeFile(path, '')
  }
  const denied = (name: string) => Array.from({ length: RULES }, (_, at) => ({ path: join(root, `${name}-${at}/x`) }))
  const rules = { ...rulesFor(root), hidden: denied('hidden'), protects: denied('protected') }
  const { ours, bare } = await interleave(
    {
      ours: async () => milliseconds(paths, path => unrefused(checkWritableFile(path, rules))),
      bare: async () => milliseconds(paths, path => accessSync(realpathSync.native(dirname(path)), constants.W_OK)),
    },
    bench.rounds(20),
  )
  return {
    name: `check of ${PATHS} paths, ${2 * RULES} rules`,
    unit: 'ms',
    ours,
    baseline: { name: 'realpath + access', value: bare },
    target: { by: 'figure', accept: 100, proud: 50 },
  }
}

function milliseconds(paths: readonly string[], call: (path: string) => void): number {
  const start = performance.now()
  for (const path of paths) call(path)
  return performance.now() - start
}

/** Writes a sample: each waits for the disk. */
const WRITES = 20
const CONTENT = Buffer.alloc(4096, 'x')

/** Judged and replaced as `file_write` does it, against a sibling file, fsync and rename without any question asked. */
async function oneWrite(bench: Bench, root: string, file: string): Promise<Found> {
  const rules = rulesFor(root)
  const { ours, bare } = await interleave(
    {
      ours: async () => microseconds(WRITES, () => guardedWrite(file, rules)),
      bare: async () => microseconds(WRITES, () => bareWrite(file)),
    },
    bench.rounds(20),
  )
  return {
    name: 'one guarded write, 4 KiB',
    unit: 'µs',
    ours,
    baseline: { name: 'write + fsync + rename', value: bare },
    target: { by: 'ratio', accept: 3 },
  }
}

function guardedWrite(file: string, rules: FolderRules): void {
  unrefused(replaceGuardedFile(unrefused(checkWritableFile(file, rules)), CONTENT))
}

function bareWrite(file: string): void {
  const temporary = `${file}.tmp`
  const fd = openSync(temporary, 'w')
  writeSync(fd, CONTENT)
  fsyncSync(fd)
  closeSync(fd)
  renameSync(temporary, file)
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
