/**
 * Boundaries that are built to fail, each in one way: the option lists are written by hand and share nothing with the
 * product, so that a mistake in the product's builder cannot hide in its own test.
 */
import type { Guarantee } from '../../src/outcome.js'
import type { BrokenLandlockName } from './broken-landlock.js'

/** One boundary by bubblewrap. The first word of each choice is the sound one. */
export interface Recipe {
  readonly pids: 'own' | 'host'
  readonly network: 'own' | 'host'
  readonly ipc: 'own' | 'host'
  readonly root: 'listed' | 'whole-host'
  readonly outside: 'read-only' | 'writable'
  readonly privateFolders: 'own' | 'host'
  readonly protects: 'covered' | 'git-writable' | 'control-writable' | 'parents-movable'
  /** Names that do not exist in the workspace: a cover needs a file to lie on, and makes one on the host. */
  readonly absent: 'left-absent' | 'covered'
  readonly sockets: 'masked' | 'open'
  readonly capabilities: 'dropped' | 'kept'
  readonly procSys: 'covered' | 'open'
  readonly sys: 'absent' | 'host'
  readonly userNamespaces: 'disabled' | 'allowed'
  readonly session: 'new' | 'same'
  readonly env: 'constructed' | 'cleared-late' | 'inherited'
  readonly life: 'with-us' | 'alone'
  readonly descriptors: 'closed' | 'inherited'
  readonly limits: 'applied' | 'none'
}

/** As good as options alone make it: what is missing is the filter of system calls, and a limit on processes for uid 0. */
const BASELINE: Recipe = {
  pids: 'own',
  network: 'own',
  ipc: 'own',
  root: 'listed',
  outside: 'read-only',
  privateFolders: 'own',
  protects: 'covered',
  absent: 'left-absent',
  sockets: 'masked',
  capabilities: 'dropped',
  procSys: 'covered',
  sys: 'absent',
  userNamespaces: 'disabled',
  session: 'new',
  env: 'constructed',
  life: 'with-us',
  descriptors: 'closed',
  limits: 'applied',
}

export interface BrokenBoundary {
  readonly recipe: Recipe
  /** The guarantees that the suite has to see broken, whoever runs it. */
  readonly breaks: readonly Guarantee[]
  /** And those that only uid 0 outside is able to break. */
  readonly breaksAsRoot: readonly Guarantee[]
}

/** None has a filter, so each breaks `syscalls-filtered` besides what it is named for. */
const broken = (
  change: Partial<Recipe>,
  breaks: readonly Guarantee[] = [],
  breaksAsRoot: readonly Guarantee[] = [],
): BrokenBoundary => ({
  recipe: { ...BASELINE, ...change },
  breaks: ['syscalls-filtered', ...breaks],
  breaksAsRoot,
})

export const BROKEN_BOUNDARIES = {
  'bwrap-without-seccomp': broken({}, [], ['not-root-outside']),
  'bwrap-writable-git': broken({ protects: 'git-writable' }, ['git-read-only']),
  'bwrap-writable-control-files': broken({ protects: 'control-writable' }, ['control-files-protected']),
  'bwrap-movable-parents': broken({ protects: 'parents-movable' }, ['git-read-only']),
  'bwrap-ghost-files': broken({ absent: 'covered' }, ['no-write-outside']),
  'bwrap-host-pids': broken({ pids: 'host', life: 'alone' }, ['pid-isolation', 'tree-ends', 'dies-with-us']),
  'bwrap-host-network': broken({ network: 'host' }, ['no-network']),
  'bwrap-host-ipc': broken({ ipc: 'host' }, ['pid-isolation']),
  'bwrap-open-sockets': broken({ sockets: 'open' }, ['no-network']),
  'bwrap-whole-host': broken({ root: 'whole-host' }, ['reads-limited', 'no-network']),
  'bwrap-writable-outside': broken({ outside: 'writable' }, ['no-write-outside']),
  'bwrap-host-tmp-and-home': broken({ privateFolders: 'host' }, ['private-home-and-tmp', 'reads-limited']),
  'bwrap-capabilities-kept': broken(
    { capabilities: 'kept', procSys: 'open', sys: 'host', userNamespaces: 'allowed' },
    ['no-user-namespaces'],
    ['no-write-outside', 'git-read-only', 'host-settings-read-only', 'no-network'],
  ),
  'bwrap-removable-covers': broken(
    { capabilities: 'kept', userNamespaces: 'allowed' },
    [],
    ['host-settings-read-only'],
  ),
  'bwrap-user-namespaces': broken({ userNamespaces: 'allowed' }, ['no-user-namespaces']),
  'bwrap-same-session': broken({ session: 'same' }, ['no-terminal-injection']),
  'bwrap-environment-cleared-late': broken({ env: 'cleared-late' }, ['env-constructed']),
  'bwrap-environment-inherited': broken({ env: 'inherited' }, ['env-constructed']),
  'bwrap-outlives-us': broken({ life: 'alone' }, ['dies-with-us']),
  'bwrap-inherited-descriptors': broken({ descriptors: 'inherited' }, ['no-inherited-descriptors']),
  'bwrap-without-limits': broken({ limits: 'none' }, ['tree-ends']),
} as const satisfies Record<string, BrokenBoundary>

export type BrokenName = keyof typeof BROKEN_BOUNDARIES | BrokenLandlockName | 'plain'

/** What a plain start without any boundary breaks, whoever runs it. */
export const PLAIN_BREAKS: readonly Guarantee[] = [
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
  'private-home-and-tmp',
]

/** What the builder has to know of the scene. Paths are absolute, landed, and exist. */
export interface RecipeFacts {
  readonly workspace: string
  readonly read: readonly string[]
  readonly writeSubtrees: readonly string[]
  readonly protectedPaths: readonly string[]
  readonly protectedParents: readonly string[]
  readonly sockets: readonly string[]
  readonly home: string
  readonly env: Readonly<Record<string, string>>
  /** Words of the first program inside, e.g. prlimit with its limits; empty: none. */
  readonly first: readonly string[]
  /** A link of the root (`bin` → `usr/bin`), or a folder to bind. */
  readonly systemRoots: readonly { readonly path: string; readonly target: string | null }[]
}

/** The option list of bubblewrap for `recipe`, command included. */
export function brokenArgv(recipe: Recipe, facts: RecipeFacts, command: readonly string[]): string[] {
  return [
    ...namespaces(recipe),
    ...rootFolders(recipe, facts),
    ...kernelFolders(recipe),
    ...(recipe.privateFolders === 'own'
      ? ['--tmpfs', '/tmp', '--tmpfs', '/home/agent']
      : ['--bind', '/tmp', '/tmp', '--bind', facts.home, '/home/agent']),
    ...granted(recipe, facts),
    ...environment(recipe, facts),
    ...['--chdir', facts.workspace, '--', ...(recipe.limits === 'applied' ? facts.first : []), ...command],
  ]
}

const when = (condition: boolean, ...words: string[]): string[] => (condition ? words : [])

function namespaces(recipe: Recipe): string[] {
  return [
    ...['--unshare-user', '--unshare-uts', '--unshare-cgroup-try'],
    ...when(recipe.ipc === 'own', '--unshare-ipc'),
    ...when(recipe.pids === 'own', '--unshare-pid'),
    ...when(recipe.network === 'own', '--unshare-net'),
    ...when(recipe.life === 'with-us', '--die-with-parent'),
    ...when(recipe.session === 'new', '--new-session'),
    ...when(recipe.userNamespaces === 'disabled', '--disable-userns'),
    ...(recipe.capabilities === 'dropped' ? ['--cap-drop', 'ALL'] : ['--cap-add', 'ALL', '--uid', '0']),
  ]
}

function rootFolders(recipe: Recipe, { systemRoots }: RecipeFacts): string[] {
  if (recipe.root === 'whole-host') return ['--ro-bind', '/', '/', '--tmpfs', '/home']
  const listed = systemRoots.flatMap(({ path, target }) =>
    target === null ? ['--ro-bind', path, path] : ['--symlink', target, path],
  )
  return ['--tmpfs', '/', ...listed, '--ro-bind-try', '/etc/ld.so.cache', '/etc/ld.so.cache', '--dir', '/home']
}

function kernelFolders(recipe: Recipe): string[] {
  return [
    ...(recipe.pids === 'own' ? ['--proc', '/proc'] : ['--dev-bind', '/proc', '/proc']),
    ...when(recipe.procSys === 'covered', '--ro-bind', '/proc/sys', '/proc/sys'),
    ...when(recipe.procSys === 'covered', '--ro-bind-try', '/proc/sysrq-trigger', '/proc/sysrq-trigger'),
    ...when(recipe.procSys === 'covered', '--ro-bind-try', '/proc/irq', '/proc/irq'),
    ...when(recipe.sys === 'host', '--bind', '/sys', '/sys'),
    ...['--dev', '/dev'],
  ]
}

function granted(recipe: Recipe, facts: RecipeFacts): string[] {
  const read = facts.read.flatMap(path => [recipe.outside === 'writable' ? '--bind' : '--ro-bind', path, path])
  const writes = facts.writeSubtrees.map(path => (path === '.' ? facts.workspace : `${facts.workspace}/${path}`))
  const parents = recipe.protects === 'parents-movable' ? [] : facts.protectedParents
  const covered = facts.protectedPaths.filter(path => {
    const git = path.endsWith('.git')
    return !(git && recipe.protects === 'git-writable') && !(!git && recipe.protects === 'control-writable')
  })
  return [
    ...read,
    ...['--ro-bind', facts.workspace, facts.workspace],
    ...writes.flatMap(path => ['--bind', path, path]),
    ...when(writes.length > 0, ...parents.flatMap(path => ['--bind', path, path])),
    ...covered.flatMap(path => ['--ro-bind', path, path]),
    ...when(recipe.absent === 'covered', '--ro-bind', '/dev/null', `${facts.workspace}/.idea`),
    ...(recipe.sockets === 'masked' ? facts.sockets.flatMap(path => ['--ro-bind', '/dev/null', path]) : []),
  ]
}

function environment(recipe: Recipe, { env }: RecipeFacts): string[] {
  return [
    ...when(recipe.env !== 'inherited', '--clearenv'),
    ...Object.entries({ PATH: '/usr/local/bin:/usr/bin:/bin', HOME: '/home/agent', ...env }).flatMap(pair => [
      '--setenv',
      ...pair,
    ]),
  ]
}
