/**
 * What a process may touch: the request, with every path landed and judged, frozen. It starts nothing and knows no
 * boundary; `bwrap-argv` and its kin turn it into a recipe.
 *
 * Lists are sorted by path, so the order of flags does not matter, and a rule that contradicts another refuses instead
 * of winning by its place.
 */
import { statSync } from 'node:fs'
import {
  CPU_MS_DEFAULT,
  FILE_SIZE_BYTES_DEFAULT,
  MEMORY_BYTES_DEFAULT,
  OPEN_FILES_DEFAULT,
  OUTPUT_KEPT_BYTES,
  PIDS_DEFAULT,
  WALL_MS_DEFAULT,
} from '../bounds.js'
import { Refusal } from '../errors.js'
import { readAllowRules } from '../network/allow-rules.js'
import type { LimitName } from '../outcome.js'
import { isWithin } from '../paths/resolve.js'
import { CACHE_INSIDE, cacheEnv, landCache } from './cache-folder.js'
import { grantsGitCommit, refuseControlFiles } from './git-open.js'
import { otherOwner, ownerEnv } from './git-owner.js'
import { insideEnv } from './inside-env.js'
import { LIMIT_KINDS } from './limit-units.js'
import { type HideRules, landAsked, landHides, otherUid, unheldHides } from './policy-hides.js'
import { everyHome, hostReads } from './policy-host.js'
import { landDriver, landSockets, spelledLinks, toolchainLinks } from './policy-opened.js'
import { landProtects } from './policy-protects.js'
import {
  landReads,
  landWorkspace,
  landWrites,
  type ReadRequest,
  refuseWritableLinks,
  systemPlaces,
} from './policy-reach.js'
import { bindAncestors } from './self-binds.js'
import { findToolchains } from './toolchains.js'
import type { HostFacts, Policy, PolicyRequest } from './types.js'

/** Limits that hold unless `--limit` says otherwise (confinement.md §2). `output-total` is unset. */
export const DEFAULT_LIMITS: Policy['limits'] = {
  wall: WALL_MS_DEFAULT,
  output: OUTPUT_KEPT_BYTES,
  memory: MEMORY_BYTES_DEFAULT,
  pids: PIDS_DEFAULT,
  'file-size': FILE_SIZE_BYTES_DEFAULT,
  cpu: CPU_MS_DEFAULT,
  'open-files': OPEN_FILES_DEFAULT,
}

/**
 * Lands and judges `request`. Throws a Refusal: any folder code of `errors.ts` for a path, `unsupported-rule` for a rule
 * that cannot be held, `bad-arguments` for a variable or a control group, `grants-overlap`, `control-file-inside`, `rule-too-large`.
 */
export function landPolicy(request: PolicyRequest, facts: HostFacts): Policy {
  if (facts.cgroup.rootProblem !== undefined) throw cgroupRefusal(request.cgroupRoot, facts.cgroup.rootProblem)
  const workspace = landWorkspace(request.workspace, facts)
  const writes = landWrites(request, workspace)
  refuseWritableLinks(request, workspace, writes)
  const gitCommit = grantsGitCommit(request)
  const protection = landProtects({ writes, workspace, unprotect: request.unprotect, user: facts, gitCommit })
  const { gitOpen } = protection
  refuseControlFiles(protection, request)
  const found = findToolchains(request.toolchain ?? [], workspace, facts)
  const roots = found.toolchains.map(({ root: path, source }) => ({ path, source }))
  const asked = [...request.read.map(readFlag), ...protection.gitReads, ...roots]
  const named = landReads(asked, workspace, facts)
  const owner = ownerOf(workspace.path)
  const cache = landCache({ request, workspace, owner, facts })
  const gitOwner = otherOwner(protection.repositories, facts.uid === 0 && owner.uid !== 0 ? owner.uid : facts.uid)
  const sockets = landSockets(request.allowSockets ?? [])
  const driver = landDriver(request.driver, [...writes, ...gitOpen, ...listOf(cache)])
  const opened = [...writes, ...gitOpen, ...sockets, ...listOf(cache), ...listOf(driver)]
  const wishes = landAsked(request.hide, [...named, ...opened].map(pathOf))
  const host = request.readHost === true ? hostReads(wishes) : { asked: [], reservations: [] }
  const reads = landReads([...asked, ...host.asked], workspace, facts)
  const hides = landHides({
    asked: wishes,
    reads,
    opened,
    system: systemPlaces(facts),
    homes: asked.length === 0 && host.asked.length === 0 ? facts.homes : everyHome(facts),
    credentials: found.credentials,
    controlFiles: request.controlFiles,
    pointed: facts.pointedPlaces,
    launchUid: otherUid(facts, owner),
  })
  const { selfBinds, reservations } = bindAncestors({
    protects: protection.protects,
    hides: hides.hides,
    writes,
    gitOpen,
  })
  const visible = [...systemPlaces(facts), ...reads.map(pathOf)]
  return deepFreeze({
    workspace,
    reads,
    writes,
    protects: protection.protects,
    selfBinds,
    watched: protection.watched,
    unscanned: protection.unscanned,
    ...visibleHides(hides),
    reservations: [...protection.reservations, ...reservations, ...host.reservations, ...unheldHides(hides, reads)],
    owner,
    programs: request.programs === null ? null : [...request.programs],
    env: insideEnv({
      extra: request.env,
      more: { ...found.env, ...(cache === null ? {} : cacheEnv(CACHE_INSIDE)), ...ownerEnv(gitOwner, request.env) },
      pathFolders: [...ownBins(found.toolchains, facts), ...facts.pathFolders],
      visible,
      notSearched: [workspace.path, ...[...writes, ...gitOpen].map(pathOf)],
    }),
    envSet: Object.keys(request.env).sort(),
    limits: limitsOf(request),
    controlFiles: request.controlFiles.map(file => ({ ...file })),
    ...(request.cgroupRoot === undefined ? {} : { cgroupRoot: request.cgroupRoot }),
    ...(request.containerUid === undefined ? {} : { containerUid: request.containerUid }),
    readHost: request.readHost === true,
    nesting: request.nesting === true,
    network: networkOf(request),
    sockets,
    cache,
    gitCommit,
    gitOpen,
    gitNamed: protection.gitNamed,
    homes: [...facts.homes],
    gitSettings: [...facts.gitSettings],
    gitOwner,
    protectStrict: request.protectStrict === true,
    staged: listOf(driver),
    toolchains: found.toolchains,
    links: [
      ...spelledLinks(spelledPlaces(request), [
        ...visible,
        ...facts.systemRoots.map(pathOf),
        ...hides.hides.map(pathOf),
      ]),
      ...toolchainLinks(found.toolchains),
    ],
  })
}

/** Programs of the system are on the PATH in the usual order; what was asked for beside them comes before them. */
function ownBins(toolchains: Policy['toolchains'], facts: HostFacts): string[] {
  const system = systemPlaces(facts)
  return toolchains.flatMap(({ root }) => (system.some(place => isWithin(root, place)) ? [] : [`${root}/bin`]))
}

function listOf<Item>(item: Item | null): readonly Item[] {
  return item === null ? [] : [item]
}

/** An empty list opens nothing, as none does. */
function networkOf({ allowHosts = [] }: PolicyRequest): Policy['network'] {
  return allowHosts.length === 0 ? null : { hosts: readAllowRules(allowHosts) }
}

function readFlag(path: string): ReadRequest {
  return { path, source: `--read ${path}` }
}

/** What the operator has spelled and a command may look for by that spelling. */
function spelledPlaces({ workspace, read, allowSockets = [] }: PolicyRequest): ReadRequest[] {
  const sockets = allowSockets.map(path => ({ path, source: `--allow-socket ${path}` }))
  return [{ path: workspace, source: `--workspace ${workspace}` }, ...read.map(readFlag), ...sockets]
}

function pathOf({ path }: { readonly path: string }): string {
  return path
}

function visibleHides({ hides, elsewhere }: HideRules): Pick<Policy, 'hides' | 'hiddenElsewhere'> {
  return { hides, hiddenElsewhere: elsewhere }
}

/** The defaults with what was asked for; a limit of 0 is refused, not read as none. */
function limitsOf({ limits }: PolicyRequest): Policy['limits'] {
  for (const [name, value] of Object.entries(limits)) {
    const kind = Object.hasOwn(LIMIT_KINDS, name) ? LIMIT_KINDS[name as LimitName] : undefined
    if (kind !== undefined && Number.isSafeInteger(value) && value >= kind.min && value <= kind.max) continue
    const given = String(value)
    const needed =
      kind === undefined
        ? `there is no such limit: ${Object.keys(LIMIT_KINDS).join(', ')}`
        : `a whole number from ${kind.min} to ${kind.max} is needed`
    throw new Refusal('bad-limit', { name, given }, `--limit ${name}=${given}: ${needed}`)
  }
  return { ...DEFAULT_LIMITS, ...limits }
}

function ownerOf(path: string): Policy['owner'] {
  const { uid, gid } = statSync(path)
  return { uid, gid }
}

function cgroupRefusal(root: string | undefined, why: string): Refusal {
  const text = `--cgroup-root ${root ?? ''} cannot serve: ${why}; name a delegated cgroup v2 folder, or leave the flag out`
  return new Refusal('bad-arguments', { argument: '--cgroup-root' }, text)
}

/** A policy is shared by every launch of a run: nobody may widen it afterwards. */
function deepFreeze<Value>(value: Value): Value {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value)
    for (const inner of Object.values(value)) deepFreeze(inner)
  }
  return value
}
