/** The places a policy opens: the workspace, what may be read, what may be written. Each is landed and judged here. */
import { Refusal } from '../errors.js'
import { indexControlFiles } from '../paths/control-files.js'
import { enterRefusal, specialRefusal, writableLinkRefusal } from '../paths/folder-checks.js'
import { isHideGlob } from '../paths/hide-glob.js'
import { protectedNames } from '../paths/protected-names.js'
import { isWithin, type Landing, land, missing } from '../paths/resolve.js'
import { shown } from '../paths/walk.js'
import { checkWritableFolder } from '../paths/writable-folder.js'
import { HOME_INSIDE } from './inside-env.js'
import type { HostFacts, LandedRule, Policy, PolicyRequest } from './types.js'

/** Places that the boundary makes itself. A rule that covers one would put the host's in its stead. */
const MADE_INSIDE: Readonly<Record<string, string>> = {
  '/proc': 'the view of processes',
  '/dev': 'the devices',
  '/tmp': 'the private temporary folder',
  [HOME_INSIDE]: 'the private home folder',
  '/run/harness': 'the first program',
  '/toolchain': 'the driver and the toolchains',
}

/** Folders that belong to the system: nobody's workspace, whatever else stands below them. */
const SYSTEM_FOLDERS = ['/boot', '/dev', '/etc', '/proc', '/run', '/sys', '/var', '/usr/local'] as const

/** What is shown inside of the system, before any flag. */
export function systemPlaces({ systemRoots, etcFiles }: HostFacts): string[] {
  const roots = systemRoots.flatMap(root => (root.kind === 'folder' ? [root.path] : []))
  return [...roots, ...etcFiles.map(({ path }) => path)]
}

/** True when `path` is shown inside: below something readable or writable, and not below a hide that is nearer. */
export function isVisible(path: string, policy: Policy, facts: HostFacts): boolean {
  const nearest = (roots: readonly string[]): number =>
    Math.max(-1, ...roots.filter(root => isWithin(path, root)).map(root => root.length))
  const open = [...policy.reads, ...policy.writes].map(rule => rule.path)
  return nearest([...systemPlaces(facts), ...open]) > nearest(policy.hides.map(rule => rule.path))
}

/** The workspace folder; throws where it is, or holds, something that must not be one. */
export function landWorkspace(path: string, facts: HostFacts): LandedRule {
  const landing = existing(path, process.cwd())
  const { landed } = landing
  if (landing.type !== 'folder') {
    throw new Refusal(
      'not-a-directory',
      { path: landed },
      `the workspace ${shown(path)} is a ${landing.type}: name a folder`,
    )
  }
  const closed = enterRefusal(landing)
  if (closed !== null) throw unusable(landed, `it may not be entered (${closed.message})`)
  if (landed === '/') {
    throw new Refusal(
      'filesystem-root',
      { path },
      'the filesystem root cannot be the workspace: name a folder below it',
    )
  }
  const home = facts.homes.find(folder => isWithin(folder, landed))
  if (home !== undefined) {
    const text = `the workspace ${shown(landed)} is or holds the home folder ${shown(home)}: name a folder in it`
    throw new Refusal('home-folder', { path: landed }, text)
  }
  const system = [...systemPlaces(facts), ...SYSTEM_FOLDERS].find(folder => isWithin(folder, landed))
  if (system !== undefined) throw unusable(landed, `it is or holds the system folder ${system}`)
  const special = specialRefusal(landing)
  if (special !== null) throw special
  refuseCovering(landed, `the workspace ${shown(path)}`)
  return {
    path: landed,
    source: `--workspace ${path}`,
    identity: landing.identity,
    type: 'folder',
    ...crossed(landing),
  }
}

function unusable(path: string, why: string): Refusal {
  return new Refusal(
    'workspace-unusable',
    { path, why },
    `${shown(path)} cannot be the workspace: ${why}; name a folder of its own`,
  )
}

/** A read rule as asked for; `path` is relative to the working directory of this process. */
export interface ReadRequest {
  readonly path: string
  readonly source: string
}

/** The workspace and the further readable paths, sorted, each once. */
export function landReads(requests: readonly ReadRequest[], workspace: LandedRule, facts: HostFacts): LandedRule[] {
  const rules = new Map<string, LandedRule>([[workspace.path, workspace]])
  const bySource = [...requests].sort((a, b) => (a.source < b.source ? -1 : 1))
  for (const { path, source } of bySource) {
    const landing = existing(path, process.cwd())
    const rule = readRule(landing, source, facts)
    if (!rules.has(rule.path)) rules.set(rule.path, rule)
  }
  return [...rules.values()].sort(byPath)
}

function readRule(landing: Landing, source: string, facts: HostFacts): LandedRule {
  const { landed: path, identity, type } = landing
  if (path === '/')
    throw new Refusal(
      'filesystem-root',
      { path },
      `${source}: the whole filesystem is not opened: name the folders that are needed`,
    )
  if (type !== 'folder' && type !== 'file') {
    const why = `${shown(path)} is a ${type}, and only folders and plain files are shown inside`
    throw new Refusal('unsupported-rule', { rule: source, why }, `${source}: ${why}`)
  }
  if (facts.platform === 'linux' && /^\/(proc|dev)(\/|$)/.test(path)) {
    const kind = path.split('/')[1] ?? ''
    throw new Refusal(
      'special-filesystem',
      { path, type: kind },
      `${source}: ${path} of the host is never shown inside, which has its own /${kind}`,
    )
  }
  refuseCovering(path, source)
  return { path, source, identity, type, ...crossed(landing) }
}

/** The links on the way, where there are any: what is confined comes by the same spelling (case C04). */
function crossed({ links }: Landing): Pick<LandedRule, 'links'> {
  return links.length === 0 ? {} : { links: links.map(({ path }) => path) }
}

/** Refuses a rule over a place that the boundary makes itself; such a place may hold the rule, never the other way round. */
function refuseCovering(path: string, rule: string): void {
  const made = Object.keys(MADE_INSIDE).find(place => isWithin(place, path))
  if (made === undefined) return
  const why = `it covers ${made}, ${MADE_INSIDE[made] ?? ''} that the boundary makes itself`
  throw new Refusal('unsupported-rule', { rule, why }, `${rule}: ${why}; name the folders that are needed`)
}

/** True where the boundary makes something itself, at `path` or below it: nothing else can be put there. */
export function isMadeInside(path: string): boolean {
  return Object.keys(MADE_INSIDE).some(place => isWithin(place, path)) || /^\/(proc|dev)(\/|$)/.test(path)
}

/** The write grants: folders inside the workspace that hold no protected name, no control file and no other grant. */
export function landWrites(request: PolicyRequest, workspace: LandedRule): LandedRule[] {
  const controlFiles = indexControlFiles(request.controlFiles, process.cwd())
  if (controlFiles instanceof Refusal) throw controlFiles
  const rules = request.writeSubtrees.map(asked => {
    const verdict = checkWritableFolder(asked, {
      cwd: workspace.path,
      mode: 'write',
      roots: [workspace],
      writes: [],
      protects: [],
      protectedNames: protectedNames(request.unprotect),
      hidden: [],
      controlFiles,
      // A grant lies in the workspace, and a workspace that holds a home folder is refused above.
      home: null,
    })
    if (verdict instanceof Refusal) throw verdict
    const { landed: path, identity } = verdict
    return { path, source: `--process-write-subtree ${asked}`, identity, type: 'folder' as const }
  })
  return withoutOverlap(rules.sort(byPath))
}

/**
 * Throws `crosses-writable-link` for a place that is opened through a link in the workspace, or hidden through one in a write grant: what
 * is confined could point it elsewhere, at a secret or at the socket of an engine, and this run or the next one would follow. The
 * workspace counts as written by it even where nothing is granted now, because an earlier run may have had more.
 */
export function refuseWritableLinks(
  request: PolicyRequest,
  workspace: LandedRule,
  writes: readonly LandedRule[],
): void {
  const { read, hide, allowSockets = [], driver } = request
  const all = [workspace, ...writes]
  const places: (readonly [rule: string, path: string, writable: readonly LandedRule[]])[] = [
    ...read.map(path => [`--read ${path}`, path, all] as const),
    ...hide.map(path => [`--hide ${path}`, plainPart(path), writes] as const),
    ...allowSockets.map(path => [`--allow-socket ${path}`, path, all] as const),
    ...(driver === undefined ? [] : [[`--driver ${driver}`, driver, all] as const]),
  ]
  for (const [rule, path, writable] of places) {
    const landing = land(path, { cwd: process.cwd() })
    // Who lands it for good refuses it in better words.
    const refusal = landing instanceof Refusal ? null : writableLinkRefusal(landing, writable, `${rule}: `)
    if (refusal !== null) throw refusal
  }
}

/** A pattern up to the first component that has something special in it. */
function plainPart(path: string): string {
  const components = path.split('/')
  const first = components.findIndex(isHideGlob)
  return first < 0 ? path : components.slice(0, first).join('/') || '/'
}

function withoutOverlap(rules: readonly LandedRule[]): LandedRule[] {
  for (const [at, rule] of rules.entries()) {
    const other = rules.slice(0, at).find(above => isWithin(rule.path, above.path))
    if (other === undefined) continue
    const text = `${rule.source} (${shown(rule.path)}) lies in ${other.source} (${shown(other.path)}): leave one of them out`
    throw new Refusal('grants-overlap', { grant: rule.path, other: other.path }, text)
  }
  return [...rules]
}

/** Lands a path that must exist; throws otherwise. */
export function existing(path: string, cwd: string): Landing {
  const landing = land(path, { cwd })
  if (landing instanceof Refusal) throw landing
  if (!landing.exists) throw missing(landing)
  return landing
}

/** By code units, so that the same set gives the same bytes on every machine; a folder comes before what it holds. */
export function byPath(a: { readonly path: string }, b: { readonly path: string }): number {
  const [one, two] = [a.path.split('/').join('\0'), b.path.split('/').join('\0')]
  return one < two ? -1 : one > two ? 1 : 0
}
