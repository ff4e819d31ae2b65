import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { NO_CONTROL_FILES } from '../../src/paths/control-files.js'
import type { FileView, PathFacts, Unseen } from '../../src/paths/file-view.js'
import { isWithinFolding } from '../../src/paths/folding.js'
import { checkWritableFile } from '../../src/paths/writable-folder.js'
import { type FakeNode, fakeFiles } from '../support/fake-files.js'
import { needs } from '../support/needs.js'
import { placeOf } from '../support/reach.js'
import { scratch } from '../support/scratch.js'

/** As ext4 with casefold or APFS answer: below `folding`, whatever the case of a name, there is one entry. */
function folds(tree: Readonly<Record<string, FakeNode>>, folding: string): FileView {
  const files = fakeFiles(tree)
  const plain = (path: string): string => {
    if (!path.startsWith(`${folding}/`)) return path
    return Object.keys(tree).find(known => known.toLowerCase() === path.toLowerCase()) ?? path
  }
  return {
    ...files,
    lstat: (path): PathFacts | Unseen => files.lstat(plain(path)),
    list: path => files.list(plain(path)),
  }
}

t.test('D03: a denied name that is not there yet, compared as its volume compares', async t => {
  const tree: Record<string, FakeNode> = {
    '/fold/file': {},
    '/fold/sub/deeper': {},
    '/plain/file': {},
    '/plain/both': {},
    '/plain/BOTH': {},
    '/mixed/Sub/x': {},
    '/digits/1': {},
    '/empty': { type: 'folder' },
    '/closed/x': {},
    '/linked/one': { ino: '7' },
    '/linked/ONE': { ino: '7' },
  }
  const view = folds(tree, '/fold')
  const closed: FileView = {
    ...view,
    list: path => (path === '/closed' ? { errno: 'EACCES' } : view.list(path)),
  }
  const cases: [path: string, denied: string, within: boolean, why: string][] = [
    ['/fold/secret', '/fold/secret', true, 'the same spelling'],
    ['/fold/SECRET', '/fold/secret', true, 'another case'],
    ['/fold/SECRET/new/x', '/fold/secret', true, 'below it'],
    ['/fold/SUB/new', '/fold/sub/NEW', true, 'in the middle too'],
    ['/fold/none/A', '/fold/none/a', true, 'in a folder that is not there either'],
    ['/fold/secrets', '/fold/SECRET', false, 'a longer name'],
    ['/fold', '/fold/secret', false, 'above it'],
    ['/fold/s\u00c9cret', '/fold/se\u0301cret', true, 'composed or not'],
    ['/plain/SECRET', '/plain/secret', false, 'a volume that tells them apart'],
    ['/plain/none/A', '/plain/none/a', false, 'and what would be made there'],
    ['/FOLD/secret', '/fold/secret', false, 'the folder above tells them apart'],
    ['/mixed/SUB/x', '/mixed/Sub/x', false, 'by the other name nothing is there'],
    ['/linked/TWO', '/linked/two', false, 'two names of one file are two names'],
    ['/digits/A', '/digits/a', true, 'no name with letters: unknown is not different'],
    ['/empty/A', '/empty/a', true, 'nothing to ask by'],
    ['/closed/A', '/closed/a', true, 'what may not be listed'],
  ]
  for (const [path, denied, within, why] of cases) {
    t.equal(isWithinFolding(path, denied, closed), within, `${path} in ${denied}: ${why}`)
  }
})

t.test('D03: on this machine’s own disk', async t => {
  const ws = scratch(t)
  writeFileSync(join(ws, 'file'), '')
  const denied = { path: join(ws, 'secret') }
  const rules = {
    cwd: ws,
    mode: 'write',
    roots: [placeOf(ws)],
    writes: [],
    protects: [],
    protectedNames: new Set<string>(),
    hidden: [denied],
    controlFiles: NO_CONTROL_FILES,
    home: null,
  } as const
  t.match(checkWritableFile('secret', rules), { code: 'hidden' })
  t.match(
    checkWritableFile('SECRET', rules),
    process.platform === 'linux' ? { kind: 'writable' } : { code: 'hidden' },
    'two names on ext4 and tmpfs, one on APFS as it comes',
  )
  mkdirSync(join(ws, 'empty'))
  const controlFiles = { ...NO_CONTROL_FILES, paths: [{ path: join(ws, 'empty/hooks.json'), what: 'the hooks file' }] }
  const later = { ...rules, controlFiles, hidden: [], protects: [{ path: join(ws, 'empty/later') }] }
  t.match(checkWritableFile('empty/LATER/x', later), { code: 'protected' }, 'an empty folder cannot be asked')
  t.match(checkWritableFile('empty/Hooks.json', later), { code: 'control-file-inside' })
  t.match(checkWritableFile('empty/other', later), { kind: 'writable' })
})

t.test('D03: on a volume that folds', { skip: needs('root', 'folding-volume') }, async t => {
  const ws = scratch(t)
  mkdirSync(join(ws, 'm'))
  const build = new URL('../../src/paths/', import.meta.url).href
  const code = `
    const { mkdirSync, writeFileSync } = await import('node:fs')
    const { checkWritableFile } = await import('${build}writable-folder.js')
    const { landPlace } = await import('${build}resolve.js')
    const ws = '${ws}/m/ws'
    writeFileSync(ws + '/file', '')
    mkdirSync(ws + '/kept')
    const place = path => landPlace(path, { cwd: '/' })
    const rules = { cwd: ws, mode: 'write', roots: [place(ws)], writes: [], protects: [place(ws + '/kept')],
      protectedNames: new Set(['.git']), hidden: [{ path: ws + '/secret' }], home: null,
      controlFiles: { paths: [{ path: ws + '/hooks.json', what: 'x' }], above: new Map(), selves: new Map() } }
    const told = path => { const v = checkWritableFile(path, rules); return v.code ?? v.kind }
    console.log(JSON.stringify(['SECRET', 'Secret/x', 'HOOKS.json', 'KEPT/x', '.GIT/x', 'other'].map(told)))`
  const mount = [
    'truncate -s 16M "$0/image"',
    'mkfs.ext4 -q -O casefold -E encoding=utf8 "$0/image"',
    'mount -o loop "$0/image" "$0/m"',
    'mkdir "$0/m/ws"',
    'chattr +F "$0/m/ws"',
    'exec "$@"',
  ].join(' && ')
  const out = execFileSync(
    'unshare',
    ['-m', 'sh', '-c', mount, ws, process.execPath, '--input-type=module', '-e', code],
    { encoding: 'utf8' },
  )
  t.strictSame(JSON.parse(out), ['hidden', 'hidden', 'control-file-inside', 'protected', 'protected', 'writable'])
})
