/** What the agent can write, from the words of the command line: the flags of a run, or the policy that explain printed. */
import { resolve } from 'node:path'
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
import { isJsonObject, type Json, type JsonObject } from '../../json.js'
import { isUnseen, realFiles } from '../../paths/file-view.js'
import { policyRequest } from '../confinement-options.js'
import type { Io } from '../io.js'
import type { Given } from '../parse.js'
import { readInput } from './read-input.js'

const POLICY_BYTES_MAX = 16 * 1024 * 1024

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

function policyFile(path: string): WriteSetRequest {
  const text = Buffer.from(readInput(path, { what: 'the policy', bytesMax: POLICY_BYTES_MAX })).toString('utf8')
  const bad = (why: string): Refusal =>
    new Refusal('bad-document', { file: path }, `--policy ${path}: ${why}; make it with harness explain --json -- true`)
  const root = parsed(text)
  if (!isJsonObject(root) || root.version !== 1 || !isJsonObject(root.policy))
    throw bad('it is not what harness explain --json prints')
  const { workspace, write, git_open: opened, cache, protect, bound_on_themselves: bound } = root.policy
  const [landed] = rules([workspace ?? null])
  const writes = [
    ...rules(write),
    ...rules(opened ?? []),
    ...(cache === undefined || cache === null ? [] : rules([cache])),
  ]
  const protects = rules(protect)
  if (landed === undefined || writes.includes(null) || protects.includes(null) || landed === null)
    throw bad('its policy has no workspace, write and protect rules')
  if (!Array.isArray(bound) || !bound.every(folder => typeof folder === 'string'))
    throw bad('its policy does not say which folders are bound on themselves')
  const present = [landed, ...writes.flatMap(rule => rule ?? [])]
  for (const { path: place, identity } of present) {
    const now = realFiles.lstat(place)
    if (isUnseen(now) || now.dev !== identity.dev || now.ino !== identity.ino)
      throw bad(`${place} is not what it was when the policy was printed`)
  }
  const request = writeSetOfPolicy({
    workspace: landed,
    writes: writes.flatMap(rule => rule ?? []),
    protects: protects.flatMap(rule => rule ?? []),
    selfBinds: bound as readonly string[],
  })
  const set = makeWriteSet(request, realFiles, { cwd: '/', platform: process.platform })
  const reach = reachOf(walkSteps(path, '/', realFiles), set)
  if (reach === null) return request
  throw bad(`it lies in ${reach.root}, where the agent can write, so it says what the agent likes`)
}

function parsed(text: string): Json {
  try {
    return JSON.parse(text) as Json
  } catch {
    return null
  }
}

type Landed = Parameters<typeof writeSetOfPolicy>[0]['workspace']

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
