/** The verdict that a launch needs: it cannot be forged, lent, kept or made for other folders (decisions 37). */
import { existsSync, mkdirSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { type Boundary, openBoundary } from '../../src/confinement/boundary.js'
import { launchFolderRules } from '../../src/confinement/folder-rules.js'
import { readHostFacts } from '../../src/confinement/host-facts.js'
import { launch } from '../../src/confinement/launch.js'
import { planLaunch } from '../../src/confinement/launch-plan.js'
import { landPolicy } from '../../src/confinement/policy.js'
import type { HostFacts, LaunchPlan, PolicyRequest } from '../../src/confinement/types.js'
import { isRefusal, Refusal } from '../../src/errors.js'
import type { HarnessEvent } from '../../src/events.js'
import { checkLaunchFolders, LaunchFolders } from '../../src/paths/launch-folders.js'
import { closeInherited } from '../../src/supervise/descriptors.js'
import { needs } from '../support/needs.js'
import { scratch } from '../support/scratch.js'

closeInherited()

function unrefused<Value>(value: Value | Refusal): Value {
  if (value instanceof Refusal) throw value
  return value
}

function requestFor(workspace: string, writeSubtrees: readonly string[]): PolicyRequest {
  return {
    ...{ workspace, writeSubtrees, read: [], hide: [], unprotect: [], programs: null, env: {}, limits: {} },
    controlFiles: [],
  }
}

const options = () => ({
  ...({ stdin: null, stdout: 'capture', stderr: 'capture', wallMs: 20_000, graceMs: 100, launchId: 'x' } as const),
  signal: new AbortController().signal,
})

/** A plan that leaves `canary` in `grant`, and how to judge folders for it or for others. */
function planned(facts: HostFacts, base: string) {
  const ws = join(base, 'ws')
  for (const name of ['one', 'two']) mkdirSync(join(ws, name), { recursive: true })
  const canary = join(ws, 'one/canary')
  const of = (grants: readonly string[]) => {
    const request = requestFor(ws, grants)
    const policy = landPolicy(request, facts)
    const rules = unrefused(launchFolderRules(policy, request, facts))
    const judge = (): LaunchFolders =>
      unrefused(
        checkLaunchFolders({ cwd: '.', grants: policy.writes.map(({ path }) => path), privateParent: base }, rules),
      )
    const plan = (): LaunchPlan =>
      unrefused(planLaunch({ boundary: 'bubblewrap', policy, facts, command: ['touch', canary] }))
    return { judge, plan }
  }
  return { ws, canary, of }
}

const skip = needs('linux', 'bubblewrap')

t.test('launch() starts nothing without a verdict on the folders of its own plan, made for it', { skip }, async t => {
  const facts = await readHostFacts()
  const { canary, of } = planned(facts, scratch(t))
  const { judge, plan } = of(['one'])
  const verdict = judge()
  const others: readonly (readonly [what: string, folders: unknown])[] = [
    ['none', undefined],
    ['null', null],
    ['one that looks like it', { cwd: verdict.cwd, grants: verdict.grants, privateParent: verdict.privateParent }],
    ['a copy', Object.assign({}, verdict)],
    ['one with its prototype', Object.assign(Object.create(LaunchFolders.prototype), verdict)],
    ['one behind a proxy', new Proxy(verdict, {})],
    ['one that inherits from it', Object.create(verdict)],
    ['one on no folder', of([]).judge()],
    ['one on another folder', of(['two']).judge()],
    ['one on more folders', of(['one', 'two']).judge()],
    ['a refusal', new Refusal('outside-roots', { path: '', landed: '', roots: [] }, '')],
  ]
  for (const [what, folders] of others) {
    await t.rejects(launch(plan(), folders as LaunchFolders, options()), TypeError, what)
    t.notOk(existsSync(canary), `${what}: nothing ran`)
  }
  t.match((await launch(plan(), verdict, options())).ending, { kind: 'exited', status: 0 }, 'its own serves')
  t.ok(existsSync(canary))
  await t.rejects(launch(plan(), verdict, options()), /a verdict of its own/, 'and serves no second one')
  t.match((await launch(plan(), judge(), options())).ending, { kind: 'exited', status: 0 })
})

t.test('a write grant that was replaced since the policy was landed ends the launches into it', { skip }, async t => {
  const workspace = join(scratch(t), 'ws')
  for (const name of ['one', 'two']) mkdirSync(join(workspace, name), { recursive: true })
  const events: HarnessEvent[] = []
  const boundary = unrefused(
    await openBoundary({
      confine: 'bubblewrap',
      request: requestFor(workspace, ['one', 'two']),
      facts: await readHostFacts(),
      runId: '0123456789abcdef',
      onEvent: event => events.push(event),
      probe: 'launch',
    }),
  )
  t.teardown(() => boundary.close())
  const touch = (at: Boundary) => at.run({ argv: ['touch', 'one/made'], purpose: 'tool', signal: options().signal })
  t.match(await touch(boundary), { ending: { kind: 'exited', status: 0 } })
  const told = events.length
  renameSync(join(workspace, 'one'), join(workspace, 'old'))
  mkdirSync(join(workspace, 'one'))
  const refused = await touch(boundary)
  t.ok(isRefusal(refused, 'changed-while-checked'))
  t.match(refused, { message: /another folder than when this began/ })
  t.notOk(existsSync(join(workspace, 'one/made')))
  t.equal(events.length, told, 'nothing was started that the record would have to end')
})
