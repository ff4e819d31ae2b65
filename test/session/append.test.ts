/** A disk that is full, or goes: what was whole stays whole, and nothing goes on unsaved (H18). */
import { execFileSync } from 'node:child_process'
import {
  appendFileSync,
  existsSync,
  ftruncateSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { SESSION_BYTES_MAX } from '../../src/bounds.js'
import type { Refusal } from '../../src/errors.js'
import { runLoop } from '../../src/loop/engine.js'
import { type AppendCalls, AppendFile, appendCalls } from '../../src/session/append.js'
import { SessionFolder } from '../../src/session/folder.js'
import { readSession } from '../../src/session/read.js'
import { newSession, resumeSession } from '../../src/session/store.js'
import { recorded, replies, scriptedModel, scriptedTools, WRITE } from '../support/loop.js'
import { needs } from '../support/needs.js'
import { FACTS, filed, place, unrefused, user } from '../support/sessions.js'

function failing(code: string): Error {
  return Object.assign(new Error(code), { code })
}

/** A disk that takes `bytes` more bytes in all. */
function diskOf(bytes: number, over: Partial<AppendCalls> = {}): AppendCalls {
  let left = bytes
  return {
    ...appendCalls,
    write(fd, what, at) {
      if (left === 0) throw failing('ENOSPC')
      const part = Math.min(left, what.length - at)
      left -= part
      return appendCalls.write(fd, what.subarray(0, at + part), at)
    },
    ...over,
  }
}

function codeOf(came: Refusal | null): string | null {
  return came === null ? null : came.code
}

t.test('H18: what does not fit is taken back, at whatever byte the disk is full', async t => {
  for (let room = 0; room < 60; room += 1) {
    const path = place(t)
    const { id } = await filed(path)
    const file = join(path, `${id}.jsonl`)
    const before = readFileSync(file)
    const session = unrefused(resumeSession(path, id, FACTS, { calls: diskOf(room) }))
    session.item(user('more'))
    const refusal = await session.settle()
    t.equal(codeOf(refusal), 'no-space')
    t.strictSame(readFileSync(file), before, `${room} bytes of room: the old content is whole`)
    session.item(user('later'))
    t.equal(await session.settle(), refusal, 'and stays refused')
    t.equal(session.close(), null, 'which is not told twice')
    t.strictSame(readFileSync(file), before)
  }
})

t.test('where it cannot even be taken back, the next run cuts it', async t => {
  const path = place(t)
  const { id } = await filed(path)
  const file = join(path, `${id}.jsonl`)
  const before = readFileSync(file)
  const stuck = diskOf(20, {
    truncate: () => {
      throw failing('EIO')
    },
  })
  const session = unrefused(resumeSession(path, id, FACTS, { calls: stuck }))
  t.equal(codeOf(await session.settle()), 'no-space')
  session.close()
  t.equal(statSync(file).size, before.length + 20)
  const next = unrefused(resumeSession(path, id, FACTS))
  t.match(next.notes[0]?.message, /20 bytes/)
  next.close()
  t.strictSame(readFileSync(file), before)
})

t.test('a new session that does not fit is none, and a sync that fails is no success', async t => {
  const path = place(t)
  const none = unrefused(newSession(path, FACTS, { calls: diskOf(10) }))
  none.item(user('a'))
  t.equal(codeOf(await none.settle()), 'no-space')
  t.equal(none.filed, false)
  t.notOk(existsSync(none.path))
  none.close()
  const calls: AppendCalls = { ...appendCalls, sync: () => Promise.reject(failing('EIO')) }
  const unsure = unrefused(newSession(path, FACTS, { calls }))
  unsure.item(user('a'))
  t.equal(codeOf(await unsure.settle()), 'write-failed')
  unsure.item(user('b'))
  t.equal(codeOf(await unsure.settle()), 'write-failed')
  unsure.close()
})

t.test('a file that was removed or written by others is not gone on with', async t => {
  const path = place(t)
  const { id } = await filed(path)
  const file = join(path, `${id}.jsonl`)
  const one = unrefused(resumeSession(path, id, FACTS))
  appendFileSync(file, '{}\n')
  t.equal(codeOf(await one.settle()), 'session-unusable')
  t.ok(readFileSync(file, 'utf8').endsWith('{}\n'), 'nothing was put behind it')
  one.close()
  const other = unrefused(newSession(path, FACTS))
  await other.settle()
  rmSync(other.path)
  other.item(user('a'))
  const refusal = await other.settle()
  t.equal(codeOf(refusal), 'session-unusable')
  t.match(refusal?.message, /removed/)
  other.close()
})

t.test('a session has a bound, and what would pass it is not written', async t => {
  const path = place(t)
  const { id } = await filed(path)
  const folder = unrefused(SessionFolder.open(path, 'null'))
  const opened = folder === null ? null : unrefused(folder.openFile(`${id}.jsonl`, 'append'))
  if (folder === null || opened === null) return t.fail('no file')
  const size = SESSION_BYTES_MAX - 10
  ftruncateSync(opened.fd, size)
  const file = new AppendFile({ folder, name: `${id}.jsonl`, file: { fd: opened.fd, size } })
  file.push('x'.repeat(10))
  t.equal(await file.settle(), null, 'up to the bound')
  file.push('x')
  t.match(await file.settle(), {
    code: 'over-bound',
    details: { limit: SESSION_BYTES_MAX, seen: SESSION_BYTES_MAX + 1 },
  })
  file.close('write')
  folder.close()
  t.equal(statSync(join(path, `${id}.jsonl`)).size, SESSION_BYTES_MAX)
})

t.test('a run that is refused before it starts leaves no trace', async t => {
  const path = place(t)
  const { id } = await filed(path)
  const before = readFileSync(join(path, `${id}.jsonl`))
  unrefused(resumeSession(path, id, FACTS)).close()
  unrefused(newSession(path, FACTS)).close()
  t.strictSame(readFileSync(join(path, `${id}.jsonl`)), before)
  t.strictSame(readdirSync(path), [`${id}.jsonl`])
})

t.test('H18: a run on a full disk fails with the reason, before the effect', async t => {
  const path = place(t)
  const session = unrefused(newSession(path, FACTS, { calls: diskOf(400) }))
  let written = 0
  const tools = scriptedTools({
    put: {
      envelope: WRITE,
      run: () => {
        written += 1
        return { output: 'x'.repeat(300), failed: false }
      },
    },
  })
  const turn = (id: string) => replies({ calls: [{ id, name: 'put' }] })
  const { options, events } = recorded(scriptedModel([turn('a'), turn('b'), turn('c')]), tools, { journal: session })
  const end = await runLoop(options)
  t.match(end, { kind: 'failed', code: 'no-space' })
  t.equal(events.at(-1)?.kind, 'failed')
  t.ok(written < 2, 'no effect after the save that failed')
  session.close()
  const read = readSession(readFileSync(session.path))
  t.ok(read.kind === 'content' && read.torn === null, 'what is on disk is whole')
})

t.test('an end that cannot be kept is a failed run', async t => {
  const path = place(t)
  const done = replies({ text: 'y'.repeat(500) })
  const session = unrefused(newSession(path, FACTS, { calls: diskOf(300) }))
  const { options, events } = recorded(scriptedModel([done]), scriptedTools({}), { journal: session })
  t.match(await runLoop(options), { kind: 'failed', code: 'no-space' })
  t.strictSame(
    events.map(({ kind }) => kind).filter(kind => kind === 'finished' || kind === 'failed'),
    ['failed'],
  )
  session.close()
})

t.test('a small filesystem that is full', { skip: needs('root', 'mount-namespace') }, async t => {
  const mount = join(place(t), '..', 'small')
  mkdirSync(mount)
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k,mode=700', 'none', mount])
  t.teardown(() => execFileSync('umount', [mount]))
  const session = unrefused(newSession(join(mount, 's'), FACTS))
  session.item(user('small'))
  t.equal(await session.settle(), null)
  const before = readFileSync(session.path)
  writeFileSync(join(mount, 'filler'), Buffer.alloc(40_000))
  session.item(user('z'.repeat(100_000)))
  t.equal(codeOf(await session.settle()), 'no-space')
  t.strictSame(readFileSync(session.path), before)
  session.close()
  rmSync(join(mount, 'filler'))
  const next = unrefused(resumeSession(join(mount, 's'), session.id, FACTS))
  next.item(user('again'))
  t.equal(await next.settle(), null)
  next.close()
})
