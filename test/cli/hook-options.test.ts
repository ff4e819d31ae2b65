/** What the command line makes of `--hooks` before a run begins; the whole way is tried in integration/cli/hooks.test.ts. */
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { openHooks, type RunHooks } from '../../src/cli/hook-options.js'
import { Given, type OptionValue } from '../../src/cli/parse.js'
import { cachePlace } from '../../src/confinement/cache-folder.js'
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
  /** Present: there is a cache folder, and this makes the hooks of it. */
  readonly cached?: (cache: string) => readonly object[]
}

async function opened(
  t: Test,
  { hooks = [], options = {}, pid1 = false, lock, cached }: Asked,
): Promise<RunHooks | string | null> {
  const folder = scratch(t)
  const [ws, op] = [join(folder, 'ws'), join(folder, 'op')]
  mkdirSync(ws)
  mkdirSync(op, { mode: 0o755 })
  const request = {
    workspace: ws,
    writeSubtrees: [],
    ...(cached === undefined ? {} : { cache: true, cacheFolder: join(folder, 'xdg', 'b10x-harness') }),
  }
  const all = cached?.(cachePlace(request)?.path ?? '') ?? hooks
  writeFileSync(join(op, 'hooks.json'), JSON.stringify({ version: 1, hooks: all }))
  if (lock !== undefined) writeFileSync(join(op, 'hooks.lock.json'), lock)
  const bwrap = needs('bubblewrap') === false ? { path: '/usr/bin/bwrap' } : null
  try {
    const given = new Given(new Map(Object.entries({ '--hooks': 'hooks.json', ...options })))
    const env = { PATH: '/usr/bin:/bin', XDG_STATE_HOME: join(folder, 'state') }
    const run = await openHooks({
      command: 'run',
      given,
      io: { env, cwd: op, kill: new AbortController().signal },
      facts: { home: op, pid1WithoutInit: pid1, bwrap, installHint: 'install it' },
      request,
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

t.test('B20: a cache folder is in the write set, so no hook program lies there', async t => {
  const cached = (cache: string): readonly object[] => {
    mkdirSync(cache, { recursive: true, mode: 0o700 })
    writeFileSync(join(cache, 'gate'), '#!/bin/sh\n', { mode: 0o755 })
    writeFileSync(join(cache, '..', 'gate'), '#!/bin/sh\n', { mode: 0o755 })
    return [{ on: 'stop', command: [join(cache, 'gate')] }]
  }
  t.equal(await opened(t, { cached }), 'hook-unsafe')
  const beside = (cache: string) => cached(cache) && [{ on: 'stop', command: [join(cache, '..', 'gate')] }]
  t.type((await opened(t, { cached: beside })) ?? '', 'object', 'beside it one may')
})
