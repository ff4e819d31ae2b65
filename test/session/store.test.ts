/** Where sessions are kept, how they are found again, and what of the first version is still read. */
import {
  chmodSync,
  chownSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { SESSION_BYTES_MAX, TOOL_RESULT_BYTES_MAX } from '../../src/bounds.js'
import { Refusal } from '../../src/errors.js'
import { runLoop } from '../../src/loop/engine.js'
import { sessionDocument, sessionMarkdown, utc } from '../../src/session/document.js'
import { SessionFolder } from '../../src/session/folder.js'
import { isSessionId, newSessionId, sessionOfName } from '../../src/session/ids.js'
import { listSessions, type SessionList } from '../../src/session/list.js'
import { forkSession, newSession, readStored, resumeSession } from '../../src/session/store.js'
import { READ, recorded, replies, scriptedModel, scriptedTools } from '../support/loop.js'
import { needs } from '../support/needs.js'
import { scratch } from '../support/scratch.js'
import { answer, call, FACTS, filed, place, result, unrefused, user } from '../support/sessions.js'

function listed(path: string): SessionList {
  const folder = unrefused(SessionFolder.open(path, 'null'))
  if (folder === null) throw new Error('no folder')
  try {
    return listSessions(folder)
  } finally {
    folder.close()
  }
}

function stored(path: string, id: string) {
  const folder = unrefused(SessionFolder.open(path, 'null'))
  if (folder === null) throw new Error('no folder')
  try {
    return unrefused(readStored(folder, id))
  } finally {
    folder.close()
  }
}

function refused(came: unknown): string {
  return came instanceof Refusal ? came.code : 'none'
}

t.test('ids', async t => {
  for (const good of ['a', 'A-1_2.d3', '18eccf238d2f373f-00002809', 'flow.root.1']) t.ok(isSessionId(good), good)
  for (const bad of ['', '.a', '..', 'a..b', 'a/b', '../a', 'a b', 'ä', 'a\0', 'a\n', 'x'.repeat(161)])
    t.notOk(isSessionId(bad), bad)
  const ids = Array.from({ length: 100 }, newSessionId)
  t.strictSame(
    ids.filter(id => !/^[0-9a-f]{16}-[0-9a-f]{8}$/.test(id)),
    [],
  )
  t.strictSame(sessionOfName('a.d1.jsonl'), { id: 'a.d1', version: 2 })
  for (const name of ['a.lock', 'a.jsonl.tmp', '.a.jsonl', 'a..b.jsonl', 'jsonl', '.jsonl'])
    t.equal(sessionOfName(name), null, name)
  const path = place(t)
  await filed(path)
  writeFileSync(join(path, '..', 'x.jsonl'), '', { mode: 0o600 })
  const folder = unrefused(SessionFolder.open(path, 'null'))
  for (const id of ['../x', '.x', 'a/b', '']) {
    t.equal(refused(resumeSession(path, id, FACTS)), 'bad-id')
    t.equal(folder && refused(readStored(folder, id)), 'bad-id')
  }
  folder?.close()
})

t.test('the folder and the files are ours alone, whatever the umask', async t => {
  const before = process.umask(0)
  t.teardown(() => process.umask(before))
  const path = join(scratch(t), 'deep', 'below', 'sessions')
  const { id } = await filed(path)
  t.equal(process.umask(), 0, 'the umask is as it was')
  t.equal(statSync(path).mode & 0o777, 0o700)
  t.equal(statSync(join(path, '..')).mode & 0o777, 0o700)
  t.equal(statSync(join(path, `${id}.jsonl`)).mode & 0o777, 0o600)
  chmodSync(path, 0o755)
  unrefused(newSession(path, FACTS)).close()
  t.equal(statSync(path).mode & 0o777, 0o700, 'one with sessions alone is shut')
  chmodSync(path, 0o755)
  writeFileSync(join(path, 'notes.txt'), '')
  t.equal(refused(newSession(path, FACTS)), 'session-unusable')
  t.equal(statSync(path).mode & 0o777, 0o755, 'one with other things is not ours to shut')
  chmodSync(path, 0o700)
  chmodSync(join(path, `${id}.jsonl`), 0o644)
  t.equal(refused(resumeSession(path, id, FACTS)), 'session-unusable', 'a file that others can read')
})

t.test('nothing is reached through a link, and nothing but a plain file is a session', async t => {
  const path = place(t)
  const { id } = await filed(path)
  const away = join(path, '..', 'away.jsonl')
  writeFileSync(away, readFileSync(join(path, `${id}.jsonl`)), { mode: 0o600 })
  symlinkSync(away, join(path, 'linked.jsonl'))
  mkdirSync(join(path, 'folder.jsonl'))
  t.equal(refused(resumeSession(path, 'linked', FACTS)), 'session-unusable')
  t.equal(refused(resumeSession(path, 'folder', FACTS)) === 'none', false)
  const { sessions, damaged } = listed(path)
  t.strictSame(
    sessions.map(one => one.id),
    [id],
  )
  t.strictSame(
    damaged.map(one => one.path.slice(path.length + 1)),
    ['folder.jsonl', 'linked.jsonl'],
  )
  linkSync(join(path, `${id}.jsonl`), join(path, 'other.jsonl'))
  t.equal(refused(resumeSession(path, 'other', FACTS)), 'session-unusable', 'a name that is not the id inside')
})

t.test('what belongs to somebody else is not used', { skip: needs('root') }, async t => {
  const path = place(t)
  const { id } = await filed(path)
  chownSync(join(path, `${id}.jsonl`), 65534, 65534)
  t.equal(refused(resumeSession(path, id, FACTS)), 'session-unusable')
  t.equal(listed(path).damaged.length, 1)
  chownSync(path, 65534, 65534)
  t.equal(refused(newSession(path, FACTS)), 'session-unusable')
  const theirs = scratch(t)
  chownSync(theirs, 65534, 65534)
  const own = unrefused(newSession(join(theirs, 's'), FACTS))
  await own.settle()
  own.close()
  t.equal(statSync(join(theirs, 's')).uid, 0, 'in a folder of another one, ours is still ours')
})

t.test('latest first, by the time of the last line, then by id; delegates apart; what is damaged is named', async t => {
  const path = place(t)
  const ids = [await filed(path, 'a'), await filed(path, 'b'), await filed(path, 'c')].map(({ id }) => id)
  for (const id of ids) utimesSync(join(path, `${id}.jsonl`), 1_000, 1_000)
  utimesSync(join(path, `${ids[0]}.jsonl`), 1_000, 1_000.5)
  writeFileSync(join(path, 'bad.jsonl'), 'no json\n', { mode: 0o600 })
  writeFileSync(join(path, 'empty.jsonl'), '', { mode: 0o600 })
  writeFileSync(join(path, 'note.txt'), '')
  const { sessions, damaged } = listed(path)
  t.strictSame(
    sessions.map(({ id }) => id),
    [ids[0], ids[2], ids[1]],
  )
  t.match(sessions[0], { turns: 2, model: 'm-1', stop: 'completed', version: 2, parent: null })
  t.strictSame(
    damaged.map(one => one.path.slice(path.length + 1)),
    ['bad.jsonl', 'empty.jsonl'],
  )
})

t.test("a file that is larger than any session is not read, and stands in nobody's way", async t => {
  const path = place(t)
  const { id } = await filed(path)
  for (const size of [SESSION_BYTES_MAX + 1, 2 ** 35]) {
    const name = `of-${size}`
    writeFileSync(
      join(path, `${name}.jsonl`),
      `${JSON.stringify({ version: 2, id: name, ...FACTS, created_unix: 1 })}\n`,
      { mode: 0o600 },
    )
    truncateSync(join(path, `${name}.jsonl`), size)
    t.equal(refused(resumeSession(path, name, FACTS)), 'over-bound')
  }
  const { sessions, damaged } = listed(path)
  t.strictSame(
    sessions.map(one => one.id),
    [id],
  )
  t.strictSame(
    damaged.map(({ why }) => /over the bound of/.test(why)),
    [true, true],
  )
})

t.test('the end of a session tells how far it is, however large what stands there is', async t => {
  const path = place(t)
  for (const size of [1, 20_000, 300_000]) {
    const session = unrefused(newSession(path, FACTS))
    session.item(user('a'))
    session.item(call('x'))
    session.turn({ turn: 1, model: 'm-5', usage: null, microUsd: null })
    session.item(result('x', 'ü'.repeat(size)))
    await session.settle()
    session.close()
    const found = listed(path).sessions.find(({ id }) => id === session.id)
    t.match(found, { turns: 1, model: 'm-5', stop: null }, `${size}`)
    writeFileSync(session.path, readFileSync(session.path).subarray(0, -5), { mode: 0o600 })
    t.match(
      listed(path).sessions.find(({ id }) => id === session.id),
      { turns: 1, model: 'm-5' },
      'torn',
    )
  }
  const fresh = unrefused(newSession(path, FACTS))
  fresh.item(user('a'))
  await fresh.settle()
  t.match(listed(path).sessions[0], { id: fresh.id, turns: 0, model: 'm-1' })
  fresh.close()
})

t.test('a thousand sessions are listed from their ends', async t => {
  const path = place(t)
  const { id } = await filed(path)
  const [head = '', ...rest] = readFileSync(join(path, `${id}.jsonl`), 'utf8').split('\n')
  for (let n = 0; n < 1_000; n += 1)
    writeFileSync(join(path, `s-${n}.jsonl`), [head.replace(id, `s-${n}`), ...rest].join('\n'), { mode: 0o600 })
  const { sessions, damaged } = listed(path)
  t.equal(sessions.length, 1_001)
  t.strictSame(damaged, [])
})

/** Bytes that this process has read so far, by read(2) and its like (proc(5), /proc/pid/io). */
const bytesRead = (): number => Number(/^rchar: (\d+)$/m.exec(readFileSync('/proc/self/io', 'latin1'))?.[1])

t.test('P110: a run reads no session but its own, however many there are', { skip: needs('linux') }, async t => {
  const path = place(t)
  const { id } = await filed(path)
  const whole = readFileSync(join(path, `${id}.jsonl`), 'utf8')
  const costs = (): readonly number[] =>
    [() => newSession(path, FACTS), () => resumeSession(path, id, FACTS)].map(open => {
      const before = bytesRead()
      unrefused(open()).close()
      return bytesRead() - before
    })
  const alone = costs()
  for (let n = 0; n < 1_000; n += 1)
    writeFileSync(join(path, `s-${n}.jsonl`), whole.replaceAll(id, `s-${n}`), { mode: 0o600 })
  for (const [at, cost] of costs().entries()) t.ok(cost < (alone[at] ?? 0) + 4_096, `${cost} bytes, ${alone[at]} alone`)
  const before = bytesRead()
  listed(path)
  t.ok(bytesRead() - before > 1_000 * 100, 'the count does see what is read')
})

t.test('what is resumed goes on in the same file, and its turns are counted on', async t => {
  const path = place(t)
  const { id } = await filed(path)
  const before = readFileSync(join(path, `${id}.jsonl`), 'utf8')
  const session = unrefused(resumeSession(path, id, { ...FACTS, model: 'm-9', workspace: '/other' }))
  t.strictSame(
    session.notes.map(({ code }) => code),
    ['session-workspace'],
  )
  t.equal(session.items.length, 7)
  const { options, events } = recorded(scriptedModel([replies({ text: 'more' })]), scriptedTools({}), {
    journal: session,
    items: session.items,
    requestedModel: 'm-9',
  })
  await runLoop(options)
  session.close()
  t.equal(events.at(-1)?.kind, 'finished')
  t.ok(readFileSync(join(path, `${id}.jsonl`), 'utf8').startsWith(before), 'nothing that stood there changed')
  const document = sessionDocument(stored(path, id), [])
  t.match(document, { turn_count: 3, stop: { kind: 'completed' }, totals: { input_tokens: 6, cost_micro_usd: 14 } })
  t.strictSame(
    document.resumed.map(({ model, workspace }) => [model, workspace]),
    [['m-9', '/other']],
  )
  t.equal(document.items.length, 9)
  const again = unrefused(resumeSession(path, id, { ...FACTS, workspace: '/other' }))
  t.strictSame(again.notes, [], 'the workspace of the last run counts')
  again.close()
  t.equal(refused(resumeSession(path, id, { ...FACTS, wire: 'openai-chat' })), 'session-unusable')
  t.equal(refused(resumeSession(path, 'none', FACTS)), 'session-unusable')
  t.equal(refused(resumeSession(join(path, 'nowhere'), id, FACTS)), 'session-unusable')
  t.strictSame(readdirSync(path), [`${id}.jsonl`], 'no lock is left, and no folder was made')
})

t.test('a fork is a session of its own, also of one in use', async t => {
  const path = place(t)
  const { id } = await filed(path)
  const held = unrefused(resumeSession(path, id, FACTS))
  const copy = unrefused(await forkSession(path, id))
  held.close()
  t.not(copy.id, id)
  t.strictSame(stored(path, copy.id).records, stored(path, id).records)
  t.equal(stored(path, copy.id).header.forked_from, id)
  unrefused(resumeSession(path, copy.id, FACTS)).close()
  t.equal(refused(await forkSession(path, 'none')), 'session-unusable')
  t.equal(refused(await forkSession(path, '../x')), 'bad-id')
})

t.test('delegates have sessions of their own, in the next free number', async t => {
  const path = place(t)
  const parent = unrefused(newSession(path, FACTS))
  await parent.settle()
  const children = Array.from({ length: 12 }, (_, n) => parent.child(n + 1, 'm-2'))
  for (const child of children) {
    child.item(user('part'))
    await child.settle()
    child.close()
  }
  const more = parent.child(1, parent.facts.model)
  more.item(user('again'))
  await more.settle()
  t.equal(more.id, `${parent.id}.d13`)
  more.close()
  parent.close()
  const { sessions } = listed(path)
  t.equal(sessions.filter(one => one.parent === parent.id).length, 13)
  t.equal(stored(path, `${parent.id}.d1`).header.model, 'm-2')
})

const V1 = {
  version: 1,
  id: 'old-1',
  wire: 'openai-responses',
  model: 'm-0',
  base_url: 'http://h/v1',
  workspace: '/work',
  created_unix: 5,
  updated_unix: 9,
  turns: 2,
  items: [user('hello'), call('a'), result('a'), answer('hi')],
  usage: [{ any: 'thing' }],
  cost_micro_usd: null,
}

t.test('a session of version 1 is read, continued in a new file, and left as it is', async t => {
  const path = place(t)
  mkdirSync(path, { mode: 0o700 })
  const file = join(path, 'old-1.json')
  const text = JSON.stringify(V1, null, 2)
  writeFileSync(file, text, { mode: 0o600 })
  t.match(listed(path).sessions, [{ id: 'old-1', version: 1, turns: 2, updated_unix: 9, model: 'm-0' }])
  const session = unrefused(resumeSession(path, 'old-1', FACTS))
  t.match(session.notes[0]?.message, /version 1/)
  t.equal(session.items.length, 4)
  session.item(user('go on'))
  await session.settle()
  session.close()
  t.equal(readFileSync(file, 'utf8'), text)
  t.match(listed(path).sessions, [{ id: 'old-1', version: 2, turns: 2 }])
  t.equal(listed(path).sessions.length, 1)
  t.equal(sessionDocument(stored(path, 'old-1'), []).items.length, 5)
  const wrong: readonly (readonly [string, unknown])[] = [
    ['an unknown key', { ...V1, more: 1 }],
    ['another version', { ...V1, version: 7 }],
    ['items that are none', { ...V1, items: [{ kind: 'later' }] }],
    ['no items', { ...V1, items: 'x' }],
    ['no count', { ...V1, turns: -1 }],
    ['no object', [V1]],
  ]
  for (const [what, document] of wrong) {
    writeFileSync(join(path, 'old-2.json'), JSON.stringify(document), { mode: 0o600 })
    t.equal(refused(resumeSession(path, 'old-2', FACTS)), 'session-unusable', what)
  }
  writeFileSync(join(path, 'old-2.json'), JSON.stringify({ ...V1, id: 'old-2' }).slice(0, -3), { mode: 0o600 })
  t.equal(refused(resumeSession(path, 'old-2', FACTS)), 'session-unusable', 'a torn one')
})

t.test('documents to read: what was said cannot end its own fence', async t => {
  const path = place(t)
  const { id } = await filed(path)
  const session = unrefused(resumeSession(path, id, FACTS))
  session.item(user('next'))
  session.item(call('odd'))
  session.turn({ turn: 1, model: 'm-1', usage: null, microUsd: null })
  session.item({ kind: 'tool-result', call_id: 'odd', output: 'a\n````\n# no heading\n', failed: true })
  session.item(user('interrupted next'))
  session.item(call('lost'))
  session.turn({ turn: 2, model: 'm-1', usage: null, microUsd: null })
  await session.settle()
  session.close()
  const document = sessionDocument(stored(path, id), [])
  t.strictSame(document.interrupted, ['lost'])
  t.equal(document.stop, null, 'the end of an earlier run is not the end of this one')
  const lines = sessionMarkdown(document).split('\n')
  t.equal(lines.filter(line => line === '`````').length, 2)
  t.ok(lines.includes('### Result (odd), failed'))
  t.equal(utc(0), '1970-01-01 00:00:00Z')
  t.equal(utc(1e300), '1e+300')
})

t.test('P109: 200 turns with outputs of up to 10 MB stay within what the bounds allow', async t => {
  const path = place(t)
  const session = unrefused(newSession(path, FACTS))
  let calls = 0
  const tools = scriptedTools({
    big: {
      envelope: READ,
      // A few of the full size: what a turn costs is known after those.
      run: () => ({ output: 'x'.repeat(calls++ % 40 === 0 ? 10_000_000 : 300_000), failed: false }),
    },
  })
  const steps = Array.from({ length: 200 }, (_, n) => replies({ calls: [{ id: `c${n}`, name: 'big' }] }))
  const { options, events } = recorded(scriptedModel([...steps, replies({ text: 'done' })]), tools, {
    journal: session,
  })
  await runLoop(options)
  session.close()
  t.equal(events.at(-1)?.kind, 'finished')
  const { size } = statSync(session.path)
  t.ok(size < 200 * 2_000, `${size} bytes: an output over the bound is told, not kept`)
  t.ok(size < 200 * TOOL_RESULT_BYTES_MAX)
})

t.test('a session under a name of the caller, gone on with from its first items', async t => {
  const path = place(t)
  const session = unrefused(newSession(path, FACTS, { id: 'F.root.1' }))
  for (const text of ['one', 'two', 'three']) session.item(user(text))
  t.equal(await session.settle(), null)
  session.close()
  const again = unrefused(resumeSession(path, 'F.root.1', FACTS, { keep: 1 }))
  t.strictSame(again.items, [user('one')])
  again.item(user('four'))
  t.equal(await again.settle(), null)
  again.close()
  const bytes = readFileSync(join(path, 'F.root.1.jsonl'), 'utf8')
  t.match(bytes, /"three"/, 'what was left behind is still there to be read')
  const third = unrefused(resumeSession(path, 'F.root.1', FACTS))
  t.strictSame(third.items, [user('one'), user('four')], 'and is no part of the conversation any more')
  third.close()
  const whole = unrefused(resumeSession(path, 'F.root.1', FACTS, { keep: 9 }))
  t.strictSame(whole.items, [user('one'), user('four')], 'more than there are: all')
  whole.close()
  const none = unrefused(resumeSession(path, 'F.root.1', FACTS, { keep: 0 }))
  t.strictSame(none.items, [])
  none.close()
})
