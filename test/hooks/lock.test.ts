/** The lock beside the hooks file: what is read, what refuses, and when it does not speak for a file. */
import t from 'tap'
import { Refusal } from '../../src/errors.js'
import { parseHooks } from '../../src/hooks/document.js'
import { argvDigest, lockEntryOf, lockMismatch, lockPathOf, parseLock, readLock } from '../../src/hooks/lock.js'
import { fakeFiles } from '../support/fake-files.js'

const HEX = 'a'.repeat(64)
const ENTRY = {
  name: 'guard',
  index: 1,
  argvSha256: argvDigest(['/opt/guard']),
  files: { '/opt/guard': `sha256:${HEX}` },
  approvedAt: '2026-01-01T00:00:00.000Z',
  by: 'ops',
}
const LOCK = { version: 1, hooksFileSha256: HEX, entries: [ENTRY] }
const bytes = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value))

t.test('a lock is read', async t => {
  const lock = parseLock(bytes(LOCK), '/h/hooks.lock.json')
  t.strictSame(lock, { path: '/h/hooks.lock.json', hooksFileSha256: HEX, entries: [ENTRY] })
  t.match(parseLock(bytes({ ...LOCK, entries: [{ ...ENTRY, name: null }] }), '/l'), { entries: [{ name: null }] })
  t.strictSame(['/h/hooks.json', '/h/other', '/h/a.b.json'].map(lockPathOf), [
    '/h/hooks.lock.json',
    '/h/other.lock.json',
    '/h/a.b.lock.json',
  ])
})

t.test('what is no lock refuses, and says where', async t => {
  const entry = (more: object) => ({ ...LOCK, entries: [{ ...ENTRY, ...more }] })
  const cases: readonly [value: unknown, says: RegExp][] = [
    [[], /object is needed/],
    [{ ...LOCK, version: 2 }, /"version" is not 1/],
    [{ ...LOCK, hooksFileSha256: HEX.toUpperCase() }, /64 hex digits/],
    [{ ...LOCK, entries: {} }, /"entries" is not a list/],
    [{ ...LOCK, more: 1 }, /unknown key "more"/],
    [entry({ index: 0 }), /"index" is no position/],
    [entry({ index: 1.5 }), /"index" is no position/],
    [entry({ name: 7 }), /"name" is neither/],
    [entry({ argvSha256: 'x' }), /"argvSha256"/],
    [entry({ files: [] }), /"files" is no object/],
    [entry({ files: { relative: `sha256:${HEX}` } }), /"relative"/],
    [entry({ files: { '/x': `md5:${HEX}` } }), /"\/x"/],
    [entry({ approvedAt: 'yesterday' }), /"approvedAt"/],
    [entry({ by: '' }), /"by"/],
    [entry({ note: 1 }), /unknown key "note"/],
  ]
  for (const [value, says] of cases) {
    const refused = parseLock(bytes(value), '/h/hooks.lock.json')
    t.ok(refused instanceof Refusal && refused.code === 'bad-document', JSON.stringify(value))
    t.match(refused instanceof Refusal ? refused.message : '', says)
    t.match(
      refused instanceof Refusal ? refused.message : '',
      /^\/h\/hooks\.lock\.json:\d+:\d+: .*hookcheck --pin --write/,
    )
  }
  for (const text of ['', '{', '{"version":1,"version":1}', '\ufeff{}'])
    t.ok(parseLock(Buffer.from(text), '/l') instanceof Refusal, JSON.stringify(text))
})

t.test('a lock that is there and cannot be read is not no lock', async t => {
  const at = '/h/hooks.lock.json'
  t.equal(readLock('/h/hooks.json', fakeFiles({})), null)
  t.match(readLock('/h/hooks.json', fakeFiles({ [at]: { content: bytes(LOCK) } })), { entries: [{ name: 'guard' }] })
  const code = (node: object): string => {
    const read = readLock('/h/hooks.json', fakeFiles({ [at]: node }))
    return read instanceof Refusal ? read.code : 'none'
  }
  t.equal(code({ errno: 'EACCES', openErrno: 'EACCES' }), 'file-unreadable')
  t.equal(code({ openErrno: 'EIO' }), 'file-unreadable')
  t.equal(code({ target: '/elsewhere' }), 'file-unreadable', 'a link is not followed')
  t.equal(code({ type: 'folder' }), 'bad-document')
  t.equal(code({ type: 'fifo' }), 'bad-document')
})

t.test('the lock speaks for one file', async t => {
  const read = (hooks: readonly object[]) => {
    const { document } = parseHooks(bytes({ version: 1, hooks }), '/h/hooks.json')
    if (document === null) throw new Error('no hooks')
    return document
  }
  const document = read([
    { on: 'stop', name: 'guard', command: ['/opt/guard'] },
    { on: 'stop', command: ['/opt/other'] },
  ])
  const own = parseLock(
    bytes({
      ...LOCK,
      hooksFileSha256: document.sha256,
      entries: [ENTRY, { ...ENTRY, name: null, index: 2, argvSha256: argvDigest(['/opt/other']) }],
    }),
    '/l',
  )
  if (own instanceof Refusal) throw own
  t.equal(lockMismatch(own, document), null)
  const [first, second] = document.hooks
  if (first === undefined || second === undefined) throw new Error('no hooks')
  t.equal(lockEntryOf(own, first)?.name, 'guard')
  t.equal(lockEntryOf(own, second)?.index, 2)
  t.equal(lockEntryOf(own, { ...first, name: 'other' }), null, 'a position does not stand for a name')
  t.match(lockMismatch({ ...own, hooksFileSha256: HEX }, document)?.message, /is not the file that was approved/)
  t.match(lockMismatch({ ...own, entries: own.entries.slice(1) }, document)?.message, /hook 1 has no entry/)
  t.match(
    lockMismatch({ ...own, entries: own.entries.map(entry => ({ ...entry, argvSha256: HEX })) }, document)?.message,
    /command of hook 1 is not the approved one/,
  )
})
