import { join } from 'node:path'
import { execa } from 'execa'
import t from 'tap'
import { ATTEMPTS, type AttemptProgram, OBSERVATIONS } from '../integration/conformance/attempts.js'
import { BROKEN_BOUNDARIES, brokenArgv, PLAIN_BREAKS } from '../integration/conformance/broken-recipes.js'
import { linesOf, verdictsOf } from '../integration/conformance/verdict.js'
import { GUARANTEES, MATRIX } from '../integration/matrix.js'
import type { Guarantee } from '../src/outcome.js'
import { needs } from './support/needs.js'
import { projectRoot } from './support/root.js'

const all = Object.keys(GUARANTEES).sort()

/** A gap everywhere is nothing to try: no boundary claims it. */
const held = all.filter(name => MATRIX.some(({ holds }) => holds.some(guarantee => guarantee === name)))

t.test('a row states every guarantee exactly once, as held or as a gap', async t => {
  for (const { os, arch, backend, privilege, holds, gaps } of MATRIX) {
    const stated = [...holds, ...gaps.map(({ guarantee }) => guarantee)].sort()
    t.same(stated, all, `${os} ${arch} ${backend} ${privilege}`)
  }
  const keys = MATRIX.map(({ os, arch, backend, privilege }) => `${os} ${arch} ${backend} ${privilege}`)
  t.equal(new Set(keys).size, keys.length, 'no row stands twice')
})

t.test('an attempt has one name and one guarantee, and every guarantee that a row holds is attempted', async t => {
  const names = [...ATTEMPTS.map(({ name }) => name), ...Object.keys(OBSERVATIONS)]
  t.equal(new Set(names).size, names.length, 'names are unique')
  const attempted = new Set<Guarantee>([...ATTEMPTS.map(({ guarantee }) => guarantee), ...Object.values(OBSERVATIONS)])
  t.same([...attempted].sort(), held)
})

t.test('every guarantee that a row holds is broken by some boundary that is built to fail', async t => {
  const broken = new Set<Guarantee>(PLAIN_BREAKS)
  for (const { breaks, breaksAsRoot } of Object.values(BROKEN_BOUNDARIES)) {
    for (const guarantee of [...breaks, ...breaksAsRoot]) broken.add(guarantee)
  }
  t.same([...broken].sort(), held)
})

const programs: { program: AttemptProgram; argv: readonly string[]; skip: false | string }[] = [
  { program: 'files', argv: [process.execPath, 'files.mjs'], skip: false },
  { program: 'network', argv: [process.execPath, 'network.mjs'], skip: false },
  { program: 'syscalls', argv: ['perl', 'syscalls.pl'], skip: needs('perl') },
]

for (const { program, argv, skip } of programs) {
  t.test(`the table of ${program} and the list of attempts are the same`, { skip }, async t => {
    const [file = '', ...args] = argv
    const { stdout } = await execa(file, [...args, '--list'], { cwd: join(projectRoot, 'integration/fixtures/escape') })
    const listed = JSON.parse(stdout) as string[]
    const expected = ATTEMPTS.filter(attempt => attempt.program === program).map(({ name }) => name)
    const seenFromOutside = listed.filter(name => name in OBSERVATIONS)
    t.same(listed.sort(), [...expected, ...seenFromOutside].sort())
  })
}

t.test('silence is not a refusal', async t => {
  const attempts = ATTEMPTS.slice(0, 3)
  const [first, second] = attempts.map(({ name }) => name)
  const stdout = [
    'noise',
    JSON.stringify({ attempt: first, succeeded: true, detail: 'reached' }),
    JSON.stringify({ attempt: second, succeeded: false, detail: 'EPERM' }),
    '{"attempt": "cut of',
  ].join('\n')
  const result = { status: 0, ending: 'exited', stdout, stderr: '', durationMs: 1 }
  t.same(
    verdictsOf(attempts, result).map(verdict => verdict.result),
    ['succeeded', 'refused', 'unanswered'],
  )
  t.same(
    verdictsOf(attempts, undefined).map(verdict => verdict.result),
    ['unanswered', 'unanswered', 'unanswered'],
  )
  t.equal(linesOf(stdout).length, 2)
})

t.test('a broken boundary differs from the others in its own fault only', async t => {
  const facts = {
    workspace: '/w',
    read: ['/o'],
    writeSubtrees: ['.'],
    protectedPaths: ['/w/.git', '/w/.envrc'],
    protectedParents: ['/w/deep'],
    sockets: ['/w/s'],
    home: '/h',
    env: {},
    first: ['/usr/bin/prlimit', '--'],
    systemRoots: [{ path: '/usr', target: null }],
  }
  const argvs = Object.entries(BROKEN_BOUNDARIES).map(([name, { recipe }]) => {
    const { env, descriptors } = recipe
    // These two show in how bubblewrap is started, not in its words.
    return [name, [...brokenArgv(recipe, facts, ['true']), env, descriptors].join(' ')] as const
  })
  t.equal(new Set(argvs.map(([, argv]) => argv)).size, argvs.length, 'no two are the same')
})
