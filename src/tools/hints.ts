/**
 * Guesses, said to be guesses: when a confined command fails with words that the boundary is a likely cause of, the
 * rule that would explain them is named. Pure. Nothing decides on a hint.
 *
 * `exec` gives none: what a command writes goes to its reader untouched and unread.
 */
import { posix } from 'node:path'
import { HOST_SOCKET } from '../confinement/policy-sockets.js'
import type { Policy } from '../confinement/types.js'
import type { Outcome } from '../outcome.js'
import { isWithin } from '../paths/resolve.js'
import { shown } from '../paths/walk.js'

/** What of the policy a hint is matched against. What is absent explains nothing. */
export interface HintPolicy {
  /** Folders that processes may write, as the operator spelled them. Empty: none. */
  readonly writes: readonly string[]
  readonly network: 'none' | 'allow-list'
  /** What relative paths of an output are taken to be relative to: the landed working folder. */
  readonly cwd?: string
  readonly landed?: Pick<Policy, 'hides' | 'protects' | 'selfBinds' | 'nesting' | 'cache'> &
    Partial<Pick<Policy, 'writes'>>
  /** Where it ran. Absent: what only one boundary does explains nothing. */
  readonly boundary?: Outcome['confinement']['boundary']
}

export interface Hint {
  /** Name of the rule that would explain it, one of the rows below, or `tree-ends`. */
  readonly rule: string
  /** One line, beginning `hint:`. Nothing of the output is in it, so no command can put words into our mouth. */
  readonly text: string
}

interface Row {
  readonly rule: string
  /** About one refused access: of those, the first that explains a line is the only one. */
  readonly access?: true
  /** One look at each character: no `.*` and no repetition, because a command chooses the line and how long it is. */
  readonly words: RegExp
  /** Null: the words are no sign of this rule here. `line`: where they stand. */
  readonly explain: (policy: HintPolicy, line: string) => string | null
}

const REFUSED = /\b(?:EACCES|EPERM)\b|permission denied|operation not permitted/i
const NOT_PERMITTED = /\bEPERM\b|operation not permitted/i
const READ_ONLY = /\bEROFS\b|read-only file system/i
const NO_SANDBOX =
  /no usable sandbox|failed to move to new namespace|bwrap: (?:no permissions to create|creating new namespace|setting up uid map)|unshare failed: operation not permitted|(?:create|creating) (?:a )?(?:new )?user namespace/i

const writable = ({ writes }: HintPolicy): string =>
  writes.length === 0
    ? 'processes may write only their private home and /tmp (--process-write-subtree DIR grants more)'
    : `processes may write ${writes.join(', ')}, their private home and /tmp, except protected names such as .git`

/** The first of `rules` that a word of `line`, read as a path, is or lies in. */
function ruleIn<Rule extends { readonly path: string }>(
  line: string,
  rules: readonly Rule[],
  { cwd = '/' }: HintPolicy,
): Rule | undefined {
  if (rules.length === 0) return undefined
  const byPath = new Map(rules.map(rule => [rule.path, rule]))
  for (const [word] of line.slice(0, LINE_CHARS_MAX).matchAll(WORD)) {
    for (let at = posix.resolve(cwd, word); at !== '/'; at = posix.dirname(at)) {
      const rule = byPath.get(at)
      if (rule !== undefined) return rule
    }
  }
  return undefined
}

const LINE_CHARS_MAX = 2_000

/** What may be a path in words of a program. */
const WORD = /[^\s'"\u2018\u2019`:,;()<>=]+/g

/**
 * Under Landlock: the folder in which a word of `line` would be a name, where that folder holds something that the boundary keeps
 * closed by opening what stands beside it. One that is closed itself has a hint of its own.
 */
function folderWithoutNames(
  line: string,
  policy: HintPolicy,
): { readonly folder: string; readonly holds: string } | null {
  const { landed, boundary, cwd = '/' } = policy
  if (boundary !== 'landlock' || landed === undefined) return null
  const closed = closedBelow(landed)
  const words = [...line.slice(0, LINE_CHARS_MAX).matchAll(WORD)].map(([word]) => word)
  const paths = words.filter(word => word.includes('/'))
  // A bare word may be any word of the sentence; it counts where nothing in it is plainly a path.
  for (const word of paths.length > 0 ? paths : words) {
    const folder = posix.dirname(posix.resolve(cwd, word))
    const granted = (landed.writes ?? []).some(grant => isWithin(folder, grant.path))
    const holds = granted ? closed.get(folder) : undefined
    if (holds !== undefined) return { folder, holds }
  }
  return null
}

/** A policy closes thousands of places and an output has thousands of words: who holds what is found once. */
const CLOSED = new WeakMap<object, ReadonlyMap<string, string>>()

/** Folder → the first closed place somewhere below it. */
function closedBelow(landed: NonNullable<HintPolicy['landed']>): ReadonlyMap<string, string> {
  const known = CLOSED.get(landed)
  if (known !== undefined) return known
  const holders = new Map<string, string>()
  for (const { path } of [...landed.protects, ...landed.hides])
    for (let at = posix.dirname(path); !holders.has(at); at = posix.dirname(at)) holders.set(at, path)
  CLOSED.set(landed, holders)
  return holders
}

/** Of git, about a file that it tracks and that is a device inside. */
const TRACKED = /unsupported file type|cannot hash /

/** From the narrow to the wide. */
const ROWS: readonly Row[] = [
  {
    rule: 'hidden',
    access: true,
    words:
      /\b(?:EACCES|EPERM|ENOENT|EROFS)\b|permission denied|operation not permitted|no such file|read-only file system|unsupported file type|cannot hash /i,
    explain(policy, line) {
      const rule = ruleIn(line, policy.landed?.hides ?? [], policy)
      if (rule === undefined) return null
      const flag = rule.source === HOST_SOCKET ? '--allow-socket' : '--read'
      const shows = rule.source.startsWith('default: ')
        ? `; the operator can show it with ${flag} ${shown(rule.path)}`
        : ''
      const git = TRACKED.test(line) ? ', which git takes for a change of it: name the other files to git' : ''
      return `${shown(rule.path)} is hidden (${shown(rule.source)})${git}${shows}`
    },
  },
  {
    // Git says so of the lock beside what it changes; settings stay covered under the grant too (case B18).
    rule: 'git',
    access: true,
    words: /\.lock': Read-only file system|could not (?:lock|write) config file/,
    explain: () =>
      'git folders are read-only to processes: the operator can let git commit with --grant git-commit, under which git’s settings and hooks still stay as they are',
  },
  {
    rule: 'protected',
    access: true,
    words: /\b(?:EACCES|EPERM|EROFS|EBUSY)\b|permission denied|not permitted|read-only file system|resource busy/i,
    explain(policy, line) {
      const rule = ruleIn(line, policy.landed?.protects ?? [], policy)
      if (rule !== undefined)
        return `${shown(rule.path)} stays as it is (${shown(rule.source)}): --unprotect NAME lifts one name`
      const bound = (policy.landed?.selfBinds ?? []).map(path => ({ path }))
      const busy = /\bEBUSY\b|resource busy/i.test(line) ? ruleIn(line, bound, policy) : undefined
      return busy === undefined
        ? null
        : `${shown(busy.path)} holds something protected or hidden, so it cannot be moved or removed`
    },
  },
  {
    rule: 'network',
    access: true,
    words: NOT_PERMITTED,
    explain({ boundary }, line) {
      const verb = boundary === 'landlock' ? line.search(/\b(?:socket|bind|listen|connect)\b/i) : -1
      return verb >= 0 && NOT_PERMITTED.test(line.slice(verb))
        ? 'the boundary landlock opens no socket, not even on loopback or to a unix socket'
        : null
    },
  },
  {
    rule: 'closed-folder',
    access: true,
    words: REFUSED,
    explain(policy, line) {
      const found = folderWithoutNames(line, policy)
      return found === null
        ? null
        : `${shown(found.folder)} holds ${shown(found.holds)}, and in such a folder the boundary landlock lets no name be made, renamed or removed: write into a file that is there, or in a folder below; the operator can grant a folder that holds nothing protected, or use --confine bubblewrap`
    },
  },
  {
    rule: 'nested-sandbox',
    access: true,
    words: NO_SANDBOX,
    explain: ({ landed }) =>
      landed?.nesting === true
        ? null
        : 'no sandbox can be made inside the boundary: the operator can allow it with --allow-nesting, or use the switch by which the program leaves its own out (Chromium and Electron --no-sandbox), since the boundary holds it anyway',
  },
  {
    rule: 'nested-sandbox',
    access: true,
    words: /sandbox_apply: Operation not permitted/,
    explain: () =>
      'macOS starts no sandbox inside a sandbox: use the switch by which this tool leaves its own out (swift build --disable-sandbox, Electron and Chromium --no-sandbox)',
  },
  {
    rule: 'devices',
    access: true,
    words: /\b(?:EACCES|ENOENT|EPERM|EROFS)\b|permission denied|no such file|not permitted|read-only/i,
    explain: (_, line) =>
      /\/dev\/(?!shm\b)\S/.test(line)
        ? 'inside are only the devices null, zero, full, random, urandom and tty, and no other can be made; a hidden file answers like a device that may not be opened'
        : null,
  },
  {
    rule: 'owner',
    words: /detected dubious ownership in repository/i,
    explain: () =>
      'git refuses a repository of another user than the one of the launch: have it belong to the owner of the workspace',
  },
  {
    rule: 'cache',
    words: /(?:\bENOSPC\b|no space left on device|disk quota exceeded)/i,
    explain: ({ landed }) =>
      landed === undefined || landed.cache === null
        ? 'the private home has 256 MiB and /tmp 1 GiB, and both end with the launch: --cache keeps the caches of npm, pip, cargo, go and uv in a folder on the disk'
        : 'the private home has 256 MiB beside its cache, and /tmp 1 GiB',
  },
  {
    rule: 'write',
    access: true,
    words: READ_ONLY,
    explain: policy => `the boundary keeps this path read-only: ${writable(policy)}`,
  },
  {
    rule: 'permission',
    access: true,
    words: REFUSED,
    explain: policy => `the boundary may have refused this: ${writable(policy)}; paths outside it are hidden`,
  },
  {
    rule: 'network',
    words:
      /\b(?:ENETUNREACH|EAI_AGAIN|ENOTFOUND)\b|network is unreachable|could not resolve host|temporary failure in name resolution/i,
    explain: ({ network }) =>
      network === 'none'
        ? 'the boundary has no network, only its own loopback'
        : 'the boundary reaches only the hosts of its allow-list',
  },
  {
    rule: 'trust-service',
    words: /OSStatus -26276/,
    explain: ({ network }) =>
      network === 'none'
        ? 'the trust service of macOS, which judges certificates, is closed while there is no network: the certificate may be good'
        : 'the trust service of macOS did not answer inside the boundary: the certificate may be good',
  },
]

/** At most one hint a rule, in the order of the output. Empty when nothing in `output` speaks of a rule. */
export function hintsFor(output: string, policy: HintPolicy): readonly Hint[] {
  const hints = new Map<string, Hint>()
  for (const line of output.split('\n')) {
    let isExplained = false
    for (const { rule, access, words, explain } of ROWS) {
      if ((access === true && isExplained) || !words.test(line)) continue
      const why = explain(policy, line)
      if (why === null) continue
      if (!hints.has(rule)) hints.set(rule, { rule, text: `hint: ${why}` })
      isExplained ||= access === true
    }
  }
  return [...hints.values()]
}
