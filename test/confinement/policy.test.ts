import { chmodSync, mkdirSync, realpathSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { SELF_BINDS_MAX } from '../../src/bounds.js'
import { gitSettingsFiles } from '../../src/confinement/host-texts.js'
import { landPolicy } from '../../src/confinement/policy.js'
import { scanTree } from '../../src/confinement/tree-scan.js'
import type { PolicyRequest } from '../../src/confinement/types.js'
import { isRefusal, type RefusalCode } from '../../src/errors.js'
import { protectedNames } from '../../src/paths/protected-names.js'
import { DEBIAN, request } from '../support/confinement-fakes.js'
import { needs } from '../support/needs.js'
import { scratch } from '../support/scratch.js'

/** A tree by its files: a name that ends in `/` is a folder, a value that begins with `->` a link. */
function tree(root: string, files: Readonly<Record<string, string>>): void {
  for (const [name, content] of Object.entries(files)) {
    const path = join(root, name)
    mkdirSync(name.endsWith('/') ? path : dirname(path), { recursive: true })
    if (content.startsWith('->')) symlinkSync(content.slice(2), path)
    else if (!name.endsWith('/')) writeFileSync(path, content)
  }
}

/** What landing is refused with; fails the test where it is not. */
function refusal(
  t: { fail(message: string): unknown },
  asked: PolicyRequest,
  facts = DEBIAN,
): { code: RefusalCode; message: string } {
  try {
    landPolicy(asked, facts)
  } catch (error) {
    if (isRefusal(error)) return error
    throw error
  }
  t.fail('it was landed')
  return { code: 'missing', message: '' }
}

t.test('nothing asked for: the workspace is read-only, everything else is its default', async t => {
  const ws = scratch(t)
  const landed = landPolicy(request(ws), DEBIAN)
  t.match(landed.workspace, { path: ws, type: 'folder' })
  t.same(
    landed.reads.map(({ path }) => path),
    [ws],
  )
  t.same([landed.writes, landed.protects, landed.hides, landed.watched], [[], [], [], []])
  t.same(landed.limits, {
    wall: 600_000,
    output: 65_536,
    memory: 2 ** 31,
    pids: 256,
    'file-size': 2 ** 30,
    cpu: 600_000,
    'open-files': 1_024,
  })
  t.throws(() => Object.assign(landed.limits, { pids: 1e6 }), 'frozen all the way down')
  t.same(Object.keys(landed.env).sort(), [
    'HOME',
    'LANG',
    'LOGNAME',
    'NO_COLOR',
    'PATH',
    'SHELL',
    'TERM',
    'TMPDIR',
    'USER',
  ])
})

t.test('folders that are no workspace', async t => {
  const ws = scratch(t)
  tree(ws, { 'home/user/x/': '', file: '', loop: '->loop' })
  const facts = { ...DEBIAN, homes: [join(ws, 'home/user')] }
  const cases: readonly (readonly [path: string, code: RefusalCode])[] = [
    ['/', 'filesystem-root'],
    ['/usr', 'workspace-unusable'],
    ['/etc', 'workspace-unusable'],
    ['/var', 'workspace-unusable'],
    ['/proc/self', 'special-filesystem'],
    ['/dev/shm/..', 'workspace-unusable'],
    [join(ws, 'home/user'), 'home-folder'],
    [join(ws, 'home'), 'home-folder'],
    [ws, 'home-folder'],
    [join(ws, 'file'), 'not-a-directory'],
    [join(ws, 'nowhere'), 'missing'],
    [join(ws, 'loop'), 'too-many-links'],
    [`${ws}\0`, 'nul-in-path'],
  ]
  for (const [path, code] of cases) t.equal(refusal(t, request(path), facts).code, code, JSON.stringify(path))
  t.equal(refusal(t, request('/tmp')).code, 'unsupported-rule', 'the boundary makes its own')
  t.equal(
    landPolicy(request(join(ws, 'home/user/x')), facts).workspace.path,
    join(ws, 'home/user/x'),
    'a folder in it is one',
  )
})

t.test('reads: landed, sorted, each once, and never over what the boundary makes itself', async t => {
  const ws = scratch(t)
  const other = scratch(t)
  tree(other, { 'b/': '', 'a/': '', link: '->a', 'pipe-is-a-file': '' })
  const asked = (...read: string[]) => request(ws, { read })
  const read = [join(other, 'b'), join(other, 'link'), join(other, 'a'), join(other, 'b', '..', 'b')]
  const landed = landPolicy(asked(...read), DEBIAN)
  t.same(landed.reads.map(({ path }) => path).sort(), [ws, join(other, 'a'), join(other, 'b')].sort())
  t.same(
    landPolicy(asked(...read.reverse()), DEBIAN).reads.map(r => r.path),
    landed.reads.map(r => r.path),
    'order of flags',
  )
  const cases: readonly (readonly [path: string, code: RefusalCode])[] = [
    ['/', 'filesystem-root'],
    ['/proc', 'special-filesystem'],
    ['/proc/self/environ', 'special-filesystem'],
    ['/dev/null', 'unsupported-rule'],
    ['/dev', 'special-filesystem'],
    ['/tmp', 'unsupported-rule'],
    ['/home', 'unsupported-rule'],
    ['/run', 'unsupported-rule'],
    [join(other, 'nowhere'), 'missing'],
  ]
  for (const [path, code] of cases) t.equal(refusal(t, asked(path)).code, code, path)
})

t.test('write grants', async t => {
  const ws = scratch(t)
  const outside = scratch(t)
  tree(ws, { 'src/deep/': '', 'out/': '', file: '', away: `->${outside}`, '.git/HEAD': 'ref: x', '.vscode/': '' })
  const asked = (...writeSubtrees: string[]) => request(ws, { writeSubtrees })
  t.same(
    landPolicy(asked('src', './out/'), DEBIAN).writes.map(({ path }) => path),
    [join(ws, 'out'), join(ws, 'src')],
  )
  t.same(
    landPolicy(asked('.'), DEBIAN).writes.map(({ path }) => path),
    [ws],
  )
  const cases: readonly (readonly [grants: string[], code: RefusalCode])[] = [
    [['nowhere'], 'missing'],
    [['file'], 'not-a-directory'],
    [['..'], 'outside-roots'],
    [['away'], 'outside-roots'],
    [['/etc'], 'outside-roots'],
    [['.git'], 'protected'],
    [['.vscode'], 'protected'],
    [['src', 'src/deep'], 'grants-overlap'],
    [['.', 'src'], 'grants-overlap'],
    [['src', 'out/../src'], 'grants-overlap'],
  ]
  for (const [grants, code] of cases) t.equal(refusal(t, asked(...grants)).code, code, grants.join(' '))
  t.equal(landPolicy(request(ws, { writeSubtrees: ['.vscode'], unprotect: ['.vscode'] }), DEBIAN).writes.length, 1)
  t.equal(
    refusal(t, request(ws, { unprotect: ['.nothing'] })).code,
    'unsupported-rule',
    'an unknown name protects nothing',
  )
})

t.test('control files inside a grant', async t => {
  const ws = scratch(t)
  const elsewhere = scratch(t)
  tree(ws, { 'src/': '', 'conf/hooks.json': '', 'src/link.json': '->../conf/hooks.json' })
  tree(elsewhere, { 'through.json': `->${ws}/src/x.json` })
  writeFileSync(join(ws, 'src/x.json'), '')
  const asked = (grant: string, path: string) =>
    request(ws, { writeSubtrees: [grant], controlFiles: [{ path, what: 'the hooks file' }] })
  const cases: readonly (readonly [grant: string, path: string, refused: boolean])[] = [
    ['.', join(ws, 'conf/hooks.json'), true],
    ['src', join(ws, 'conf/hooks.json'), false],
    ['src', join(ws, 'src/link.json'), true],
    ['src', join(elsewhere, 'through.json'), true],
    ['src', join(ws, 'src/not-yet/session'), true],
    ['src', join(ws, 'src'), true],
    ['src', join(ws, 'srcs'), false],
  ]
  for (const [grant, path, refused] of cases) {
    if (refused) t.equal(refusal(t, asked(grant, path)).code, 'control-file-inside', `${grant} ${path}`)
    else t.equal(landPolicy(asked(grant, path), DEBIAN).writes.length, 1, `${grant} ${path}`)
  }
})

t.test('protected names inside a grant: any depth, ancestors bound, absent ones watched', async t => {
  const ws = scratch(t)
  tree(ws, {
    '.git/HEAD': 'ref: refs/heads/main',
    'vendor/lib/.git/HEAD': 'x',
    'pkg/.ENVRC': '',
    'node_modules/p/.vscode/settings.json': '',
    'node_modules/q/.git/HEAD': '',
    '.gitignore': '',
    'fixtures/bare.git/HEAD': '',
    'fixtures/bare.git/objects/': '',
    'fixtures/bare.git/refs/': '',
  })
  const { protects, selfBinds, watched, reservations } = landPolicy(request(ws, { writeSubtrees: ['.'] }), DEBIAN)
  const below = (path: string): string => path.slice(ws.length + 1)
  t.same(
    protects.map(({ path }) => below(path)),
    ['.git', 'fixtures/bare.git', 'node_modules/q/.git', 'pkg/.ENVRC', 'vendor/lib/.git'],
  )
  t.same(selfBinds.map(below), ['fixtures', 'node_modules', 'node_modules/q', 'pkg', 'vendor', 'vendor/lib'])
  const names = watched.map(({ path }) => below(path))
  t.ok(names.includes('.envrc') && names.includes('.bashrc') && !names.includes('.git'), 'at the top of the grant')
  t.same(reservations, [])
})

t.test('git: pointers, settings and links that lead into a grant', async t => {
  const ws = scratch(t)
  tree(ws, {
    '.git/config': '[core]\n\thooksPath = "tools/hooks" ; ours\n[include]\n\tpath = ../shared.config\n',
    '.git/HEAD': 'x',
    '.git/hooks': '->../tools/more-hooks',
    'tools/hooks/pre-commit': '',
    'tools/more-hooks/': '',
    'shared.config': '',
    'sub/.git': 'gitdir: ../gitdirs/sub\n',
    'gitdirs/sub/HEAD': 'x',
    'gitdirs/sub/config': '[core]\n\tworktree = ../../sub\n',
    'plain/': '',
  })
  const below = (path: string): string => path.slice(ws.length + 1)
  const all = landPolicy(request(ws, { writeSubtrees: ['.'] }), DEBIAN)
  t.same(
    all.protects.map(({ path }) => below(path)),
    ['.git', 'gitdirs/sub', 'shared.config', 'sub/.git', 'tools/hooks', 'tools/more-hooks'],
  )
  const part = landPolicy(request(ws, { writeSubtrees: ['tools'] }), DEBIAN)
  t.same(
    part.protects.map(({ path }) => below(path)),
    ['tools/hooks', 'tools/more-hooks'],
    'the repository around the grant',
  )
  t.equal(
    refusal(t, request(ws, { writeSubtrees: ['tools/hooks'] })).code,
    'control-file-inside',
    'the grant is what git runs',
  )
  t.same(landPolicy(request(ws, { writeSubtrees: ['plain'] }), DEBIAN).protects, [])
  const lifted = landPolicy(request(ws, { writeSubtrees: ['.'], unprotect: ['.git'] }), DEBIAN)
  t.same(lifted.protects, [], 'lifted by name')
  t.match(lifted.reservations, [{ guarantee: 'git-read-only', why: /--unprotect \.git/ }], 'and the record says so')
})

t.test('git: settings that others include, of the user, and the programs they name', async t => {
  const ws = scratch(t)
  const home = scratch(t)
  tree(ws, {
    '.git/HEAD': 'x',
    '.git/config': '[include]\npath = ../team.config\n[filter "x"]\nclean = node tools/clean.js %f\nsmudge = cat\n',
    'team.config': '[include]\npath = more/deep.config\n[diff]\n\texternal = ./tools/diff --stat\n',
    'more/deep.config': `[core]\nhooksPath = hk\n[include]\npath = ../team.config\n[credential]\nhelper = "!sh login.sh"\n`,
    'hk/pre-commit': '',
    'tools/clean.js': '',
    'tools/diff': '',
    'login.sh': '',
    'package.json': '',
    'dot/gitconfig': '',
    '.githooks/post-checkout': '',
  })
  tree(home, { '.gitconfig': `->${ws}/dot/gitconfig` })
  writeFileSync(
    join(ws, 'dot/gitconfig'),
    '[core]\nhooksPath = .githooks\nfsmonitor = true\n[alias]\nx = !cat package.json\n',
  )
  const facts = { ...DEBIAN, homes: [home] }
  const below = (path: string): string => path.slice(ws.length + 1)
  const paths = (grant: string) =>
    landPolicy(request(ws, { writeSubtrees: [grant] }), facts).protects.map(({ path }) => below(path))
  t.same(paths('.'), [
    '.git',
    '.githooks',
    'dot/gitconfig',
    'hk',
    'login.sh',
    'more/deep.config',
    'team.config',
    'tools/clean.js',
    'tools/diff',
  ])
  t.same(paths('tools'), ['tools/clean.js', 'tools/diff'])
  const plain = scratch(t)
  tree(plain, { 'hooks/': '', 'rel/': '' })
  writeFileSync(join(ws, 'dot/gitconfig'), `[core]\nhooksPath = ${plain}/hooks\n`)
  t.match(
    landPolicy(request(plain, { writeSubtrees: ['.'] }), facts).protects,
    [{ path: join(plain, 'hooks') }],
    'no repository of its own',
  )
  writeFileSync(join(ws, 'dot/gitconfig'), '[core]\nhooksPath = ~/p/hooks\n')
  tree(home, { 'p/hooks/': '' })
  t.match(
    landPolicy(request(join(home, 'p'), { writeSubtrees: ['.'] }), facts).protects,
    [{ path: join(home, 'p/hooks') }],
    '~',
  )
})

t.test('git: settings that variables name, or of a git that is installed elsewhere', async t => {
  const [ws, away] = [scratch(t), scratch(t)]
  const hooks = ['of-global', 'of-xdg', 'of-system', 'of-prefix']
  tree(ws, Object.fromEntries(hooks.map(name => [`${name}/`, ''])))
  const named = (name: string): string => `[core]\nhooksPath = ${ws}/${name}\n`
  tree(away, {
    ...{ global: named('of-global'), 'xdg/git/config': named('of-xdg'), system: named('of-system') },
    ...{ 'git/bin/': '', 'git/etc/gitconfig': named('of-prefix') },
  })
  const env = { GIT_CONFIG_GLOBAL: 'global', XDG_CONFIG_HOME: `${away}/xdg`, GIT_CONFIG_SYSTEM: `${away}/system` }
  const protectedIn = (gitSettings: readonly string[]): string[] =>
    landPolicy(request(ws, { writeSubtrees: ['.'] }), { ...DEBIAN, gitSettings })
      .protects.map(({ path }) => path.slice(ws.length + 1))
      .sort()
  t.same(protectedIn(gitSettingsFiles(env, away, [`${away}/git/bin`])), [...hooks].sort())
  t.same(protectedIn(gitSettingsFiles({}, away, [])), [])
  t.same(
    gitSettingsFiles({ GIT_CONFIG_GLOBAL: '', XDG_CONFIG_HOME: 'a\0b' }, away, ['/usr/games']),
    gitSettingsFiles({}, '/', []),
    'empty is not set',
  )
  const inside = landPolicy(request(ws, { writeSubtrees: ['.'] }), {
    ...DEBIAN,
    gitSettings: gitSettingsFiles({ GIT_CONFIG_GLOBAL: `${ws}/of-xdg/mine` }, '/', []),
  })
  t.ok(
    inside.watched.some(({ path }) => path === `${ws}/of-xdg/mine`),
    'the file itself, which is not there yet',
  )
})

t.test('git: a grant that is a git folder, or lies in one, refuses', async t => {
  const root = scratch(t)
  tree(root, {
    'bare.git/HEAD': 'x',
    'bare.git/objects/': '',
    'bare.git/refs/': '',
    'bare.git/hooks/': '',
    'linked/HEAD': 'x',
    'linked/commondir': '../bare.git',
    'work/.git/HEAD': 'x',
    'work/.git/objects/': '',
    'work/.git/refs/': '',
    'work/.git/hooks/': '',
    'work/HEAD': 'no git folder',
    'work/src/': '',
  })
  for (const workspace of ['bare.git', 'bare.git/hooks', 'linked', 'work/.git', 'work/.git/hooks']) {
    const { code, message } = refusal(t, request(join(root, workspace), { writeSubtrees: ['.'] }))
    t.equal(code, 'protected', workspace)
    t.match(message, /git folder/)
    landPolicy(request(join(root, workspace)), DEBIAN)
    landPolicy(request(join(root, workspace), { writeSubtrees: ['.'], unprotect: ['.git'] }), DEBIAN)
  }
  for (const workspace of ['.', 'work', 'work/src'])
    landPolicy(request(join(root, workspace), { writeSubtrees: ['.'] }), DEBIAN)
})

t.test(
  'names that are no UTF-8: what is found below them refuses, the rest is let be',
  { skip: needs('linux') },
  async t => {
    const odd = Buffer.from([0xff])
    const inOdd = (root: string, ...names: string[]): Buffer =>
      Buffer.concat([Buffer.from(`${root}/`), odd, ...names.map(name => Buffer.from(`/${name}`))])
    for (const [name, found] of [
      ['src', false],
      ['.git', true],
      ['.ENVRC', true],
      ['a/.vscode', true],
    ] as const) {
      const ws = scratch(t)
      mkdirSync(inOdd(ws, ...name.split('/')), { recursive: true })
      const asked = request(ws, { writeSubtrees: ['.'] })
      if (found) t.equal(refusal(t, asked).code, 'unsupported-rule', name)
      else t.equal(landPolicy(asked, DEBIAN).writes.length, 1, name)
    }
  },
)

t.test('git: a link at .git refuses, and so does a way through a link', async t => {
  const ws = scratch(t)
  tree(ws, {
    'real.git/HEAD': '',
    'a/.git': '->../real.git',
    'b/.git/config': '[core]\nhooksPath = via/h\n',
    'b/via': '->../c',
  })
  tree(ws, { 'b/.git/HEAD': '', 'c/h/': '' })
  for (const grant of ['a', 'b']) {
    t.equal(refusal(t, request(ws, { writeSubtrees: [grant] })).code, 'crosses-writable-link', grant)
  }
  t.equal(landPolicy(request(ws, { writeSubtrees: ['a'], unprotect: ['.git'] }), DEBIAN).writes.length, 1)
})

t.test('git: a linked working tree may read its git folder, a forged pointer opens nothing', async t => {
  const repo = scratch(t)
  const ws = scratch(t)
  tree(repo, { '.git/HEAD': 'x', '.git/worktrees/wt/HEAD': 'x', '.git/worktrees/wt/commondir': '../..\n' })
  writeFileSync(join(repo, '.git/worktrees/wt/gitdir'), `${ws}/.git\n`)
  writeFileSync(join(ws, '.git'), `gitdir: ${repo}/.git/worktrees/wt\n`)
  const reads = () => landPolicy(request(ws), DEBIAN).reads.map(({ path }) => path)
  t.ok(reads().includes(join(repo, '.git')), 'with objects and refs')
  renameSync(join(repo, '.git/worktrees/wt/gitdir'), join(repo, '.git/worktrees/wt/was'))
  t.notOk(reads().includes(join(repo, '.git')), 'nothing points back')
})

t.test('hides: what is readable is covered, contradictions refuse', async t => {
  const ws = scratch(t)
  const home = scratch(t)
  tree(ws, { 'keys/k': '', '.env': '', 'src/': '' })
  tree(home, { '.ssh/id': '', '.npmrc': '', '.docker/config.json': '', 'notes/': '' })
  const facts = { ...DEBIAN, homes: [home] }
  const landed = landPolicy(request(ws, { hide: [join(ws, 'keys'), join(ws, '.env'), join(ws, 'absent')] }), facts)
  t.match(landed.hides, [
    { path: join(ws, '.env'), type: 'file' },
    { path: join(ws, 'keys'), type: 'folder' },
  ])
  t.match(landed.hiddenElsewhere, [{ path: join(ws, 'absent') }], 'still denied to the file tools')
  const secrets = (read: string[]) =>
    landPolicy(request(ws, { read: read.map(name => join(home, name)) }), facts).hides.map(({ path }) =>
      path.slice(home.length + 1),
    )
  t.same(secrets([]), [], 'nothing shows them')
  t.same(secrets(['notes']), [])
  t.same(secrets(['.']), ['.docker', '.npmrc', '.ssh'], 'a read that would show them')
  t.same(secrets(['.', '.npmrc']), ['.docker', '.ssh'], 'named itself')
  t.same(
    secrets(['.', '.docker/config.json']),
    ['.docker', '.npmrc', '.ssh'],
    'a file in it is opened, the rest stays hidden',
  )
  const cases: readonly (readonly [parts: Partial<PolicyRequest>, code: RefusalCode])[] = [
    [{ hide: [join(ws, 'k[eys')] }, 'unsupported-rule'],
    [{ hide: [join(ws, 's*')], writeSubtrees: ['src'] }, 'hidden'],
    [{ hide: [ws] }, 'hidden'],
    [{ hide: ['/'] }, 'hidden'],
    [{ hide: [join(ws, 'src')], writeSubtrees: ['src'] }, 'hidden'],
    [{ hide: [home], read: [join(home, 'notes')] }, 'hidden'],
  ]
  for (const [parts, code] of cases) t.equal(refusal(t, request(ws, parts), facts).code, code, JSON.stringify(parts))
})

t.test('hides inside a grant: the folders above them cannot be renamed', async t => {
  const ws = scratch(t)
  tree(ws, { 'a/b/keys/k': '', 'c/.env': '', 'd/e': '', 'out/x': '' })
  const hide = [join(ws, 'a/b/keys'), join(ws, 'c/.env')]
  const below = (path: string): string => path.slice(ws.length + 1)
  const bound = (writeSubtrees: string[]) => landPolicy(request(ws, { hide, writeSubtrees }), DEBIAN).selfBinds
  t.same(bound(['.']).map(below), ['a', 'a/b', 'c'])
  t.same(bound(['a']).map(below), ['a/b'], 'a grant is a mount point already')
  t.same(bound(['out']), [], 'nothing there can be renamed')
  const many = scratch(t)
  const names = Array.from({ length: SELF_BINDS_MAX + 5 }, (_, at) => `p${at}`)
  tree(many, { ...Object.fromEntries(names.map(name => [`${name}/.envrc`, ''])), 'q/r/s/key': '' })
  const landed = landPolicy(request(many, { writeSubtrees: ['.'], hide: [join(many, 'q/r/s/key')] }), DEBIAN)
  t.equal(landed.selfBinds.length, SELF_BINDS_MAX)
  for (const path of ['q', 'q/r', 'q/r/s']) t.ok(landed.selfBinds.includes(join(many, path)), `never left out: ${path}`)
  t.match(
    landed.reservations,
    [{ guarantee: 'control-files-protected', why: /^8 folders/ }],
    'and what is left out is said',
  )
})

t.test('environment: own values win, impossible ones refuse, PATH holds what is shown', async t => {
  const ws = scratch(t)
  tree(ws, { 'bin/': '' })
  const facts = { ...DEBIAN, pathFolders: [join(ws, 'bin'), '/opt/tools/bin', '/root/bin', '/usr/bin'] }
  const { env } = landPolicy(request(ws, { env: { TERM: 'xterm', '--x': '--bind' } }), facts)
  t.equal(env.PATH, '/opt/tools/bin:/usr/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/sbin:/bin')
  t.match(env, { TERM: 'xterm', '--x': '--bind', HOME: '/home/agent' })
  for (const bad of [{ '': 'x' }, { 'a=b': 'x' }, { a: 'x\0y' }, { 'a\0': 'x' }]) {
    t.equal(refusal(t, request(ws, { env: bad })).code, 'bad-arguments', JSON.stringify(bad))
  }
})

t.test('limits that are no positive whole number refuse', async t => {
  const ws = scratch(t)
  for (const pids of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 60]) {
    t.equal(refusal(t, request(ws, { limits: { pids } })).code, 'bad-limit', String(pids))
  }
  t.equal(refusal(t, request(ws, { limits: { wall: 86_400_001 } })).code, 'bad-limit')
  t.equal(landPolicy(request(ws, { limits: { pids: 3 } }), DEBIAN).limits.pids, 3)
})

t.test('a control group that cannot serve refuses', async t => {
  const facts = { ...DEBIAN, cgroup: { rootProblem: 'it is no group' } }
  const { code, message } = refusal(t, request(scratch(t), { cgroupRoot: '/sys/fs/cgroup/x' }), facts)
  t.equal(code, 'bad-arguments')
  t.match(message, /it is no group/)
})

t.test('a scan that reaches its bound says so', async t => {
  const ws = scratch(t)
  tree(ws, { 'a/b/.git/HEAD': '', 'a/c': '', d: '', '.git/HEAD': '' })
  const names = protectedNames()
  t.match(scanTree(ws, names), { cut: false, found: [{ name: '.git' }, { name: '.git' }] })
  t.match(
    scanTree(ws, names, { entriesMax: 4 }),
    { cut: true, found: [{ path: join(ws, '.git') }] },
    'the top is seen first',
  )
})

t.test('a folder that cannot be listed but belongs to us refuses', { skip: needs('not-root') }, async t => {
  const ws = scratch(t)
  tree(ws, { 'closed/': '' })
  chmodSync(join(ws, 'closed'), 0)
  t.teardown(() => chmodSync(join(ws, 'closed'), 0o700))
  t.equal(refusal(t, request(ws, { writeSubtrees: ['.'] })).code, 'no-permission')
})

t.test('a workspace reached through a link is the folder it leads to', async t => {
  const root = realpathSync(scratch(t))
  tree(root, { 'real/': '', link: '->real' })
  t.equal(landPolicy(request(join(root, 'link')), DEBIAN).workspace.path, join(root, 'real'))
})
