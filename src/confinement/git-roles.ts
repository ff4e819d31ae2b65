/** What the names in a git folder mean to git (gitrepository-layout(5)). Pure. */
import type { Dirent } from 'node:fs'
import { folded } from '../paths/protected-names.js'

/** What a folder is to git, which decides what its names mean. */
export type Role =
  /** HEAD, settings and hooks. */
  | 'git'
  /** The same in a folder that may hold a working tree as well: names that are not git's are not its own. */
  | 'bare'
  /** `modules`, whose folders are git folders or the beginning of a submodule's name. */
  | 'names'
  /** `refs` and `logs`, where names are branches: links count, nothing else. */
  | 'refs'
  /** Whatever else: a pointer could lead there, so names count as in a git folder. */
  | 'plain'
  | 'objects'
  | 'objects-info'

export type Question =
  | 'settings'
  | 'hooks'
  | 'commonDir'
  | 'workingTree'
  | 'remotes'
  | 'alternates'
  | 'steps'
  | 'strategy'

/** What git looks for by name in a git folder. */
export const GIT_NAMES: ReadonlyMap<string, Question> = new Map([
  ['config', 'settings'],
  ['config.worktree', 'settings'],
  ['hooks', 'hooks'],
  ['commondir', 'commonDir'],
  ['gitdir', 'workingTree'],
  ['branches', 'remotes'],
  ['remotes', 'remotes'],
])

/** By name, folded, in a folder of that role: the question that is asked of it. */
const NAMES: Readonly<Partial<Record<Role, ReadonlyMap<string, Question>>>> = {
  git: GIT_NAMES,
  bare: GIT_NAMES,
  names: GIT_NAMES,
  'objects-info': new Map([['alternates', 'alternates']]),
  plain: new Map<string, Question>([
    ...GIT_NAMES,
    ['git-rebase-todo', 'steps'],
    // What a rebase (strategy) or a row of picks (opts) goes on with.
    ['strategy', 'strategy'],
    ['opts', 'strategy'],
  ]),
}

/** The question that is asked of `entry` in a folder of `role`; undefined: none. Names are folded, because a volume may do so. */
export function questionOf(entry: Dirent, role: Role, beside: readonly Dirent[]): Question | undefined {
  // The name of a submodule may be any of them.
  if (role === 'names' && entry.isDirectory() && !hasHead(beside)) return undefined
  return NAMES[role]?.get(folded(entry.name))
}

/** What stands in a bare repository's folder by git's doing; the rest is looked at like the rest of the grant. */
export function isOfGit(name: string): boolean {
  return OF_GIT.has(folded(name)) || /^[A-Z_]+$/.test(name)
}

const OF_GIT: ReadonlySet<string> = new Set([
  ...['config', 'config.worktree', 'hooks', 'commondir', 'gitdir', 'objects', 'refs', 'logs', 'modules', 'worktrees'],
  ...[
    'index',
    'info',
    'packed-refs',
    'shallow',
    'rebase-merge',
    'rebase-apply',
    'sequencer',
    'branches',
    'remotes',
    'head',
  ],
])

/** Folders whose names are asked themselves, or hold none that git reads by name. */
const ASKED: ReadonlySet<string> = new Set(['hooks', 'branches', 'remotes'])

/** The role of the folder `name` in a folder of `role`; null: it is not looked into. */
export function roleBelow(name: string, role: Role, beside: readonly Dirent[]): Role | null {
  const plain = folded(name)
  if (role === 'objects') return plain === 'info' ? 'objects-info' : null
  if (role === 'names' && !hasHead(beside)) return 'names'
  if (role === 'refs') return 'refs'
  if (ASKED.has(plain)) return null
  if (plain === 'refs' || plain === 'logs') return 'refs'
  if (role === 'plain' || role === 'objects-info') return plain === 'objects' ? null : 'plain'
  if (plain === 'objects') return 'objects'
  return plain === 'modules' || plain === 'worktrees' ? 'names' : 'plain'
}

function hasHead(entries: readonly Dirent[]): boolean {
  return entries.some(({ name }) => folded(name) === 'head')
}
