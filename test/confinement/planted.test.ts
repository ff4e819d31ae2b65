/** What appears in a write grant, and what git would run because of it. */
import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { GIT_CONFIG_BYTES_MAX, PLANTED_TOLD_MAX } from '../../src/bounds.js'
import { sweep } from '../../src/confinement/aftermath.js'
import { configPlaces, executingPairs, gitSettings } from '../../src/confinement/git-config.js'
import { gitSettingsFiles } from '../../src/confinement/host-texts.js'
import { lookForPlanted } from '../../src/confinement/planted.js'
import { landPolicy } from '../../src/confinement/policy.js'
import { protectedNames } from '../../src/paths/protected-names.js'
import { DEBIAN, request } from '../support/confinement-fakes.js'
import { needs } from '../support/needs.js'
import { scratch } from '../support/scratch.js'

/** A value that begins with `->` is a link, a name that ends in `/` a folder. */
function tree(root: string, files: Readonly<Record<string, string>>): void {
  for (const [name, content] of Object.entries(files)) {
    const path = join(root, name)
    mkdirSync(name.endsWith('/') ? path : dirname(path), { recursive: true })
    if (content.startsWith('->')) symlinkSync(content.slice(2), path)
    else if (!name.endsWith('/')) writeFileSync(path, content)
  }
}

/** What is told of `after` on top of `before`, paths relative to the grant. */
function told(
  t: Parameters<typeof scratch>[0],
  before: Readonly<Record<string, string>>,
  after: Readonly<Record<string, string>>,
  entriesMax?: number,
): string[] {
  const ws = scratch(t)
  tree(ws, before)
  const policy = landPolicy(request(ws, { writeSubtrees: ['.'] }), DEBIAN)
  tree(ws, after)
  const { appeared, obeyed, unseen } = lookForPlanted({
    policy,
    names: protectedNames(),
    ...(entriesMax === undefined ? {} : { entriesMax }),
  })
  const lines = [
    ...appeared.map(({ word, path, name }) => `${word}: ${path}${name === 'bare repository' ? ' (a git folder)' : ''}`),
    ...obeyed.map(({ path, why }) => `git would ${why}: ${path}`),
    ...unseen,
  ]
  return lines.map(line => line.replaceAll(`${ws}/`, '').replaceAll(ws, '.'))
}

const REPOSITORY = { HEAD: 'ref: refs/heads/m\n', 'objects/': '', 'refs/': '' }

function at(folder: string, files: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(files).map(([name, content]) => [`${folder}/${name}`, content]))
}

t.test('what appeared, at any depth', async t => {
  const before = { 'a/b/x': '', '.git/HEAD': 'x', 'a/.envrc': '', 'node_modules/p/x': '', ...at('old.git', REPOSITORY) }
  const cases: { name: string; after: Readonly<Record<string, string>>; lines: readonly string[] }[] = [
    { name: 'nothing', after: { 'a/b/y': '', 'new/': '' }, lines: [] },
    {
      name: 'names',
      after: { 'a/b/.envrc': '', 'new/.VSCODE/x': '', '.bashrc': '' },
      lines: ['appeared: .bashrc', 'appeared: a/b/.envrc', 'appeared: new/.VSCODE'],
    },
    { name: 'a package’s own', after: { 'node_modules/p/.vscode/x': '' }, lines: [] },
    {
      name: 'a repository as git makes it',
      after: at('sub/.git', {
        ...REPOSITORY,
        config: '[core]\n\tbare = false\n',
        'hooks/pre-commit.sample': '#!/bin/sh\n',
      }),
      lines: ['appeared: sub/.git'],
    },
    {
      name: 'its settings and hooks',
      after: at('sub/.git', { ...REPOSITORY, config: '[core]\nfsmonitor = evil\n', 'hooks/post-checkout': '' }),
      lines: [
        'appeared: sub/.git',
        'git would run core.fsmonitor: sub/.git/config',
        'git would run the hook post-checkout: sub/.git/hooks/post-checkout',
      ],
    },
    {
      name: 'those of its submodules and trees',
      after: {
        ...at('s/.git/modules/deep/m', { ...REPOSITORY, config: '[alias]\nx = !evil\n' }),
        's/.git/worktrees/w/HEAD': '',
        's/.git/worktrees/w/config.worktree': '[pager]\nlog = evil\n',
        's/.git/worktrees/w/commondir': '../..\n',
        's/m/.git': 'gitdir: ../.git/modules/deep/m\n',
      },
      lines: [
        'appeared: s/.git',
        'appeared: s/m/.git',
        'git would run pager.log: s/.git/worktrees/w/config.worktree',
        'git would run alias.x: s/.git/modules/deep/m/config',
      ],
    },
    {
      name: 'a bare one, and what lies in it',
      after: { ...at('b', { ...REPOSITORY, config: '[diff "x"]\ntextconv = evil\n' }), 'b/objects/.envrc': '' },
      lines: ['appeared: b (a git folder)', 'appeared: b/objects/.envrc', 'git would run diff.textconv: b/config'],
    },
    {
      name: 'made of links, or of a pointer to the rest',
      after: {
        'c/HEAD': '->refs/heads/m',
        'c/objects': '->/tmp',
        'c/refs': '->/tmp',
        'd/HEAD': 'x',
        'd/commondir': '/elsewhere\n',
      },
      lines: [
        'appeared: c (a git folder)',
        'appeared: d (a git folder)',
        'git would go through the link to /tmp: c/objects',
        'git would go through the link to /tmp: c/refs',
        'git would obey what /elsewhere says: d/commondir',
      ],
    },
    {
      name: 'pointers',
      after: {
        'p/.git': 'gitdir: ../old.git\n',
        'q/.git': 'gitdir: /elsewhere\n',
        'r/.git': '->/elsewhere',
        's/.git': '->../old.git',
      },
      lines: [
        ...['p', 'q', 'r', 's'].map(name => `appeared: ${name}/.git`),
        'git would obey what /elsewhere says: q/.git',
        'git would obey what /elsewhere says: r/.git',
      ],
    },
    {
      name: 'pointers that are not written as git writes them, which it takes whole and others do not',
      after: {
        'a/.git': 'gitdir: ../old.git\nx\n',
        'b/.git': 'gitdir: ../old.git \n',
        'c/.git': 'gitdir: ../\ufffd\n',
        'd/.git': 'gitdir:../old.git\n',
        'e/.git': 'gitdir: ../old.git\r\n\n',
        'f/.git': '',
        'old/.git': '->\ufffd',
      },
      lines: [
        ...['a', 'b', 'c', 'd', 'e', 'f', 'old'].map(name => `appeared: ${name}/.git`),
        ...['a', 'b', 'c', 'd', 'old'].map(
          name => `git would obey what it says, which is not written as git writes it: ${name}/.git`,
        ),
      ],
    },
    {
      name: 'a common folder whose name ends in a line break and more',
      after: {
        ...at('r/.git', REPOSITORY),
        'r/.git/worktrees/w/HEAD': '',
        'r/.git/worktrees/w/commondir': '../..\nx',
        'r/.git/worktrees/..\nx/config': '[core]\nfsmonitor = evil\n',
      },
      lines: [
        'appeared: r/.git',
        'git would run core.fsmonitor: r/.git/worktrees/..\nx/config',
        'git would obey what it says: r/.git/worktrees/w/commondir',
      ],
    },
    {
      name: 'names that a folding volume takes for git’s',
      after: {
        ...at('x/.GIT', { head: 'ref: refs/heads/m\n', 'Objects/': '', 'Refs/': '' }),
        'x/.GIT/HOOKS/Pre-Commit': '',
        'x/.GIT/Config': '[core]\nfsmonitor = evil\n',
        'x/.GIT/refs/heads/hooks/config': '[core]\nfsmonitor = evil\n',
      },
      lines: [
        'appeared: x/.GIT',
        'git would run core.fsmonitor: x/.GIT/Config',
        'git would run the hook Pre-Commit: x/.GIT/HOOKS/Pre-Commit',
      ],
    },
    {
      name: 'repositories in folders with protected names',
      after: at('.vscode/a/.git', { ...REPOSITORY, config: '[core]\nfsmonitor = evil\n' }),
      lines: ['appeared: .vscode', 'appeared: .vscode/a/.git', 'git would run core.fsmonitor: .vscode/a/.git/config'],
    },
    {
      name: 'remotes of the old kind, and what a rebase or a row of picks goes on with',
      after: at('x/.git', {
        ...REPOSITORY,
        'branches/': '',
        'remotes/origin': 'URL: /elsewhere\n',
        'rebase-merge/strategy': 'x/../evil\n',
        'sequencer/opts': '[options]\n\tstrategy = x/../evil\n',
        'rebase-apply/strategy': 'ort\n',
        'svn/refs/remotes/trunk': '',
      }),
      lines: [
        'appeared: x/.git',
        'git would take origin for a remote: x/.git/remotes/origin',
        ...['rebase-merge/strategy', 'sequencer/opts'].map(
          name => `git would run the merge strategy that it names when that goes on: x/.git/${name}`,
        ),
      ],
    },
    {
      name: 'in a repository that was there',
      after: { 'old.git/x/.envrc': '', 'old.git/config': '[core]\nfsmonitor=x' },
      lines: [],
    },
    {
      name: 'settings that are no file',
      after: { 'x/.git/config/': '' },
      lines: ['appeared: x/.git', 'git would read it, and it cannot be read here: x/.git/config'],
    },
    {
      name: 'settings behind the bound',
      after: { 'x/.git/config': `${'#'.repeat(GIT_CONFIG_BYTES_MAX)}\n[core]\nfsmonitor = evil\n` },
      lines: ['appeared: x/.git', `git would read more than ${GIT_CONFIG_BYTES_MAX} bytes of settings: x/.git/config`],
    },
  ]
  for (const { name, after, lines } of cases) t.same(told(t, before, after), lines, name)
})

t.test('the grant itself becomes a repository', async t => {
  const lines = told(
    t,
    { x: '' },
    { ...REPOSITORY, config: '[a][core]fsmonitor = evil\n', 'hooks/pre-push': '', 'y/.envrc': '' },
  )
  t.same(
    lines,
    [
      'appeared: . (a git folder)',
      'appeared: y/.envrc',
      'git would run core.fsmonitor: config',
      'git would run the hook pre-push: hooks/pre-push',
    ].sort((a, b) => lines.indexOf(a) - lines.indexOf(b)),
  )
})

t.test('bounds say what was not looked at', async t => {
  const many = Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`d${n}/x`, '']))
  t.same(told(t, {}, { ...many, 'a/b/.envrc': '' }, 60), [
    'not looked at: what lies deeper in ., which holds more than 60 entries',
  ])
  const wide = Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`s/.git/modules/d${n}/x`, '']))
  t.match(told(t, {}, { ...wide }, 40), [
    'appeared: s/.git',
    /^not looked at: the rest of s\/\.git: git folders hold more than 40 entries$/,
  ])
  const ws = scratch(t)
  const empty = landPolicy(request(ws, { writeSubtrees: ['.'] }), DEBIAN)
  tree(ws, Object.fromEntries(Array.from({ length: PLANTED_TOLD_MAX + 20 }, (_, n) => [`d${n}/.envrc`, ''])))
  const lines = sweep(empty, []).lines
  t.same([lines.length, lines.at(-1)], [PLANTED_TOLD_MAX, 'and 21 more of this kind'])
  tree(ws, at('z/.git', { ...REPOSITORY, config: '[core]\nfsmonitor = evil\n' }))
  t.match(
    sweep(empty, []),
    { whole: true, lines: [/^moved aside: \S+z\/\.git\/config to /] },
    'what was moved comes first',
  )
})

/** A home folder whose settings name programs and hooks by relative paths. */
const USER = '[core]\n\thooksPath = .hooks\n\tpager = less\n[diff "x"]\n\tcommand = sh ./d.sh -x a/b\n'

t.test('settings that were there name places in working trees that are new', async t => {
  const ws = scratch(t)
  const home = scratch(t)
  tree(home, { '.gitconfig': USER })
  const shared = '#!/bin/sh\necho own\n'
  tree(ws, {
    ...at('.git', { ...REPOSITORY, config: '[merge "y"]\n\tdriver = tools/m.sh %A\n', 'worktrees/w/HEAD': 'x' }),
    ...{ '.git/worktrees/w/commondir': '../..\n', 'tools/m.sh': shared },
  })
  const policy = landPolicy(request(ws, { writeSubtrees: ['.'] }), { ...DEBIAN, homes: [home] })
  tree(ws, {
    ...at('new', { ...at('.git', REPOSITORY), '.hooks/post-commit': '', 'd.sh': '', less: '', 'tools/m.sh': '' }),
    ...{ 'w/.git': 'gitdir: ../.git/worktrees/w\n', 'w/tools/m.sh': shared, 'w/d.sh': '' },
    ...at('bare', { ...REPOSITORY, '.hooks/post-receive': '' }),
  })
  chmodSync(join(ws, 'new/less'), 0o755)
  const obeyed = (): string[] =>
    lookForPlanted({ policy, names: protectedNames() }).obeyed.map(({ path }) => path.slice(ws.length + 1))
  t.same(obeyed().sort(), ['bare/.hooks', 'new/.hooks', 'new/d.sh', 'w/d.sh'], 'what is checked out twice is left')
  writeFileSync(join(ws, 'w/tools/m.sh'), `${shared}evil\n`)
  t.ok(obeyed().includes('w/tools/m.sh'), 'and what is another one is not')
})

t.test('so do those that are not at home', async t => {
  const [ws, elsewhere] = [scratch(t), scratch(t)]
  tree(elsewhere, { 'git/config': '[core]\n\thooksPath = .hooks\n', 'etc/gitconfig': '[diff]\nexternal = ./d.sh\n' })
  const gitSettings = gitSettingsFiles({ XDG_CONFIG_HOME: elsewhere }, '/', [join(elsewhere, 'bin')])
  const policy = landPolicy(request(ws, { writeSubtrees: ['.'] }), { ...DEBIAN, gitSettings })
  tree(ws, at('new', { ...at('.git', REPOSITORY), '.hooks/post-commit': '', 'd.sh': '' }))
  const { obeyed } = lookForPlanted({ policy, names: protectedNames() })
  t.same(obeyed.map(({ path }) => path.slice(ws.length + 1)).sort(), ['new/.hooks', 'new/d.sh'])
})

t.test('what may have been there before is told and left', async t => {
  const ws = scratch(t)
  tree(ws, { 'x/.envrc': '', ...at('y/.git', { ...REPOSITORY, config: '[core]\npager = evil\n' }) })
  const landed = { ...landPolicy(request(ws, { writeSubtrees: ['.'] }), DEBIAN), protects: [], protectStrict: true }
  t.same(sweep({ ...landed, unscanned: [ws] }, []).lines, [
    `found: ${ws}/x/.envrc`,
    `found: ${ws}/y/.git`,
    `git would run core.pager: ${ws}/y/.git/config`,
  ])
  t.same(sweep({ ...landed, writes: [] }, []).lines, [], 'no grant')
  t.same(sweep({ ...landed, protectStrict: false }, ['.envrc', '.git']).lines, [], 'lifted by name')
})

t.test('a folder that cannot be listed is said', { skip: needs('not-root') }, async t => {
  const ws = scratch(t)
  const policy = landPolicy(request(ws, { writeSubtrees: ['.'] }), DEBIAN)
  tree(ws, { 'closed/.git/': '' })
  chmodSync(join(ws, 'closed'), 0)
  t.teardown(() => chmodSync(join(ws, 'closed'), 0o700))
  t.same(lookForPlanted({ policy, names: protectedNames() }).unseen, [
    `not looked at: ${ws}/closed, which cannot be listed`,
  ])
  t.same(sweep(policy, []).lines, [`appeared: ${ws}/closed/.git`], 'it is opened to be looked through')
})

/** Text, and the settings in it as `key=value`; null: git itself gives up on it, and we go on. */
const TEXTS: readonly (readonly [text: string, settings: readonly string[], git: 'agrees' | 'gives up'])[] = [
  ['[core]\nhookspath=a', ['core.hookspath=a'], 'agrees'],
  ['[CORE]\n\tHooksPath = a b ', ['core.hookspath=a b'], 'agrees'],
  ['[core] hooksPath = x', ['core.hookspath=x'], 'agrees'],
  ['[core]\nhooksPath = "a # b" # c', ['core.hookspath=a # b'], 'agrees'],
  ['[core]\nhooksPath = a\\\n/b', ['core.hookspath=a/b'], 'agrees'],
  ['[core]\n# \\\nhooksPath = x', ['core.hookspath=x'], 'agrees'],
  ['[core]\na = b ; \\\nhooksPath = x', ['core.a=b', 'core.hookspath=x'], 'agrees'],
  ['[a][core]fsmonitor=x', ['core.fsmonitor=x'], 'agrees'],
  ['[a "x]"] [core] pager=x', ['core.pager=x'], 'agrees'],
  ['\ufeff[core]\npager=x', ['core.pager=x'], 'agrees'],
  ['[core]\r\npager=x\r\neditor=y\r\n', ['core.pager=x', 'core.editor=y'], 'agrees'],
  ['[diff.x]\ntextconv = y', ['diff.textconv=y'], 'agrees'],
  ['[includeIf "gitdir:~/x/"]\npath = y', ['includeif.path=y'], 'agrees'],
  ['[include]\r\npath = "q\\"q"\r\n', ['include.path=q"q'], 'agrees'],
  ['[alias]\nx = "!a\\tb"', ['alias.x=!a\tb'], 'agrees'],
  ['[core]\nhooksPath', ['core.hookspath='], 'agrees'],
  ['[core]\nhooksPath = a\0b\npager = c', ['core.hookspath=a', 'core.pager=c'], 'gives up'],
  ['[core]\nhooksPath = " "', ['core.hookspath= '], 'agrees'],
  ['[core]\nhooksPath = \u00a0', ['core.hookspath=\u00a0'], 'agrees'],
  ['[core]\nhooksPath = a ""\t', ['core.hookspath=a '], 'agrees'],
  ['[core]\nhooksPath = a \\\n  \n', ['core.hookspath=a '], 'agrees'],
  ['[core]\nhooksPath = \t "a\t" \t', ['core.hookspath=a\t'], 'agrees'],
  ['# [core]\n; hooksPath = no\n[core]\n#hooksPath = no', [], 'agrees'],
  ['[core]\n%%\npager = x', ['core.pager=x'], 'gives up'],
  ['[core]\nx = "a\npager = x', ['core.x=a', 'core.pager=x'], 'gives up'],
]

t.test('settings as git reads them', async t => {
  for (const [text, settings] of TEXTS)
    t.same(
      gitSettings(text).map(({ key, value }) => `${key}=${value}`),
      settings,
      JSON.stringify(text),
    )
})

t.test('git reads the same', { skip: needs('git') }, async t => {
  const file = join(scratch(t), 'config')
  for (const [text, settings] of TEXTS.filter(([, , git]) => git === 'agrees')) {
    writeFileSync(file, text)
    const said = execFileSync('git', ['config', '--file', file, '--no-includes', '--null', '--list'], {
      encoding: 'utf8',
    })
    const pairs = said
      .split('\0')
      .filter(pair => pair !== '')
      .map(pair => {
        const [name = '', ...value] = pair.split('\n')
        const parts = name.split('.')
        return `${parts[0] ?? ''}.${parts.at(-1) ?? ''}=${value.join('\n')}`
      })
    t.same(pairs, settings, JSON.stringify(text))
  }
})

t.test('settings that name places, and settings that execute', async t => {
  t.same(configPlaces('[core "x"]\nother = 1\n[remote "core"]\nhooksPath = no\n[core]\nhooksPath'), [])
  t.same(configPlaces('[include]\npath = a\n[core]\nhooksPath = h\neditor = e\nattributesFile = f'), [
    { key: 'include.path', value: 'a' },
    { key: 'core.hookspath', value: 'h' },
    { key: 'command', value: 'e' },
    { key: 'file', value: 'f' },
  ])
  const executes = [
    ...[
      'core.fsmonitor',
      'core.hooksPath',
      'core.sshCommand',
      'core.editor',
      'core.pager',
      'gpg.program',
      'credential.helper',
    ],
    ...['sequence.editor', 'include.path', 'pager.log', 'diff.external', 'tar.x.command', 'gpg.ssh.program'],
    ...[
      'diff.x.textconv',
      'filter.x.clean',
      'filter.x.process',
      'merge.x.driver',
      'includeIf.x.path',
      'difftool.x.cmd',
      'protocol.ext.allow',
    ],
  ]
  const written = (key: string, value: string): string => {
    const [section = '', ...rest] = key.split('.')
    const name = rest.pop() ?? ''
    return `[${section}${rest.length === 0 ? '' : ` "${rest.join('.')}"`}]\n${name} = ${value}\n`
  }
  for (const key of executes) t.equal(executingPairs(written(key, 'evil')).length, 1, key)
  for (const [key, value] of [
    ['alias.x', '!evil'],
    // Each of them runs a program, writes a file or sets what will.
    ['alias.x', 'grep -Oevil .'],
    ['alias.x', 'rebase -x evil'],
    ['alias.x', '--exec-path=evil pull'],
    ['alias.x', 'log --output=/home/x/.profile'],
    ['alias.x', 'config core.pager evil'],
    ['alias.x', 'bisect run evil'],
    ['alias.x', 'log -1 --ext-diff'],
    ['merge.tool', '../../../../evil'],
    ['diff.guitool', 'a/b'],
    ['submodule.x.update', '!evil'],
    ['pager.log', 'evil'],
    ['core.hooksPath', '" "'],
    ['core.fsmonitor', './true'],
  ] as const)
    t.equal(executingPairs(written(key, value)).length, 1, key)
  for (const [key, value] of [
    ['alias.x', 'log'],
    ['alias.x', 'log --graph --oneline -n 10 HEAD~3'],
    ['alias.x', 'status -sb'],
    ['merge.tool', 'vimdiff'],
    ['submodule.x.update', 'rebase'],
    ['pager.branch', 'false'],
    ['core.fsmonitor', 'true'],
    ['core.bare', 'false'],
    ['remote.origin.url', 'x'],
    ['user.name', 'x'],
  ] as const)
    t.same(executingPairs(written(key, value)), [], key)
})
