/** What the command line makes of `--hooks` before a run begins; the whole way is tried in integration/cli/hooks.test.ts. */
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { openHooks, type RunHooks } from '../../src/cli/hook-options.js'
import { Given, type OptionValue } from '../../src/cli/parse.js'
import { Refusal } from '../../src/errors.js'
import { closeInherited } from '../../src/supervise/descriptors.js'
import { needs } from '../support/needs.js'
import { scratch } from '../support/scratch.js'

closeInherited()

interface Asked {
  readonly hooks?: readonly object[]
  readonly options?: Readonly<Record<string, OptionValue>>
  readonly pid1?: boolean
  /** Content of the lock beside the file. */
  readonly lock?: string
}

async function opened(
  t: Test,
  { hooks = [], options = {}, pid1 = false, lock }: Asked,
): Promise<RunHooks | string | null> {
  const folder = scratch(t)
  const [ws, op] = [join(folder, 'ws'), join(folder, 'op')]
  mkdirSync(ws)
  mkdirSync(op, { mode: 0o755 })
  writeFileSync(join(op, 'hooks.json'), JSON.stringify({ version: 1, hooks }))
  if (lock !== undefined) writeFileSync(join(op, 'hooks.lock.json'), lock)
  const bwrap = needs('bubblewrap') === false ? { path: '/usr/bin/bwrap' } : null
  try {
    const given = new Given(new Map(Object.entries({ '--hooks': 'hooks.json', ...options })))
    const env = { PATH: '/usr/bin:/bin', XDG_STATE_HOME: join(folder, 'state') }
    const run = await openHooks({
      given,
      io: { env, cwd: op, kill: new AbortController().signal },
      facts: { home: op, pid1WithoutInit: pid1, bwrap, installHint: 'install it' },
      request: { workspace: ws, writeSubtrees: [] },
      runId: '0123456789abcdef',
    })
    t.teardown(() => run?.close())
    return run
  } catch (error) {
    if (error instanceof Refusal) return error.code
    throw error
  }
}

const STOP = { on: 'stop', command: ['true'] }

t.test('as pid 1 without an init hooks need a namespace', async t => {
  t.equal(await opened(t, { hooks: [STOP], pid1: true }), 'hooks-need-init')
  t.type((await opened(t, { hooks: [STOP] })) ?? '', 'object')
  t.type((await opened(t, { pid1: true })) ?? '', 'object', 'a file without hooks leaves nothing behind')
})

t.test('with a namespace pid 1 may have hooks', { skip: needs('bubblewrap') }, async t => {
  t.type((await opened(t, { hooks: [STOP], pid1: true, options: { '--hook-reap': 'namespace' } })) ?? '', 'object')
})

t.test('a lock that does not speak for the file refuses', async t => {
  t.equal(await opened(t, { hooks: [STOP], lock: '{' }), 'bad-document')
  const other = JSON.stringify({ version: 1, hooksFileSha256: 'a'.repeat(64), entries: [] })
  t.equal(await opened(t, { hooks: [STOP], lock: other }), 'bad-document')
})

t.test('what no confined process may write', async t => {
  const run = await opened(t, {
    hooks: [{ on: 'before-call', command: ['/bin/sh', 'check.sh'], cwd: '/' }, STOP],
    options: { '--hooks-unchecked': true },
  })
  if (run === null || typeof run === 'string') return t.fail(String(run))
  const files = run.controlFiles.map(({ path }) => path)
  for (const end of ['/hooks.json', '/hooks.lock.json', '/check.sh', '/sh', '/true']) {
    t.ok(
      files.some(path => path.endsWith(end)),
      end,
    )
  }
})

t.test('the private folder of the hooks goes with the run', async t => {
  const parent = scratch(t)
  const before = process.env.TMPDIR
  process.env.TMPDIR = parent
  t.teardown(() => {
    if (before === undefined) delete process.env.TMPDIR
    else process.env.TMPDIR = before
  })
  const names = (): string[] => readdirSync(parent).filter(name => name.startsWith('b10x-harness-'))
  const run = await opened(t, { hooks: [STOP] })
  t.equal(names().length, 1)
  if (run !== null && typeof run !== 'string') run.close()
  t.strictSame(names(), [])
  t.equal(await opened(t, { hooks: [{ on: 'before-call', command: ['/nowhere/x'] }] }), 'hook-unsafe')
  t.strictSame(names(), [], 'also where the run is refused')
})
