import t from 'tap'
import { compileGlob } from '../../src/paths/glob.js'
import { normalizeRelative, parseWriteScope, scopeRefusal, vainRules } from '../../src/paths/write-scope.js'

t.test('the glob dialect', async t => {
  const cases: [glob: string, matches: string[], not: string[]][] = [
    ['*', ['a', '.git', ''], ['a/b']],
    ['*.ts', ['a.ts', '.ts'], ['a.tsx', 'a/b.ts']],
    ['**', ['a', 'a/b', '.git/x', ''], []],
    ['**/x', ['x', 'a/x', 'a/b/x'], ['ax', 'x/a']],
    ['src/**/x', ['src/x', 'src/a/x', 'src/a/b/x'], ['src', 'srcx', 'src/ax', 'asrc/x']],
    ['a/**', ['a/b', 'a/b/c', 'a/'], ['a', 'ab']],
    ['a**b', ['ab', 'axb', 'a/x/b'], ['a', 'ba']],
    ['a**/b', ['ax/b', 'a/b', 'a/x/b'], ['ab']],
    ['.git/**', ['.git/config'], ['.gitignore', 'x/.git/config']],
    ['a?[b]{c,d}!', ['a?[b]{c,d}!'], ['ax[b]{c,d}!', 'a?bc!']],
    ['d*/e*', ['d/e', 'dx/ey'], ['d/x/e']],
    ['\u{1f600}*', ['\u{1f600}x'], ['x']],
    ['a.b', ['a.b'], ['axb']],
  ]
  for (const [glob, matches, not] of cases) {
    const match = compileGlob(glob)
    for (const path of matches) t.equal(match(path), true, `${glob} matches ${path}`)
    for (const path of not) t.equal(match(path), false, `${glob} does not match ${path}`)
  }
  t.equal(compileGlob(`${'*a'.repeat(200)}b`)('a'.repeat(4_000)), false, 'many stars end')
})

t.test('declarations', async t => {
  t.match(parseWriteScope('docs/**=allowed'), { glob: 'docs/**', scope: 'allowed', text: 'docs/**=allowed' })
  t.match(parseWriteScope('a=b=denied'), { glob: 'a=b', scope: 'denied' }, 'split at the last =')
  for (const text of ['', 'docs', '=denied', 'docs=', 'docs=Allowed', 'docs=read', 'docs=denied ']) {
    t.throws(() => parseWriteScope(text), { code: 'bad-arguments' }, text)
  }
})

t.test('a rule that no path can match is told, with what works', async t => {
  for (const [glob, works] of [
    ['./docs/**', 'docs/**'],
    ['/docs/a', 'docs/a'],
    ['docs/', 'docs/**'],
    ['docs//a', 'docs/a'],
    ['docs/../a', 'a'],
    ['../../x/*', 'x/*'],
    ['.', '**'],
    ['/', '**'],
    ['..', '**'],
  ] as const) {
    const [why, ...more] = vainRules(['docs/**=allowed', `${glob}=denied`])
    t.match(why, `write "${works}" in its place`, glob)
    t.strictSame(more, [])
    t.strictSame(vainRules([`${works}=denied`]), [], `${works} is none`)
  }
  t.strictSame(vainRules(['**=denied', '*=denied', '.git/**=denied', '..a/b.=denied', '[slug]/?=allowed']), [])
})

t.test('lexical normal form', async t => {
  for (const [path, normal] of [
    ['a/./b//c', 'a/b/c'],
    ['a/../b', 'b'],
    ['../a', '../a'],
    ['a/../../b', '../b'],
    ['../../a/..', '../..'],
    ['.', ''],
  ] as const) {
    t.equal(normalizeRelative(path), normal, path)
  }
})

t.test('first match decides, layers only narrow', async t => {
  const layer = (...rules: string[]) => rules.map(parseWriteScope)
  const run = layer('.git/**=denied', 'src/gen/**=denied', 'src/**=partial-only', '**=allowed')
  const cases: [path: string, write: string | null, edit: string | null][] = [
    ['docs/a.md', null, null],
    ['src/a.ts', 'partial-only', null],
    ['src/gen/a.ts', 'denied', 'denied'],
    ['./src//gen/../a.ts', 'partial-only', null],
    ['docs/../.git/config', 'denied', 'denied'],
  ]
  for (const [path, write, edit] of cases) {
    t.match(scopeRefusal([run], path, 'file.write')?.message ?? 'null', new RegExp(write ?? '^null$'), `write ${path}`)
    t.match(scopeRefusal([run], path, 'file.edit')?.message ?? 'null', new RegExp(edit ?? '^null$'), `edit ${path}`)
  }
  t.equal(scopeRefusal([], 'anything', 'file.write'), null, 'no rules, no restriction')
  t.equal(scopeRefusal([layer('src/**=allowed')], 'other', 'file.write'), null, 'no match is unrestricted')
  t.match(scopeRefusal([layer('**=allowed'), layer('src/**=denied')], 'src/a', 'file.edit'), {
    code: 'write-scope',
    details: { rule: 'src/**=denied', scope: 'denied' },
  })
  t.match(scopeRefusal([layer('**=allowed')], '/abs', 'file.write'), { code: 'write-scope' }, 'absolute with a rule')
  t.equal(scopeRefusal([layer()], '/abs', 'file.write'), null, 'absolute without a rule')
  t.match(scopeRefusal([run], 'src/a.ts', 'file.write')?.message, /file_edit/, 'the advice names what works')
})
