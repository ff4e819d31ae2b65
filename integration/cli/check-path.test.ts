/** `harness check-path` as a program: what a run would say to each path, before there is one. */
import { existsSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { execa } from 'execa'
import t from 'tap'
import { needs } from '../../test/support/needs.js'
import { harness, scratch } from '../support/harness.js'

interface Line {
  readonly path: string
  readonly verdict: 'writable' | 'refused'
  readonly code?: string
  readonly landed?: string
  readonly mount?: { readonly point: string; readonly type: string } | null
}

function linesOf(stdout: string): Line[] {
  return stdout
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line) as Line)
}

/** Code or verdict of each path, and the status. */
async function told(words: readonly string[], options = {}): Promise<[status: number | undefined, ...codes: string[]]> {
  const ran = await harness(['check-path', '--json', ...words], options)
  return [ran.status, ...linesOf(ran.stdout).map(({ code, verdict }) => code ?? verdict)]
}

t.test('verdicts and statuses', async t => {
  const ws = scratch({ 'src/a.txt': '', '.git/config': '', 'x.txt': '', 'secret/s': '' })
  t.teardown(ws.remove)
  symlinkSync('/etc', join(ws.path, 'link'))
  symlinkSync('nowhere', join(ws.path, 'dangling'))
  symlinkSync('src', join(ws.path, 'to-src'))
  const rows: readonly (readonly [path: string, code: string])[] = [
    ['src', 'writable'],
    ['src/new/deep.txt', 'writable'],
    [join(ws.path, 'src'), 'writable'],
    ['../outside.txt', 'outside-roots'],
    ['link/passwd', 'outside-roots'],
    ['dangling', 'dangling-link'],
    ['.git/hooks/pre-commit', 'protected'],
    ['.GIT/config', 'protected'],
    [`${ws.path}-evil/x`, 'outside-roots'],
    ['secret', 'hidden'],
    ['absent-and-hidden/x', 'hidden'],
    ['to-src', 'crosses-writable-link'],
    ['to-src/a.txt', 'writable'],
    ['x.txt/y', 'not-a-directory'],
    ['new/', 'not-a-file'],
    ['', 'missing'],
  ]
  const words = [
    '--workspace',
    ws.path,
    '--hide',
    join(ws.path, 'secret'),
    '--hide',
    join(ws.path, 'absent-and-hidden'),
  ]
  t.strictSame(await told([...words, '--', ...rows.map(([path]) => path)]), [2, ...rows.map(([, code]) => code)])
  t.strictSame(await told([...words, 'src', 'x.txt']), [0, 'writable', 'writable'])
  t.strictSame(readdirSync(ws.path).sort(), ['.git', 'dangling', 'link', 'secret', 'src', 'to-src', 'x.txt'])
})

t.test('as text, one line a path, whatever the path holds', async t => {
  const ws = scratch({ 'src/a.txt': '' })
  t.teardown(ws.remove)
  const ran = await harness(['check-path', '--workspace', ws.path, 'src', '../x\n\u001b[31m'])
  t.equal(ran.status, 2)
  t.match(ran.stdout, /^src: writable, lands at .*src\n\.\..*: refused \[outside-roots\] .*\n$/)
  t.equal(ran.stdout.split('\n').length, 3)
  t.notOk(ran.stdout.includes('\u001b'))
})

t.test('what cannot be checked is 1, and no verdict', async t => {
  const ws = scratch({ 'plain.txt': '' })
  t.teardown(ws.remove)
  const cases: readonly (readonly string[])[] = [
    ['--workspace', '/nowhere/at/all', 'x'],
    ['--workspace', join(ws.path, 'plain.txt'), 'x'],
    ['--workspace', '/', 'x'],
    ['--workspace', ws.path, '--writable', join(ws.path, 'absent'), 'x'],
    ['--workspace', ws.path, '--unprotect', 'nothing', 'x'],
    ['--workspace', ws.path],
    ['--workspace', ws.path, '--no-such', 'x'],
  ]
  for (const words of cases) {
    const ran = await harness(['check-path', ...words])
    t.strictSame([ran.status, ran.stdout], [1, ''], words.join(' '))
    t.not(ran.stderr, '')
  }
})

t.test('further folders, and what is lifted', async t => {
  const root = scratch({ 'ws/a': '', 'more/b': '', 'ws/.envrc': '', 'more/.envrc': '' })
  t.teardown(root.remove)
  const [ws, more] = [join(root.path, 'ws'), join(root.path, 'more')]
  const paths = [join(more, 'new'), more, '../more/b', '.envrc', join(more, '.envrc')]
  const refused = Array(5).fill('outside-roots')
  t.strictSame(await told(['--workspace', ws, ...paths]), [2, ...refused.slice(0, 3), 'protected', 'outside-roots'])
  for (const folder of [more, '../more']) {
    const open = ['writable', 'writable', 'writable', 'protected', 'protected']
    t.strictSame(await told(['--workspace', ws, '--writable', folder, ...paths]), [2, ...open], folder)
  }
  const lifted = ['--writable', more, '--unprotect', '.envrc']
  t.strictSame(await told(['--workspace', ws, ...lifted, ...paths]), [0, ...Array(5).fill('writable')])
})

t.test('the options of a run are taken as they are, and nothing is made for a question', async t => {
  const ws = scratch({ 'src/a.txt': '' })
  const home = scratch()
  t.teardown(ws.remove)
  t.teardown(home.remove)
  const words = [
    '--process-write-subtree',
    'src',
    '--env',
    'A=b',
    '--limit',
    'wall=1s',
    '--cache',
    '--read-host',
    '--allow-nesting',
  ]
  const more = ['--grant', 'git-commit', '--protect-strict', '--allow-host', 'example.org', '--allow-program', 'node']
  const env = { HOME: home.path, XDG_CACHE_HOME: join(home.path, 'cache'), XDG_CONFIG_HOME: '', XDG_STATE_HOME: '' }
  t.strictSame(await told(['--workspace', ws.path, ...words, ...more, 'src/a.txt'], { env }), [0, 'writable'])
  t.strictSame(readdirSync(home.path), ['cache'], 'the code cache of every command')
  t.notOk(readdirSync(join(home.path, 'cache/b10x-harness')).some(name => /^[0-9a-f]{16}$/.test(name)))
  const refused = await harness(['check-path', '--confine', 'auto', 'src'], { cwd: ws.path })
  t.match(refused, { status: 1, stderr: /--confine/ }, 'it starts nothing, so there is no boundary to choose')
})

t.test('git is seen where it is, not where it is spelled', { skip: needs('git') }, async t => {
  const root = scratch({ 'main/a': '' })
  t.teardown(root.remove)
  const main = join(root.path, 'main')
  const git = (...words: string[]) => execa('git', ['-c', 'user.name=n', '-c', 'user.email=e', ...words], { cwd: main })
  await git('init', '-q')
  await git('add', '.')
  await git('commit', '-q', '-m', 'x')
  await git('worktree', 'add', '-q', 'tree')
  await git('init', '-q', '--bare', 'bare')
  mkdirSync(join(main, 'hk'))
  await git('config', 'core.hooksPath', 'hk')
  const rows: readonly (readonly [path: string, code: string])[] = [
    ['tree/.git', 'protected'],
    ['tree/a', 'writable'],
    ['.git/worktrees/tree/config.worktree', 'protected'],
    ['bare/config', 'protected'],
    ['bare', 'protected'],
    ['bare/hooks/post-update', 'protected'],
    ['hk/pre-commit', 'protected'],
    ['a', 'writable'],
  ]
  t.strictSame(await told(['--workspace', main, ...rows.map(([path]) => path)]), [2, ...rows.map(([, code]) => code)])
})

t.test('the home folder and our own are refused, and the mount is told', { skip: needs('linux') }, async t => {
  const root = scratch({ 'ws/a': '', 'ws/home/x': '' })
  t.teardown(root.remove)
  const ws = join(root.path, 'ws')
  const env = { HOME: join(ws, 'a-home'), XDG_CONFIG_HOME: join(ws, 'conf'), XDG_STATE_HOME: join(root.path, 's') }
  t.strictSame(await told(['--workspace', ws, 'a', 'conf/b10x/harness.toml', '.'], { env }), [
    2,
    'writable',
    // It is one of the secrets too, and that is asked first.
    'hidden',
    'control-file-inside',
  ])
  const [line] = linesOf((await harness(['check-path', '--json', '--workspace', ws, 'a'])).stdout)
  t.match(line, { verdict: 'writable', landed: join(ws, 'a'), mount: { point: /^\//, type: /^\w+$/ } })
  t.notOk(existsSync(join(ws, 'conf')))
})
