import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { TOOL_RESULT_BYTES_MAX } from '../../src/bounds.js'
import { type JsonObject, jsonBytes } from '../../src/json.js'
import type { ToolOutcome } from '../../src/tools/port.js'
import { find, search } from '../../src/tools/search.js'
import { placeOf, reachOf } from '../support/reach.js'
import { scratch } from '../support/scratch.js'

const never = new AbortController().signal

function given({ output, failed }: ToolOutcome): JsonObject {
  if (failed || typeof output !== 'object' || output === null) throw new Error(JSON.stringify(output))
  return output as JsonObject
}

function fill(ws: string, files: Readonly<Record<string, string | Buffer>>): void {
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(ws, name)), { recursive: true })
    writeFileSync(join(ws, name), content)
  }
}

const deep = Array.from({ length: 13 }, (_, at) => `d${at}`).join('/')

function tree(t: { teardown(undo: () => void): void }): string {
  const ws = scratch(t)
  fill(ws, {
    'a.ts': 'one\nneedle here\nthree\nfour\n',
    'b/c.ts': 'needle\r\nlast needle',
    'b/d.md': 'no such thing',
    'z.bin': Buffer.from('needle\0'),
    'large.txt': `needle${'x'.repeat(1_048_576)}`,
    '.git/x': 'needle',
    'node_modules/m/i.js': 'needle',
    'target/t': 'needle',
    '.hidden/secret': 'needle',
    [`${deep}/below`]: 'needle',
    [`${dirname(deep)}/at-bound`]: 'needle at the bound',
  })
  symlinkSync('a.ts', join(ws, 'link.ts'))
  symlinkSync('.', join(ws, 'self'))
  return ws
}

t.test('find', async t => {
  const ws = tree(t)
  const reach = reachOf(ws, { hides: [placeOf(join(ws, '.hidden'))] })
  const cases: [args: JsonObject, paths: string[]][] = [
    [{ glob: '*.ts' }, ['a.ts', 'b/c.ts', 'link.ts']],
    [{ glob: 'b/*' }, ['b/c.ts', 'b/d.md']],
    [{ glob: '**/*.ts' }, ['a.ts', 'b/c.ts', 'link.ts']],
    [{ glob: '*.ts', path: 'b' }, ['b/c.ts']],
    [{ glob: 'i.js' }, []],
    [{ glob: 'i.js', path: 'node_modules/m' }, ['node_modules/m/i.js']],
    [{ glob: 'secret' }, []],
    [{ glob: 'at-bound' }, [`${dirname(deep)}/at-bound`]],
    [{ glob: 'below' }, []],
  ]
  for (const [args, paths] of cases)
    t.strictSame(given(await find(args, reach, never)).paths, paths, JSON.stringify(args))
  t.strictSame(Object.keys(given(await find({ glob: 'x' }, reach, never))), [
    'paths',
    'truncated',
    'depth_bound_reached',
  ])
  t.match(given(await find({ glob: '*' }, reach, never)), { depth_bound_reached: true, truncated: false })
  t.match(given(await find({ glob: '*', path: 'b' }, reach, never)), { depth_bound_reached: false })
  t.match(given(await find({ glob: '*', max_results: 2 }, reach, never)), { paths: { length: 2 }, truncated: true })
  t.match(
    given(await find({ glob: '*.md', max_results: 1 }, reach, never)),
    { truncated: false },
    'just enough is not too many',
  )
  for (const [path, code] of [
    ['..', 'outside-roots'],
    ['.hidden', 'hidden'],
    ['a.ts', 'not-a-directory'],
    ['none', 'missing'],
  ] as const) {
    t.match(await find({ glob: '*', path }, reach, never), { failed: true, output: { code } }, path)
  }
})

t.test('a glob finds names in another normal form, and shows them as they are on disk (D05)', async t => {
  const ws = scratch(t)
  fill(ws, { 'o\u0308/u\u0308.txt': 'needle\n', 'shot\u202fPM.png': 'needle\n' })
  const reach = reachOf(ws)
  for (const [glob, path] of [
    ['\u00fc.txt', 'o\u0308/u\u0308.txt'],
    ['\u00f6/*', 'o\u0308/u\u0308.txt'],
    ['u*', 'o\u0308/u\u0308.txt'],
    ['shot PM.*', 'shot\u202fPM.png'],
  ] as const) {
    t.strictSame(given(await find({ glob }, reach, never)).paths, [path], glob)
    t.match(given(await search({ pattern: 'needle', glob }, reach, never)).matches, [{ path }], glob)
  }
  t.strictSame(given(await find({ glob: '\u00fc' }, reach, never)).paths, [])
})

t.test('search for plain text', async t => {
  const ws = tree(t)
  const reach = reachOf(ws, { hides: [placeOf(join(ws, '.hidden'))] })
  t.strictSame(given(await search({ pattern: 'needle' }, reach, never)), {
    pattern: 'needle',
    matches: [
      { path: 'a.ts', line: 2, text: 'needle here', line_truncated: false },
      { path: 'b/c.ts', line: 1, text: 'needle', line_truncated: false },
      { path: 'b/c.ts', line: 2, text: 'last needle', line_truncated: false },
      { path: `${dirname(deep)}/at-bound`, line: 1, text: 'needle at the bound', line_truncated: false },
    ],
    truncated: false,
    depth_bound_reached: true,
    skipped_large_files: 1,
    skipped_large_paths: ['large.txt'],
    note: '1 files with NUL bytes were not searched',
  })
  t.strictSame(given(await search({ pattern: 'needle', path: 'a.ts', context: 1 }, reach, never)), {
    pattern: 'needle',
    matches: [{ path: 'a.ts', line: 2, text: 'needle here', line_truncated: false, before: ['one'], after: ['three'] }],
    truncated: false,
    depth_bound_reached: false,
    skipped_large_files: 0,
    skipped_large_paths: [],
    context: 1,
  })
  t.match(given(await search({ pattern: 'needle', glob: '*.ts', max_results: 2 }, reach, never)), {
    matches: { length: 2 },
    truncated: true,
    glob: '*.ts',
  })
  t.match(given(await search({ pattern: 'needle', path: 'self', glob: 'b/**' }, reach, never)), {
    matches: { length: 2 },
  })
  t.match(
    given(await search({ pattern: '.*', path: 'a.ts' }, reach, never)),
    { matches: { length: 0 } },
    'plain text is plain',
  )
  fill(ws, { long: `${'x'.repeat(500)}needle`, 'ä/\u{1f600}': `${'\u{1f600}'.repeat(300)}` })
  t.match(given(await search({ pattern: 'needle', path: 'long' }, reach, never)), {
    matches: [{ text: 'x'.repeat(400), line_truncated: true }],
  })
  const { matches } = given(await search({ pattern: '\u{1f600}', path: 'ä' }, reach, never))
  t.match(matches, [{ path: 'ä/\u{1f600}', text: '\u{1f600}'.repeat(200) }])
  for (const pattern of ['', 'a\nb']) {
    t.match(await search({ pattern }, reach, never), { failed: true, output: { code: 'bad-arguments' } })
  }
})

t.test('search by regular expression, in linear time', async t => {
  const ws = scratch(t)
  fill(ws, { f: `foo1 bar\nBAR\n${'a'.repeat(5_000)}!\n` })
  const reach = reachOf(ws)
  t.match(given(await search({ pattern: '^foo\\d\\s', regex: true }, reach, never)), {
    regex: true,
    matches: [{ line: 1, text: 'foo1 bar' }],
  })
  t.match(given(await search({ pattern: '(?i)bar$', regex: true }, reach, never)), {
    matches: [{ line: 1 }, { line: 2 }],
  })
  t.match(given(await search({ pattern: '^(a+)+$', regex: true }, reach, never)), { matches: { length: 0 } })
  for (const pattern of ['(', 'a(?=b)', '(a)\\1', '((a{100}){100}){100}', '(x{500}){2}'.repeat(12)]) {
    t.match(
      await search({ pattern, regex: true }, reach, never),
      { failed: true, output: { code: 'bad-arguments' } },
      pattern,
    )
  }
})

t.test('results stay within what may be sent', async t => {
  const ws = scratch(t)
  fill(ws, { f: `${'\u0001'.repeat(390)}x\n`.repeat(300) })
  const found = given(await search({ pattern: 'x', context: 5 }, reachOf(ws), never))
  t.ok(jsonBytes(found) <= TOOL_RESULT_BYTES_MAX)
  t.match(found, { truncated: true })
})

t.test('what cannot be read is said', async t => {
  const ws = scratch(t)
  fill(ws, { 'shut/f': 'needle', open: 'needle' })
  chmodSync(join(ws, 'shut'), 0)
  t.teardown(() => chmodSync(join(ws, 'shut'), 0o700))
  const isRoot = process.getuid?.() === 0
  const found = given(await search({ pattern: 'needle' }, reachOf(ws), never))
  t.match(found, isRoot ? { matches: { length: 2 } } : { matches: { length: 1 }, note: '1 folders could not be read' })
})

t.test('an abort stops the walk', async t => {
  const ws = scratch(t)
  for (let at = 0; at < 400; at++) fill(ws, { [`${at % 7}/${at}`]: 'x\n'.repeat(20_000) })
  const abort = new AbortController()
  const searching = search({ pattern: '(a|x)+y', regex: true }, reachOf(ws), abort.signal)
  setImmediate(() => abort.abort('esc'))
  t.match(await searching, { failed: true, output: { code: 'cancelled' } })
})
