/** What a crash leaves of a session: cut at every byte it resumes, damaged in the middle it is refused with the line (H01). */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import t from 'tap'
import { Refusal } from '../../src/errors.js'
import { pairItems } from '../../src/loop/conversation.js'
import { readSession } from '../../src/session/read.js'
import { keptUrl, lineOf, recordOf } from '../../src/session/records.js'
import { resumeSession } from '../../src/session/store.js'
import { readVersion1 } from '../../src/session/version-1.js'
import type { Item } from '../../src/wires/port.js'
import { pairing } from '../support/loop.js'
import { projectRoot } from '../support/root.js'
import { answer, call, FACTS, filed, place, result, unrefused, user } from '../support/sessions.js'

const HEADER = lineOf({ version: 2, id: 'a', ...FACTS, created_unix: 1 })
const TURN = lineOf({ kind: 'turn', turn: 1, model: 'm', usage: null, cost: null })
const text = (...items: Item[]): string => items.map(lineOf).join('')

t.test('H01: cut at every byte of its last three records, a session resumes with what was whole', async t => {
  const path = place(t)
  const { id } = await filed(path)
  const file = join(path, `${id}.jsonl`)
  const whole = readFileSync(file)
  const ends = [...whole.entries()].flatMap(([at, byte]) => (byte === 0x0a ? [at + 1] : []))
  const from = ends.at(-4) ?? 0
  for (let size = from; size <= whole.length; size += 1) {
    writeFileSync(file, whole.subarray(0, size), { mode: 0o600 })
    const session = unrefused(resumeSession(path, id, FACTS))
    const { items } = session
    t.equal(session.notes.length, ends.includes(size) && size !== ends.at(-3) ? 0 : 1, `${size} bytes: a cut is said`)
    session.item(user('go on'))
    t.equal(await session.settle(), null)
    session.close()
    const again = readSession(readFileSync(file))
    if (again.kind === 'damage') return t.fail(`cut at ${size}: line ${again.line}: ${again.why}`)
    t.equal(again.torn, null)
    const kept = again.records.filter(({ kind }) => kind === 'tool-result').length
    t.equal(kept, 2, 'no result that was whole is lost')
    t.strictSame(
      again.records.slice(-2).map(({ kind }) => kind),
      ['resumed', 'user-text'],
    )
    t.ok(items.length === 7 || items.length === 6, 'the last answer is there, or not at all')
  }
})

t.test('cut at every byte, no call is left without its one result', async t => {
  const path = place(t)
  const { id } = await filed(path)
  const whole = readFileSync(join(path, `${id}.jsonl`))
  let resumable = 0
  for (let size = 0; size <= whole.length; size += 1) {
    const read = readSession(whole.subarray(0, size))
    if (read.kind === 'damage') {
      t.ok(size <= whole.indexOf('\n'), 'only without a first line there is nothing to go on with')
      continue
    }
    resumable += 1
    const { items } = pairItems([
      ...read.records.filter((one): one is Item => 'text' in one || 'call_id' in one),
      user('on'),
    ])
    const told = pairing(items)
    t.strictSame(
      told.filter(one => one.startsWith('call')).map(one => one.split(' ')[1]),
      told.filter(one => one.startsWith('result')).map(one => one.split(' ')[1]),
      `${size} bytes`,
    )
    t.ok(read.keptBytes <= size && (read.torn === null) === (read.keptBytes === size))
  }
  t.ok(resumable > 500)
})

t.test('what is torn and what is damaged', async t => {
  const cases: readonly (readonly [what: string, bytes: string, kept: string | null, line: number | null])[] = [
    ['nothing', '', null, 1],
    ['no whole first line', HEADER.slice(0, -1), null, 1],
    ['another version', HEADER.replace('"version":2', '"version":3'), null, 1],
    ['a header alone', HEADER, HEADER, null],
    ['no newline at the end', `${HEADER}${text(user('a'))}{"kind":"us`, HEADER + text(user('a')), null],
    [
      'zeros of a block that was never written',
      `${HEADER}${text(user('a'))}\0\0\0\0\n`,
      HEADER + text(user('a')),
      null,
    ],
    ['no JSON in the last line', `${HEADER}${text(user('a'))}{"kind":"user-te\n`, HEADER + text(user('a')), null],
    ['no JSON before the last line', `${HEADER}{"kind":\n${text(user('a'))}`, null, 2],
    ['two lines in one', `${HEADER}${text(user('a'))}{"kind":"user{"kind":"x"}\n${text(user('b'))}`, null, 3],
    ['an unknown kind at the end', `${HEADER}{"kind":"later"}\n`, null, 2],
    ['a wrong key', `${HEADER}${text(user('a'))}{"kind":"user-text","text":3}\n${text(user('b'))}`, null, 3],
    ['an item of no wire', `${HEADER}{"kind":"opaque","wire":"morse","payload":1}\n`, null, 2],
    [
      'an answer without its turn',
      `${HEADER}${text(user('a'), answer('b'), call('c'))}`,
      HEADER + text(user('a')),
      null,
    ],
    [
      'an answer with its turn',
      `${HEADER}${text(user('a'), call('c'))}${TURN}`,
      `${HEADER}${text(user('a'), call('c'))}${TURN}`,
      null,
    ],
    [
      'a result at the end',
      `${HEADER}${text(call('c'))}${TURN}${text(result('c'))}`,
      `${HEADER}${text(call('c'))}${TURN}${text(result('c'))}`,
      null,
    ],
  ]
  for (const [what, bytes, kept, line] of cases) {
    const read = readSession(Buffer.from(bytes))
    if (read.kind === 'damage') t.equal(read.line, line, what)
    else t.equal(bytes.slice(0, read.keptBytes), kept, what)
  }
  const broken = Buffer.concat([
    Buffer.from(HEADER),
    Buffer.from('{"kind":"user-text","text":"'),
    Buffer.from([0xff]),
    Buffer.from(`"}\n${text(user('b'))}`),
  ])
  const read = readSession(broken)
  t.equal(read.kind === 'damage' && read.line, 2, 'bytes that are no UTF-8')
})

t.test('a line that is nested deeper than any run writes is damage, wherever it stands', async t => {
  const deep = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels)
  const lines: readonly string[] = [
    text(result('c')).replace(/"output":.*?,"failed"/, `"output":${deep(200_000)},"failed"`),
    text(call('c')).replace(/"arguments":\{.*?\}/, `"arguments":{"a":${deep(200_000)}}`),
    text(call('c')).replace(/"arguments":\{.*?\}/, `"arguments":{"a":${deep(600)}}`),
  ]
  for (const line of lines) {
    t.ok(line.length > 1_000)
    for (const bytes of [`${HEADER}${line}${text(user('b'))}`, `${HEADER}${line}`]) {
      const read = readSession(Buffer.from(bytes))
      t.match(read, { kind: 'damage', line: 2, why: /levels deep/ })
    }
  }
  const fits = text(call('c')).replace(/"arguments":\{.*?\}/, `"arguments":{"a":${deep(499)}}`)
  t.equal(readSession(Buffer.from(`${HEADER}${fits}${TURN}`)).kind, 'content', 'what a call may have')
  const old = {
    ...JSON.parse(HEADER),
    version: 1,
    updated_unix: 1,
    turns: 0,
    usage: [],
    items: [JSON.parse(text(result('c')))],
  }
  const first = JSON.stringify(old).replace(/"output":.*?,"failed"/, `"output":${deep(200_000)},"failed"`)
  t.equal(readVersion1(Buffer.from(JSON.stringify(old))).kind, 'content')
  t.equal(readVersion1(Buffer.from(first)).kind, 'damage')
})

t.test('H01: damage in the middle is refused with the line, and nothing is changed', async t => {
  const path = place(t)
  const { id } = await filed(path)
  const file = join(path, `${id}.jsonl`)
  const lines = readFileSync(file, 'utf8').split('\n')
  lines[3] = `${lines[3]?.slice(0, 10)}`
  writeFileSync(file, lines.join('\n'))
  const session = resumeSession(path, id, FACTS)
  t.ok(session instanceof Refusal && session.code === 'session-unusable' && 'line' in session.details)
  t.equal(session instanceof Refusal && 'line' in session.details && session.details.line, 4)
  t.match(session instanceof Refusal ? session.message : '', /line 4/)
  t.equal(readFileSync(file, 'utf8'), lines.join('\n'))
})

t.test('what is written is what the published schema describes', async t => {
  const schema = JSON.parse(readFileSync(join(projectRoot, 'native-profiles/session.schema.json'), 'utf8')) as object
  const valid = new Ajv2020({ strict: true, allErrors: true, allowUnionTypes: true }).compile(schema)
  const path = place(t)
  const { id } = await filed(path)
  const session = unrefused(resumeSession(path, id, { ...FACTS, model: 'm-3' }))
  session.item({ kind: 'opaque', wire: 'openai-responses', payload: { id: 'r' } })
  session.turn({
    turn: 1,
    model: 'm-3',
    usage: { inputTokens: 1, outputTokens: 1, cachedInputTokens: 0, cacheCreationInputTokens: 1 },
    microUsd: null,
  })
  session.end({ kind: 'failed', code: 'transport', reason: 'gone' })
  await session.settle()
  const child = session.child(1, 'm-4')
  child.item(user('part'))
  await child.settle()
  child.close()
  session.close()
  const files = [`${id}.jsonl`, `${id}.d1.jsonl`].map(name => readFileSync(join(path, name), 'utf8'))
  const lines = files.flatMap(one =>
    one
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line) as object),
  )
  t.equal(lines.length, 18)
  for (const line of lines) t.ok(valid(line), `${JSON.stringify(line)} ${JSON.stringify(valid.errors)}`)
  const wrong = [
    {},
    { kind: 'later' },
    { kind: 'user-text' },
    { kind: 'turn', turn: -1, model: 'm', usage: null, cost: null },
    { ...lines[0], version: 1 },
    { kind: 'user-text', text: 'a', more: 1 },
  ]
  for (const line of wrong) t.notOk(valid(line), JSON.stringify(line))
})

t.test('keys of an object that every object has are no keys of a line', async t => {
  for (const kind of ['constructor', '__proto__', 'toString', 'hasOwnProperty', null, 3, undefined])
    t.type(recordOf({ kind }), 'string', String(kind))
  t.type(recordOf(JSON.parse('{"kind":"user-text","__proto__":{"text":"x"}}')), 'string')
})

t.test('no credential of an address is kept', async t => {
  t.equal(keptUrl('https://user:secret@host:8080/v1?key=secret#secret'), 'https://host:8080/v1')
  t.equal(keptUrl(''), '')
})
