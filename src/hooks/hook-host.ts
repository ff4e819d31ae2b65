/**
 * What hooks are found and started by on this machine in this run: the scrubbed PATH, the environment, who may change what,
 * what the agent can write. Gathered once, before the run begins, and judged by the run and by hookcheck alike.
 */
import { join } from 'node:path'
import type { FileView } from '../paths/file-view.js'
import type { Machine } from '../supervise/program-format.js'
import { hookEnvironment } from './environment.js'
import { readIdentities } from './identities.js'
import { type ScrubbedPath, type ScrubRequest, scrubPath } from './path-scrub.js'
import { walkSteps } from './steps.js'
import { judgeWalk, type TrustRules } from './trust.js'
import { makeWriteSet, reachOf, type WriteSet, type WriteSetRequest } from './write-set.js'

export interface HookHostRequest {
  readonly view: FileView
  /** Ours, as inherited. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** Of the user database; null: none there. */
  readonly home: string | null
  /** A private folder of the run, mode 0700. */
  readonly tmpdir: string
  readonly writeSet: WriteSetRequest
  /** Absolute: what relative places of the write set mean. */
  readonly cwd: string
  /** `[hooks] path`; null: the inherited PATH. */
  readonly path: readonly string[] | null
}

export interface HookHost {
  readonly view: FileView
  readonly machine: Machine
  readonly trust: TrustRules
  readonly writeSet: WriteSet
  readonly path: ScrubbedPath
  /** As hooks get it: the operator's, or an empty private folder where that one can be changed by others. */
  readonly home: string
  /** Why it is not the operator's; null: it is. */
  readonly homeReplaced: string | null
  /** Of a hook that is also given the variables `names`; complete but for those of one launch. */
  environment(names: readonly string[]): Readonly<Record<string, string>>
}

export function gatherHookHost(request: HookHostRequest): HookHost {
  const { view, env, tmpdir, cwd } = request
  const trust: TrustRules = { ids: readIdentities(view), groups: 'allowed' }
  const writeSet = makeWriteSet(request.writeSet, view, { cwd, platform: process.platform })
  const source: ScrubRequest['source'] =
    request.path === null ? { from: 'inherited', path: env.PATH ?? null } : { from: 'listed', entries: request.path }
  const path = scrubPath({ source, view, trust, writeSet })
  const homeReplaced = homeFault(request.home, { view, trust, writeSet })
  const home = homeReplaced === null && request.home !== null ? request.home : join(tmpdir, 'home')
  const user = trust.ids.userName ?? String(trust.ids.uid)
  const environment: HookHost['environment'] = names =>
    hookEnvironment({ inherited: env, path: path.path, home, user, tmpdir, names })
  return { view, machine: process, trust, writeSet, path, home, homeReplaced, environment }
}

/** Interpreters read start-up files of a home, so one that others can write into is none for a hook (hookcheck.md, HC506). */
function homeFault(
  home: string | null,
  { view, trust, writeSet }: Pick<HookHost, 'view' | 'trust' | 'writeSet'>,
): string | null {
  if (home === null || !home.startsWith('/')) return 'there is none'
  const walk = walkSteps(home, '/', view)
  if (walk.end.kind !== 'landed' || walk.end.facts.type !== 'folder') return `${home} is no folder that can be seen`
  if (reachOf(walk, writeSet) !== null) return `the agent can write ${home}`
  const [fault] = judgeWalk(walk, trust, 'searched').faults
  return fault === undefined ? null : `others can change ${fault.facts.path}`
}
