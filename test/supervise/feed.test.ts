/** Input passed on through a FIFO: every byte in order, nothing held up, and a file's offset where the child left it. */
import { spawn } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { closeSync, constants, openSync, readdirSync, readFileSync, readSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { isRefusal } from '../../src/errors.js'
import { descriptorState } from '../../src/supervise/descriptors.js'
import { Feed } from '../../src/supervise/feed.js'
import { sharedFifos } from '../../src/supervise/shared-fifos.js'
import { finished } from '../support/children.js'
import { needs } from '../support/needs.js'
import { scratch } from '../support/scratch.js'

const skip = needs('linux')

/** More than a FIFO holds and more than the offset stays behind. */
const BIG = Buffer.alloc(5_000_000, 'line of text\n')

async function fed(fd: number, script: string) {
  const feed = await Feed.open(await sharedFifos([]), fd)
  const child = spawn('sh', ['-c', script], { stdio: [feed.reader, 'pipe', 'pipe'] })
  closeSync(feed.reader)
  feed.begin()
  const { status, stdout, stderr } = await finished(child)
  feed.finish(true)
  return { status, stdout, stderr, failed: feed.failed }
}

function opened(t: Test, bytes: Uint8Array): { path: string; fd: number } {
  const path = join(scratch(t), 'input')
  writeFileSync(path, bytes)
  const fd = openSync(path, constants.O_RDONLY)
  t.teardown(() => closeSync(fd))
  return { path, fd }
}

t.test('a file: what is read, what is left, and the offset afterwards', { skip }, async t => {
  const size = BIG.length
  const cases: { name: string; script: string; bytes?: Uint8Array; out: string; taken: number }[] = [
    { name: 'all of it', script: 'cksum | cut -d" " -f2', out: `${size}\n`, taken: size },
    { name: 'nothing', script: 'true', out: '', taken: 0 },
    { name: 'nothing, for a while', script: 'sleep 0.2', out: '', taken: 0 },
    { name: 'a part', script: 'head -c 3000000 | wc -c', out: '3000000\n', taken: 3_000_000 },
    { name: 'one line, as a shell reads it', script: 'read -r x; echo "$x"', out: 'line of text\n', taken: 13 },
    { name: 'a small file', script: 'cat', bytes: Buffer.from('few\0\n'), out: 'few\0\n', taken: 5 },
    { name: 'a small file, unread', script: 'sleep 0.1', bytes: Buffer.from('few\n'), out: '', taken: 0 },
    { name: 'an empty file', script: 'wc -c', bytes: Buffer.alloc(0), out: '0\n', taken: 0 },
    { name: 'opened again after its end', script: 'cat; cat /dev/stdin', bytes: Buffer.from('x'), out: 'x', taken: 1 },
  ]
  for (const { name, script, bytes = BIG, out, taken } of cases) {
    const { fd } = opened(t, bytes)
    t.match(await fed(fd, script), { status: 0, stdout: out, failed: null }, name)
    t.equal(descriptorState(fd).position, taken, `${name}: the offset`)
  }
})

t.test('every byte in order, from the offset on', { skip }, async t => {
  const bytes = Buffer.from(Array.from({ length: 300_000 }, (_, at) => `${at}\n`).join(''))
  const { fd } = opened(t, bytes)
  readSync(fd, Buffer.alloc(4), 0, 4, null)
  const ran = await fed(fd, 'cat')
  t.ok(bytes.subarray(4).equals(Buffer.from(ran.stdout)), 'the same bytes')
  const again = await fed(fd, 'cat')
  t.equal(again.stdout, '', 'taken once')
})

t.test('the file behind it is out of reach', { skip }, async t => {
  const { path, fd } = opened(t, Buffer.from('kept\n'))
  await fed(fd, 'echo PWN > /proc/self/fd/0; : > /proc/self/fd/0; echo PWN > /dev/stdin')
  t.equal(readFileSync(path, 'utf8'), 'kept\n')
})

t.test('what cannot be read is said', { skip }, async t => {
  const folder = openSync(scratch(t), constants.O_RDONLY | constants.O_DIRECTORY)
  t.teardown(() => closeSync(folder))
  const { path } = opened(t, Buffer.from('x'))
  const writable = openSync(path, constants.O_WRONLY)
  t.teardown(() => closeSync(writable))
  t.match([descriptorState(writable).readable, descriptorState(folder).readable], [false, true])
  t.match(await fed(writable, 'cat'), { status: 0, stdout: '', failed: 'EBADF' })
})

t.test('a FIFO of the host is passed on one way, to its end', { skip }, async t => {
  const { path, reader, writer } = await (await sharedFifos([])).take()
  writeSync(writer, 'through it\n')
  closeSync(writer)
  const ran = await fed(reader, 'cat; echo back > /proc/self/fd/0')
  t.match(ran, { status: 0, stdout: 'through it\n', failed: null })
  const again = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  t.teardown(() => closeSync(again))
  t.equal(readSync(again, Buffer.alloc(10)), 0, 'nothing was written to the other one')
})

t.test('a socket of messages is refused before anything is opened', { skip }, async t => {
  const socket = createSocket('udp4').bind(0, '127.0.0.1')
  await once(socket, 'listening')
  t.teardown(() => socket.close())
  const { fd } = (socket as unknown as { _handle: { fd: number } })._handle
  const pool = await sharedFifos([])
  const before = readdirSync('/proc/self/fd').length
  const refused = await Feed.open(pool, fd).catch((error: unknown) => error)
  if (!isRefusal(refused, 'file-unreadable')) throw new Error(`not refused: ${String(refused)}`)
  t.match(refused.message, /datagram, seqpacket.*nothing was run.*pipe/)
  t.equal(readdirSync('/proc/self/fd').length, before, 'no descriptor is left')
})
