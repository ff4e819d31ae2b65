/** The cases from the field about paths, each against every file tool that it concerns. */
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { JsonObject } from '../../src/json.js'
import { dirList, fileEdit, fileRead, fileWrite } from '../../src/tools/files.js'
import { gitRefusal } from '../../src/tools/folders.js'
import type { ToolOutcome } from '../../src/tools/port.js'
import { find, search } from '../../src/tools/search.js'
import { needs } from '../support/needs.js'
import { placeOf, reachOf } from '../support/reach.js'
import { scratch } from '../support/scratch.js'

const never = new AbortController().signal

function codeOf({ output, failed }: ToolOutcome): unknown {
  return failed ? (output as JsonObject).code : 'done'
}

/** A workspace with a file `in`, and beside it a canary that no call may touch. */
function workspace(t: { teardown(undo: () => void): void }, name = 'app') {
  const base = scratch(t)
  const ws = join(base, name)
  mkdirSync(join(base, 'out'))
  mkdirSync(ws)
  writeFileSync(join(ws, 'in'), 'in\n')
  writeFileSync(join(base, 'out/canary'), 'canary')
  const reach = reachOf(ws)
  return {
    base,
    ws,
    out: join(base, 'out'),
    read: (path: string) => codeOf(fileRead({ path }, reach)),
    write: (path: string, text = 'mine') => codeOf(fileWrite({ path, text }, reach)),
    edit: (path: string, old: string, text = 'mine') => codeOf(fileEdit({ path, old, new: text }, reach)),
    list: (path: string) => codeOf(dirList({ path }, reach)),
    find: (glob: string, path = '.') => find({ glob, path }, reach, never),
    search: (pattern: string, path = '.') => search({ pattern, path }, reach, never),
  }
}

t.test('D01: a folder whose name begins like the root is outside of it', async t => {
  const { base, ws, read, write, list } = workspace(t)
  for (const name of ['app2', 'app-evil', 'app ']) {
    mkdirSync(join(base, name))
    writeFileSync(join(base, name, 'x'), 'x\n')
    for (const path of [join(base, name, 'x'), `../${name}/x`]) {
      t.strictSame([read(path), write(path)], ['outside-roots', 'outside-roots'], JSON.stringify(path))
    }
    t.equal(list(join(base, name)), 'outside-roots')
    t.equal(readFileSync(join(base, name, 'x'), 'utf8'), 'x\n')
  }
  for (const path of [ws, `${ws}/`, '.']) t.equal(list(path), 'done', path)
  for (const path of [`${ws}/in`, 'in', './/in', '../app/in']) t.equal(read(path), 'done', path)
  t.equal(write(`${ws}/x`), 'done')
})

t.test('D02: the nearest folder that exists decides over a new file with missing parents', async t => {
  const { ws, out, write } = workspace(t)
  symlinkSync('../out', join(ws, 'a'))
  t.equal(write('a/b/c/new.txt'), 'outside-roots')
  t.equal(write('a/new.txt'), 'outside-roots')
  t.equal(write('b/c/new.txt'), 'done')
  t.strictSame(readdirSync(out), ['canary'])
})

t.test('D03: protected names hold in every letter case, names that only begin like one do not', async t => {
  const { ws, write } = workspace(t)
  for (const path of ['.GIT/config', 'sub/.Git/hooks/x', '.ZSHRC', '.Claude/settings.json', '.ENVRC', '.g\u200cit/x'])
    t.equal(write(path), 'protected', JSON.stringify(path))
  for (const path of ['.GITIGNORE', '.gitignore', '.github/x', 'git/x']) t.equal(write(path), 'done', path)
  t.strictSame(readdirSync(ws).sort(), ['.GITIGNORE', '.github', '.gitignore', 'git', 'in'].sort())
})

t.test('D08: nothing is made where a dangling link points, in the middle and at the end', async t => {
  const { ws, out, read, write, edit, list } = workspace(t)
  symlinkSync(join(out, 'new.txt'), join(ws, 'l'))
  symlinkSync(join(out, 'dir'), join(ws, 'd'))
  symlinkSync('l', join(ws, 'chain'))
  for (const path of ['l', 'chain', 'd/x', 'd/x/y']) {
    t.strictSame([write(path), edit(path, 'a'), read(path), list(path)], Array(4).fill('dangling-link'), path)
  }
  t.strictSame(readdirSync(out), ['canary'])
})

t.test('D10: loops are too many links, and walks go through none', async t => {
  const { ws, read, write, list, find: look, search: seek } = workspace(t)
  symlinkSync('b', join(ws, 'a'))
  symlinkSync('a', join(ws, 'b'))
  symlinkSync('.', join(ws, 'self'))
  symlinkSync(ws, join(ws, 'workspace'))
  for (const path of ['a', 'b/x']) {
    t.strictSame([read(path), write(path), list(path)], Array(3).fill('too-many-links'), path)
    t.equal(codeOf(await look('*', path)), 'too-many-links')
    t.equal(codeOf(await seek('in', path)), 'too-many-links')
  }
  t.equal(read('self/workspace/self/in'), 'done')
  const found = (await look('in')).output as JsonObject
  t.strictSame(found.paths, ['in'], 'each file once')
  const hits = JSON.stringify((await seek('in')).output)
  t.equal(hits.split('"path":').length - 1, 1, hits)
})

t.test('D11: another name of a file outside keeps its bytes', async t => {
  const { ws, out, write, edit, read } = workspace(t)
  for (const [name, change] of [
    ['h1', () => write('h1')],
    ['h2', () => edit('h2', 'canary')],
  ] as const) {
    linkSync(join(out, 'canary'), join(ws, name))
    t.equal(change(), 'done')
    t.equal(readFileSync(join(out, 'canary'), 'utf8'), 'canary', name)
    t.equal(readFileSync(join(ws, name), 'utf8'), 'mine')
    t.equal(statSync(join(ws, name)).nlink, 1)
  }
  t.equal(read('h1'), 'done')
})

t.test('D13: detours through the kernel’s folders land where they lead', { skip: needs('linux') }, async t => {
  const { ws, out, read, write, list } = workspace(t)
  t.equal(read(`/proc/self/root${ws}/in`), 'done', 'the workspace itself, spelled oddly')
  t.equal(write(`/proc/self/root${ws}/made`), 'done')
  t.equal(read(`/proc/self/root${out}/canary`), 'outside-roots')
  t.equal(write(`/proc/self/root${out}/canary`), 'outside-roots')
  const everything = reachOf(ws, { reads: [placeOf('/')] })
  for (const path of [
    '/proc/self/environ',
    `/proc/${process.pid}/environ`,
    `/proc/${process.ppid}/environ`,
    '/proc/thread-self/environ',
    '/proc/self/root/proc/self/environ',
    '/dev/zero',
    '/dev/tty',
  ]) {
    t.equal(codeOf(fileRead({ path }, everything)), 'special-filesystem', path)
    t.notOk(['done'].includes(String(write(path))), path)
  }
  for (const path of ['/dev/fd/0', '/dev/stdin', '/proc/self/fd/0']) t.not(read(path), 'done', path)
  t.not(list('/proc/self/fd'), 'done')
  execFileSync('mkfifo', [join(ws, 'fifo')])
  t.strictSame([read('fifo'), write('fifo')], ['not-a-file', 'not-a-file'], 'and nothing waits')
})

t.test('D15: an edit keeps the mode, and a new file follows the umask', async t => {
  const { ws, write, edit } = workspace(t)
  const mode = (name: string): string => (statSync(join(ws, name)).mode & 0o7777).toString(8)
  for (const bits of [0o755, 0o640, 0o600]) {
    writeFileSync(join(ws, 'f'), 'old')
    chmodSync(join(ws, 'f'), bits)
    t.strictSame([edit('f', 'old', 'new'), mode('f')], ['done', bits.toString(8)])
    t.strictSame([write('f'), mode('f')], ['done', bits.toString(8)])
  }
  const umask = process.umask(0o077)
  t.teardown(() => process.umask(umask))
  t.strictSame([write('n'), mode('n')], ['done', '600'])
  process.umask(0o022)
  t.strictSame([write('m'), mode('m')], ['done', '644'])
})

t.test('D15: in a set-gid folder a file keeps the folder’s group', { skip: needs('root') }, async t => {
  const { ws, write, edit } = workspace(t)
  mkdirSync(join(ws, 'shared'))
  chownSync(join(ws, 'shared'), 0, 4_321)
  chmodSync(join(ws, 'shared'), 0o2775)
  t.equal(write('shared/f', 'old'), 'done')
  t.equal(edit('shared/f', 'old'), 'done')
  t.equal(statSync(join(ws, 'shared/f')).gid, 4_321)
})

t.test('what git reads is refused as a file and as a folder', async t => {
  const { ws } = workspace(t)
  for (const name of ['bare/objects', 'bare/refs', 'plain']) mkdirSync(join(ws, name), { recursive: true })
  writeFileSync(join(ws, 'bare/HEAD'), 'ref: refs/heads/main\n')
  const rules = { protectedNames: reachOf(ws).protectedNames, homes: [], gitSettings: [] }
  const told = (name: string, is: 'file' | 'folder'): string =>
    gitRefusal({ path: name, landed: join(ws, name), is }, rules)?.code ?? 'passed'
  t.equal(told('bare', 'folder'), 'protected', 'a folder that is one')
  t.equal(told('bare/objects', 'folder'), 'protected', 'a folder in one')
  t.equal(told('bare/config', 'file'), 'protected')
  t.equal(told('plain', 'folder'), 'passed')
  t.equal(told('plain/config', 'file'), 'passed')
  t.equal(
    gitRefusal({ path: 'bare', landed: join(ws, 'bare'), is: 'folder' }, { ...rules, protectedNames: new Set() }),
    null,
  )
  t.ok(existsSync(join(ws, 'bare/HEAD')))
})
