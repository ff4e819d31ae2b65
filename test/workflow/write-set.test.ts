/** What a scope lets a step write, by tool and by program, and which of two scopes can meet. */
import fc from 'fast-check'
import t from 'tap'
import { compileGlob, globsMeet } from '../../src/paths/glob.js'
import { scopeRefusal } from '../../src/paths/write-scope.js'
import { processFolders, scopeLayer, scopeWrites, setsMeet } from '../../src/workflow/write-set.js'

t.test('globs that can match one path meet', async t => {
  const cases: readonly (readonly [string, string, boolean])[] = [
    ['docs/**', 'docs/a.md', true],
    ['docs/**', 'src/**', false],
    ['docs/**', 'docs', false],
    ['docs/*', 'docs/a/b', false],
    ['*.md', 'docs/a.md', false],
    ['**/*.md', 'docs/a.md', true],
    ['**/*.md', '**/*.txt', false],
    ['a*b', '*ab', true],
    ['a*', 'b*', false],
    ['**', 'x', true],
    ['docs/**', 'DOCS/X', true],
    ['a/**/z', 'a/z', true],
    ['a/**/z', 'a/b/c/z', true],
    ['a/*/z', 'a/b/c/z', false],
  ]
  for (const [a, b, meet] of cases) {
    t.equal(globsMeet(a, b), meet, `${a} and ${b}`)
    t.equal(globsMeet(b, a), meet, `${b} and ${a}`)
  }
})

t.test('property: globs that match one path are told to meet', async t => {
  const glob = fc
    .array(fc.constantFrom('a', 'b', '/', '*', '**', '**/'), { minLength: 1, maxLength: 7 })
    .map(parts => parts.join(''))
  const path = fc.array(fc.constantFrom('a', 'b', '/'), { minLength: 1, maxLength: 6 }).map(parts => parts.join(''))
  fc.assert(
    fc.property(glob, glob, path, (a, b, text) => !(compileGlob(a)(text) && compileGlob(b)(text)) || globsMeet(a, b)),
    { numRuns: 3_000 },
  )
  t.pass('held')
})

t.test('a scope only narrows, and what it allows is all that it allows', async t => {
  const judged = (scope: readonly string[], path: string) =>
    scopeRefusal([scopeLayer(scope)], path, 'file.write')?.code ?? 'allowed'
  t.equal(judged([], 'x'), 'allowed')
  t.equal(judged(['docs/**=allowed'], 'docs/a'), 'allowed')
  t.equal(judged(['docs/**=allowed'], 'src/a'), 'write-scope', 'what it does not name')
  t.equal(judged(['secret/**=denied'], 'src/a'), 'allowed', 'one that only denies')
  t.equal(judged(['secret/**=denied'], 'secret/a'), 'write-scope')
  t.equal(judged(['a/**=partial-only'], 'a/b'), 'write-scope')
  t.equal(judged(['**=denied', 'docs/**=allowed'], 'docs/a'), 'write-scope', 'the first rule counts')
})

t.test('write sets', async t => {
  t.strictSame(scopeWrites([]), { kind: 'all' })
  t.strictSame(scopeWrites(['**=denied']), { kind: 'nothing' })
  t.strictSame(scopeWrites(['**=denied', 'a/**=allowed']), { kind: 'nothing' }, 'a rule that is never asked')
  t.strictSame(scopeWrites(['a/**=allowed', 'b=partial-only', 'c/**=denied']), { kind: 'globs', globs: ['a/**', 'b'] })
  t.strictSame(scopeWrites(['c/**=denied']), { kind: 'all' })
  t.strictSame(scopeWrites(['a/**=allowed', '**=allowed']), { kind: 'all' })
  t.equal(setsMeet({ kind: 'nothing' }, { kind: 'all' }), false)
  t.equal(setsMeet({ kind: 'all' }, { kind: 'globs', globs: ['a'] }), true)
})

t.test('folders that programs of a step may write', async t => {
  const cases: readonly (readonly [string, readonly string[], readonly string[], readonly string[]])[] = [
    ['no scope', [], ['.'], ['.']],
    ['a folder of the whole', ['docs/**=allowed'], ['.'], ['docs']],
    ['a grant inside of the folder', ['docs/**=allowed'], ['docs/api', 'src'], ['docs/api']],
    ['no grant there', ['docs/**=allowed'], ['src'], []],
    ['a glob that is no folder', ['docs/*.md=allowed', 'a.txt=allowed'], ['.'], []],
    ['nothing', ['**=denied'], ['.'], []],
    ['a part that is denied before', ['docs/secret/**=denied', 'docs/**=allowed'], ['.'], []],
    ['a part that is denied behind it', ['docs/**=allowed', '**=denied'], ['.'], ['docs']],
    ['two', ['a/**=allowed', 'b/**=partial-only'], ['.'], ['a', 'b']],
    ['one in the other', ['a/**=allowed', 'a/b/**=allowed'], ['.'], ['a']],
    ['only denying, elsewhere', ['secret/**=denied'], ['src', 'secret'], ['src']],
    ['only denying, inside', ['src/x=denied'], ['src'], []],
    ['out of the workspace', ['../x/**=allowed', '/etc/**=allowed', './a/**=allowed'], ['.'], []],
  ]
  for (const [what, scope, granted, folders] of cases) t.strictSame(processFolders(scope, granted), folders, what)
})
