import { once } from 'node:events'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { readBoundSockets } from '../../src/confinement/host-facts.js'
import { boundSocketNames } from '../../src/confinement/host-texts.js'
import { planLaunch } from '../../src/confinement/launch-plan.js'
import { landPolicy } from '../../src/confinement/policy.js'
import { hideHostSockets } from '../../src/confinement/policy-sockets.js'
import { Refusal } from '../../src/errors.js'
import { DEBIAN, request } from '../support/confinement-fakes.js'
import { needs } from '../support/needs.js'

const HEAD = 'Num       RefCount Protocol Flags    Type St Inode Path\n'
const line = (path: string): string => `00000000cd2ac45f: 00000002 00000000 00010000 0001 01 384271${path}\n`

const tables: { name: string; table: string; names: string[] }[] = [
  { name: 'an empty table', table: HEAD, names: [] },
  { name: 'unnamed sockets', table: HEAD + line(''), names: [] },
  { name: 'a path', table: HEAD + line(' /run/s'), names: ['/run/s'] },
  { name: 'blanks in a path', table: HEAD + line(' /a b/c  d'), names: ['/a b/c  d'] },
  { name: 'an abstract name', table: HEAD + line(' @/tmp/x') + line(' /b'), names: ['/b'] },
  { name: 'one name twice', table: HEAD + line(' /b') + line(' /b'), names: ['/b'] },
  { name: 'a relative name', table: HEAD + line(' s.sock'), names: ['s.sock'] },
  {
    name: 'a short inode is padded',
    table: `${HEAD}00000000cd2ac45f: 00000002 00000000 00010000 0001 01    12 /b\n`,
    names: ['/b'],
  },
  { name: 'nothing readable', table: '', names: [] },
]
for (const { name, table, names } of tables) {
  t.test(`names of ${name}`, async t => t.same(boundSocketNames(table), names))
}

/** A workspace with a read grant beside it, and a listener at `at` (below the common folder). */
async function listening(t: Test, at: string): Promise<{ base: string; path: string }> {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'socks-')))
  for (const name of ['w/deep', 'lib', 'other']) mkdirSync(join(base, name), { recursive: true })
  symlinkSync(join(base, 'w'), join(base, 'link'))
  const server = createServer()
  server.listen(join(base, at))
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    rmSync(base, { recursive: true, force: true })
  })
  return { base, path: join(base, at) }
}

function policyOf(base: string, writes: readonly string[]) {
  return landPolicy(request(join(base, 'w'), { read: [join(base, 'lib')], writeSubtrees: writes }), DEBIAN)
}

const places: { name: string; at: string; bound?: (base: string) => string; hidden: string | null }[] = [
  { name: 'in the workspace', at: 'w/s', hidden: 'w/s' },
  { name: 'deep in the workspace', at: 'w/deep/s', hidden: 'w/deep/s' },
  { name: 'in a read grant', at: 'lib/s', hidden: 'lib/s' },
  { name: 'in no grant', at: 'other/s', hidden: null },
  { name: 'bound through a link', at: 'w/s', bound: base => `${base}/link/s`, hidden: 'w/s' },
  { name: 'bound by a relative name', at: 'w/s', bound: () => 's', hidden: 'w/s' },
  { name: 'listed and gone', at: 'w/s', bound: base => `${base}/w/gone`, hidden: null },
  { name: 'a listed name that is no socket', at: 'w/s', bound: base => `${base}/w/deep`, hidden: null },
]
for (const { name, at, bound, hidden } of places) {
  t.test(`a listener ${name}`, { skip: needs('linux') }, async t => {
    const { base, path } = await listening(t, at)
    for (const writes of [[], ['.']]) {
      const policy = policyOf(base, writes)
      const shown = hideHostSockets(policy, { ...DEBIAN, boundSockets: [bound?.(base) ?? path] })
      const rules = shown.hides.filter(rule => !policy.hides.includes(rule)).map(rule => rule.path)
      t.same(rules, hidden === null ? [] : [join(base, hidden)])
      const moves = writes.length > 0 && hidden === 'w/deep/s'
      t.same(shown.selfBinds, moves ? [join(base, 'w/deep')] : [], 'what could be renamed above it')
    }
  })
}

t.test('the plan covers what the host lists', { skip: needs('linux') }, async t => {
  const { base, path } = await listening(t, 'w/s')
  const boundSockets = readBoundSockets()
  t.ok(boundSockets?.includes(path), 'the host lists it')
  const plan = planLaunch({
    boundary: 'bubblewrap',
    policy: policyOf(base, ['.']),
    facts: { ...DEBIAN, boundSockets: [path] },
    command: ['/usr/bin/perl', '-e', '1'],
  })
  if (plan instanceof Refusal) throw plan
  const at = plan.args.indexOf(path)
  t.same(plan.args.slice(at - 2, at + 1), ['--ro-bind', '/dev/null', path])
  t.ok(at > plan.args.indexOf('--bind', plan.args.indexOf(join(base, 'w')) - 2), 'after the grant that would show it')
})

t.test('sockets that cannot be listed are a gap of the plan', { skip: needs('linux') }, async t => {
  const { base } = await listening(t, 'w/s')
  const plan = planLaunch({
    boundary: 'bubblewrap',
    policy: policyOf(base, []),
    facts: { ...DEBIAN, boundSockets: null },
    command: ['/usr/bin/perl', '-e', '1'],
  })
  if (plan instanceof Refusal) throw plan
  t.same(
    plan.confinement.gaps.map(gap => gap.guarantee),
    ['no-network'],
  )
  t.notOk(plan.confinement.applied.includes('no-network'))
})
