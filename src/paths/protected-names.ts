/**
 * Names that stay read-only inside every write grant, at any depth (confinement.md §2): what git, editors, agents and
 * shells read later as settings or run. Data and one folding rule; which of them exist is looked at elsewhere.
 */

/** Shell start-up files: bash(1) INVOCATION, zsh(1) STARTUP/SHUTDOWN FILES, ksh(1), tcsh(1) STARTUP AND SHUTDOWN, readline(3). */
const SHELL_START_UP = [
  '.bash_aliases',
  '.bash_login',
  '.bash_logout',
  '.bash_profile',
  '.bashrc',
  '.cshrc',
  '.inputrc',
  '.kshrc',
  '.login',
  '.logout',
  '.mkshrc',
  '.profile',
  '.tcshrc',
  '.zlogin',
  '.zlogout',
  '.zprofile',
  '.zshenv',
  '.zshrc',
  'config.fish',
] as const

/** Every protected name, as it is usually written. */
export const PROTECTED_NAMES: readonly string[] = [
  '.git',
  '.claude',
  '.codex',
  '.vscode',
  '.idea',
  '.mcp.json',
  '.envrc',
  '.husky',
  ...SHELL_START_UP,
]

/**
 * A name as a folding volume compares it: case, composed forms, and code points that such volumes ignore. Applied on
 * every volume, because refusing `.GIT` where it is another file is harmless (case D03). The upper case comes first
 * since U+017F (long s) has no other way to `s`.
 */
export function folded(name: string): string {
  const plain = /^[\x21-\x7e]*$/.test(name) ? name : name.normalize('NFC').replace(IGNORABLE, '')
  return plain.toUpperCase().toLowerCase()
}

/** Ignored by HFS+ when names are compared (Apple TN1150, "Unicode Subtleties"). */
const IGNORABLE = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g

/** The protected names, folded, without those that `--unprotect` names. */
export function protectedNames(unprotect: readonly string[] = []): ReadonlySet<string> {
  const lifted = new Set(unprotect.map(folded))
  return new Set(PROTECTED_NAMES.map(folded).filter(name => !lifted.has(name)))
}

/** The first component that folds to a protected name, or null. */
export function protectedComponent(components: readonly string[], names: ReadonlySet<string>): string | null {
  return components.find(name => names.has(folded(name))) ?? null
}
