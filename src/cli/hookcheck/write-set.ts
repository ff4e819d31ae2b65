/** What the agent can write, from the words of the command line: the flags of a run, or the policy that explain printed. */

import { resolve } from 'node:path'
import { HOOKCHECK_INPUT_BYTES_MAX } from '../../bounds.js'
import { cachePlace } from '../../confinement/cache-folder.js'
import { fixFor, Refusal } from '../../errors.js'
import { walkSteps } from '../../hooks/steps.js'
import {
  makeWriteSet,
  type NamedPlace,
  reachOf,
  type WriteSetRequest,
  writeSetOfPolicy,
} from '../../hooks/write-set.js'
import { isJsonObject, type Json, type JsonObject, parsedOrNull } from '../../json.js'
import { isUnseen, realFiles } from '../../paths/file-view.js'
import { policyRequest } from '../confinement-options.js'
import type { Io } from '../io.js'
import type { Given } from '../parse.js'
import { readInput } from './read-input.js'

/** Null: nobody said, and the audit has to assume. */
export function writeSetRequest(given: Given, { cwd, env }: Pick<Io, 'cwd' | 'env'>): WriteSetRequest | null {
  // Also where nothing of it matters here: an option that a run would refuse is refused.
  const request = policyRequest(given, { cwd, env, controlFiles: [], programs: given.all('--allow-program') })
  const policy = given.one('--policy')
  if (policy !== undefined) return policyFile(resolve(cwd, policy))
  const named = given.one('--workspace')
  const grants = ['--writable', '--process-write-subtree'].flatMap(flag =>
    given.all(flag).map((path): NamedPlace => ({ path: resolve(request.workspace, path), source: `${flag} ${path}` })),
  )
  const cache = cachePlace(request)
  if (named === undefined && grants.length === 0 && cache === null) return null
  const workspace: NamedPlace = {
    path: request.workspace,
    source: named === undefined ? 'the working folder' : `--workspace ${named}`,
  }
  mustExist(workspace)
  return { origin: 'given', roots: [workspace, ...grants, ...(cache === null ? [] : [cache])], held: [] }
}

/** A workspace that is not there is a slip of the keys, and an audit against it would say that all is well. */
function mustExist({ path, source }: NamedPlace): void {
  const facts = realFiles.lstat(path)
  if (!isUnseen(facts)) return
  throw new Refusal(
    'workspace-unusable',
    { path, why: facts.errno },
    `${source}: ${path} cannot be looked at (${facts.errno}): ${fixFor(facts.errno, 'read')}`,
  )
}

type Landed = Parameters<typeof writeSetOfPolicy>[0]['workspace']

function policyFile(path: string): WriteSetRequest {
  const bytes = readInput(path, { what: 'the policy', bytesMax: HOOKCHECK_INPUT_BYTES_MAX })
  const root = parsedOrNull(Buffer.from(bytes).toString('utf8'))
  if (!isJsonObject(root) || root.version !== 1 || !isJsonObject(root.policy))
    throw badPolicy(path, 'it is not what harness explain --json prints')
  const policy = policyOf(root.policy, path)
  refuseStale([policy.workspace, ...policy.writes], path)
  const request = writeSetOfPolicy(policy)
  const set = makeWriteSet(request, realFiles, { cwd: '/', platform: process.platform })
  const reach = reachOf(walkSteps(path, '/', realFiles), set)
  if (reach === null) return request
  const why = `it lies in ${reach.root}, where the agent can write, so it says what the agent likes`
  throw badPolicy(path, why, 'keep it outside of that folder')
}

function badPolicy(path: string, why: string, fix = 'make it with harness explain --json -- true'): Refusal {
  return new Refusal('bad-document', { file: path }, `--policy ${path}: ${why}; ${fix}`)
}

function policyOf(policy: JsonObject, path: string): Parameters<typeof writeSetOfPolicy>[0] {
  const { workspace, write, git_open: opened, cache, protect, bound_on_themselves: selfBinds } = policy
  const [landed] = rules([workspace ?? null])
  const writes = [...rules(write), ...rules(opened ?? []), ...((cache ?? null) === null ? [] : rules([cache ?? null]))]
  const protects = rules(protect)
  if (landed === undefined || landed === null || !allThere(writes) || !allThere(protects))
    throw badPolicy(path, 'its policy has no workspace, write and protect rules')
  if (!isTexts(selfBinds)) throw badPolicy(path, 'its policy does not say which folders are bound on themselves')
  return { workspace: landed, writes, protects, selfBinds }
}

function allThere(landed: readonly (Landed | null)[]): landed is readonly Landed[] {
  return !landed.includes(null)
}

function isTexts(value: Json | undefined): value is readonly string[] {
  return Array.isArray(value) && value.every(text => typeof text === 'string')
}

/** A place that is another one by now was not what the policy is about. */
function refuseStale(places: readonly Landed[], path: string): void {
  for (const { path: place, identity } of places) {
    const now = realFiles.lstat(place)
    if (isUnseen(now) || now.dev !== identity.dev || now.ino !== identity.ino)
      throw badPolicy(path, `${place} is not what it was when the policy was printed`)
  }
}

/** Null for each item that is not a landed rule; a list with one null where there is no list. */
function rules(value: Json | undefined): readonly (Landed | null)[] {
  return Array.isArray(value) ? value.map(item => landedRule(item as Json)) : [null]
}

function landedRule(item: Json): Landed | null {
  if (!isJsonObject(item)) return null
  const { path, source, type } = item
  const identity = item.identity as JsonObject | undefined
  if (typeof path !== 'string' || !path.startsWith('/') || typeof source !== 'string') return null
  if (type !== 'folder' && type !== 'file') return null
  if (!isJsonObject(identity) || typeof identity.dev !== 'string' || typeof identity.ino !== 'string') return null
  return { path, source, type, identity: { dev: identity.dev, ino: identity.ino } }
}
