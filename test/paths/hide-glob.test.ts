import t from 'tap'
import { compileGlob } from '../../src/paths/glob.js'
import { absoluteHide, compileHideGlob, isHideGlob, onlyOfShells } from '../../src/paths/hide-glob.js'

function matches(glob: string, path: string): boolean {
  const program = compileHideGlob(glob)
  if (typeof program === 'string') throw new Error(`${glob}: ${program}`)
  return program.accepts(program.advance(program.start(), path))
}

const CASES: readonly (readonly [glob: string, yes: readonly string[], no: readonly string[]])[] = [
  ['*.pem', ['a.pem', '.pem', 'ä.pem'], ['a/b.pem', 'a.pem/x', 'a.PEM']],
  ['**/*.pem', ['a.pem', 'a/b.pem', 'a/b/c.pem', '.hidden/x.pem'], ['a.pemx']],
  ['data/**', ['data/x', 'data/x/y'], ['data', 'date/x']],
  ['a**c', ['ac', 'abc', 'a/b/c'], ['ab']],
  ['?.key', ['a.key', 'ä.key', '😀.key'], ['.key', 'ab.key', '/.key']],
  ['a?b', ['axb'], ['a/b', 'ab']],
  ['k[ey]y', ['key', 'kyy'], ['kay', 'k[ey]y']],
  ['[a-c]1', ['a1', 'c1'], ['d1', '-1']],
  ['[!a-c]1', ['d1'], ['a1', '/1']],
  ['[^a]1', ['b1'], ['a1']],
  ['[]x]', [']', 'x'], ['a']],
  ['[a-]', ['a', '-'], ['b']],
  ['{a,b}.env', ['a.env', 'b.env'], ['c.env', '{a,b}.env']],
  ['.env{,.local}', ['.env', '.env.local'], ['.env.prod']],
  ['{a,{b,c}d}', ['a', 'bd', 'cd'], ['b', 'd']],
  ['{x,**/}y', ['xy', 'y', 'a/b/y'], ['ay']],
  ['key*/', ['keys', 'key'], ['keys/', 'keys/a']],
  ['**/', ['a', 'a/b'], []],
  ['{a/,b}', ['a', 'b'], ['a/']],
  ['?**/b', ['a/b', 'axy/b'], ['b', 'ab']],
]
for (const [glob, yes, no] of CASES) {
  t.test(`dialect: ${glob}`, async t => {
    for (const path of yes) t.ok(matches(glob, path), `takes ${path}`)
    for (const path of no) t.notOk(matches(glob, path), `leaves ${path}`)
  })
}

t.test('what is not in the dialect is refused, never taken literally', async t => {
  const bad = [
    'a\\*',
    '!(a)',
    'x@(a|b)',
    '+(a)',
    '?(a)',
    '*(a)',
    '{1..3}',
    '{a}',
    '{a,b',
    'a}',
    'a,b}{',
    '[a',
    'a]',
    '[]',
    '[z-a]',
    '[[:alpha:]]',
  ]
  const ofBraces = ['{a,/b}', 'x/{.,..}/y', '{..,a}', '.{.,a}/x', '{a,}', 'x{/,b}/y', '{a,b/{.,c}}']
  for (const glob of [...bad, ...ofBraces, '**/../x', '*/./x', '*//x', `${'{a,b}'.repeat(7)}`]) {
    t.type(compileHideGlob(glob), 'string', glob)
    t.ok(isHideGlob(glob), `${glob} is seen as a pattern`)
  }
  for (const path of ['/a/b', '/a b/(c)', '/a!', '/@x+']) t.notOk(isHideGlob(path), path)
})

t.test('the smaller dialect keeps brackets, braces and question marks as letters', async t => {
  t.ok(compileGlob('app/[id]/*.ts')('app/[id]/page.ts'))
  t.notOk(compileGlob('app/[id]/*.ts')('app/i/page.ts'))
  t.ok(compileGlob('a?{b,c}')('a?{b,c}'))
})

t.test('a word that a shell has left unread names nothing', async t => {
  for (const word of ['~', '~/.ssh', '~user/.ssh/*', '$HOME/.aws', '${HOME}/x', '$XDG_CONFIG_HOME', '${HOME:?}'])
    t.type(onlyOfShells(word), 'string', word)
  for (const word of ['./~/.ssh', 'a~', '/~', './$x', '/$HOME', 'x/~/y', '*~', '$', '$-x'])
    t.equal(onlyOfShells(word), null, word)
})

t.test('a pattern is made absolute and nothing else', async t => {
  t.equal(absoluteHide('/w', 'a/../b'), '/w/b')
  t.equal(absoluteHide('/w', '*/../b'), '/w/*/../b')
  t.equal(absoluteHide('/w', '/**/../b'), '/**/../b')
  t.equal(absoluteHide('/w', './/./x*'), '/w/x*')
  t.equal(absoluteHide('/', 'x*'), '/x*')
})
