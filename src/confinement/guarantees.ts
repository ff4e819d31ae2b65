/** What a boundary holds, as data: the same rows stand in the record, in `explain` and in the table of guarantees. */
import { ruleText } from '../network/allow-rules.js'
import type { AppliedConfinement, BoundaryName, Gap, Guarantee } from '../outcome.js'
import { SCOPES_SINCE } from './landlock-rights.js'
import { socketMeaning } from './socket-meanings.js'
import type { Policy } from './types.js'

/**
 * Everything a boundary can hold, and bubblewrap does when nothing about the policy or the user takes it away.
 *
 * None of them speaks of FIFOs: one that stands in a folder that is shown can be written through a read-only mount too, which
 * keeps files from changing and not pipes from being used (fifo(7), mount(8)), so a process of the host that reads it hears
 * the command. No table lists FIFOs; all of what is shown would have to be walked before every launch, and covering some of
 * them would look like covering them.
 */
export const GUARANTEES: readonly Guarantee[] = [
  'no-write-outside',
  'reads-limited',
  'no-network',
  'pid-isolation',
  'tree-ends',
  'dies-with-us',
  'env-constructed',
  'no-inherited-descriptors',
  'syscalls-filtered',
  'no-terminal-injection',
  'no-user-namespaces',
  'control-files-protected',
  'git-read-only',
  'nothing-planted',
  'host-settings-read-only',
  'private-home-and-tmp',
  'not-root-outside',
]

const SWEPT =
  'a group, a session and a mark in the environment are what is found again: a process that leaves and replaces them and outlives its parent is not'

const HOSTPROC_GAP: Gap = {
  guarantee: 'pid-isolation',
  why: 'the host /proc is shown read-only, so processes outside are listed with their command lines; their memory and environment are not readable',
}

/**
 * What the seatbelt boundary does not hold, whatever the policy. The rest follows from its profile, which an evaluator of ours
 * has been asked and macOS has not yet.
 */
const SEATBELT_GAPS: readonly Gap[] = [
  { guarantee: 'syscalls-filtered', why: 'macOS lets nobody filter system calls by their numbers' },
  {
    guarantee: 'pid-isolation',
    why: 'numbers of processes are the machine’s; what runs outside can be neither signalled nor asked about, as far as the profile is held',
  },
  { guarantee: 'tree-ends', why: SWEPT },
  { guarantee: 'dies-with-us', why: SWEPT },
  {
    guarantee: 'private-home-and-tmp',
    why: 'HOME and TMPDIR are private folders on the disk, without a size of their own; /tmp is closed, and named semaphores are the machine’s',
  },
]

/** What Landlock does not hold, whatever the policy (Linux Documentation/userspace-api/landlock.rst, "Current limitations"). */
const LANDLOCK_GAPS: readonly Gap[] = [
  {
    guarantee: 'no-write-outside',
    why: 'content and names are held; modes, owners, times, flags and extended attributes of what the user owns are not, wherever it is, because Landlock does not hold them',
  },
  {
    guarantee: 'control-files-protected',
    why: 'content and names are held; modes are not: what is there can be made executable, or be opened to other users',
  },
  {
    guarantee: 'git-read-only',
    why: 'content and names are held; modes are not: a hook that is there and not executable can be made so',
  },
  {
    guarantee: 'reads-limited',
    why: 'content and listings are held; that a path exists, its size, times, owner and extended attributes, where a link leads, and which names in a folder are used while it is watched can be asked wherever the user could ask, and the tables of users and groups are the machine’s',
  },
  {
    guarantee: 'private-home-and-tmp',
    why: 'HOME and TMPDIR are private folders on the disk, without a size of their own; /tmp and shared memory are closed',
  },
]

/** Without a scope for signals the command can kill what ends it. */
const UNSCOPED = `below version ${SCOPES_SINCE} of Landlock the process that ends all others has a race to win against one that starts others as fast, and can be killed by them: then a group, a session and a mark in the environment are what is found again`

const LANDLOCK_PROC =
  'the host /proc is shown read-only, so processes outside are listed with their command lines, and so are the machine’s connections and the names of keys; the memory and environment of others, and where their descriptors lead, are not readable; their priority, scheduling and processors can be changed by a process of the same user'

function landlockGaps({ abi, grouped }: NonNullable<GuaranteeRequest['landlock']>): Gap[] {
  const signals =
    abi < SCOPES_SINCE
      ? `; processes of the same user can be signalled (Landlock version ${abi}, ${SCOPES_SINCE} holds that)`
      : ''
  return [
    { guarantee: 'pid-isolation', why: `${LANDLOCK_PROC}${signals}` },
    ...(abi >= SCOPES_SINCE ? [] : [{ guarantee: 'dies-with-us', why: UNSCOPED } as const]),
    ...(abi >= SCOPES_SINCE || grouped ? [] : [{ guarantee: 'tree-ends', why: UNSCOPED } as const]),
  ]
}

const BOUNDARY_GAPS: Readonly<Record<GuaranteeRequest['boundary'], readonly Gap[]>> = {
  landlock: LANDLOCK_GAPS,
  bubblewrap: [],
  'bubblewrap-hostproc': [HOSTPROC_GAP],
  seatbelt: SEATBELT_GAPS,
}

export interface GuaranteeRequest {
  readonly boundary: Extract<BoundaryName, 'bubblewrap' | 'bubblewrap-hostproc' | 'landlock' | 'seatbelt'>
  readonly policy: Policy
  /** Of the boundary landlock: the version of its interface, and whether a control group holds the tree. */
  readonly landlock?: { readonly abi: number; readonly grouped: boolean }
  /** The uid outside. */
  readonly uid: number
  /** True where devices that are shown belong to it. Absent: they do not. */
  readonly ownsDevices?: boolean
}

/** What is applied and what is not. A guarantee stands in exactly one of the two lists. */
export function guaranteesOf({
  boundary,
  policy,
  landlock,
  uid,
  ownsDevices = false,
}: GuaranteeRequest): Pick<AppliedConfinement, 'applied' | 'gaps'> {
  const gaps: Gap[] = [
    ...policy.reservations,
    ...planting(policy),
    ...committing(policy),
    ...opened(policy),
    ...BOUNDARY_GAPS[boundary],
    ...(landlock === undefined ? [] : landlockGaps(landlock)),
    ...(uid === 0 ? rootGaps(boundary) : ownsDevices ? [OWN_DEVICES] : []),
  ]
  const open = new Set(gaps.map(({ guarantee }) => guarantee))
  return { applied: GUARANTEES.filter(guarantee => !open.has(guarantee)), gaps }
}

/** bubblewrap binds them from the machine's /dev, and what it makes read-only it also mounts nodev, so that they could not be opened (mount(2)). */
const SHOWN_DEVICES =
  'the devices that are shown (/dev/null and its like) are the machine’s: as uid 0 their modes and times can be changed'

/** An engine that hands a device to the user of its container. */
const OWN_DEVICES: Gap = {
  guarantee: 'host-settings-read-only',
  why: 'content is held; a device that is shown (/dev/null or its like) belongs to this user here, so its mode and times can be changed',
}

const ROOT_SETTINGS: Readonly<Partial<Record<GuaranteeRequest['boundary'], string>>> = {
  bubblewrap: SHOWN_DEVICES,
  'bubblewrap-hostproc': SHOWN_DEVICES,
  landlock: 'content is held; as uid 0 the modes, owners and times of devices and of the kernel’s files can be changed',
}

function rootGaps(boundary: GuaranteeRequest['boundary']): Gap[] {
  const settings = ROOT_SETTINGS[boundary]
  return [
    { guarantee: 'not-root-outside', why: 'uid 0 inside is uid 0 outside' },
    ...(settings === undefined ? [] : [{ guarantee: 'host-settings-read-only', why: settings } as const]),
  ]
}

const KEPT_CACHE =
  '--cache: HOME’s .cache outlives the launch, without a size of its own, and what one launch leaves there the next one in this workspace uses'

/** What a flag opens that the boundary would hold without it. */
function opened({ network, nesting, sockets, cache }: Policy): Gap[] {
  const why =
    '--allow-nesting: user namespaces and mounts can be made inside, so more of the kernel can be reached; what they hold is never more than what is shown here'
  return [
    ...(nesting ? [{ guarantee: 'no-user-namespaces', why } as const] : []),
    ...(network === null ? [] : [{ guarantee: 'no-network', why: allowListText(network) } as const]),
    ...(cache === null ? [] : [{ guarantee: 'private-home-and-tmp', why: KEPT_CACHE } as const]),
    ...sockets.flatMap(({ path, source }) => {
      const { what, open } = socketMeaning(path)
      return (['no-network', ...open] as const).map(guarantee => ({ guarantee, why: `${source}: ${what}` }))
    }),
  ]
}

/** What is held instead: everything else stays as closed as it is without a network. */
function allowListText({ hosts }: NonNullable<Policy['network']>): string {
  return `--allow-host: ${hosts.map(ruleText).join(', ')} can be reached through a proxy of ours, and nobody else; what is sent there is not looked into`
}

/** A name that does not exist cannot be covered, so what appears is moved aside afterwards (decisions 29). */
function planting({ writes, protectStrict, unscanned }: Policy): Gap[] {
  if (writes.length === 0 || (protectStrict && unscanned.length === 0)) return []
  const where = writes.map(({ source }) => source).join(', ')
  const why = protectStrict
    ? `${unscanned.join(', ')} holds more than is looked through, so what is found there afterwards may have been there before: it is told and left where it is`
    : `git repositories and protected names that are not there yet can be made inside ${where}; afterwards what git would execute in them is moved aside, and the rest is reported and left where it is (--protect-strict moves all of it)`
  return [{ guarantee: 'nothing-planted', why }]
}

function committing({ gitOpen }: Policy): Gap[] {
  return gitOpen.map(({ path, source }) => ({
    guarantee: 'git-read-only',
    why: `${source}: objects, refs, logs, index and HEAD of ${path} can be written; settings, hooks and pointers to elsewhere stay as they are`,
  }))
}
