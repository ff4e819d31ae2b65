/** What hooks are held by: the namespace that is tried, the record, and what killed runs have left. */
import { spawn } from 'node:child_process'
import { chmodSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openHookLaunches } from '../../src/cli/hook-launches.js'
import { isRefusal, Refusal } from '../../src/errors.js'
import { closeInherited } from '../../src/supervise/descriptors.js'
import { leftOverHost } from '../../src/supervise/left-overs.js'
import { eventually, marked } from '../support/children.js'
import { needs } from '../support/needs.js'
import { scratch } from '../support/scratch.js'

closeInherited()

const RUN_ID = 'fedcba9876543210'
const facts = { bwrap: { path: '/usr/bin/bwrap' }, installHint: 'apt-get install bubblewrap' }

t.test('by group: recorded while the run lives', { skip: needs('linux') }, async t => {
  const home = scratch(t)
  const env = { HOME: home }
  const held = await openHookLaunches({ env, facts, reap: 'group', runId: RUN_ID })
  const folder = join(home, '.local/state/b10x-harness/launches')
  t.strictSame(held.warnings, [])
  t.strictSame(readdirSync(folder), [`${RUN_ID}.jsonl`])
  held.close()
  t.strictSame(readdirSync(folder), [])
  const none = await openHookLaunches({ env: {}, facts, reap: 'group', runId: RUN_ID })
  t.match(none.warnings, [{ code: 'launches-unrecorded', message: /neither XDG_STATE_HOME nor HOME/ }])
  none.close()
})

t.test('what a killed run has left is ended and told', { skip: needs('linux') }, async t => {
  const state = scratch(t)
  const folder = join(state, 'b10x-harness', 'launches')
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const cookie = `99999999-${'5e'.repeat(12)}`
  const left = spawn('/bin/sleep', ['300'], { env: { HARNESS_GUARD: cookie }, detached: true, stdio: 'ignore' })
  const run = {
    version: 1,
    run_id: '00000000deadbeef',
    pid: 4_194_303,
    start_time: '1',
    boot_id: leftOverHost.bootId(),
    pid_namespace: leftOverHost.pidNamespace(),
    cookie,
    started_at: '2026-01-01T00:00:00.000Z',
  }
  writeFileSync(join(folder, '00000000deadbeef.jsonl'), `${JSON.stringify(run)}\n`, { mode: 0o600 })
  writeFileSync(join(folder, '00000000000000aa.jsonl'), 'x\n', { mode: 0o600 })
  t.ok(await eventually(() => marked(cookie).length === 1, 5_000))
  const held = await openHookLaunches({ env: { XDG_STATE_HOME: state }, facts, reap: 'group', runId: RUN_ID })
  held.close()
  t.strictSame(marked(cookie), [])
  t.match(held.warnings, [
    { code: 'left-over-ended', message: new RegExp(`00000000deadbeef had left: process ${left.pid}$`) },
    { code: 'launches-unrecorded', message: /00000000000000aa\.jsonl" is no record of ours/ },
  ])
  t.strictSame(readdirSync(folder), ['00000000000000aa.jsonl'], 'what is not believed is left alone')
})

t.test('by namespace: tried, and nothing recorded', { skip: needs('linux', 'bubblewrap') }, async t => {
  const home = scratch(t)
  const held = await openHookLaunches({ env: { HOME: home }, facts, reap: 'namespace', runId: RUN_ID })
  t.strictSame([held.bwrap, held.record, held.warnings], ['/usr/bin/bwrap', undefined, []])
  t.strictSame(readdirSync(home), [])
  held.close()
})

t.test('a namespace that cannot be had refuses with the reason and the fix', { skip: needs('linux') }, async t => {
  const folder = scratch(t)
  const failing = (words: string, status = 1): string => {
    const path = join(folder, `bwrap-${status}-${words.length}`)
    writeFileSync(path, `#!/bin/sh\necho "${words}" >&2\nexit ${status}\n`)
    chmodSync(path, 0o755)
    return path
  }
  const cases: readonly [bwrap: { path: string } | null, says: RegExp][] = [
    [null, /no bubblewrap here.*apt-get install bubblewrap.*or use --hook-reap group/],
    [{ path: failing('bwrap: No permissions to create new namespace') }, /No permissions.*run as an ordinary user/],
    [
      { path: failing("bwrap: Can't mount proc on /newroot/proc: Operation not permitted") },
      /fresh \/proc.*systempaths=unconfined/,
    ],
    [{ path: failing('', 0) }, /without a word/],
    [{ path: join(folder, 'gone') }, /there is no program at/],
  ]
  for (const [bwrap, says] of cases) {
    const refusal = await openHookLaunches({
      env: { HOME: folder },
      facts: { ...facts, bwrap },
      reap: 'namespace',
      runId: RUN_ID,
    }).then(
      () => null,
      (error: unknown) => error,
    )
    t.ok(isRefusal(refusal, 'boundary-unavailable'), String(refusal))
    t.match(refusal instanceof Refusal ? refusal.message : '', says)
    t.notMatch(refusal instanceof Refusal ? refusal.message : '', /--confine/)
  }
})
