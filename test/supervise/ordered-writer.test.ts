/** Bytes to a descriptor whose reader is slow, or gone. */
import { closeSync, constants, openSync, readSync } from 'node:fs'
import t from 'tap'
import { OrderedWriter } from '../../src/supervise/ordered-writer.js'
import { sharedFifos } from '../../src/supervise/shared-fifos.js'
import { pause } from '../support/children.js'
import { needs } from '../support/needs.js'

const skip = needs('linux')

/** Both ends of one FIFO; a full one answers the writer EAGAIN. */
async function ends() {
  const { path, reader, writer } = await (await sharedFifos([])).take()
  closeSync(writer)
  return { reader, writer: openSync(path, constants.O_WRONLY | constants.O_NONBLOCK) }
}

t.test('a descriptor that does not block, and a reader that comes late: every byte, in order', { skip }, async t => {
  const { reader, writer } = await ends()
  const lost: string[] = []
  const output = new OrderedWriter(writer, errno => lost.push(errno))
  const bytes = Buffer.from(Array.from({ length: 60_000 }, (_, at) => `${at}\n`).join(''))
  const done: string[] = []
  output.push(bytes.subarray(0, 200_000), () => done.push('first'))
  output.push(bytes.subarray(200_000), () => done.push('second'))
  t.equal(output.pendingBytes, bytes.length)
  await pause(50)
  const flushed = output.flushed().then(() => closeSync(writer))
  const block = Buffer.alloc(65_536)
  const parts: Buffer[] = []
  const deadline = performance.now() + 10_000
  while (parts.reduce((sum, part) => sum + part.length, 0) < bytes.length && performance.now() < deadline) {
    try {
      const count = readSync(reader, block)
      if (count === 0) break
      parts.push(Buffer.from(block.subarray(0, count)))
    } catch {
      await pause(1)
    }
  }
  await flushed
  closeSync(reader)
  t.ok(bytes.equals(Buffer.concat(parts)), 'the same bytes')
  t.same([lost, output.closed, output.pendingBytes, done], [[], false, 0, ['first', 'second']])
})

t.test('what is dropped never comes, what is under way does', { skip }, async t => {
  const { reader, writer } = await ends()
  const output = new OrderedWriter(writer)
  const done: string[] = []
  output.push(Buffer.from('under way '), () => done.push('first'))
  output.push(Buffer.from('dropped '), () => done.push('second'))
  output.drop()
  t.same([done, output.pendingBytes], [['second'], 10])
  output.push(Buffer.from('later'))
  await output.flushed()
  closeSync(writer)
  const block = Buffer.alloc(64)
  t.equal(block.toString('latin1', 0, readSync(reader, block)), 'under way later')
  t.same([done, output.pendingBytes], [['second', 'first'], 0])
  closeSync(reader)
})

t.test('a reader that is gone is told once, and nothing waits for it', { skip }, async t => {
  const { reader, writer } = await ends()
  closeSync(reader)
  const lost: string[] = []
  const output = new OrderedWriter(writer, errno => lost.push(errno))
  const done: string[] = []
  for (const word of ['one', 'two']) output.push(Buffer.from(word), () => done.push(word))
  await output.flushed()
  output.push(Buffer.from('three'), () => done.push('three'))
  closeSync(writer)
  t.same([lost, output.closed, output.pendingBytes], [['EPIPE'], true, 0])
  t.same(done, ['one', 'two', 'three'], 'each is given back, once')
})
