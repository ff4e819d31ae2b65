/** Output of a child that is passed on to a descriptor of ours which takes no more: nothing waits, and a loss is said. */
import { spawn } from 'node:child_process'
import { closeSync, constants, openSync, readdirSync } from 'node:fs'
import t, { type Test } from 'tap'
import { Capture } from '../../src/supervise/capture.js'
import { sharedFifos } from '../../src/supervise/shared-fifos.js'
import { eventually, pause } from '../support/children.js'
import { needs } from '../support/needs.js'

const skip = needs('linux')

/** A shell whose stdout is captured and passed on to `relay`; its status and signal within five seconds. */
async function captured(t: Test, relay: number, script: string) {
  const pool = await sharedFifos([])
  const capture = new Capture(pool, await pool.take(), 1_000, relay)
  const child = spawn('/bin/sh', ['-c', script], { stdio: ['ignore', capture.writer, 'ignore'] })
  closeSync(capture.writer)
  capture.passOn()
  capture.read(
    () => undefined,
    () => undefined,
  )
  let ended: object | undefined
  child.once('exit', (status, signal) => {
    ended = { status, signal }
  })
  if (!t.ok(await eventually(() => ended !== undefined, 5_000), 'nothing waits')) child.kill('SIGKILL')
  await capture.delivered()
  capture.finish(true)
  return { ...ended, failed: capture.failed, total: capture.output.totalBytes }
}

/** The writing end of a FIFO that nobody reads any more. */
async function unread(t: Test): Promise<number> {
  const { path, reader, writer } = await (await sharedFifos([])).take()
  closeSync(writer)
  const end = openSync(path, constants.O_WRONLY)
  t.teardown(() => closeSync(end))
  closeSync(reader)
  return end
}

t.test('the reader is gone', { skip }, async t => {
  const reopened = 'trap "" PIPE; echo one; sleep 0.2; echo two > /dev/stdout; echo three > /proc/self/fd/1; exit 7'
  t.match(await captured(t, await unread(t), reopened), { status: 7, signal: null, failed: null })
  const flood = await captured(t, await unread(t), 'exec yes')
  t.match(flood, { signal: 'SIGPIPE', failed: null }, 'ends as it would outside, and it is no loss')
  t.match(await captured(t, await unread(t), 'echo one; sleep 0.2; (echo two > /dev/stdout); exit 3'), { status: 3 })
})

t.test('the disk is full', { skip }, async t => {
  const full = openSync('/dev/full', constants.O_WRONLY)
  t.teardown(() => closeSync(full))
  const reopened = 'echo one; sleep 0.2; echo two > /dev/stdout; echo three >> /proc/self/fd/1; exit 7'
  t.match(
    await captured(t, full, reopened),
    { status: 7, signal: null, failed: 'ENOSPC', total: 14 },
    'read to the end',
  )
  t.match(await captured(t, full, 'yes | head -c 3000000; exit 5'), { status: 5, failed: 'ENOSPC', total: 3_000_000 })
})

t.test('a loss that is told after the end starts nothing', { skip }, async t => {
  const { path, reader, writer } = await (await sharedFifos([])).take()
  closeSync(writer)
  const slow = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK)
  t.teardown(() => closeSync(slow))
  const pool = await sharedFifos([])
  const capture = new Capture(pool, await pool.take(), 1_000, slow)
  const child = spawn('/bin/sh', ['-c', 'yes | head -c 200000'], { stdio: ['ignore', capture.writer, 'ignore'] })
  closeSync(capture.writer)
  capture.passOn()
  capture.read(
    () => undefined,
    () => undefined,
  )
  await new Promise(resolve => child.once('exit', resolve))
  capture.finish(true)
  closeSync(reader)
  await pause(50)
  const before = readdirSync('/proc/self/fd').length
  await pause(200)
  t.equal(readdirSync('/proc/self/fd').length, before)
  t.same(
    process.getActiveResourcesInfo().filter(name => name === 'Timeout'),
    [],
    'no timer is left',
  )
})
