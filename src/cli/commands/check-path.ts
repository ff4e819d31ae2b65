/**
 * `harness check-path`: the checker's verdict for each path, judged as the file tools and the launches judge it.
 * 0 all writable, 2 some refused, 1 could not check.
 */
import { resolve } from 'node:path'
import { readHostFacts } from '../../confinement/host-facts.js'
import { Refusal } from '../../errors.js'
import { indexControlFiles } from '../../paths/control-files.js'
import { protectedNames } from '../../paths/protected-names.js'
import { type LandedPlace, landPlace } from '../../paths/resolve.js'
import { checkWritablePath, type FolderRules, type WritableVerdict } from '../../paths/writable-folder.js'
import { policyRequest } from '../confinement-options.js'
import { controlFiles } from '../control-files.js'
import type { Io } from '../io.js'
import type { Given } from '../parse.js'
import { printJson, printText } from '../print.js'
import { oneLine } from '../terminal-text.js'
import type { Invocation } from './invocation.js'

export async function checkPath({ given, words }: Invocation, io: Io): Promise<number> {
  const rules = await rulesOf(given, io)
  let refused = 0
  for (const path of words) {
    const verdict = checkWritablePath(path, rules)
    if (verdict instanceof Refusal) refused++
    if (given.has('--json')) printJson(io, jsonLine(path, verdict))
    else printText(io, textLine(path, verdict))
  }
  return refused === 0 ? 0 : 2
}

/** Roots: the workspace and each `--writable`; all of them count as writable by a confined process. */
async function rulesOf(given: Given, io: Io): Promise<FolderRules> {
  const request = policyRequest(given, { cwd: io.cwd, controlFiles: controlFiles(given, io), programs: [] })
  const workspace = folder(request.workspace, io.cwd)
  const subtrees = [...given.all('--writable'), ...given.all('--process-write-subtree')]
  const roots = [workspace, ...subtrees.map(path => folder(resolve(workspace.path, path), io.cwd))]
  const controls = indexControlFiles(request.controlFiles, io.cwd)
  if (controls instanceof Refusal) throw controls
  const facts = await readHostFacts()
  const home = landPlace(facts.home, { cwd: io.cwd })
  return {
    cwd: workspace.path,
    mode: 'write',
    roots,
    writes: roots,
    protects: [],
    protectedNames: protectedNames(request.unprotect),
    hidden: request.hide.map(path => folder(path, io.cwd)),
    controlFiles: controls,
    home: home instanceof Refusal ? null : home,
  }
}

function folder(path: string, cwd: string): LandedPlace {
  const place = landPlace(path, { cwd })
  if (place instanceof Refusal) throw place
  return place
}

type Verdict = WritableVerdict | Refusal

function jsonLine(path: string, verdict: Verdict): string {
  const facts =
    verdict instanceof Refusal
      ? { verdict: 'refused', code: verdict.code, reason: verdict.message, details: verdict.details }
      : { verdict: 'writable', landed: verdict.landed, exists: verdict.exists, identity: verdict.identity }
  return `${JSON.stringify({ path, ...facts })}\n`
}

function textLine(path: string, verdict: Verdict): string {
  const said =
    verdict instanceof Refusal ? `refused [${verdict.code}] ${verdict.message}` : `writable, lands at ${verdict.landed}`
  return `${oneLine(`${path}: ${said}`, Number.POSITIVE_INFINITY)}\n`
}
