/** What the names in a git folder mean to git (gitrepository-layout(5)). Pure. */
import type { Dirent } from 'node:fs'

/** What a folder is to git, which decides what its names mean. */
export type Role =
  /** HEAD, settings and hooks. */
  | 'git'
  /** The same in a folder that may hold a working tree as well: names that are not git's are not its own. */
  | 'bare'
  /** `modules`, whose folders are git folders or the beginning of a submodule's name. */
  | 'names'
  /** Read and written by names that no command decides: links count, nothing else. */
  | 'plain'
  | 'objects'
  | 'objects-info'

/** By name in a folder of that role: the question that is asked of it. */
export const NAMES: Readonly<
  Partial<
    Record<
      Role,
      Readonly<Partial<Record<string, 'settings' | 'hooks' | 'commonDir' | 'workingTree' | 'alternates' | 'steps'>>>
    >
  >
> = (() => {
  const git = {
    __proto__: null as never,
    config: 'settings',
    'config.worktree': 'settings',
    hooks: 'hooks',
    commondir: 'commonDir',
    gitdir: 'workingTree',
  } as const
  return {
    git,
    bare: git,
    names: git,
    'objects-info': { __proto__: null as never, alternates: 'alternates' },
    plain: { __proto__: null as never, 'git-rebase-todo': 'steps' },
  } as const
})()

/** What stands in a bare repository's folder by git's doing; the rest is looked at like the rest of the grant. */
export function isOfGit(name: string): boolean {
  return OF_GIT.has(name) || /^[A-Z_]+$/.test(name)
}

const OF_GIT: ReadonlySet<string> = new Set([
  ...['config', 'config.worktree', 'hooks', 'commondir', 'gitdir', 'objects', 'refs', 'logs', 'modules', 'worktrees'],
  ...['index', 'info', 'packed-refs', 'shallow', 'rebase-merge', 'rebase-apply', 'sequencer'],
])

/** The role of the folder `name` in a folder of `role`; null: it is not looked into. */
export function roleBelow(name: string, role: Role, beside: readonly Dirent[]): Role | null {
  if (role === 'objects') return name === 'info' ? 'objects-info' : null
  if (role === 'names' && !beside.some(entry => entry.name === 'HEAD')) return 'names'
  if (role === 'plain' || role === 'objects-info') return name === 'objects' ? null : 'plain'
  if (name === 'hooks') return null
  if (name === 'objects') return 'objects'
  return name === 'modules' || name === 'worktrees' ? 'names' : 'plain'
}
