/** What is done after a launch: what changed is told, what git would obey is moved aside, and nothing of the host ever is. */
import { execFileSync, spawn } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { afterLaunch, beforeLaunch, sweep, withAftermath } from '../../src/confinement/aftermath.js'
import { type Boundary, openBoundary } from '../../src/confinement/boundary.js'
import { readHostFacts } from '../../src/confinement/host-facts.js'
import { landPolicy } from '../../src/confinement/policy.js'
import { openUp, setAside } from '../../src/confinement/set-aside.js'
import type { Policy, PolicyRequest } from '../../src/confinement/types.js'
import { Refusal } from '../../src/errors.js'
import type { Outcome } from '../../src/outcome.js'
import { identityOf } from '../../src/paths/walk.js'
import { closeInherited } from '../../src/supervise/descriptors.js'
import { DEBIAN, request } from '../support/confinement-fakes.js'
import { needs } from '../support/needs.js'
import { projectRoot } from '../support/root.js'
import { scratch } from '../support/scratch.js'

// Whoever started the tests may have left descriptors open, with which launches refuse.
closeInherited()

/** A value that begins with `->` is a link, a name that ends in `/` a folder. */
function tree(root: string, files: Readonly<Record<string, string>>): void {
  for (const [name, content] of Object.entries(files)) {
    const path = join(root, name)
    mkdirSync(name.endsWith('/') ? path : dirname(path), { recursive: true })
    if (content.startsWith('->')) symlinkSync(content.slice(2), path)
    else if (!name.endsWith('/')) writeFileSync(path, content)
  }
}

const GIT = { HEAD: 'ref: refs/heads/m\n', 'objects/': '', 'refs/': '', config: '[core]\n\tbare = false\n' }
const EVIL = '[core]\n\tfsmonitor = evil\n'

function at(folder: string, files: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(files).map(([name, content]) => [`${folder}/${name}`, content]))
}

function land(ws: string, parts: Partial<PolicyRequest> = {}): Policy {
  return landPolicy(request(ws, { writeSubtrees: ['.'], ...parts }), DEBIAN)
}

/** Without the random part of names, relative to `ws`. */
function plain(lines: readonly string[], ws: string): string[] {
  return lines.map(line => line.replaceAll(`${ws}/`, '').replaceAll(/\.planted-[0-9a-f]{16}/g, '.planted'))
}

function rootOf(path: string) {
  return { path, identity: identityOf(lstatSync(path, { bigint: true })) }
}

t.test('after a launch: what is new at the places that are known', async t => {
  const repository = {
    ...at('.git', { ...GIT, config: '[include]\n\tpath = ../inc\n[diff "x"]\n\texternal = tools/d\n' }),
  }
  const cases: {
    name: string
    before?: Readonly<Record<string, string>>
    parts?: Partial<PolicyRequest>
    make: Readonly<Record<string, string>>
    told: readonly string[]
  }[] = [
    { name: 'nothing', make: { x: '' }, told: [] },
    { name: 'names of others are told and left', make: { '.envrc': '' }, told: ['appeared: .envrc'] },
    {
      name: 'and moved under --protect-strict',
      parts: { protectStrict: true },
      make: { '.envrc': '', '.vscode/tasks.json': '' },
      told: [
        'appeared: .envrc',
        'appeared: .vscode',
        'moved aside: .envrc to .envrc.planted: its name is protected',
        'moved aside: .vscode to .vscode.planted: its name is protected',
      ],
    },
    {
      name: 'a new repository keeps what does not execute',
      make: { ...at('.git', GIT), '.git/hooks/a.sample': '', '.git/hooks/pre-push': '' },
      told: [
        'appeared: .git',
        'moved aside: .git/hooks/pre-push to .git/hooks/pre-push.planted: git would run the hook pre-push',
      ],
    },
    {
      name: 'and nothing under --protect-strict',
      parts: { protectStrict: true },
      make: at('.git', { ...GIT, config: EVIL }),
      told: [
        'appeared: .git',
        'moved aside: .git/config to .git/config.planted: git would run core.fsmonitor',
        'moved aside: .git/HEAD to .git/HEAD.planted: its name is protected',
        'moved aside: .git to .git.planted: its name is protected',
      ],
    },
    {
      name: 'what settings name',
      before: repository,
      make: { inc: 'x' },
      told: ['appeared: inc', 'moved aside: inc to inc.planted: git would obey it: its settings name it'],
    },
    {
      name: 'a program that was not there',
      before: repository,
      make: { 'tools/d': '' },
      told: ['appeared: tools/d', 'moved aside: tools/d to tools/d.planted: git would obey it: its settings name it'],
    },
    {
      name: 'hooks of a bare repository that are elsewhere',
      before: at('srv.git', { ...GIT, config: '[core]\n\thooksPath = ../hk\n' }),
      make: { 'hk/post-receive': '' },
      told: ['appeared: hk', 'moved aside: hk to hk.planted: git would obey it: its settings name it'],
    },
    {
      name: 'a git folder that is another one',
      before: at('.git', GIT),
      make: { '.git/config': EVIL },
      told: ['changed: .git', 'moved aside: .git/config to .git/config.planted: git would run core.fsmonitor'],
    },
  ]
  for (const { name, before = {}, parts = {}, make, told } of cases) {
    const ws = scratch(t)
    tree(ws, before)
    const asked = beforeLaunch(land(ws, parts))
    if (name.includes('another one')) {
      renameSync(join(ws, '.git'), join(ws, 'old'))
      tree(ws, at('.git', GIT))
    }
    tree(ws, make)
    t.strictSame(plain(afterLaunch(asked).lines, ws), told, name)
    const names = readdirSync(ws, { recursive: true, encoding: 'utf8' })
    const moved = told.filter(line => line.startsWith('moved aside')).length
    t.equal(names.filter(path => /\.planted-[0-9a-f]{16}$/.test(path)).length, moved, `${name}: nothing is deleted`)
    const again = sweep(asked.policy, []).lines
    t.notMatch(again.join('\n'), /moved aside/, `${name}: and moved once`)
  }
})

t.test('opened git folders: what is new against what was there', async t => {
  const own = '[filter "lfs"]\n\tprocess = git-lfs\n'
  const files = at('.git', {
    ...GIT,
    config: own,
    'hooks/pre-commit': 'own',
    'logs/HEAD': '',
    'info/attributes': '',
    'worktrees/w/HEAD': '',
    'worktrees/w/commondir': '../..\n',
    'worktrees/w/gitdir': '/elsewhere/.git\n',
  })
  const opened = (t: Parameters<typeof scratch>[0]) => {
    const ws = scratch(t)
    tree(ws, files)
    return { ws, asked: beforeLaunch(land(ws, { grants: ['git-commit'] })) }
  }
  const cases: { name: string; change: (git: string) => void; told: readonly RegExp[] }[] = [
    { name: 'nothing', change: () => {}, told: [] },
    {
      name: 'what commits write',
      change: git =>
        tree(git, {
          index: '',
          'objects/aa/bb': '',
          'refs/heads/m': '',
          COMMIT_EDITMSG: '',
          'refs/heads/config': EVIL,
        }),
      told: [],
    },
    {
      name: 'settings that lost their cover, with nothing new in them',
      change: git => {
        writeFileSync(join(git, 'new'), `${own}[branch "m"]\n\tremote = origin\n`)
        renameSync(join(git, 'new'), join(git, 'config'))
      },
      told: [/^changed: \.git\/config$/],
    },
    {
      name: 'and with something',
      change: git => {
        writeFileSync(join(git, 'new'), `${own}${EVIL}`)
        renameSync(join(git, 'new'), join(git, 'config'))
      },
      told: [/^changed: \.git\/config$/, /^moved aside: \.git\/config to \S+: git would run core\.fsmonitor$/],
    },
    {
      name: 'a hook that lost its cover',
      change: git => {
        renameSync(join(git, 'hooks'), join(git, 'old'))
        tree(git, { 'hooks/pre-commit': 'evil' })
      },
      told: [
        /^changed: \.git\/hooks$/,
        /^moved aside: \.git\/hooks\/pre-commit to \S+: git would run the hook pre-commit$/,
      ],
    },
    {
      name: 'links that git writes through',
      change: git => {
        rmSync(join(git, 'logs/HEAD'))
        tree(git, { ORIG_HEAD: '->/etc/passwd', 'logs/HEAD': '->../config', 'refs/heads/x': '->../../config' })
      },
      told: [
        /ORIG_HEAD to \S+: git would go through the link to \/etc\/passwd$/,
        /logs\/HEAD to /,
        /refs\/heads\/x to /,
      ],
    },
    {
      name: 'a new working tree of git’s own making',
      change: git =>
        tree(git, {
          'worktrees/n/HEAD': '',
          'worktrees/n/commondir': '../..\n',
          'worktrees/n/gitdir': `${dirname(git)}/n/.git\n`,
        }),
      told: [],
    },
    {
      name: 'and of another',
      change: git =>
        tree(git, {
          'worktrees/n/HEAD': '',
          'worktrees/n/commondir': '../../..\n',
          'worktrees/n/gitdir': '/tmp/n/.git\n',
        }),
      told: [
        /worktrees\/n\/commondir to /,
        /worktrees\/n\/gitdir to \S+: git would take \/tmp\/n\/\.git for a working tree/,
      ],
    },
    {
      name: 'objects of elsewhere',
      change: git => tree(git, { 'objects/info/alternates': '/elsewhere/objects\n' }),
      told: [/alternates to \S+: git would read objects of \/elsewhere\/objects$/],
    },
    {
      name: 'a folder that is closed to keep it from being looked through',
      change: git => {
        tree(git, { 'modules/m/HEAD': '', 'modules/m/config': EVIL })
        chmodSync(join(git, 'modules'), 0o311)
      },
      told: [/modules\/m\/config to /],
    },
  ]
  for (const { name, change, told } of cases) {
    const { ws, asked } = opened(t)
    change(join(ws, '.git'))
    const lines = plain(afterLaunch(asked).lines, ws)
    t.equal(lines.length, told.length, `${name}: ${lines.join('\n')}`)
    for (const [index, pattern] of told.entries()) t.match(lines[index], pattern, name)
  }
})

/** Folders in one another, further than one path can name them. */
const DEEPER = `const { mkdirSync } = require('node:fs'), name = 'd'.repeat(250)
for (let n = 0; n < 20; n++) { mkdirSync(name); process.chdir(name) }
mkdirSync('.vscode')`

t.test('other working trees are covered name by name up to 32 of them, and then whole', async t => {
  const coversOf = (count: number): string[] => {
    const ws = scratch(t)
    const trees = Array.from({ length: count }, (_, n) => ({
      ...{ [`.git/worktrees/w${n}/HEAD`]: 'x', [`.git/worktrees/w${n}/index`]: '' },
      ...{ [`.git/worktrees/w${n}/commondir`]: '../..\n', [`.git/worktrees/w${n}/gitdir`]: '/elsewhere/.git\n' },
    }))
    tree(ws, Object.assign({ ...at('.git', GIT) }, ...trees))
    const { protects } = land(ws, { grants: ['git-commit'] })
    return protects.map(({ path }) => path.slice(ws.length + 1)).filter(path => path.includes('/w0'))
  }
  t.same(
    coversOf(32),
    ['HEAD', 'commondir', 'gitdir', 'index'].map(name => `.git/worktrees/w0/${name}`),
  )
  t.same(coversOf(33), ['.git/worktrees/w0'])
})

t.test('what was a git folder is looked at behind any number of entries', async t => {
  const ws = scratch(t)
  const folders = Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`.git/modules/a/${n}/HEAD`, '']))
  tree(ws, { ...at('.git', { ...GIT, 'modules/zz/HEAD': '', 'modules/zz/config': '' }), '.git/worktrees/w/HEAD': '' })
  const asked = beforeLaunch(land(ws, { grants: ['git-commit'] }), 40)
  tree(ws, { ...folders, '.git/worktrees/w/config.worktree': EVIL, '.git/modules/zz/hooks/post-commit': '' })
  const { lines, whole } = afterLaunch(asked)
  t.match(plain(lines, ws).sort(), [
    /^moved aside: \S+modules\/zz\/hooks\/post-commit to /,
    /^moved aside: \S+worktrees\/w\/config\.worktree to /,
    'not looked at: the rest of .git: git folders hold more than 40 entries',
  ])
  t.equal(whole, false)
})

t.test('what may still stand is not said to be kept away', async t => {
  const ws = scratch(t)
  const policy = land(ws, { protectStrict: true })
  const applied = ['nothing-planted', 'tree-ends'] as const
  const outcome = { tampered: [], confinement: { boundary: 'bubblewrap', applied, gaps: [] } } as unknown as Outcome
  tree(ws, { '.envrc': '' })
  const moved = sweep(policy, [])
  t.match(withAftermath(outcome, moved), { tampered: moved.lines, confinement: { applied } })
  execFileSync(process.execPath, ['-e', DEEPER], { cwd: ws })
  t.teardown(() => execFileSync('rm', ['-rf', join(ws, 'd'.repeat(250))]))
  const told = sweep(policy, [])
  t.match(told.lines, [/^not looked at: /], 'which a path longer than the kernel takes at once is not')
  t.match(withAftermath(outcome, told).confinement, {
    applied: ['tree-ends'],
    gaps: [{ guarantee: 'nothing-planted' }],
  })
  const named = join(ws, 'a\nb')
  tree(named, { '.envrc': '' })
  t.ok(
    sweep(policy, []).lines.every(line => !line.includes('\n')),
    'and a name makes no line of its own',
  )
})

t.test('bytes tell what times do not', async t => {
  const ws = scratch(t)
  tree(ws, { ...at('.git', GIT), '.envrc': 'one' })
  const asked = beforeLaunch(land(ws))
  t.strictSame(afterLaunch(asked).lines, [])
  writeFileSync(join(ws, '.envrc'), 'two')
  utimesSync(join(ws, '.envrc'), 1, 1)
  t.strictSame(plain(afterLaunch(asked).lines, ws), ['changed: .envrc'])
})

t.test('moving aside: only names of the judged folders', async t => {
  const base = scratch(t)
  tree(base, {
    'ws/d/config': 'mine',
    'host/config': 'host',
    'ws/link': '->../host',
    'ws/own-link': '->../host/config',
  })
  const ws = join(base, 'ws')
  const roots = [rootOf(ws)]
  const code = (value: string | Refusal): string => (value instanceof Refusal ? value.code : 'moved')
  t.equal(code(setAside(join(ws, 'link/config'), roots)), 'changed-while-checked', 'a parent that is a link')
  t.equal(code(setAside(join(base, 'host/config'), roots)), 'outside-roots')
  t.equal(code(setAside(ws, roots)), 'outside-roots', 'the root itself')
  t.equal(code(setAside(join(ws, 'gone'), roots)), 'missing')
  const link = setAside(join(ws, 'own-link'), roots)
  t.equal(typeof link === 'string' && readlinkSync(link), '../host/config', 'a link is moved itself')
  const file = setAside(join(ws, 'd/config'), roots)
  t.equal(typeof file === 'string' && readFileSync(file, 'utf8'), 'mine')
  const long = 'é'.repeat(127)
  writeFileSync(join(ws, long), '')
  t.equal(code(setAside(join(ws, long), roots)), 'moved', 'a name that is as long as one can be')
  renameSync(ws, join(base, 'other'))
  tree(base, { 'ws/d/config': 'new' })
  t.equal(code(setAside(join(ws, 'd/config'), roots)), 'changed-while-checked', 'a root that is another one')
  t.equal(openUp(join(ws, 'd'), roots), false)
  t.equal(readFileSync(join(base, 'host/config'), 'utf8'), 'host')
})

t.test('folders that are closed', { skip: needs('not-root') }, async t => {
  const ws = scratch(t)
  tree(ws, { 'd/config': '', 'e/f/x': '' })
  const roots = [rootOf(ws)]
  chmodSync(join(ws, 'd'), 0o555)
  t.type(setAside(join(ws, 'd/config'), roots), 'string')
  chmodSync(join(ws, 'e'), 0)
  t.equal(openUp(join(ws, 'e'), roots), true)
  t.strictSame(readdirSync(join(ws, 'e')), ['f'])
})

/** Puts a link to the host's folder in the place of the judged one and back, as fast as it can. */
const FLIPPER = `const fs = require('node:fs'), [ws] = process.argv.slice(1)
process.stdout.write('go')
for (;;) { try { fs.renameSync(ws + '/d', ws + '/x'); fs.renameSync(ws + '/l', ws + '/d'); fs.renameSync(ws + '/d', ws + '/l'); fs.renameSync(ws + '/x', ws + '/d') } catch {} }`

t.test('a link that flips never leads away', async t => {
  const base = scratch(t)
  tree(base, { 'ws/d/': '', 'host/config': 'host', 'ws/l': '->../host' })
  const roots = [rootOf(join(base, 'ws'))]
  const flipper = spawn(process.execPath, ['-e', FLIPPER, join(base, 'ws')], { stdio: ['ignore', 'pipe', 'inherit'] })
  await new Promise(resolve => flipper.stdout.once('data', resolve))
  let moved = 0
  for (let n = 0; n < 2_000; n++) {
    for (const folder of ['d', 'x']) {
      try {
        writeFileSync(join(base, 'ws', folder, `config-${n}`), '', { flag: 'wx' })
      } catch {
        // Just now it is the other one, or the host's, where a test may write and nothing is to be moved.
      }
    }
    if (typeof setAside(join(base, 'ws/d', `config-${n}`), roots) === 'string') moved++
  }
  flipper.kill('SIGKILL')
  t.ok(moved > 0, `${moved} were moved`)
  const names = readdirSync(join(base, 'host'))
  t.strictSame(
    names.filter(name => name.includes('.planted-')),
    [],
    'none of the host',
  )
  t.equal(readFileSync(join(base, 'host/config'), 'utf8'), 'host')
})

const WHO = { GIT_AUTHOR_NAME: 's', GIT_AUTHOR_EMAIL: 's@s', GIT_COMMITTER_NAME: 's', GIT_COMMITTER_EMAIL: 's@s' }

async function open(t: Test, ws: string, parts: Partial<PolicyRequest> = {}): Promise<Boundary> {
  const boundary = await openBoundary({
    ...{ confine: 'bubblewrap', probe: 'launch', runId: '0123456789abcdef', onEvent: () => {} },
    request: request(ws, { writeSubtrees: ['.'], env: WHO, ...parts }),
    facts: await readHostFacts(),
  })
  if (boundary instanceof Refusal) throw boundary
  t.teardown(() => boundary.close())
  return boundary
}

function git(cwd: string, ...args: string[]): void {
  execFileSync('git', args, { cwd, env: { ...WHO, PATH: process.env.PATH ?? '', HOME: cwd }, stdio: 'ignore' })
}

/** Waits for a file that a launch makes. One that is refused never gets there, and has to be told of instead of waited for. */
async function madeBy(running: Promise<unknown>, path: string): Promise<void> {
  let over = false
  running.finally(() => (over = true)).catch(() => {})
  while (!over && !existsSync(path)) await pause(10)
}

/** Runs `inside` up to its `wait`, does `outside`, lets it go on; what the launch then told. */
async function during(boundary: Boundary, inside: string, outside: () => void): Promise<readonly string[]> {
  const ws = boundary.policy.workspace.path
  const wait = 'touch ready; until [ -e go ]; do sleep 0.02; done'
  const running = boundary.run({ argv: ['sh', '-c', inside.replace('WAIT', wait)], purpose: 'exec' })
  await madeBy(running, join(ws, 'ready'))
  outside()
  writeFileSync(join(ws, 'go'), '')
  const outcome = await running
  if (outcome instanceof Refusal) throw outcome
  return plain(outcome.tampered, ws)
}

t.test(
  'a rename on the host detaches a mount, and is found',
  { skip: needs('linux', 'bubblewrap', 'git') },
  async t => {
    const repository = (): string => {
      const ws = scratch(t)
      git(ws, 'init', '-q')
      git(ws, 'commit', '-q', '--allow-empty', '-m', 'one')
      return ws
    }
    const evil = "printf '[core]\\n\\tfsmonitor = evil\\n'"

    const renamed = repository()
    const one = await during(
      await open(t, renamed),
      `WAIT; git init -q . && ${evil} >> .git/config; ${evil} >> old/config`,
      () => renameSync(join(renamed, '.git'), join(renamed, 'old')),
    )
    t.match(one, ['changed: .git', /^moved aside: \.git\/config to \S+: git would run core\.fsmonitor$/])
    t.notMatch(readFileSync(join(renamed, 'old/config'), 'utf8'), 'evil', 'the mount went with the folder')

    const settings = repository()
    const two = await during(await open(t, settings, { grants: ['git-commit'] }), `WAIT; ${evil} >> .git/config`, () =>
      git(settings, 'config', 'user.name', 'x'),
    )
    t.match(two, ['changed: .git/config', /^moved aside: \.git\/config to \S+: git would run core\.fsmonitor$/])
    t.notOk(existsSync(join(settings, '.git/config')))

    const own = repository()
    const three = await during(await open(t, own, { grants: ['git-commit'] }), 'WAIT', () =>
      git(own, 'config', 'user.name', 'x'),
    )
    t.strictSame(three, ['changed: .git/config'], 'what the user changes is told, and stays')

    const parent = repository()
    mkdirSync(join(parent, 'a/b'), { recursive: true })
    git(join(parent, 'a/b'), 'init', '-q')
    const boundary = await open(t, parent)
    await during(boundary, `WAIT; mkdir -p a/b; git init -q a/b; ${evil} >> a/b/.git/config`, () =>
      renameSync(join(parent, 'a'), join(parent, 'old')),
    )
    t.match(plain(boundary.verify(), parent).join('\n'), /^moved aside: a\/b\/\.git\/config to /m)
  },
)

t.test(
  'P011: a git command that is cancelled takes its lock with it',
  { skip: needs('linux', 'bubblewrap', 'git') },
  async t => {
    const ws = scratch(t)
    git(ws, 'init', '-q')
    tree(ws, { a: 'a', '.git/hooks/pre-commit': '#!/bin/sh\ntouch hooked\nsleep 60\n' })
    chmodSync(join(ws, '.git/hooks/pre-commit'), 0o755)
    git(ws, 'add', 'a')
    const boundary = await open(t, ws, { grants: ['git-commit'] })
    const cancel = new AbortController()
    const argv = ['git', 'commit', '-q', '-a', '-m', 'x']
    const running = boundary.run({ argv, purpose: 'exec', signal: cancel.signal, graceMs: 5_000 })
    await madeBy(running, join(ws, 'hooked'))
    t.ok(existsSync(join(ws, '.git/index.lock')))
    cancel.abort('caller')
    t.match(await running, { ending: { kind: 'cancelled' } })
    t.notOk(existsSync(join(ws, '.git/index.lock')))
  },
)

t.test('B17: a repository of another owner', { skip: needs('root', 'linux', 'bubblewrap', 'git') }, async t => {
  const ws = scratch(t)
  git(ws, 'init', '-q')
  for (const path of [
    '.git',
    ...readdirSync(join(ws, '.git'), { recursive: true, encoding: 'utf8' }).map(name => `.git/${name}`),
  ]) {
    chownSync(join(ws, path), 65_534, 65_534)
  }
  const boundary = await open(t, ws, { env: {} })
  t.equal(boundary.policy.gitOwner, 65_534)
  const outcome = await boundary.run({ argv: ['git', 'status', '--porcelain'], purpose: 'exec' })
  t.match(outcome, { ending: { kind: 'exited', status: 0 } }, 'git inside is told to use it')
  const counted = await open(t, ws, { env: { GIT_CONFIG_COUNT: '0' } })
  const refused = await counted.run({ argv: ['git', 'status'], purpose: 'exec' })
  t.match(refused, { ending: { kind: 'exited', status: 128 } }, 'unless the operator counts settings of his own')
})

t.test('what the grant does not open', async t => {
  const refusal = (ws: string, parts: Partial<PolicyRequest>): string => {
    try {
      landPolicy(request(ws, { grants: ['git-commit'], ...parts }), DEBIAN)
    } catch (error) {
      if (error instanceof Refusal) return error.code === 'unsupported-rule' ? error.message : error.code
      throw error
    }
    return 'landed'
  }
  const place = (files: Readonly<Record<string, string>>): string => {
    const base = scratch(t)
    tree(base, { 'ws/': '', ...files })
    return join(base, 'ws')
  }
  const repository = at('ws/.git', GIT)
  t.equal(refusal(place({}), {}), 'landed', 'there is nothing to open')
  t.equal(refusal(place(repository), {}), 'landed')
  t.match(refusal(place(repository), { unprotect: ['.git'] }), /leave one of them out/)
  t.equal(
    refusal(place(repository), { grants: ['git-push'] }),
    '--grant git-push: no such grant: git-commit is the one there is',
  )
  for (const name of ['hooks', 'config.worktree', 'info/attributes', 'modules', 'worktrees']) {
    const linked = place({ ...repository, [`ws/.git/${name}`]: `->${projectRoot}` })
    t.equal(refusal(linked, {}), 'crosses-writable-link', `B06: ${name} is a link`)
  }
  t.equal(refusal(place({ ...at('g', GIT), 'ws/.git': '->../g' }), {}), 'crosses-writable-link', '.git is a link')
  t.match(refusal(place(at('.git', GIT)), {}), /name that working tree as the workspace/)
  t.match(
    refusal(place({ ...at('g', GIT), 'ws/.git': 'gitdir: ../g\n' }), {}),
    /does not name this working tree in turn/,
  )
  const hooks = place({ ...repository, 'ws/.git/hooks.json': '', 'ws/.git/hooks/h': '' })
  const control = (path: string): string =>
    refusal(hooks, { controlFiles: [{ path: join(hooks, path), what: 'the hooks file' }] })
  t.equal(control('.git/hooks.json'), 'control-file-inside')
  t.equal(control('.git/hooks/h'), 'landed', 'what is covered may stay')
  t.equal(refusal(hooks, { hide: [join(hooks, '.git')] }), 'hidden')
})

t.test('what the grant opens', async t => {
  const base = scratch(t)
  tree(base, {
    ...at('main/.git', { ...GIT, 'hooks/x': '', index: '' }),
    ...at('main/.git/worktrees/wt', { HEAD: '', commondir: '../..\n', gitdir: `${base}/wt/.git\n` }),
    ...at('main/.git/worktrees/other', { HEAD: '', index: '', commondir: '../..\n', gitdir: '/other/.git\n' }),
    'wt/.git': `gitdir: ${base}/main/.git/worktrees/wt\n`,
  })
  const landed = landPolicy(request(join(base, 'wt'), { grants: ['git-commit'] }), DEBIAN)
  const names = (rules: readonly { readonly path: string }[]): string[] =>
    rules.map(({ path }) => path.slice(base.length + 1))
  t.strictSame(names(landed.gitOpen), ['main/.git'], 'B18: the real git folder, outside of the workspace')
  t.strictSame(names(landed.protects), [
    'main/.git/HEAD',
    'main/.git/config',
    'main/.git/hooks',
    'main/.git/index',
    'main/.git/worktrees/other/HEAD',
    'main/.git/worktrees/other/commondir',
    'main/.git/worktrees/other/gitdir',
    'main/.git/worktrees/other/index',
    'main/.git/worktrees/wt/commondir',
    'main/.git/worktrees/wt/gitdir',
  ])
  t.strictSame(names(landed.selfBinds.map(path => ({ path }))), [
    'main/.git/worktrees',
    'main/.git/worktrees/other',
    'main/.git/worktrees/wt',
  ])
  t.strictSame(
    landed.gitNamed.map(path => path.slice(base.length + 1)),
    [
      'main/.git/info/attributes',
      'main/.git/worktrees/other/info/attributes',
      'main/.git/worktrees/wt/info/attributes',
    ],
  )
})
