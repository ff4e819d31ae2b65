/**
 * `harness check-path`: the checker's verdict for each path, judged as the file tools and the launches judge it.
 * 0 all writable, 2 some refused, 1 could not check.
 */
import { readHostFacts } from '../../confinement/host-facts.js'
import type { GitUser } from '../../confinement/machine-facts.js'
import { landPolicy } from '../../confinement/policy.js'
import { Refusal } from '../../errors.js'
import { indexControlFiles } from '../../paths/control-files.js'
import { mountOf, readMounts } from '../../paths/mounts.js'
import { protectedNames } from '../../paths/protected-names.js'
import { landPlace } from '../../paths/resolve.js'
import { checkWritablePath, type FolderRules, type WritableVerdict } from '../../paths/writable-folder.js'
import { gitRefusal } from '../../tools/folders.js'
import { requestOf } from '../confinement-options.js'
import type { Io } from '../io.js'
import type { Given } from '../parse.js'
import { printJson, printText } from '../print.js'
import { oneLine } from '../terminal-text.js'
import type { Invocation } from './invocation.js'

export async function checkPath({ given, words }: Invocation, io: Io): Promise<number> {
  const standing = await standingOf(given, io)
  let refused = 0
  for (const path of words) {
    const verdict = judge(path, standing)
    if (verdict instanceof Refusal) refused++
    if (given.has('--json')) printJson(io, jsonLine(path, verdict))
    else printText(io, textLine(path, verdict))
  }
  return refused === 0 ? 0 : 2
}

interface Standing {
  readonly rules: FolderRules
  readonly user: GitUser
}

/**
 * Roots: the workspace and each `--writable`; all of them count as writable by a confined process. No cache folder is made for a
 * question.
 */
async function standingOf(given: Given, io: Io): Promise<Standing> {
  const request = requestOf(given, io, [])
  const facts = await readHostFacts()
  const { workspace, protects, hides, hiddenElsewhere } = landPolicy({ ...request, cache: false }, facts)
  const subtrees = [...given.all('--writable'), ...given.all('--process-write-subtree')]
  const roots = [workspace, ...subtrees.map(path => unrefused(landPlace(path, { cwd: workspace.path })))]
  const rules: FolderRules = {
    cwd: workspace.path,
    mode: 'write',
    roots,
    writes: roots,
    protects,
    protectedNames: protectedNames(request.unprotect),
    hidden: [...hides, ...hiddenElsewhere],
    controlFiles: unrefused(indexControlFiles(request.controlFiles, io.cwd)),
    home: facts.homes.length === 0 ? null : unrefused(landPlace(facts.home, { cwd: io.cwd })),
  }
  return { rules, user: facts }
}

function unrefused<Value>(value: Value | Refusal): Value {
  if (value instanceof Refusal) throw value
  return value
}

/** As file tools judge a file and launches a grant: what git reads or runs is refused under whatever name it stands. */
function judge(path: string, { rules, user }: Standing): Verdict {
  const verdict = checkWritablePath(path, rules)
  if (verdict instanceof Refusal) return verdict
  return (
    gitRefusal(
      { path, landed: verdict.landed, is: verdict.is },
      { protectedNames: rules.protectedNames, homes: user.homes, gitSettings: user.gitSettings },
    ) ?? verdict
  )
}

type Verdict = WritableVerdict | Refusal

function jsonLine(path: string, verdict: Verdict): string {
  const facts =
    verdict instanceof Refusal
      ? { verdict: 'refused', code: verdict.code, reason: verdict.message, details: verdict.details }
      : { verdict: 'writable', ...writableFacts(verdict) }
  return `${JSON.stringify({ path, ...facts })}\n`
}

function writableFacts({ landed, exists, identity }: WritableVerdict) {
  const mount = mountOf(landed, readMounts())
  return { landed, exists, identity, mount: mount === null ? null : { point: mount.point, type: mount.type } }
}

function textLine(path: string, verdict: Verdict): string {
  const said =
    verdict instanceof Refusal ? `refused [${verdict.code}] ${verdict.message}` : `writable, lands at ${verdict.landed}`
  return `${oneLine(`${path}: ${said}`, Number.POSITIVE_INFINITY)}\n`
}
