/** Patterns of `--hide`: what they cover in a tree, what they hold for later, and where they explode. */
import { chmodSync, existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { Boundary, openBoundary } from '../../src/confinement/boundary.js'
import { readHostFacts } from '../../src/confinement/host-facts.js'
import { orderMounts } from '../../src/confinement/mount-order.js'
import { landPolicy } from '../../src/confinement/policy.js'
import type { PolicyRequest } from '../../src/confinement/types.js'
import { isRefusal, Refusal } from '../../src/errors.js'
import { isDeniedPath } from '../../src/paths/denied-place.js'
import { renderCaptured } from '../../src/supervise/bounded-output.js'
import { closeInherited } from '../../src/supervise/descriptors.js'
import { DEBIAN, request } from '../support/confinement-fakes.js'
import { needs } from '../support/needs.js'
import { scratch } from '../support/scratch.js'

closeInherited()

/** A workspace with these files (a name ending in `/` is a folder). */
function workspace(t: Test, names: readonly string[]): string {
  const ws = join(scratch(t), 'ws')
  mkdirSync(ws)
  for (const name of names) {
    const path = join(ws, name)
    mkdirSync(name.endsWith('/') ? path : dirname(path), { recursive: true })
    if (!name.endsWith('/')) writeFileSync(path, name)
  }
  return ws
}

function land(ws: string, hide: readonly string[], parts: Partial<PolicyRequest> = {}) {
  return landPolicy(request(ws, { hide: hide.map(path => join(ws, path)), ...parts }), DEBIAN)
}

function refusal(ws: string, hide: readonly string[], parts: Partial<PolicyRequest> = {}): Refusal {
  try {
    land(ws, hide, parts)
  } catch (error) {
    if (isRefusal(error)) return error
    throw error
  }
  throw new Error('it was landed')
}

const TREE = [
  'a.pem',
  'src/x.ts',
  'src/b.pem',
  'keys/1.pem',
  'keys/2.pem',
  'deep/k/1.pem',
  'deep/k/2.pem',
  'data/x',
  'data/y/z',
  'empty/',
  '.env',
  '.env.local',
]

const COVERS: readonly (readonly [hide: string, covers: readonly string[]])[] = [
  ['*.pem', ['a.pem']],
  ['**/*.pem', ['a.pem', 'deep/k', 'keys', 'src/b.pem']],
  ['*', ['.env', '.env.local', 'a.pem', 'data', 'deep', 'empty', 'keys', 'src']],
  ['keys/?.pem', ['keys']],
  ['data/**', ['data']],
  ['data/*', ['data']],
  ['empty/**', ['empty']],
  ['d*', ['data', 'deep']],
  ['**/y', ['data/y']],
  ['.env{,.local}', ['.env', '.env.local']],
  ['[a-b].pem', ['a.pem']],
  ['none/*', []],
  ['*.none', []],
  ['a.pem/*', []],
]
for (const [hide, covers] of COVERS) {
  t.test(`covers of ${hide}`, async t => {
    const ws = workspace(t, TREE)
    const { hides, hiddenElsewhere } = land(ws, [hide])
    t.same(
      hides.map(({ path }) => path.slice(ws.length + 1)),
      covers,
    )
    t.ok(hides.every(({ source }) => source === `--hide ${join(ws, hide)}`))
    t.equal(hiddenElsewhere.filter(({ glob }) => glob !== undefined).length, 1, 'the pattern is kept')
  })
}

t.test('a folder that holds what is opened is not gathered', async t => {
  const ws = workspace(t, ['out/1.pem', 'out/2.pem', 'lib/1.pem', 'lib/2.pem'])
  const names = (writeSubtrees: string[]) =>
    land(ws, ['**/*.pem'], { writeSubtrees }).hides.map(({ path }) => path.slice(ws.length + 1))
  t.same(names([]), ['lib', 'out'], 'the workspace itself stays')
  t.same(names(['out']), ['lib', 'out/1.pem', 'out/2.pem'])
  t.same(names(['.']), ['lib', 'out'])
})

t.test('too many covers: the message says whose they are', async t => {
  const ws = workspace(t, ['a'])
  const all = Array.from({ length: 2001 }, (_, at) => `f${at}`)
  for (const name of all) writeFileSync(join(ws, name), '')
  t.match(refusal(ws, ['f*']).message, /--hide \S+\/f\* comes to 2001 covers/)
  t.match(refusal(ws, all).message, /--hide \S+\/f0 and 2000 other rules come to 2001 covers/)
  t.match(refusal(ws, ['f1*', 'f[02-9]*', 'f[!0-9]*', 'a']).details, { mounts: 2002 })
})

t.test('links: what a match or a folder on the way leads to is covered', async t => {
  const ws = workspace(t, ['real/k.pem', 'plain/secret', 'src/x'])
  symlinkSync('../plain/secret', join(ws, 'src/linked.pem'))
  symlinkSync('../real', join(ws, 'src/way'))
  symlinkSync('.', join(ws, 'src/loop'))
  symlinkSync('/nowhere', join(ws, 'src/lost.pem'))
  t.same(
    land(ws, ['src/*.pem']).hides.map(({ path }) => path),
    [join(ws, 'plain/secret')],
  )
  t.same(
    land(ws, ['src/*/k.pem']).hides.map(({ path }) => path),
    [join(ws, 'real/k.pem')],
  )
  t.same(
    land(ws, ['src/**/*.pem']).hides.map(({ path }) => path),
    [join(ws, 'plain/secret'), join(ws, 'real/k.pem')],
  )
})

t.test('a path that has the characters of a pattern is hidden as both', async t => {
  const ws = workspace(t, ['app/[id]/x', 'app/i/x', 'app/o/x'])
  t.same(
    land(ws, ['app/[id]']).hides.map(({ path }) => path),
    [join(ws, 'app/[id]'), join(ws, 'app/i')],
  )
})

t.test('what is no pattern of ours refuses, unless it is there by that name', async t => {
  const ws = workspace(t, ['a!(b)', 'c[d'])
  for (const name of ['a!(b)', 'c[d'])
    t.same(
      land(ws, [name]).hides.map(({ path }) => path),
      [join(ws, name)],
    )
  for (const name of ['x!(b)', 'x[d', 'x{1..3}', 'x\\*']) t.equal(refusal(ws, [name]).code, 'unsupported-rule', name)
})

t.test('what appears later is denied to the file tools, and the record says what it is not', async t => {
  const ws = workspace(t, ['a/x'])
  const { hiddenElsewhere, reservations } = land(ws, ['**/*.pem', 'absent'])
  const denied = (path: string) => hiddenElsewhere.some(place => isDeniedPath(join(ws, path), place))
  for (const path of ['n.pem', 'a/n.pem', 'a/b/n.pem', 'd.pem/below', 'absent', 'absent/x']) t.ok(denied(path), path)
  for (const path of ['', 'a', 'a/x', 'a/n.pemx', 'absenter']) t.notOk(denied(path), path)
  t.same(
    reservations.map(({ guarantee }) => guarantee),
    ['reads-limited', 'reads-limited'],
  )
  t.match(
    reservations.map(({ why }) => why).join('\n'),
    /pem: covers what it names now.*\n.*absent: nothing is there yet/,
  )
  t.same(land(ws, ['a']).reservations, [], 'what is there is simply hidden')
})

t.test('B27: thousands of files below one folder are one cover; scattered ones refuse and name the rule', async t => {
  const ws = workspace(t, ['src/x'])
  for (let folder = 0; folder < 20; folder++) {
    mkdirSync(join(ws, `data/${folder}`), { recursive: true })
    for (let file = 0; file < 150; file++) writeFileSync(join(ws, `data/${folder}/${file}.parquet`), '')
  }
  t.same(
    land(ws, ['data/**']).hides.map(({ path }) => path),
    [join(ws, 'data')],
  )
  t.same(
    land(ws, ['**/*.parquet']).hides.map(({ path }) => path),
    [join(ws, 'data')],
    'gathered',
  )
  for (let folder = 0; folder < 20; folder++) writeFileSync(join(ws, `data/${folder}/notes.txt`), '')
  const refused = refusal(ws, ['src/x', '**/*.parquet'])
  t.match(refused, {
    code: 'rule-too-large',
    details: { rule: `--hide ${ws}/**/*.parquet`, mounts: 3_000, limit: 2_000 },
  })
  t.match(refused.message, /\*\*\/\*\.parquet comes to 3000 covers/)
})

t.test('B27: 300 working trees in a grant are within the bounds', async t => {
  const ws = workspace(t, ['x'])
  for (let at = 0; at < 300; at++) {
    mkdirSync(join(ws, `trees/${at}`), { recursive: true })
    for (const name of ['.git', '.env', 'code']) writeFileSync(join(ws, `trees/${at}/${name}`), '')
  }
  const policy = land(ws, ['trees/*/.env'], { writeSubtrees: ['.'] })
  t.equal(policy.hides.length, 300)
  t.equal(orderMounts(policy, DEBIAN).filter(({ kind }) => kind === 'hide-file').length, 300)
})

t.test('a folder that cannot be listed and can be opened refuses', { skip: needs('linux', 'not-root') }, async t => {
  const ws = workspace(t, ['closed/x.pem'])
  chmodSync(join(ws, 'closed'), 0)
  t.teardown(() => chmodSync(join(ws, 'closed'), 0o700))
  t.equal(refusal(ws, ['**/*.pem']).code, 'no-permission')
})

async function inside(ws: string, parts: Partial<PolicyRequest>, scripts: readonly string[]): Promise<string[]> {
  const boundary = await openBoundary({
    confine: 'bubblewrap',
    request: request(ws, parts),
    facts: await readHostFacts(),
    runId: '00112233aabbccdd',
    onEvent: () => {},
    probe: 'launch',
  })
  if (!(boundary instanceof Boundary)) throw boundary
  const outs: string[] = []
  for (const script of scripts) {
    const outcome = await boundary.run({ argv: ['/bin/sh', '-c', script], purpose: 'tool' })
    if (outcome instanceof Refusal) throw outcome
    outs.push(renderCaptured(outcome.stdout).text + renderCaptured(outcome.stderr).text)
  }
  await boundary.close()
  return outs
}

t.test('B27: a command runs under hundreds of covers', { skip: needs('linux', 'bubblewrap') }, async t => {
  const ws = workspace(t, ['x'])
  for (let at = 0; at < 60; at++) {
    mkdirSync(join(ws, `d/${at}`), { recursive: true })
    for (let file = 0; file < 10; file++) writeFileSync(join(ws, `d/${at}/${file}.pem`), 'secret')
    writeFileSync(join(ws, `d/${at}/kept`), '')
  }
  const [out] = await inside(ws, { hide: [join(ws, 'd/*/*.pem')] }, [
    'cat d/*/*.pem 2>/dev/null | wc -c; ls d/*/kept | wc -l; cat x',
  ])
  t.equal(out, '0\n60\nx')
})

t.test('a hidden path that appears is covered in the next launch', { skip: needs('linux', 'bubblewrap') }, async t => {
  const ws = workspace(t, ['out/'])
  const parts = { hide: [join(ws, 'out/later')], writeSubtrees: ['.'] }
  const outs = await inside(ws, parts, [
    'echo secret > out/later; cat out/later',
    'cat out/later; mv out moved; rm -rf out',
  ])
  t.equal(outs[0], 'secret\n')
  t.notMatch(outs[1], /secret/)
  t.match(outs[1], /ermission denied|busy/)
  t.ok(existsSync(join(ws, 'out/later')), 'and keeps its place')
})
