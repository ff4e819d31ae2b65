/** The kernel's answers through the view: facts, errnos, opens that cannot hang, and questions asked once. */

import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmodSync, mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import t from 'tap'
import {
  askingOnce,
  isUnseen,
  type OpenedFile,
  type PathFacts,
  realFiles,
  type Unseen,
  withOpened,
} from '../../src/paths/file-view.js'
import { needs } from '../support/needs.js'
import { scratch } from '../support/scratch.js'

function facts(answer: PathFacts | Unseen): PathFacts {
  if (isUnseen(answer)) throw new Error(answer.errno)
  return answer
}

t.test('facts and errnos', async t => {
  const at = scratch(t)
  writeFileSync(`${at}/f`, 'abc')
  chmodSync(`${at}/f`, 0o4750)
  symlinkSync('f', `${at}/l`)
  mkdirSync(`${at}/d`)
  spawnSync('mkfifo', [`${at}/fifo`])
  t.match(facts(realFiles.lstat(`${at}/f`)), { type: 'file', mode: 0o4750, size: 3, nlink: 1, uid: process.getuid?.() })
  t.match(facts(realFiles.lstat(`${at}/f`)).mtimeNs, /^\d{19}$/, 'nanoseconds as text')
  t.equal(facts(realFiles.lstat(`${at}/l`)).type, 'link', 'the link itself')
  t.equal(facts(realFiles.lstat(`${at}/fifo`)).type, 'fifo')
  t.equal(realFiles.readlink(`${at}/l`), 'f')
  t.strictSame(realFiles.list(at), ['d', 'f', 'fifo', 'l'])
  const errnos: readonly (readonly [string, unknown])[] = [
    ['ENOENT', realFiles.lstat(`${at}/none`)],
    ['ENOTDIR', realFiles.lstat(`${at}/f/x`)],
    ['ENAMETOOLONG', realFiles.lstat(`${at}/${'x'.repeat(300)}`)],
    ['EINVAL', realFiles.lstat(`${at}/\0`)],
    ['EINVAL', realFiles.readlink(`${at}/f`)],
    ['ENOENT', realFiles.open(`${at}/none`)],
    ['ELOOP', realFiles.open(`${at}/l`)],
    ['ENOTDIR', realFiles.list(`${at}/f`)],
    ['EACCES', realFiles.mayExecute(`${at}/fifo`)],
  ]
  for (const [errno, answer] of errnos) t.strictSame(answer, { errno }, errno)
  t.equal(realFiles.mayExecute(`${at}/d`), true)
})

t.test('closed to an ordinary user', { skip: needs('not-root') }, async t => {
  const at = scratch(t)
  writeFileSync(`${at}/f`, 'abc', { mode: 0o000 })
  mkdirSync(`${at}/d`, { mode: 0o000 })
  t.strictSame(realFiles.open(`${at}/f`), { errno: 'EACCES' })
  t.strictSame(realFiles.lstat(`${at}/d/x`), { errno: 'EACCES' })
  t.strictSame(realFiles.list(`${at}/d`), { errno: 'EACCES' })
})

t.test('an opened file is the one that was opened', async t => {
  const at = scratch(t)
  const text = 'x'.repeat(3_000_000)
  writeFileSync(`${at}/f`, text)
  const file = realFiles.open(`${at}/f`)
  if (isUnseen(file)) return t.fail(file.errno)
  writeFileSync(`${at}/new`, 'other')
  renameSync(`${at}/new`, `${at}/f`)
  t.equal(file.facts.size, text.length)
  t.equal(file.sha256(), createHash('sha256').update(text).digest('hex'))
  t.equal(Buffer.from(file.read(text.length - 2, 10) as Uint8Array).toString(), 'xx', 'up to the end')
  t.equal((file.read(0, 5) as Uint8Array).length, 5, 'up to the bound')
  file.close()
  t.strictSame(file.read(0, 1), { errno: 'EBADF' })
})

t.test('a FIFO does not hang an open, and a folder has no bytes', async t => {
  const at = scratch(t)
  spawnSync('mkfifo', [`${at}/fifo`])
  t.equal(
    withOpened(realFiles, `${at}/fifo`, ({ facts: { type } }: OpenedFile) => type),
    'fifo',
  )
  t.strictSame(
    withOpened(realFiles, at, file => file.read(0, 1)),
    { errno: 'EISDIR' },
  )
})

t.test('the mount table', async t => {
  const mounts = realFiles.mounts()
  if (process.platform !== 'linux') return t.equal(mounts, null)
  t.ok(Array.isArray(mounts) && mounts.some(({ point }) => point === '/'))
})

t.test('asking once', async t => {
  let calls = 0
  const counting = (path: string) => {
    calls++
    return realFiles.lstat(path)
  }
  const counted = { ...realFiles, lstat: counting }
  const view = askingOnce(counted)
  t.strictSame(view.lstat('/none'), { errno: 'ENOENT' })
  t.strictSame(view.lstat('/none'), { errno: 'ENOENT' }, 'no answer is an answer too')
  facts(view.lstat('/'))
  facts(view.lstat('/'))
  t.equal(calls, 2)
  t.equal(view.mounts(), view.mounts())
})
