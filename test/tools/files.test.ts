import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { TOOL_RESULT_BYTES_MAX } from '../../src/bounds.js'
import { type JsonObject, jsonBytes } from '../../src/json.js'
import { protectedNames } from '../../src/paths/protected-names.js'
import { parseWriteScope } from '../../src/paths/write-scope.js'
import { editBytes } from '../../src/tools/edit-bytes.js'
import { dirList, fileEdit, fileRead, fileWrite } from '../../src/tools/files.js'
import type { ToolOutcome } from '../../src/tools/port.js'
import { needs } from '../support/needs.js'
import { placeOf, reachOf } from '../support/reach.js'
import { projectRoot } from '../support/root.js'
import { scratch } from '../support/scratch.js'

function given({ output, failed }: ToolOutcome): JsonObject {
  if (failed || typeof output !== 'object' || output === null) throw new Error(JSON.stringify(output))
  return output as JsonObject
}

function codeOf({ output, failed }: ToolOutcome): unknown {
  return failed ? (output as JsonObject).code : 'done'
}

t.test('file_read numbers lines and counts them', async t => {
  const ws = scratch(t)
  const reach = reachOf(ws)
  const read = (content: string | Buffer, args: JsonObject = {}): ToolOutcome => {
    writeFileSync(join(ws, 'f'), content)
    return fileRead({ path: 'f', ...args }, reach)
  }
  const cases: [content: string, args: JsonObject, expected: JsonObject][] = [
    [
      'one\ntwo\n',
      {},
      {
        path: 'f',
        bytes: 8,
        truncated: false,
        text: '     1\tone\n     2\ttwo\n',
        lines: { from: 1, to: 2, total: 2 },
        truncated_lines: [],
      },
    ],
    ['one\ntwo', { offset: 2 }, { truncated: false, text: '     2\ttwo\n', lines: { from: 2, to: 2, total: 2 } }],
    [
      'a\nb\nc\n',
      { offset: 2, limit: 1 },
      { truncated: true, text: '     2\tb\n', lines: { from: 2, to: 2, total: 3 } },
    ],
    ['', {}, { text: '', truncated: false, lines: { from: 0, to: 0, total: 0 } }],
    ['\n\n', {}, { text: '     1\t\n     2\t\n', lines: { from: 1, to: 2, total: 2 } }],
    ['\ufeffa\r\nb\r\n', {}, { text: '     1\ta\n     2\tb\n', bytes: 9 }],
    [
      'aaaa\nbbbb\ncccc\n',
      { max_bytes: 25 },
      { text: '     1\taaaa\n     2\tbbbb\n', truncated: true, lines: { from: 1, to: 2, total: 3 } },
    ],
    ['aaaa\n', { max_bytes: 1 }, { text: '     1\taaaa\n', truncated: false }],
  ]
  for (const [content, args, expected] of cases) {
    t.match(given(read(content, args)), expected, JSON.stringify([content, args]))
  }
  t.strictSame(Object.keys(given(read('x'))), ['path', 'bytes', 'truncated', 'text', 'lines', 'truncated_lines'])
  const long = given(read(`${'x'.repeat(2_001)}\nshort\n${'\u00e4'.repeat(2_000)}\n${'\u{1f600}'.repeat(3_000)}\n`))
  t.strictSame(long.truncated_lines, [1, 4])
  t.equal((long.text as string).split('\n')[0]?.length, 7 + 2_000)
  t.notMatch(long.text, /\ufffd|[\ud800-\udbff](?![\udc00-\udfff])/, 'no character is cut in half')
  t.match(read('a\nb\n', { offset: 3 }), {
    failed: true,
    output: { code: 'bad-arguments', error: /past the end.*2 lines/ },
  })
  t.match(read('', { offset: 2 }), { failed: true })
  const escapes = given(read(`${'\u0001'.repeat(100)}\n`.repeat(5_000), { max_bytes: 262_144 }))
  t.ok(jsonBytes(escapes) <= TOOL_RESULT_BYTES_MAX, 'a result is one that may be sent')
  t.equal(escapes.truncated, true)
})

t.test('file_read counts lines to 16 MiB only', async t => {
  const ws = scratch(t)
  const line = `${'x'.repeat(1_023)}\n`
  writeFileSync(join(ws, 'big'), line.repeat(16 * 1_024 + 5))
  writeFileSync(join(ws, 'just'), line.repeat(16 * 1_024))
  t.match(given(fileRead({ path: 'big', limit: 1 }, reachOf(ws))), {
    truncated: true,
    lines: { from: 1, to: 1, total: null },
    lines_counted_to: 16 * 1_024,
    note: /16777216/,
  })
  t.match(given(fileRead({ path: 'just', offset: 16_384 }, reachOf(ws))), {
    truncated: false,
    lines: { total: 16_384 },
  })
  t.match(fileRead({ path: 'big', offset: 16_386 }, reachOf(ws)), {
    failed: true,
    output: { error: /first 16384 lines/ },
  })
})

t.test('what may be read (A15: no NUL)', async t => {
  const base = scratch(t)
  const ws = join(base, 'ws')
  for (const folder of ['ws/sub', 'ws/secret', 'lib/inner', 'out']) mkdirSync(join(base, folder), { recursive: true })
  for (const file of ['ws/f', 'ws/.env', 'ws/secret/key', 'lib/inner/l', 'out/canary', 'one-file'])
    writeFileSync(join(base, file), 'x\n')
  symlinkSync('f', join(ws, 'link'))
  symlinkSync('../out/canary', join(ws, 'escape'))
  symlinkSync('secret', join(ws, 'to-secret'))
  symlinkSync('loop', join(ws, 'loop'))
  symlinkSync('absent', join(ws, 'dangling'))
  execFileSync('mkfifo', [join(ws, 'fifo')])
  const reach = reachOf(ws, {
    reads: [placeOf(join(base, 'lib')), placeOf(join(base, 'one-file'))],
    hides: [placeOf(join(ws, 'secret')), placeOf(join(ws, '.env')), { path: join(ws, 'later') }],
  })
  const cases: [path: string, code: string][] = [
    ['f', 'done'],
    ['sub/../link', 'done'],
    [`${ws}/f`, 'done'],
    [join(base, 'lib/inner/l'), 'done'],
    [join(base, 'one-file'), 'done'],
    ['../lib/inner/l', 'done'],
    ['escape', 'outside-roots'],
    ['../out/canary', 'outside-roots'],
    ['../out/absent', 'outside-roots'],
    ['secret/key', 'hidden'],
    ['to-secret/key', 'hidden'],
    ['.env', 'hidden'],
    ['later', 'hidden'],
    ['loop', 'too-many-links'],
    ['dangling', 'dangling-link'],
    ['absent', 'missing'],
    ['sub', 'not-a-file'],
    ['fifo', 'not-a-file'],
    ['f/', 'not-a-directory'],
    ['a\0', 'nul-in-path'],
    ['', 'missing'],
  ]
  for (const [path, code] of cases) t.equal(codeOf(fileRead({ path }, reach)), code, JSON.stringify(path))
  t.match(fileRead({ path: '../out/canary' }, reach), {
    output: { error: new RegExp(`lands at "${base}/out/canary".*use a path inside.*--read`) },
  })
  t.equal(codeOf(fileRead({}, reach)), 'bad-arguments')
})

t.test('nothing of the kernel’s is read, however it is spelled', { skip: needs('linux') }, async t => {
  const ws = scratch(t)
  writeFileSync(join(ws, 'f'), 'x\n')
  symlinkSync('/proc/self', join(ws, 'p'))
  const reach = reachOf(ws, { reads: [placeOf('/')] })
  t.equal(codeOf(fileRead({ path: `/proc/self/root${ws}/f` }, reachOf(ws))), 'done', 'the real path decides')
  const paths = [
    '/proc/self/environ',
    'p/environ',
    `/proc/${process.ppid}/environ`,
    '/proc/self/root/proc/self/environ',
    '/dev/null',
    '/sys/kernel/notes',
  ]
  for (const path of paths) t.equal(codeOf(fileRead({ path }, reach)), 'special-filesystem', path)
  for (const path of ['/dev/stdin', '/dev/fd/0']) t.not(codeOf(fileRead({ path }, reach)), 'done', path)
})

t.test('dir_list', async t => {
  const ws = scratch(t)
  for (const folder of ['b', 'hidden', 'many']) mkdirSync(join(ws, folder))
  writeFileSync(join(ws, 'a.txt'), '12345')
  writeFileSync(join(ws, 'C'), '')
  symlinkSync('a.txt', join(ws, 'l'))
  symlinkSync('.', join(ws, 'self'))
  symlinkSync('nowhere', join(ws, 'broken'))
  const reach = reachOf(ws, { hides: [placeOf(join(ws, 'hidden'))] })
  t.strictSame(given(dirList({}, reach)), {
    path: '.',
    entries: [
      { name: 'C', kind: 'file', bytes: 0 },
      { name: 'a.txt', kind: 'file', bytes: 5 },
      { name: 'b', kind: 'directory', bytes: null },
      { name: 'broken', kind: 'symlink', bytes: null },
      { name: 'l', kind: 'symlink', bytes: null },
      { name: 'many', kind: 'directory', bytes: null },
      { name: 'self', kind: 'symlink', bytes: null },
    ],
    truncated: false,
  })
  t.strictSame(given(dirList({ path: 'b/' }, reach)), { path: 'b/', entries: [], truncated: false })
  for (let at = 0; at < 501; at++) writeFileSync(join(ws, 'many', String(at).padStart(4, '0')), '')
  const many = given(dirList({ path: 'many' }, reach))
  t.match(many, { truncated: true })
  t.equal((many.entries as unknown[]).length, 500)
  for (const [path, code] of [
    ['hidden', 'hidden'],
    ['a.txt', 'not-a-directory'],
    ['..', 'outside-roots'],
    ['none', 'missing'],
  ] as const) {
    t.equal(codeOf(dirList({ path }, reach)), code, path)
  }
})

t.test('file_write', async t => {
  const base = scratch(t)
  const ws = join(base, 'ws')
  mkdirSync(join(ws, 'sub'), { recursive: true })
  writeFileSync(join(base, 'canary'), 'canary')
  linkSync(join(base, 'canary'), join(ws, 'hard'))
  symlinkSync('../canary', join(ws, 'escape'))
  symlinkSync('sub', join(ws, 'to-sub'))
  symlinkSync(join(base, 'absent'), join(ws, 'dangling'))
  writeFileSync(join(ws, 'A\u0308'), '')
  const reach = reachOf(ws)
  const write = (path: string, text = 'text'): ToolOutcome => fileWrite({ path, text }, reach)
  t.strictSame(given(write('new', 'h\u00e9')), { path: 'new', bytes: 3 })
  t.strictSame(given(write('x/y/z')), { path: 'x/y/z', bytes: 4, created_folders: ['x', 'x/y'] })
  t.strictSame(given(write('to-sub/in')), { path: 'to-sub/in', bytes: 4 })
  t.strictSame(given(write('hard', 'mine')), { path: 'hard', bytes: 4 })
  for (const [path, code] of [
    ['escape', 'outside-roots'],
    ['to-sub', 'crosses-writable-link'],
    ['dangling', 'dangling-link'],
    ['dangling/x', 'dangling-link'],
    ['../canary', 'outside-roots'],
    ['.git/hooks/pre-commit', 'protected'],
    ['.GIT/config', 'protected'],
    ['sub', 'not-a-file'],
    ['\u00c4', 'missing'],
  ] as const) {
    t.equal(codeOf(write(path)), code, path)
  }
  t.equal(readFileSync(join(base, 'canary'), 'utf8'), 'canary')
  t.strictSame(readdirSync(base).sort(), ['canary', 'ws'])
  t.match(write('../canary').output, { error: new RegExp(`lands at "${base}/canary".*use a path inside "${ws}"`) })
  t.equal(codeOf(fileWrite({ path: 'a', text: 'x' }, { ...reach, canWrite: false })), 'confinement-off')
  t.equal(codeOf(fileWrite({ path: 'a' }, reach)), 'bad-arguments')
})

t.test('a workspace named in another normal form is told apart, and names elsewhere are not told (D05)', async t => {
  const base = scratch(t)
  const ws = join(base, 'Bu\u0308cher')
  for (const folder of [ws, join(base, 'o\u0308')]) mkdirSync(folder)
  writeFileSync(join(ws, 'f'), 'x')
  const reach = reachOf(ws)
  const composed = join(base, 'B\u00fccher')
  for (const told of [
    fileRead({ path: join(composed, 'f') }, reach),
    dirList({ path: composed }, reach),
    fileWrite({ path: join(composed, 'f'), text: '' }, reach),
    fileEdit({ path: join(composed, 'f'), old: 'x', new: '' }, reach),
  ]) {
    t.match(told, {
      failed: true,
      output: { code: 'missing', error: /asked for "B\\u\{fc\}cher", on disk is "Bu\\u\{308\}cher"/ },
    })
  }
  t.equal(codeOf(fileRead({ path: join(base, '\u00f6/x') }, reach)), 'outside-roots')
  t.equal(codeOf(fileWrite({ path: join(base, '\u00f6/x'), text: '' }, reach)), 'outside-roots')
})

t.test('a workspace that went away or was replaced is named (A11)', async t => {
  const base = scratch(t)
  const ws = join(base, 'ws')
  mkdirSync(ws)
  const reach = reachOf(ws, { reads: [placeOf(ws)] })
  const all = () => [
    fileRead({ path: 'f' }, reach),
    dirList({}, reach),
    fileWrite({ path: 'f', text: 'x' }, reach),
    fileEdit({ path: 'f', old: 'x', new: 'y' }, reach),
  ]
  t.match(
    fileRead({ path: '../x' }, reach).output,
    { error: new RegExp(`may be read \\("${ws}"\\)`) },
    'a root is named once',
  )
  renameSync(ws, join(base, 'elsewhere'))
  for (const told of all())
    t.match(told, { failed: true, output: { code: 'missing', error: new RegExp(`the folder "${ws}" is gone`) } })
  mkdirSync(ws)
  for (const told of all())
    t.match(told, { failed: true, output: { code: 'changed-while-checked', error: /its root is another folder/ } })
  t.strictSame(readdirSync(ws), [])
})

t.test('calls on a file that flips to a link and back: done, or refused by name (D06)', async t => {
  const base = scratch(t)
  const ws = join(base, 'ws')
  mkdirSync(ws)
  writeFileSync(join(base, 'canary'), 'canary')
  const flipper = spawn(
    process.execPath,
    [join(projectRoot, 'integration/fixtures/flipper.mjs'), 'file', join(ws, 'f'), join(base, 'canary')],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  )
  t.teardown(() => void flipper.kill('SIGKILL'))
  await once(flipper.stdout, 'data')
  const reach = reachOf(ws)
  const codes = new Set<unknown>()
  for (let round = 0; round < 2_000; round++) {
    const told = round % 3 === 0 ? fileRead({ path: 'f' }, reach) : fileWrite({ path: 'f', text: 'mine' }, reach)
    codes.add(codeOf(told))
    if (JSON.stringify(told).includes('\\tcanary')) t.fail('the outside was read')
  }
  const named = ['done', 'outside-roots', 'changed-while-checked', 'crosses-writable-link', 'missing']
  t.strictSame(
    [...codes].filter(code => !named.includes(String(code))),
    [],
  )
  t.equal(readFileSync(join(base, 'canary'), 'utf8'), 'canary')
})

t.test('what git reads or runs is not written, under whatever name', async t => {
  const ws = scratch(t)
  const home = scratch(t)
  for (const folder of [
    '.git',
    'hk',
    'team',
    'bare/objects',
    'bare/refs',
    'bare/hooks',
    'half/objects',
    'half/refs',
    'sub/.git',
    'sub/hk',
  ])
    mkdirSync(join(ws, folder), { recursive: true })
  writeFileSync(join(ws, '.git/HEAD'), 'x')
  writeFileSync(
    join(ws, '.git/config'),
    '[core]\nhooksPath = hk\n[include]\npath = ../team/config\n[diff]\nexternal = sh team/d.sh\n',
  )
  writeFileSync(join(ws, 'sub/.git/HEAD'), 'x')
  writeFileSync(join(ws, 'bare/HEAD'), 'x')
  writeFileSync(join(ws, 'team/d.sh'), '')
  writeFileSync(join(home, '.gitconfig'), `[core]\nhooksPath = ${ws}/global\n[include]\npath = ${ws}/included\n`)
  const reach = reachOf(ws, { homes: [home] })
  const write = (path: string, to = reach) => codeOf(fileWrite({ path, text: 'x' }, to))
  for (const path of [
    'hk/pre-commit',
    'hk/a/b',
    'team/config',
    'team/d.sh',
    'bare/hooks/update',
    'bare/config',
    'sub/hk/x',
    'global/post-checkout',
    'included',
    'half/HEAD',
  ])
    t.equal(write(path), path === 'sub/hk/x' ? 'done' : 'protected', path)
  for (const path of ['team/other', 'half/config', 'HEAD', 'sub/objects/x', 'sub/refs/x', 'package.json'])
    t.equal(write(path), 'done', path)
  t.equal(write('sub/HEAD'), 'protected', 'objects and refs are there by now')
  t.equal(write('w/commondir'), 'done')
  t.equal(write('w/HEAD'), 'protected', 'a linked one')
  const lifted = reachOf(ws, { protectedNames: protectedNames(['.git']) })
  for (const path of ['hk/pre-commit', 'bare/config', 'half/HEAD'])
    t.equal(write(path, lifted), 'done', `${path} lifted`)
})

t.test('long paths: refused before anything is made, and many made folders are told in short', async t => {
  const ws = scratch(t)
  const reach = reachOf(ws)
  const deep = (levels: number): string => `${'d/'.repeat(levels)}f`
  t.equal(codeOf(fileWrite({ path: deep(2_100), text: 'x' }, reach)), 'file-unreadable')
  t.strictSame(readdirSync(ws), [])
  const { output, failed } = fileWrite({ path: deep(1_500), text: 'x' }, reach)
  t.notOk(failed)
  t.match(output, { bytes: 1, created_folders: ['d', 'd/d'], created_folders_omitted: 1_490 })
})

t.test('write scope, by spelling and by landing', async t => {
  const ws = scratch(t)
  mkdirSync(join(ws, 'gen'))
  writeFileSync(join(ws, 'gen/f'), 'old')
  symlinkSync('gen', join(ws, 'free'))
  const layer = (...rules: string[]) => rules.map(parseWriteScope)
  const reach = reachOf(ws, { writeScopeLayers: [layer('gen/**=partial-only', '**=allowed'), layer('docs/**=denied')] })
  t.equal(codeOf(fileWrite({ path: 'free/f', text: 'x' }, reach)), 'write-scope', 'a link does not widen')
  t.equal(codeOf(fileEdit({ path: 'free/f', old: 'old', new: 'new' }, reach)), 'done')
  t.equal(codeOf(fileWrite({ path: 'docs/x', text: 'x' }, reach)), 'write-scope')
  t.equal(codeOf(fileWrite({ path: join(ws, 'other'), text: 'x' }, reach)), 'write-scope', 'absolute under rules')
  t.equal(codeOf(fileWrite({ path: 'other', text: 'x' }, reach)), 'done')
})

t.test('file_edit changes only the bytes it means (P116)', async t => {
  const ws = scratch(t)
  const reach = reachOf(ws)
  const edit = (content: string | Buffer, old: string, put: string): [unknown, string] => {
    writeFileSync(join(ws, 'f'), content)
    const outcome = fileEdit({ path: 'f', old, new: put }, reach)
    return [codeOf(outcome), readFileSync(join(ws, 'f'), 'latin1')]
  }
  const cases: [content: string, old: string, put: string, expected: string][] = [
    ['a b c', 'b', '$& $1', 'a $& $1 c'],
    ['a\r\nb\r\nc\r\n', 'b', 'x', 'a\r\nx\r\nc\r\n'],
    ['a\r\nb\r\nc\r\n', 'a\nb', 'a\nx\nb', 'a\r\nx\r\nb\r\nc\r\n'],
    ['a\r\nb\r\nc\r\n', 'b', 'x\ny', 'a\r\nx\r\ny\r\nc\r\n'],
    ['a\nb\r\nc\nd', 'a\nb\nc\nd', 'a\nb\nX\nc\nd', 'a\nb\r\nX\r\nc\nd'],
    ['a\nb\r\nc\nd', 'b\nc', 'b\nc2', 'a\nb\r\nc2\nd'],
    ['a\nb\n', 'a\r\nb', 'x', 'x\n'],
    ['a\nb\n', 'b', 'x\r\ny', 'a\nx\r\ny\n'],
    ['a\r\nb\r\n', 'b', 'x\r\ny', 'a\r\nx\r\ny\r\n'],
    ['\xef\xbb\xbfa\xff\x00b', 'b', 'c', '\xef\xbb\xbfa\xff\x00c'],
    ['one', 'one', '', ''],
  ]
  for (const [content, old, put, expected] of cases) {
    t.strictSame(edit(Buffer.from(content, 'latin1'), old, put), ['done', expected], JSON.stringify([content, old]))
  }
  t.strictSame(edit('a a', 'a', 'b'), ['edit-mismatch', 'a a'])
  t.strictSame(edit('aaa', 'aa', 'b'), ['edit-mismatch', 'aaa'], 'overlapping places count')
  t.strictSame(edit('abc', 'x', 'b'), ['edit-mismatch', 'abc'])
  t.strictSame(edit('abc', '', 'b'), ['bad-arguments', 'abc'])
  t.match(fileEdit({ path: 'f', old: 'x', new: '' }, reach).output, { error: /does not stand in "f"/ })
  t.match(editBytes(Buffer.from('a.a.a'), '.', 'x'), { kind: 'not-one', occurrences: 2 })
  t.equal(codeOf(fileEdit({ path: 'none', old: 'x', new: 'y' }, reach)), 'missing')
  writeFileSync(join(ws, 'script'), 'old')
  chmodSync(join(ws, 'script'), 0o755)
  t.strictSame(given(fileEdit({ path: 'script', old: 'old', new: 'newer' }, reach)), { path: 'script', bytes: 5 })
  t.equal(statSync(join(ws, 'script')).mode & 0o777, 0o755)
})

t.test('many edits of one file all hold', async t => {
  const ws = scratch(t)
  const reach = reachOf(ws)
  fileWrite({ path: 'f', text: Array.from({ length: 20 }, (_, at) => `line ${at};\n`).join('') }, reach)
  for (let at = 0; at < 20; at++)
    t.equal(codeOf(fileEdit({ path: 'f', old: `line ${at};`, new: `done ${at}.` }, reach)), 'done')
  t.equal(codeOf(fileEdit({ path: 'f', old: 'line 3;', new: '' }, reach)), 'edit-mismatch')
  t.equal(readFileSync(join(ws, 'f'), 'utf8'), Array.from({ length: 20 }, (_, at) => `done ${at}.\n`).join(''))
})
