/** The end of relayed streams: every byte for a slow reader, and nobody waits for a holder that outlives its tree. */
import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, openSync, readFileSync, readSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { Capture } from '../../src/supervise/capture.js'
import { delivery } from '../../src/supervise/delivery.js'
import type { FifoPool } from '../../src/supervise/fifo-pool.js'
import { sharedFifos } from '../../src/supervise/shared-fifos.js'
import { pause } from '../support/children.js'
import { needs } from '../support/needs.js'
import { scratch } from '../support/scratch.js'

const skip = needs('linux')

interface Started {
  readonly capture: Capture
  readonly child: ChildProcess
  readonly path: string
  readonly pool: FifoPool
}

/** A shell whose stdout is passed on to `relay`, once it has ended by itself. */
async function ended(relay: number, script: string): Promise<Started> {
  const pool = await sharedFifos([])
  const fifo = await pool.take()
  const capture = new Capture(pool, fifo, 1_000, relay)
  const child = spawn('/bin/sh', ['-c', script], { stdio: ['ignore', capture.writer, 'ignore'] })
  const exit = new Promise(resolve => child.once('exit', resolve))
  closeSync(capture.writer)
  capture.passOn()
  capture.read(
    () => undefined,
    () => undefined,
  )
  await exit
  return { capture, child, path: fifo.path, pool }
}

function written(t: Test): { readonly fd: number; readonly path: string } {
  const path = join(scratch(t), 'out')
  const fd = openSync(path, 'w')
  t.teardown(() => closeSync(fd))
  return { fd, path }
}

/** What goes on in the background, and ends by itself when its output has no reader or soon after. */
const HOLDERS: Readonly<Record<string, string>> = {
  'that is silent': 'sleep 20',
  'that writes now and then': 'for i in 1 2 3 4 5 6 7 8 9 a b c d e f; do echo late; sleep 0.1; done; sleep 20',
  'that writes without end': 'exec yes',
}

for (const [name, holder] of Object.entries(HOLDERS)) {
  t.test(`a holder ${name} is not waited for`, { skip, timeout: 15_000 }, async t => {
    const { fd, path } = written(t)
    const { capture, path: fifo, pool } = await ended(fd, `(${holder}) & echo first $!`)
    t.equal(await delivery([capture], pause), true, 'it is said')
    const text = readFileSync(path, 'utf8')
    t.match(text, /^(late\n|y\n)*first \d+$/m)
    const pid = Number(/first (\d+)/.exec(text)?.[1])
    capture.finish(true)
    const next = await pool.take()
    t.not(next.path, fifo, 'the next launch gets another FIFO')
    pool.giveBackUnused(next)
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // It has met the end of its output.
    }
  })
}

t.test('a slow reader gets all that a pipe held', { skip, timeout: 15_000 }, async t => {
  const pool = await sharedFifos([])
  const slow = await pool.take()
  const { capture } = await ended(slow.writer, 'head -c 300000 /dev/zero')
  const all = delivery([capture], pause)
  let [read, over] = [0, false]
  void all.then(() => {
    over = true
  })
  const bytes = Buffer.alloc(20_000)
  while (!over || read < 300_000) {
    await pause(20)
    try {
      read += readSync(slow.reader, bytes)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error
    }
  }
  t.equal(await all, false, 'nothing was cut')
  t.equal(read, 300_000)
  capture.finish(true)
  closeSync(slow.reader)
  closeSync(slow.writer)
})
