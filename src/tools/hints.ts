/**
 * Guesses, said to be guesses: when a confined command fails with words that the boundary is a likely cause of, the
 * rule that would explain them is named. Pure. Nothing decides on a hint.
 */

/** What of the policy a hint is matched against. */
export interface HintPolicy {
  /** Folders that processes may write, as the operator spelled them. Empty: none. */
  readonly writes: readonly string[]
  readonly network: 'none' | 'allow-list'
}

export interface Hint {
  /** Name of the rule that would explain it: `write`, `git`, `permission`, `network`, `nested-sandbox`, `trust-service` or `tree-ends`. */
  readonly rule: string
  /** One line, beginning `hint:`. */
  readonly text: string
}

interface Row {
  readonly rule: string
  readonly words: RegExp
  readonly explain: (policy: HintPolicy) => string | null
}

const writable = ({ writes }: HintPolicy): string =>
  writes.length === 0
    ? 'processes may write only their private home and /tmp (--process-write-subtree DIR grants more)'
    : `processes may write ${writes.join(', ')}, their private home and /tmp, except protected names such as .git`

const ROWS: readonly Row[] = [
  {
    rule: 'write',
    words: /\bEROFS\b|read-only file system/i,
    explain: policy => `the boundary keeps this path read-only: ${writable(policy)}`,
  },
  {
    // Git says so of the lock beside what it changes; settings stay covered under the grant too (case B18).
    rule: 'git',
    words: /\.lock': Read-only file system|could not (?:lock|write) config file/,
    explain: () =>
      'git folders are read-only to processes: the operator can let git commit with --grant git-commit, under which git’s settings and hooks still stay as they are',
  },
  {
    rule: 'permission',
    words: /\b(?:EACCES|EPERM)\b|permission denied|operation not permitted/i,
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
    rule: 'nested-sandbox',
    words: /sandbox_apply: Operation not permitted/,
    explain: () =>
      'macOS starts no sandbox inside a sandbox: use the switch by which this tool leaves its own out (swift build --disable-sandbox, Electron and Chromium --no-sandbox)',
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

/** At most one hint a rule, in a fixed order. Empty when nothing in `output` speaks of a rule. */
export function hintsFor(output: string, policy: HintPolicy): readonly Hint[] {
  return ROWS.flatMap(({ rule, words, explain }) => {
    const why = words.test(output) ? explain(policy) : null
    return why === null ? [] : [{ rule, text: `hint: ${why}` }]
  })
}
