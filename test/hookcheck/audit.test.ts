/** Whole audits over real files, as whoever runs the tests and, from root, as an ordinary user in a process of its own. */
import { spawnSync } from 'node:child_process'
import { chmodSync, chownSync, linkSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { type Audit, auditForStart, auditHooks } from '../../src/hookcheck/audit.js'
import { parseHooks } from '../../src/hooks/document.js'
import { readIdentities } from '../../src/hooks/identities.js'
import { realFiles } from '../../src/paths/file-view.js'
import { told } from '../support/audits.js'
import { NOBODY } from '../support/children.js'
import { needs } from '../support/needs.js'
import { scratch } from '../support/scratch.js'

interface Scene {
  readonly at: string
  /** Makes a file below the scene; what lies above it is made too. */
  write(path: string, text: string, mode?: number): string
}

function scene(t: Parameters<typeof scratch>[0]): Scene {
  const at = scratch(t)
  for (const folder of ['ops', 'ws', 'home']) mkdirSync(join(at, folder), { mode: 0o755 })
  return {
    at,
    write: (path, text, mode = 0o755) => {
      const file = join(at, path)
      mkdirSync(join(file, '..'), { recursive: true, mode: 0o755 })
      writeFileSync(file, text)
      chmodSync(file, mode)
      return file
    },
  }
}

const BODY = '#!/bin/sh\nset -e\ntest "$1" != forbidden\n'

/** What an audit of one gate tells, machine-wide notes (as root, on what filesystem) left out. */
function audit(
  { at, write }: Scene,
  command: readonly string[],
  more: { readonly path?: string; readonly hooksFile?: string } = {},
): Audit {
  const text = JSON.stringify({ version: 1, hooks: [{ on: 'before-call', command }] })
  const path = more.hooksFile ?? write('ops/hooks.json', text, 0o644)
  return auditHooks({
    bytes: Buffer.from(text),
    path,
    cwd: at,
    writeSet: { origin: 'given', roots: [{ path: join(at, 'ws'), source: '--workspace' }], held: [] },
    trust: { ids: readIdentities(realFiles), groups: 'allowed' },
    view: realFiles,
    pathSource: { from: 'listed', entries: [more.path ?? join(at, 'ops'), '/usr/bin', '/bin'] },
    environment: { HOME: join(at, 'home') },
    machine: process,
    profile: 'default',
  })
}

const OF_THE_MACHINE = /^HC00[24]|^HC304 info|^HC307/
const findings = (found: Audit): readonly string[] => told(found).filter(text => !OF_THE_MACHINE.test(text))

t.test('real files', async t => {
  const { write, ...rest } = scene(t)
  const at = rest.at
  const link = (path: string, target: string): string => {
    symlinkSync(target, join(at, path))
    return join(at, path)
  }
  const cases: readonly (readonly [string, () => readonly string[], readonly string[], string?])[] = [
    ['a sound gate', () => [write('ops/g', BODY)], []],
    ['an interpreter and its script', () => ['/bin/sh', write('ops/g.sh', BODY, 0o644)], []],
    ['in the workspace (case E14)', () => [write('ws/g', BODY)], ['HC305 error']],
    [
      'a link into the workspace',
      () => {
        write('ws/g', BODY)
        return [link('ops/link', '../ws/g')]
      },
      ['HC305 error'],
    ],
    ['for everybody', () => [write('ops/open', BODY, 0o777)], ['HC301 error']],
    [
      'a folder for everybody',
      () => {
        const file = write('ops/d/g', BODY)
        chmodSync(join(at, 'ops/d'), 0o777)
        return [file]
      },
      ['HC302 error'],
    ],
    ['no format', () => [write('ops/text', 'exit 0\n')], ['HC401 error', 'HC402 error']],
    ['empty', () => [write('ops/empty', '')], ['HC402 error']],
    ['only comments', () => [write('ops/comments', '#!/bin/sh\n# soon\n')], ['HC402 error']],
    [
      'CRLF (case E11)',
      () => [write('ops/crlf', BODY.replaceAll('\n', '\r\n'))],
      ['HC306 warn', 'HC403 error', 'HC404 error'],
    ],
    ['a byte order mark', () => [write('ops/bom', `\ufeff${BODY}`)], ['HC401 error', 'HC404 error']],
    ['two words on the first line', () => [write('ops/two', '#!/bin/sh -e -u\nfalse\n')], ['HC405 error']],
    [
      '300 bytes on the first line',
      () => [write('ops/long', `#!/${'x'.repeat(298)}\nfalse\n`)],
      ['HC403 error', 'HC405 error'],
    ],
    ['not executable', () => [write('ops/plain', BODY, 0o644)], ['HC204 error']],
    ['a folder', () => [join(at, 'ops')], ['HC204 error']],
    ['a loop', () => [link('ops/loop', 'loop')], ['HC001 error']],
    [
      'env with what is not there (case E21)',
      () => [write('ops/env', '#!/usr/bin/env no-such-interpreter\nx\n')],
      ['HC406 error'],
    ],
    ['missing', () => [join(at, 'ops/none')], ['HC204 error', 'HC306 warn']],
    ['missing in the workspace', () => ['/bin/sh', join(at, 'ws/none.sh')], ['HC305 error', 'HC306 error']],
    ['a bare name', () => [write('ops/bare', BODY)].map(() => 'bare'), ['HC203 error']],
    ['a relative name', () => ['./g'], ['HC202 error']],
    ['the workspace as PATH folder', () => [write('ws/tool', BODY)].map(() => 'tool'), ['HC204 error'], join(at, 'ws')],
  ]
  for (const [name, command, expected, path] of cases) {
    const found = audit({ ...rest, write }, command(), path === undefined ? {} : { path })
    t.strictSame(
      [...findings(found)].sort(),
      expected,
      `${name}\n${found.findings.map(({ rule, message }) => `${rule} ${message}`).join('\n')}`,
    )
  }
})

t.test('a hook with a second name in the workspace', async t => {
  const made = scene(t)
  const file = made.write('ops/g', BODY)
  linkSync(file, join(made.at, 'ws/other'))
  t.ok(told(audit(made, [file])).includes('HC307 warn'))
})

t.test('a FIFO does not hang the audit', async t => {
  const made = scene(t)
  t.equal(spawnSync('mkfifo', ['-m', '755', join(made.at, 'ops/fifo')]).status, 0)
  t.strictSame(findings(audit(made, [join(made.at, 'ops/fifo')])), ['HC204 error'])
  t.ok(told(audit(made, [made.write('ops/g', BODY)], { hooksFile: join(made.at, 'ops/fifo') })).includes('HC106 error'))
})

t.test('the hooks file in reach of the agent', async t => {
  const made = scene(t)
  const hooksFile = made.write('ws/hooks.json', '{}', 0o644)
  t.ok(told(audit(made, [made.write('ops/g', BODY)], { hooksFile })).includes('HC105 error'))
})

t.test('owners', { skip: needs('root') }, async t => {
  const made = scene(t)
  const file = made.write('ops/g', BODY)
  chownSync(file, 1000, 1000)
  t.strictSame(findings(audit(made, [file])), ['HC303 error'])
  chownSync(file, 0, 0)
  mkdirSync(join(made.at, 'home/guest'))
  chownSync(join(made.at, 'home/guest'), 1000, 1000)
  t.strictSame(findings(audit(made, [made.write('home/guest/g', BODY)])), ['HC303 error'])
})

t.test('as an ordinary user', { skip: needs('root') }, async t => {
  const made = scene(t)
  const told = (command: string): unknown => {
    const script = `
      const { auditHooks } = await import(${JSON.stringify(new URL('../../src/hookcheck/audit.js', import.meta.url).href)})
      const { readIdentities } = await import(${JSON.stringify(new URL('../../src/hooks/identities.js', import.meta.url).href)})
      const { realFiles } = await import(${JSON.stringify(new URL('../../src/paths/file-view.js', import.meta.url).href)})
      const [at, command] = process.argv.slice(1)
      const bytes = Buffer.from(JSON.stringify({ version: 1, hooks: [{ on: 'before-call', command: [command] }] }))
      const { findings } = auditHooks({
        bytes, path: at + '/ops/hooks.json', cwd: at, view: realFiles, profile: 'default', machine: process,
        writeSet: { origin: 'given', roots: [{ path: at + '/ws', source: 'x' }], held: [] },
        trust: { ids: readIdentities(realFiles), groups: 'allowed' }, pathSource: { from: 'inherited', path: '/usr/bin' },
        environment: { HOME: '/' },
      })
      console.log(JSON.stringify([...new Set(findings.map(({ rule, severity }) => rule + ' ' + severity))].filter(text => !/^HC00[24]|^HC304 info|^HC307/.test(text))))`
    const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script, made.at, command], {
      uid: NOBODY,
      gid: NOBODY,
      cwd: '/',
      env: {},
      encoding: 'utf8',
    })
    if (stdout === '') throw new Error(stderr)
    return JSON.parse(stdout)
  }
  if (
    spawnSync(process.execPath, ['-e', `fs.accessSync(${JSON.stringify(fileURLToPath(import.meta.url))})`], {
      uid: NOBODY,
      gid: NOBODY,
    }).status !== 0
  )
    return t.comment('the compiled tests cannot be read by an ordinary user here')
  made.write('ops/hooks.json', '{}', 0o644)
  t.strictSame(told(made.write('ops/g', BODY)), [], 'of root')
  t.strictSame(told(made.write('ops/secret', BODY, 0o711)), ['HC001 warn'], 'execute-only')
  t.strictSame(told(made.write('ops/closed', BODY, 0o700)), ['HC001 error', 'HC204 error'], 'closed to us')
  const hidden = made.write('ops/hidden/g', BODY)
  chmodSync(join(made.at, 'ops/hidden'), 0o700)
  t.strictSame(told(hidden), ['HC001 error'], 'in a folder we may not search')
  const own = made.write('ops/own', BODY)
  chownSync(own, NOBODY, NOBODY)
  t.strictSame(told(own), [], 'of our own')
  chownSync(own, 1000, 1000)
  t.strictSame(told(own), ['HC303 error'], 'of somebody else')
})

t.test('the start of a run asks the same', async t => {
  const made = scene(t)
  const bad = audit(made, [made.write('ws/g', BODY)])
  const { document } = parseHooks(
    Buffer.from(JSON.stringify({ version: 1, hooks: [{ on: 'before-call', command: [join(made.at, 'ws/g')] }] })),
    join(made.at, 'ops/hooks.json'),
  )
  if (document === null) return t.fail('no document')
  const found = auditForStart({
    document,
    view: realFiles,
    trust: { ids: readIdentities(realFiles), groups: 'allowed' },
    writeSet: bad.writeSet,
    path: bad.path,
    environment: { HOME: '/' },
    machine: process,
  })
  t.strictSame(
    found.map(({ rule, fingerprint }) => [rule, fingerprint]),
    bad.findings.map(({ rule, fingerprint }) => [rule, fingerprint]),
  )
})

t.test('each path is asked once, however many hooks', async t => {
  const made = scene(t)
  const command = [made.write('ops/g', BODY)]
  const text = (count: number): string =>
    JSON.stringify({ version: 1, hooks: Array.from({ length: count }, () => ({ on: 'before-call', command })) })
  const callsFor = (count: number): number => {
    let calls = 0
    const counting = (ask: () => unknown): unknown => {
      calls++
      return ask()
    }
    const counted = new Proxy(realFiles, {
      get: (target, key) => {
        const method: unknown = Reflect.get(target, key)
        return typeof method !== 'function'
          ? method
          : (...args: unknown[]) => counting(() => Reflect.apply(method, target, args))
      },
    })
    const { summary } = auditHooks({
      bytes: Buffer.from(text(count)),
      path: made.write('ops/hooks.json', text(count), 0o644),
      cwd: made.at,
      writeSet: { origin: 'given', roots: [{ path: join(made.at, 'ws'), source: 'x' }], held: [] },
      trust: { ids: readIdentities(realFiles), groups: 'allowed' },
      view: counted,
      pathSource: { from: 'inherited', path: '/usr/bin' },
      environment: { HOME: '/' },
      machine: process,
      profile: 'default',
    })
    t.equal(summary.hooks, count)
    return calls
  }
  t.equal(callsFor(1000), callsFor(1))
})
