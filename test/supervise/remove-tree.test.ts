/** Folders that are gone whatever rights they have, and programs without a name. */
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  closeSync,
  existsSync,
  fstatSync,
  mkdirSync,
  readdirSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { launchFolder } from '../../src/supervise/launch-folder.js'
import { removeTree } from '../../src/supervise/remove-tree.js'
import { openProgram } from '../../src/supervise/unnamed-program.js'
import { fixture, NOBODY } from '../support/children.js'
import { needs } from '../support/needs.js'
import { scratch } from '../support/scratch.js'

t.test('a tree without rights to its own user is removed, and no link is followed', async t => {
  const folder = scratch(t)
  const [tree, outside] = [join(folder, 'tree'), join(folder, 'outside')]
  for (const path of ['a/b/c', 'd']) mkdirSync(join(tree, path), { recursive: true })
  mkdirSync(outside)
  writeFileSync(join(tree, 'a/b/file'), '')
  writeFileSync(join(outside, 'kept'), '')
  chmodSync(outside, 0o500)
  symlinkSync(outside, join(tree, 'a/link'))
  // A name that is no UTF-8, which macOS does not have.
  const odd = Buffer.concat([Buffer.from(`${tree}/d/`), Buffer.from(process.platform === 'linux' ? [0xff] : 'x')])
  mkdirSync(odd)
  writeFileSync(Buffer.concat([odd, Buffer.from('/file')]), '')
  chmodSync(odd, 0)
  for (const path of ['a/b', 'a', 'd']) chmodSync(join(tree, path), 0)
  removeTree(tree)
  t.notOk(existsSync(tree))
  t.same(readdirSync(outside), ['kept'])
  // For whoever removes it afterwards, whom rights may bind.
  chmodSync(outside, 0o700)
  removeTree(tree)
  t.pass('what is gone is gone')
})

t.test('a link in the place of a folder goes, and what it leads to stays', async t => {
  const folder = scratch(t)
  const [link, outside] = [join(folder, 'tree'), join(folder, 'outside')]
  mkdirSync(outside)
  writeFileSync(join(outside, 'kept'), '')
  symlinkSync(outside, link)
  removeTree(link)
  t.same(readdirSync(folder), ['outside'])
  t.same(readdirSync(outside), ['kept'])
})

t.test('and as an ordinary user, whom rights bind', { skip: needs('linux', 'root') }, async t => {
  const { status, stderr } = spawnSync(process.execPath, [fixture('supervise/removes')], {
    ...{ uid: NOBODY, gid: NOBODY, encoding: 'utf8' },
  })
  t.equal(status, 0, stderr)
})

t.test('private folders of a launch', async t => {
  const own = launchFolder([], null)
  t.same(readdirSync(own.path).sort(), ['home', 'tmp'])
  t.equal(launchFolder([], null).path.startsWith(join(own.path, '..')), true)
  writeFileSync(join(own.path, 'home/x'), '')
  own.remove()
  t.notOk(existsSync(own.path))
})

t.test('a program without a name', { skip: needs('linux') }, async t => {
  const folder = scratch(t)
  const script = Buffer.from('#!/bin/sh\nexit 7\n')
  const fd = openProgram(script, { folders: [folder] })
  t.same(readdirSync(folder), [], 'nothing stands there')
  t.equal(fstatSync(fd).mode & 0o777, 0o555)
  t.equal(spawnSync(`/proc/${process.pid}/fd/${fd}`).status, 7, 'it is not open for writing any more')
  closeSync(fd)
  const second = openProgram(script, { folders: ['/proc/nowhere', join(folder, 'gone'), folder] })
  closeSync(second)
  t.throws(
    () => openProgram(script, { folders: [join(folder, 'gone'), '/proc'] }),
    { code: 'ENOENT' },
    'the first failure is told',
  )
})

t.test(
  'one that is shipped is taken where nothing can be written, and only with the same bytes',
  { skip: needs('linux') },
  async t => {
    const folder = scratch(t)
    const script = Buffer.from('#!/bin/sh\nexit 8\n')
    const folders = [join(folder, 'gone')]
    const made = (name: string, bytes: string | Buffer, mode: number): string => {
      const path = join(folder, name)
      writeFileSync(path, bytes, { mode })
      chmodSync(path, mode)
      return path
    }
    const fd = openProgram(script, { folders, shipped: made('same', script, 0o755) })
    t.equal(spawnSync(`/proc/${process.pid}/fd/${fd}`).status, 8)
    closeSync(fd)
    symlinkSync(join(folder, 'same'), join(folder, 'link'))
    const others = [
      made('other', '#!/bin/sh\nexit 9\n', 0o755),
      made('plain', script, 0o644),
      join(folder, 'link'),
      folder,
    ]
    for (const shipped of others) t.throws(() => openProgram(script, { folders, shipped }), { code: 'ENOENT' }, shipped)
  },
)

t.test('a folder that is mounted noexec is passed over', { skip: needs('linux', 'mount-namespace') }, async t => {
  const program = fixture('supervise/noexec')
  const words = `mount -t tmpfs -o noexec none /mnt && exec "${process.execPath}" "${program}"`
  const { status, stdout, stderr } = spawnSync('unshare', ['-m', 'sh', '-c', words], { encoding: 'utf8' })
  t.equal(status, 0, stderr)
  t.match(stdout, /^EACCES\nelsewhere 7\n$/)
})
