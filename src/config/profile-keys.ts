/**
 * The keys of `[default]` and `[[profiles]]`: those of decisions 1 and of contract §19, and no others. Each stands for the
 * flag of the same name; what concerns one call alone (the task, the hooks file, where an answer goes) has no key and is
 * refused by name. Pure data.
 */

/** What a flag is given: a switch, one word, or the words of a repeatable flag. */
export type OptionValue = string | boolean | readonly string[]

export interface ProfileKey {
  readonly key: string
  readonly flag: string
  /** `joined`: an array whose words make one word of the flag, with commas. `number`: whole. */
  readonly kind: 'switch' | 'number' | 'text' | 'list' | 'joined'
  /** Of a number; absent: 1. */
  readonly min?: number
  readonly choices?: readonly string[]
  /** A relative one is relative to the file. What is relative to the workspace by its meaning stays so. */
  readonly isPath?: true
}

function keys(kind: ProfileKey['kind'], names: readonly string[], more: Partial<ProfileKey> = {}): ProfileKey[] {
  return names.map(key => ({ key, flag: `--${key}`, kind, ...more }))
}

export const PROFILE_KEYS: readonly ProfileKey[] = [
  ...keys('text', ['provider', 'model', 'confine', 'toolchain']),
  ...keys('text', ['approve-up-to'], { choices: ['low', 'medium', 'high', 'destructive'] }),
  ...keys('text', ['hook-reap'], { choices: ['group', 'namespace'] }),
  ...keys('text', ['log-level'], { choices: ['debug', 'info', 'warn', 'error'] }),
  ...keys('text', ['cgroup-root', 'driver', 'log-file'], { isPath: true }),
  ...keys('switch', ['read-host', 'cache', 'allow-nesting', 'protect-strict', 'no-keys', 'strict-documents']),
  ...keys('number', ['max-turns', 'stream-idle-ms', 'flow-parallel']),
  ...keys('number', ['container-uid'], { min: 0 }),
  ...keys('list', ['unprotect', 'allow-host', 'grant', 'limit', 'env', 'allow-program', 'process-write-subtree']),
  ...keys('list', ['write-scope', 'hook-env', 'header']),
  ...keys('list', ['read', 'hide', 'allow-socket', 'plugin-dir'], { isPath: true }),
  { key: 'toolchains', flag: '--toolchain', kind: 'joined' },
  { key: 'toolchain-specs', flag: '--toolchain-spec', kind: 'list', isPath: true },
]

/** Keys of `[providers.NAME]` (contract §19), beside the table `aliases`. */
export const PROVIDER_KEYS = [
  'base-url',
  'wire',
  'model',
  'api-key-env',
  'oauth-token-file',
  'oauth-token-pointer',
] as const

/** Keys of `[hooks]` (decisions 1). */
export const HOOKS_KEYS = ['path', 'env', 'timeout-ms', 'reap'] as const
