import { closeSync, fchmodSync, fstatSync, openSync, readFileSync, readSync, writeSync } from 'node:fs'
import t from 'tap'
import { openAgain, openBytes } from '../../src/supervise/unnamed-file.js'
import { needs } from '../support/needs.js'

/** What is read from a descriptor, from its offset on. */
function rest(fd: number): string {
  const buffer = Buffer.alloc(100)
  return buffer.subarray(0, readSync(fd, buffer)).toString()
}

t.test('bytes as a file without a name: at its start, readable to whoever holds it', async t => {
  const fd = openBytes(Buffer.from('some text'))
  t.teardown(() => closeSync(fd))
  t.equal(rest(fd), 'some text')
  t.match(fstatSync(fd), { nlink: 0, size: 9 })
  t.equal(fstatSync(fd).mode & 0o777, 0o444)
})

t.test(
  'the same bytes again: one file, an offset for each, and nobody can write',
  { skip: needs('linux') },
  async t => {
    const bytes = Buffer.from(`the same at every launch ${process.pid}`)
    const fds = [openAgain(bytes), openAgain(Buffer.from(bytes)), openAgain(new Uint8Array(bytes))]
    t.teardown(() => {
      for (const fd of fds) closeSync(fd)
    })
    t.equal(new Set(fds.map(fd => fstatSync(fd).ino)).size, 1, 'one file')
    for (const fd of fds) t.equal(rest(fd), bytes.toString(), 'from the start, whoever has read before')
    for (const fd of fds) t.throws(() => writeSync(fd, 'x', 0), { code: 'EBADF' })
    const other = openAgain(Buffer.from('other'))
    t.teardown(() => closeSync(other))
    t.equal(rest(other), 'other')
    t.not(fstatSync(other).ino, fstatSync(fds[0] ?? -1).ino)
    const part = openAgain(bytes.subarray(0, 8))
    t.teardown(() => closeSync(part))
    t.equal(rest(part), 'the same', 'a part of a larger buffer is that part')
  },
)

t.test('a file that was touched is not used again', { skip: needs('linux') }, async t => {
  const bytes = Buffer.from(`touched ${process.pid}`)
  const first = openAgain(bytes)
  t.teardown(() => closeSync(first))
  // As somebody who owns the file and holds a descriptor could.
  fchmodSync(first, 0o666)
  const writing = openSync(`/proc/self/fd/${first}`, 'r+')
  writeSync(writing, 'TOUCHED', 0)
  closeSync(writing)
  t.match(readFileSync(`/proc/self/fd/${first}`, 'utf8'), /^TOUCHED/)
  for (const fd of [openAgain(bytes), openAgain(bytes)]) {
    t.equal(rest(fd), bytes.toString())
    t.not(fstatSync(fd).ino, fstatSync(first).ino)
    closeSync(fd)
  }
})
