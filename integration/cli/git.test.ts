/** `--grant git-commit` and `--protect-strict` as flags and as keys, and that no hook of the operator meets what was planted. */
import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { parseScenario } from '../../src/emulator/scenario.js'
import { startEmulator } from '../../src/emulator/server.js'
import { needs } from '../../test/support/needs.js'
import { eventsOf, harness, scratch } from '../support/harness.js'
import { toScripted } from '../support/scripted.js'

const WHO = { GIT_AUTHOR_NAME: 's', GIT_AUTHOR_EMAIL: 's@s', GIT_COMMITTER_NAME: 's', GIT_COMMITTER_EMAIL: 's@s' }
const NAMED = Object.entries(WHO).flatMap(([name, value]) => ['--env', `${name}=${value}`])

function repository(t: Test) {
  const root = scratch({ 'ws/a.txt': 'one\n' })
  t.teardown(root.remove)
  const ws = join(root.path, 'ws')
  const git = (...args: string[]): string =>
    execFileSync('git', args, {
      cwd: ws,
      env: { ...WHO, PATH: process.env.PATH ?? '', HOME: root.path },
      encoding: 'utf8',
    })
  git('init', '-q', '-b', 'main')
  git('add', '--all')
  git('commit', '-q', '-m', 'one')
  return { root: root.path, ws, git }
}

const skip = needs('bubblewrap', 'git')
const WRITE = ['--process-write-subtree', '.']

t.test('exec commits with the grant and not without it', { skip }, async t => {
  const { root, ws, git } = repository(t)
  const commit = ['--', 'git', 'commit', '-q', '--allow-empty', '-m', 'two']
  const without = await harness(['exec', ...WRITE, ...NAMED, ...commit], { cwd: ws })
  t.match(without, { status: 128, stderr: /Read-only file system/ })
  const granted = await harness(['exec', '--grant', 'git-commit', ...NAMED, ...commit], { cwd: ws })
  t.match(granted, { status: 0, stderr: /^$/ }, 'no write grant is needed for it')
  t.match(git('log', '--oneline'), / two\n/)
  mkdirSync(join(root, 'xdg/b10x'), { recursive: true })
  writeFileSync(join(root, 'xdg/b10x/harness.toml'), '[default]\ngrant = ["git-commit"]\nprotect-strict = true\n')
  const keys = await harness(
    ['exec', ...WRITE, ...NAMED, '--', 'sh', '-c', 'git commit -q --allow-empty -m three; touch .envrc'],
    {
      cwd: ws,
      env: { XDG_CONFIG_HOME: join(root, 'xdg') },
    },
  )
  t.match(keys, { status: 0, stderr: /protected path: moved aside: \S+\/\.envrc to \S+: its name is protected\n/ })
  t.match(git('log', '--oneline'), / three\n/)
  const unknown = await harness(['exec', '--grant', 'git-push', '--', 'true'], { cwd: ws })
  t.match(unknown, { status: 125, stderr: /git-commit is the one there is/ })
})

t.test('hooks that settings name are covered wherever those settings are', { skip }, async t => {
  const { root, ws } = repository(t)
  mkdirSync(join(ws, 'hk'))
  mkdirSync(join(root, 'xdg/git'), { recursive: true })
  const settings = `[core]\n\thooksPath = ${ws}/hk\n`
  writeFileSync(join(root, 'xdg/git/config'), settings)
  writeFileSync(join(root, 'mine'), settings)
  const plant = ['exec', ...WRITE, '--', 'sh', '-c', 'echo x > hk/post-commit']
  for (const [name, value] of [
    ['XDG_CONFIG_HOME', join(root, 'xdg')],
    ['GIT_CONFIG_GLOBAL', join(root, 'mine')],
    ['GIT_CONFIG_SYSTEM', join(root, 'mine')],
  ] as const) {
    const env = { [name]: value }
    t.match(await harness(plant, { cwd: ws, env }), { status: 2, stderr: /Read-only file system/ }, name)
    const told = await harness(['explain', ...WRITE, '--', 'true'], { cwd: ws, env })
    t.match(told.stdout, /\/hk.*git/, `${name}: explain`)
  }
  t.equal((await harness(plant, { cwd: ws })).status, 0, 'named by nobody it is a folder like any other')
})

t.test('B10: what is hidden is covered where it is, and git goes on around it', { skip }, async t => {
  const { ws, git } = repository(t)
  const secret = (name: string): void => writeFileSync(join(ws, name), 'KEY=1\n')
  writeFileSync(join(ws, '.gitignore'), '.env\n')
  for (const name of ['.env', '.env.example']) secret(name)
  git('add', '.gitignore')
  git('commit', '-q', '-m', 'ignore')
  const hidden = ['exec', ...WRITE, '--grant', 'git-commit', '--hide', '.env*', ...NAMED, '--', 'sh', '-c']
  const inside = (script: string) => harness([...hidden, `${script} 2>&1`], { cwd: ws })
  const views = 'git status --porcelain; git diff; git stash list; ls -A; ls -A .git'
  const outside = execFileSync('sh', ['-c', views], { cwd: ws, encoding: 'utf8' })
  t.equal((await inside(views)).stdout, outside, 'untracked: no view differs')
  t.match(await inside('echo b >> a.txt; git stash -q && git stash pop -q && git commit -qam two && cat .env'), {
    status: 1,
    stdout: /^cat: .env: Permission denied\n$/,
  })
  t.equal(git('status', '--porcelain'), '?? .env.example\n')
  git('add', '.env.example')
  git('commit', '-q', '-m', 'tracked')
  t.equal((await inside('git status --porcelain')).stdout, ' M .env.example\n', 'tracked: a change, and the only one')
  const named =
    'echo c >> a.txt; git stash push -q -- a.txt && git stash pop -q && git add a.txt && git commit -qm three'
  t.match(await inside(`${named} && git checkout -q -b more`), { status: 0, stdout: '' })
  t.equal(git('status', '--porcelain'), '', 'outside nothing is to be seen of it')
  t.equal(git('show', '--stat', '--format=', 'HEAD').trim().split('\n').length, 2, 'and nothing of it was committed')
})

t.test('explain says what is opened and what holds', { skip }, async t => {
  const { ws } = repository(t)
  const words = ['explain', '--grant', 'git-commit', '--protect-strict', ...WRITE]
  const json = await harness([...words, '--json', '--', 'true'], { cwd: ws })
  const { policy, gaps, applied } = JSON.parse(json.stdout)
  t.match(policy, { git_open: [{ path: join(ws, '.git'), source: '--grant git-commit' }], protect_strict: true })
  t.match(
    gaps.map(({ guarantee }: { guarantee: string }) => guarantee),
    ['git-read-only'],
  )
  t.ok(applied.includes('nothing-planted'))
  const text = await harness([...words, '--', 'true'], { cwd: ws })
  t.match(text.stdout, /\ngit folders that commits may write.*\n {2}\S+\/\.git {2}\(folder; --grant git-commit\)\n/)
})

t.test('what was planted is moved aside before a hook starts', { skip }, async t => {
  const { root, ws } = repository(t)
  const canary = join(root, 'canary')
  const evil = join(ws, 'evil')
  writeFileSync(evil, `#!/bin/sh\ntouch '${canary}'\n`)
  chmodSync(evil, 0o755)
  mkdirSync(join(root, 'op'))
  const hook = join(root, 'op/status')
  writeFileSync(hook, `#!/bin/sh\ncd '${ws}/deep/new' && git status > '${root}/op/said'\nexit 0\n`)
  chmodSync(hook, 0o755)
  writeFileSync(
    join(root, 'op/hooks.json'),
    JSON.stringify({ version: 1, hooks: [{ on: 'after-call', command: [hook] }] }),
  )
  const script = `git init -q deep/new && git -C deep/new config core.fsmonitor '${evil}'`
  const turns = [
    { reply: { calls: [{ name: 'run', arguments: { argv: ['sh', '-c', script] } }] } },
    { reply: { text: 'done' } },
  ]
  const text = JSON.stringify({ version: 1, model: 'scripted', turns, then: 'repeat-last' })
  const endpoint = await startEmulator({ scenario: parseScenario(text, 'inline.json') })
  t.teardown(() => endpoint.close())
  const ran = await harness([
    ...['run', '--no-session', ...toScripted(endpoint), '--workspace', ws, '--input', 'go', '--json'],
    ...['--hooks', join(root, 'op/hooks.json'), '--confine', 'auto', '--allow-program', 'sh', ...WRITE, '--yes'],
  ])
  t.equal(ran.status, 0, ran.stderr)
  t.ok(existsSync(join(root, 'op/said')), 'the hook used git there')
  t.notOk(existsSync(canary))
  const warnings = eventsOf(ran.stdout).flatMap(event => (event.kind === 'warning' ? [event.message] : []))
  t.match(warnings.join('\n'), /^moved aside: \S+deep\/new\/\.git\/config to \S+: git would run core\.fsmonitor$/m)
  t.ok(readdirSync(join(ws, 'deep/new/.git')).some(name => name.startsWith('config.planted-')))
})
