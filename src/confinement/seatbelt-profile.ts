/**
 * A policy as a seatbelt profile. Pure: same input, same bytes. The text holds rules of ours alone; every path of a policy
 * travels beside it as a parameter (sandbox-exec(1), `-D key=value`), so that no name can end a literal and become a rule.
 *
 * The rules of a policy stand in the order of the mounts that bubblewrap would make (`mount-order`), because there too the
 * last one decides; denials that have to hold whatever is allowed around them come after all of it. None of them is a
 * pattern: a pattern that denies removing files makes the removal of every folder fail (case C15).
 */
import { ARGUMENT_BYTES_MAX } from '../bounds.js'
import { Refusal } from '../errors.js'
import { isWithin } from '../paths/resolve.js'
import { shown } from '../paths/walk.js'
import { orderMounts } from './mount-order.js'
import { baseProfile, needRules } from './seatbelt-base.js'
import { ancestorsIn } from './self-binds.js'
import type { HostFacts, Mount, MountKind, Policy } from './types.js'

export interface ProfileRequest {
  readonly policy: Policy
  /** System folders and files that are readable. */
  readonly facts: Pick<HostFacts, 'systemRoots' | 'etcFiles'>
  /** Absolute folder of this launch alone, with HOME and TMPDIR in it. */
  readonly privateFolder: string
  /** The command may open terminals of its own (openpty(3)); it never reaches another one of the user (case C11). */
  readonly ptys: boolean
  /** Device of the terminal that the launch is given, e.g. `/dev/ttys004` (case C13). Absent: none. */
  readonly terminal?: string
  /** The one port of loopback that is open, 1 to 65 535, with the trust service (case C01). Absent: no network at all. */
  readonly proxyPort?: number
}

export interface SeatbeltProfile {
  readonly text: string
  /** By name, in the order in which the text uses them. */
  readonly parameters: Readonly<Record<string, string>>
}

/**
 * Refuses `unsupported-rule` for a path that is no plain absolute one or holds a NUL byte or a line end, and for a port that
 * is none; `rule-too-large` beyond {@link PATHS_MAX} paths.
 */
export function seatbeltProfile(request: ProfileRequest): SeatbeltProfile | Refusal {
  const { proxyPort } = request
  if (proxyPort !== undefined && !(Number.isInteger(proxyPort) && proxyPort >= 1 && proxyPort <= 65_535)) {
    return unsupported('network', `${proxyPort} is no port: 1 to 65535 are`)
  }
  const profile = new Profile()
  const { ptys, terminal } = request
  profile.text(baseProfile())
  if (ptys) profile.text(needRules('ptys'))
  if (terminal !== undefined) {
    profile.parameter('TERMINAL', terminal)
    profile.text(needRules('terminal'))
  }
  if (proxyPort !== undefined) {
    profile.text(needRules('network'))
    profile.text(`(allow network-outbound (remote ip "localhost:${proxyPort}"))\n`)
  }
  openSystem(profile, request)
  openPolicy(profile, request)
  denyForGood(profile, request)
  openPrivate(profile, request)
  const paths = Object.keys(profile.parameters).length
  const tooLong = paths > PATHS_MAX || Buffer.byteLength(profile.rules) > ARGUMENT_BYTES_MAX
  return profile.refusal ?? (tooLong ? tooManyPaths(paths) : { text: profile.rules, parameters: profile.parameters })
}

/** Paths in one profile, which travels as one argument of at most 128 KiB. */
export const PATHS_MAX = 1_500

/** Operations that show what lies at a path, and those that start it. */
const READING = 'file-read* file-map-executable process-exec*'

/** Collects rules and parameters; the first path that cannot stand refuses the whole. */
class Profile {
  rules = ''
  refusal: Refusal | null = null
  readonly parameters: Record<string, string> = {}
  readonly #counts = new Map<string, number>()

  text(rules: string): void {
    this.rules += rules
  }

  parameter(name: string, path: string): void {
    const real = realSpelling(path)
    this.refusal ??= pathRefusal(real)
    this.parameters[name] = real
  }

  /** One rule over `paths`, each with every filter of `filters`; none where there are no paths. */
  rule(
    [action, operations]: readonly [action: 'allow' | 'deny', operations: string],
    kind: string,
    paths: readonly string[],
    filters: readonly ('literal' | 'subpath' | 'link')[],
  ): void {
    if (paths.length === 0) return
    const lines = paths.map(path => {
      const name = this.#name(kind)
      this.parameter(name, path)
      return `\n  ${filters.map(filter => filterText(filter, name)).join(' ')}`
    })
    this.text(`(${action} ${operations}${lines.join('')})\n`)
  }

  #name(kind: string): string {
    const at = this.#counts.get(kind) ?? 0
    this.#counts.set(kind, at + 1)
    return `${kind}_${at}`
  }
}

function filterText(filter: 'literal' | 'subpath' | 'link', name: string): string {
  if (filter === 'link') return `(require-all (vnode-type SYMLINK) (literal (param "${name}")))`
  return `(${filter} (param "${name}"))`
}

/** What is readable before any flag. */
function openSystem(profile: Profile, { facts }: ProfileRequest): void {
  const roots = facts.systemRoots.flatMap(root => (root.kind === 'folder' ? [root.path] : []))
  const links = facts.systemRoots.flatMap(root => (root.kind === 'link' ? [root.path] : []))
  const files = facts.etcFiles.map(({ landed }) => landed).filter(path => !roots.some(root => isWithin(path, root)))
  profile.text('; the system\n')
  profile.rule(['allow', READING], 'SYSTEM', roots, ['subpath'])
  profile.rule(['allow', 'file-read*'], 'LINK', links, ['link'])
  profile.rule(['allow', 'file-read*'], 'ETC', [...new Set(files)], ['subpath'])
}

/** Last, because it is made by us where temporary files are, whatever a rule says of that place. */
function openPrivate(profile: Profile, { privateFolder }: ProfileRequest): void {
  profile.text('; the private folder of this launch\n')
  profile.parameter('PRIVATE', privateFolder)
  profile.text(`(allow ${READING} file-write* (subpath (param "PRIVATE")))\n`)
  profile.text('(deny file-write-unlink file-write-create (literal (param "PRIVATE")))\n')
}

/** `self` comes with {@link denyForGood}, which is not bound to a number. */
const RULES: Readonly<
  Partial<Record<MountKind, readonly [action: 'allow' | 'deny', operations: string, kind: string]>>
> = {
  read: ['allow', READING, 'READ'],
  write: ['allow', `${READING} file-write*`, 'WRITE'],
  'hide-folder': ['deny', `${READING} file-write*`, 'HIDE'],
}

function openPolicy(profile: Profile, { policy, facts }: ProfileRequest): void {
  profile.text('; the policy, in its order\n')
  for (const { kind, paths } of runs(orderMounts(policy, facts))) {
    const rule = RULES[kind]
    if (rule === undefined) continue
    const [action, operations, name] = rule
    profile.rule([action, operations], name, paths, action === 'deny' ? ['literal', 'subpath'] : ['subpath'])
  }
  const opened = [...policy.reads, ...policy.writes, ...policy.gitOpen]
  profile.text('; folders above what is open can be passed through, and links that lead there can be read\n')
  profile.rule(['allow', 'file-read-metadata'], 'PASS', foldersAbove(opened), ['literal'])
  profile.rule(['allow', 'file-read*'], 'HOP', [...new Set(opened.flatMap(({ links = [] }) => links))], ['link'])
}

/** Neighbours of one kind are one rule: within it the order means nothing. */
function runs(mounts: readonly Mount[]): { readonly kind: MountKind; readonly paths: string[] }[] {
  const found: { kind: MountKind; paths: string[] }[] = []
  for (const { kind: exact, path } of mounts) {
    const kind = exact === 'hide-file' ? 'hide-folder' : exact
    const last = found.at(-1)
    if (last?.kind === kind) last.paths.push(path)
    else found.push({ kind, paths: [path] })
  }
  return found
}

/**
 * Denials that name single operations, so that no wildcard lifts them. A folder above a protected or hidden path, and a grant
 * itself, is neither removed nor made again: renamed, it would take the path out of reach of its rule (case B29).
 */
function denyForGood(profile: Profile, { policy }: ProfileRequest): void {
  const { protects, hides, watched, hiddenElsewhere } = policy
  const writes = [...policy.gitOpen, ...policy.writes]
  const held = [...writes.map(({ path }) => path), ...ancestorsIn(writes, [...protects, ...hides]), ...policy.selfBinds]
  profile.text('; held for good\n')
  profile.rule(
    ['deny', `${READING} file-write*`],
    'ELSEWHERE',
    pathsOf(hiddenElsewhere.filter(({ glob }) => glob === undefined)),
    ['literal', 'subpath'],
  )
  profile.rule(['deny', WRITING], 'PROTECT', pathsOf([...protects, ...watched]), ['literal', 'subpath'])
  profile.rule(['deny', 'file-write-unlink file-write-create'], 'ABOVE', [...new Set(held)].sort(), ['literal'])
}

/** By the wildcard, and by name what would take a path away or put another in its place. */
const WRITING = 'file-write* file-write-data file-write-unlink file-write-create'

function pathsOf(rules: readonly { readonly path: string }[]): string[] {
  return rules.map(({ path }) => path)
}

/** Every folder above `rules`, without the root folder, which the base opens. */
function foldersAbove(rules: readonly { readonly path: string }[]): string[] {
  const folders = rules.flatMap(({ path }) => {
    const names = realSpelling(path).split('/').slice(1, -1)
    return names.map((_, at) => `/${names.slice(0, at + 1).join('/')}`)
  })
  return [...new Set(folders)].sort()
}

/** Links of every macOS; the kernel judges the path behind them, so a rule spelled with one matches nothing (case C02). */
const LINKS_OF_MACOS = ['/etc', '/tmp', '/var'] as const

function realSpelling(path: string): string {
  return LINKS_OF_MACOS.some(link => isWithin(path, link)) ? `/private${path}` : path
}

function pathRefusal(path: string): Refusal | null {
  if (/[\0\n\r]/.test(path))
    return unsupported(shown(path), 'a path with a NUL byte or a line end cannot be a parameter')
  const [first, ...names] = path.split('/')
  const plain = first === '' && names.every(name => name !== '' && name !== '.' && name !== '..')
  return plain ? null : unsupported(shown(path), 'only absolute paths without "." and ".." stand in a profile')
}

function unsupported(rule: string, why: string): Refusal {
  return new Refusal('unsupported-rule', { rule, why }, `${rule}: ${why}; nothing was run`)
}

function tooManyPaths(mounts: number): Refusal {
  const text = `the seatbelt profile would name ${mounts} paths, and ${PATHS_MAX} is the limit, as far as its text stays below 128 KiB: grant narrower folders`
  return new Refusal('rule-too-large', { rule: 'seatbelt profile', mounts, limit: PATHS_MAX }, text)
}
