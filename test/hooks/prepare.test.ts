/** Hooks as a run prepares them: found, recorded, pinned, started as what was judged; and the examples, each run. */

import { createHash } from 'node:crypto'
import {
  chmodSync,
  closeSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { execa } from 'execa'
import t, { type Test } from 'tap'
import { auditForStart } from '../../src/hookcheck/audit.js'
import { broken } from '../../src/hookcheck/probe-documents.js'
import { type HooksDocument, parseHooks } from '../../src/hooks/document.js'
import { gatherHookHost, type HookHost } from '../../src/hooks/hook-host.js'
import type { HooksLock } from '../../src/hooks/lock.js'
import type { Consulted, HookPort } from '../../src/hooks/port.js'
import { type PreparedHooks, prepareHooks } from '../../src/hooks/prepare.js'
import { hookPort } from '../../src/hooks/run.js'
import { realFiles } from '../../src/paths/file-view.js'
import { closeInherited } from '../../src/supervise/descriptors.js'
import { moment, program, type RecordedMoment } from '../support/hooks.js'
import { needs } from '../support/needs.js'
import { projectRoot } from '../support/root.js'
import { scratch } from '../support/scratch.js'

closeInherited()

/** An operator's folder, a workspace beside it, a private folder. */
function place(t: Test): { readonly op: string; readonly ws: string; readonly tmp: string } {
  const root = scratch(t)
  const [op, ws, tmp] = ['op dir', 'ws', 'tmp'].map(name => join(root, name)) as [string, string, string]
  for (const folder of [op, ws, tmp, join(tmp, 'home')]) mkdirSync(folder, { mode: 0o755 })
  return { op, ws, tmp }
}

interface Prepared extends PreparedHooks {
  readonly document: HooksDocument
  readonly host: HookHost
  readonly port: HookPort
}

function prepare(
  { op, ws, tmp }: ReturnType<typeof place>,
  hooks: readonly object[],
  {
    env = { PATH: process.env.PATH },
    lock = null,
    names = [],
    home = op,
    reap = 'group',
  }: {
    env?: Record<string, string | undefined>
    lock?: HooksLock | null
    names?: readonly string[]
    home?: string
    reap?: 'group' | 'namespace'
  } = {},
): Prepared {
  const { document, problems } = parseHooks(Buffer.from(JSON.stringify({ version: 1, hooks })), join(op, 'hooks.json'))
  if (document === null || problems.length > 0) throw new Error(JSON.stringify(problems))
  const writeSet = { origin: 'given', roots: [{ path: ws, source: '--workspace' }], held: [] } as const
  const host = gatherHookHost({ view: realFiles, env, home, tmpdir: tmp, writeSet, cwd: ws, path: null })
  const prepared = prepareHooks({ document, host, lock, names, reap })
  const run = { runId: '0123456789abcdef', sessionId: null, workspace: ws }
  return { ...prepared, document, host, port: hookPort({ hooks: prepared.hooks, run, timeoutMs: null, reap }) }
}

const CALL = { call_id: 'c1', name: 'run', arguments: {}, entry: 'run' }
const ask = (port: HookPort, at: RecordedMoment = moment()): Promise<Consulted> => port.beforeCall(CALL, at)
const reasonOf = ({ decision }: Consulted): string =>
  decision.kind === 'proceed' ? 'proceed' : `${decision.kind}: ${decision.reason}`
const sum = (file: string): string => `sha256:${createHash('sha256').update(readFileSync(file)).digest('hex')}`

t.test('a hook gets exactly the environment that is built, its own folder, and no shell', async t => {
  const at = place(t)
  const file = program(at.op, 'env hook.sh', `#!/bin/sh\nenv > "$1"\npwd >> "$1"\necho "$0 $#" >> "$1"\n`)
  const out = join(at.tmp, 'out')
  const env = {
    ...{
      PATH: `${at.ws}:.:${process.env.PATH}`,
      MARKER_TOKEN: 's3cret',
      OPENAI_API_KEY: 'k',
      GIT_DIR: '/outer',
      GIT_INDEX_FILE: '/o',
      HARNESS_X: 'x',
    },
    ...{
      HOME: '/evil',
      LANG: 'C',
      NODE_OPTIONS: '--inspect',
      SSH_AUTH_SOCK: '/agent',
      KEPT: 'kept',
      BASH_ENV: '/evil',
    },
  }
  const run = prepare(at, [{ on: 'before-call', command: [file, out, '$HOME;`id`'], env: ['SSH_AUTH_SOCK'] }], {
    env,
    names: ['KEPT'],
  })
  t.equal(reasonOf(await ask(run.port)), 'proceed')
  const lines = readFileSync(out, 'utf8').trim().split('\n')
  const names = lines.filter(line => /^[A-Z_]+=/.test(line)).map(line => line.split('=')[0])
  t.strictSame(
    new Set(names.filter(name => name !== 'OLDPWD' && name !== 'PWD')),
    new Set([
      'PATH',
      'HOME',
      'USER',
      'LOGNAME',
      'SHELL',
      'LANG',
      'TMPDIR',
      'TERM',
      'NO_COLOR',
      'PYTHONSAFEPATH',
      'PYTHONNOUSERSITE',
      'PYTHONDONTWRITEBYTECODE',
      'GIT_TERMINAL_PROMPT',
      'GIT_OPTIONAL_LOCKS',
      'HARNESS_RUN_ID',
      'HARNESS_LAUNCH_ID',
      'HARNESS_HOOK_POINT',
      'HARNESS_GUARD',
      'SSH_AUTH_SOCK',
      'KEPT',
    ]),
  )
  t.ok(
    lines.includes(`HOME=${at.op}`) && lines.includes(`TMPDIR=${at.tmp}`) && lines.includes(at.op),
    'home, tmp, folder',
  )
  t.ok(lines.includes(`${file} 2`), 'arguments with spaces and shell words are arguments')
  const path = lines.find(line => line.startsWith('PATH=')) ?? ''
  t.notOk(
    path.includes(at.ws) || path.includes(':.') || path.includes('=.'),
    'the workspace and the working folder are not searched',
  )
  t.match(run.host.path.dropped.filter(({ ours }) => !ours).slice(0, 2), [{ entry: at.ws }, { entry: '.' }])
})

t.test('a home that the agent or others can write is replaced', async t => {
  const at = place(t)
  const file = program(at.op, 'home.sh', '#!/bin/sh\necho "$HOME" >&2\nexit 2\n')
  for (const home of [at.ws, '/nowhere', 'relative']) {
    const run = prepare(at, [{ on: 'before-call', command: [file] }], { home })
    t.equal(reasonOf(await ask(run.port)), `block: ${join(at.tmp, 'home')}`, home)
    t.ok(run.host.homeReplaced)
  }
})

t.test('what was recorded runs, or nothing does', async t => {
  const at = place(t)
  const swap = (file: string, text: string): void => {
    program(at.op, 'new', text)
    renameSync(join(at.op, 'new'), file)
  }
  const guard = program(at.op, 'guard.sh', '#!/bin/sh\nexit 2\n')
  const changes: readonly [string, () => void, RegExp][] = [
    [
      'replaced',
      () => swap(guard, '#!/bin/sh\nexit 0\n'),
      /the program .*guard\.sh is not what it was.*content differs/,
    ],
    ['emptied', () => writeFileSync(guard, ''), /content differs/],
    [
      'written in place with its time set back',
      () => {
        writeFileSync(guard, '#!/bin/sh\nexit 0\n')
        utimesSync(guard, new Date(0), new Date(0))
      },
      /content differs/,
    ],
    ['given to others', () => chmodSync(guard, 0o777), /mode/],
    ['gone', () => rmSync(guard), /ENOENT/],
  ]
  for (const [name, change, says] of changes) {
    swap(guard, '#!/bin/sh\nexit 2\n')
    utimesSync(guard, new Date(0), new Date(0))
    const { port } = prepare(at, [{ on: 'before-call', command: [guard] }])
    t.match(reasonOf(await ask(port)), /^block/, name)
    change()
    const events = moment()
    t.match(reasonOf(await ask(port, events)), new RegExp(`^failed: hook hook-1 was not started.*${says.source}`), name)
    t.strictSame(
      events.events.map(({ kind }) => kind),
      ['hook-ran'],
      'nothing was launched, and that is recorded',
    )
  }
  swap(guard, '#!/bin/sh\nexit 2\n')
  const { port } = prepare(at, [{ on: 'before-call', command: [guard] }])
  chmodSync(guard, 0o755)
  swap(guard, '#!/bin/sh\nexit 2\n')
  t.match(reasonOf(await ask(port)), /^block/, 'another inode with the same bytes is the same program')
})

t.test('a name that leads elsewhere since is not followed', async t => {
  const at = place(t)
  const [yes, no] = [join(at.op, 'yes'), join(at.op, 'no')]
  for (const [folder, status] of [
    [yes, 0],
    [no, 2],
  ] as const) {
    mkdirSync(folder)
    writeFileSync(join(folder, 'check.sh'), `exit ${status}\n`)
    program(folder, 'guard', `#!/bin/sh\nexit ${status}\n`)
  }
  // A first line ends at a blank.
  const [link, way] = [join(at.tmp, 'current'), join(at.op, 'way')]
  const repoint = (to: string): void => {
    rmSync(link, { force: true })
    symlinkSync(to, link)
  }
  const script = program(at.op, 'linked', `#!${link}/sh\nexit 2\n`)
  symlinkSync('/bin/sh', join(no, 'sh'))
  symlinkSync('/bin/true', join(yes, 'sh'))
  const cases: readonly [string, readonly string[], () => void][] = [
    ['the link to the script of an interpreter', ['/bin/sh', join(link, 'check.sh')], () => repoint(yes)],
    ['the link to the program', [join(link, 'guard')], () => repoint(yes)],
    ['the link to its interpreter', [script], () => repoint(yes)],
    [
      'a folder that became a link, left again through ..',
      ['/bin/sh', `${way}/../no/check.sh`],
      () => {
        mkdirSync(join(at.tmp, 'no'))
        mkdirSync(join(at.tmp, 'sub'))
        writeFileSync(join(at.tmp, 'no', 'check.sh'), 'exit 0\n')
        rmSync(way, { recursive: true })
        symlinkSync(join(at.tmp, 'sub'), way)
      },
    ],
  ]
  for (const [name, command, change] of cases) {
    repoint(no)
    mkdirSync(way, { recursive: true })
    const { port } = prepare(at, [{ on: 'before-call', command }])
    t.match(reasonOf(await ask(port)), /^block/, name)
    change()
    t.match(reasonOf(await ask(port)), /^failed: .*was not started: .*leads to another file/, name)
  }
})

t.test('a start-up file that appears is code that nobody judged', async t => {
  const at = place(t)
  const script = join(at.op, 'check.sh')
  writeFileSync(script, 'exit 2\n')
  const { port } = prepare(at, [{ on: 'before-call', command: ['/bin/sh', '-l', script] }])
  t.match(reasonOf(await ask(port)), /^block/)
  writeFileSync(join(at.op, '.profile'), 'exit 0\n')
  t.match(reasonOf(await ask(port)), /^failed: .*start-up .*\.profile is not what it was .*it was not there/)
})

t.test('the script that an interpreter is given is code too', async t => {
  const at = place(t)
  const script = join(at.op, 'check.sh')
  writeFileSync(script, 'exit 2\n')
  const { port, controlFiles } = prepare(at, [
    { on: 'before-call', command: ['/bin/sh', 'check.sh'] },
    { on: 'stop', command: ['sh', script] },
  ])
  t.ok(
    controlFiles.some(({ path }) => path === script),
    'it is kept out of write grants',
  )
  t.match(reasonOf(await ask(port)), /^block/)
  writeFileSync(script, 'exit 0\n')
  t.match(reasonOf(await ask(port)), /^failed: .*the argument .*check\.sh/)
})

t.test('pins', async t => {
  const at = place(t)
  const guard = program(at.op, 'guard.sh', '#!/bin/sh\necho "$0" >&2\nexit 2\n')
  const rules = join(at.op, 'rules.txt')
  writeFileSync(rules, 'deny\n')
  const wrong = `sha256:${'0'.repeat(64)}`
  const hook = { on: 'before-call', command: [guard] }
  const pinned = prepare(at, [{ ...hook, digest: sum(guard) }])
  const by = process.platform === 'linux' ? /^block: \/proc\/\d+\/fd\/\d+$/ : /^block: .*guard\.sh$/
  t.match(reasonOf(await ask(pinned.port)), by, 'a pinned shell script runs by the descriptor that was judged')
  t.match(reasonOf(await ask(pinned.port)), by, 'each time anew')
  t.strictSame(prepare(at, [{ ...hook, digest: { [guard]: sum(guard), [rules]: sum(rules) } }]).unstartable, [])
  t.match(prepare(at, [{ ...hook, digest: wrong }]).unstartable, [
    { hook: 1, rule: 'HC802', why: /guard\.sh is not what was pinned/ },
  ])
  t.match(prepare(at, [{ ...hook, digest: { [rules]: wrong } }]).unstartable, [
    { rule: 'HC802', why: /rules\.txt is not what was pinned/ },
  ])
  t.match(prepare(at, [{ ...hook, digest: { [`${rules}x`]: wrong } }]).unstartable, [
    { rule: 'HC802', why: /is pinned and is not there/ },
  ])
  t.match(
    reasonOf(await ask(prepare(at, [{ ...hook, digest: wrong }]).port)),
    /^failed: .*was not started: .*not what was pinned/,
    'a pin that is not met is no yes',
  )
  const data = prepare(at, [{ ...hook, digest: { [rules]: sum(rules) } }])
  writeFileSync(rules, 'allow\n')
  t.match(reasonOf(await ask(data.port)), /^failed: .*rules\.txt/, 'a pinned file that is no code is watched as well')
  const lock: HooksLock = {
    path: '/l',
    hooksFileSha256: '',
    entries: [{ name: null, index: 1, argvSha256: '', files: { [guard]: wrong }, approvedAt: '', by: '' }],
  }
  t.match(prepare(at, [hook], { lock }).unstartable, [{ rule: 'HC802' }], 'the lock pins as the file does')
  symlinkSync(guard, join(at.op, 'link'))
  t.match(
    reasonOf(await ask(prepare(at, [{ ...hook, command: [join(at.op, 'link')], digest: sum(guard) }]).port)),
    by,
    'a digest is that of what the link leads to',
  )
})

t.test('a pinned program that is swapped after the look runs as it was', { skip: needs('linux') }, async t => {
  const at = place(t)
  const guard = program(at.op, 'guard.sh', '#!/bin/sh\nexit 2\n')
  const { hooks } = prepare(at, [{ on: 'before-call', command: [guard], digest: sum(guard) }])
  const ready = hooks[0]?.ready()
  if (ready === undefined || 'fault' in ready) return t.fail('it was not ready')
  renameSync(program(at.op, 'new', '#!/bin/sh\nexit 0\n'), guard)
  t.equal(readFileSync(ready.file, 'utf8'), '#!/bin/sh\nexit 2\n')
  t.match(hooks[0]?.ready(), { fault: /content differs/ })
  ready.release()
  t.throws(() => readFileSync(ready.file), { code: 'ENOENT' }, 'the descriptor is closed')
})

t.test(
  'a program that somebody holds open for writing is not started, and not tried again',
  { skip: needs('linux') },
  async t => {
    const at = place(t)
    const guard = program(at.op, 'guard.sh', '#!/bin/sh\necho ran >> "$0.log"\nexit 0\n')
    const events = moment()
    for (const reap of ['group', ...(needs('bubblewrap') === false ? (['namespace'] as const) : [])] as const) {
      const { port } = prepare(at, [{ on: 'before-call', command: [guard] }], { reap })
      const writer = openSync(guard, 'r+')
      t.match(reasonOf(await ask(port, events)), /^failed: hook hook-1 .*(?:open for writing|busy)/i, reap)
      closeSync(writer)
      t.notOk(existsSync(`${guard}.log`), 'it did not run')
      t.equal(reasonOf(await ask(port)), 'proceed', 'closed, it is the program that was judged')
      rmSync(`${guard}.log`)
    }
  },
)

t.test('what cannot be found is said once, and is no yes', async t => {
  const at = place(t)
  const env = { PATH: '/usr/bin:/bin' }
  const cases: readonly [string, string[], RegExp][] = [
    [
      'a name',
      ['no-such-program-here'],
      /no-such-program-here is in no folder of the PATH of hooks, which is .*\/usr\/bin/,
    ],
    ['a relative path', ['./guard.sh'], /is relative/],
    ['a path', [join(at.op, 'absent')], /absent cannot be started \(ENOENT/],
    ['an interpreter', [program(at.op, 'i', '#!/nowhere/node\n')], /nowhere\/node cannot be started \(ENOENT/],
    [
      'CR LF',
      [program(at.op, 'cr', '#!/bin/sh\r\nexit 0\r\n')],
      /"\/bin\/sh\\r", named by a first line that ends in CR LF, /,
    ],
    ['text without a mark', [program(at.op, 'n', 'exit 0\n')], /cannot be started \(ENOEXEC, no-format\)/],
    ['a folder', [at.op], /EACCES/],
  ]
  for (const [name, command, says] of cases) {
    const { port, unstartable } = prepare(at, [{ on: 'before-call', command }], { env })
    t.match(unstartable, [{ hook: 1, name: 'hook-1', rule: 'HC204', why: says }], name)
    t.match(reasonOf(await ask(port)), /^failed: hook hook-1 was not started/, name)
  }
  const bare = prepare(at, [{ on: 'before-call', name: 'yes', command: ['true'] }], { env })
  t.strictSame(bare.unstartable, [])
  t.equal(reasonOf(await ask(bare.port)), 'proceed', 'a name is looked up in the scrubbed PATH')
  t.match(bare.hooks[0]?.argv0, /^\/.*\/true$/)
  const gone = prepare(at, [{ on: 'before-call', command: ['true'], cwd: join(at.op, 'gone') }], { env })
  t.match(reasonOf(await ask(gone.port)), /^failed: .*working folder .*gone does not exist/)
  const lost = program(at.op, 'lost', '#!/usr/bin/env no-such-interpreter\n')
  t.match(
    reasonOf(await ask(prepare(at, [{ on: 'before-call', command: [lost] }], { env }).port)),
    /^failed: .*127.*no-such-interpreter/,
    'E21: the error names it',
  )
})

t.test('two hooks that differ in an argument alone are two', async t => {
  const at = place(t)
  const file = program(at.op, 'say', '#!/bin/sh\necho "{\\"note\\":\\"$1\\"}"\n')
  const { port } = prepare(
    at,
    ['a', 'b', 'a'].map(word => ({ on: 'after-call', command: [file, word] })),
  )
  t.strictSame((await port.afterCall(CALL, { output: 1, failed: false }, moment())).notes, ['a', 'b', 'a'])
})

t.test('hooks in a namespace of their own', { skip: needs('bubblewrap') }, async t => {
  const at = place(t)
  const file = program(
    at.op,
    'ns.sh',
    `#!/bin/sh\ncat > "${at.tmp}/doc"\nsetsid sleep 60 &\necho "$TMPDIR" >&2\nexit 2\n`,
  )
  const { port } = prepare(at, [{ on: 'before-call', command: [file], digest: sum(file) }], { reap: 'namespace' })
  t.equal(reasonOf(await ask(port)), `block: ${at.tmp}`)
  t.match(JSON.parse(readFileSync(join(at.tmp, 'doc'), 'utf8')), { hook: 'before-call' })
})

t.test(
  'the examples are clean at the start of a run, and each does what it says (P088)',
  { skip: needs('python3') },
  async t => {
    const at = place(t)
    const folder = join(projectRoot, 'integration', 'examples', 'hooks')
    const files = ['path-policy.sh', 'secret-scan.py', 'answer-check.mjs', 'transition-governor.sh']
    for (const name of files) {
      copyFileSync(join(folder, name), join(at.op, name))
      chmodSync(join(at.op, name), 0o755)
    }
    const text = readFileSync(join(folder, 'hooks.json'), 'utf8')
      .replaceAll('/etc/harness/hooks', at.op)
      .replace('/usr/bin/node', process.execPath)
    writeFileSync(join(at.op, 'hooks.json'), text)
    const { hooks } = JSON.parse(text) as { hooks: object[] }
    const { port, host, document, unstartable } = prepare(at, hooks)
    t.strictSame(unstartable, [])
    const found = auditForStart({ document, ...host, environment: host.environment([]) })
    t.strictSame(
      found.filter(({ severity }) => severity === 'error').map(({ rule, message }) => `${rule} ${message}`),
      [],
    )

    const write = (args: object, entry = 'file_write'): Promise<Consulted> =>
      port.beforeCall({ call_id: 'c', name: entry, arguments: { ...args }, entry }, moment())
    const paths: readonly [object, string][] = [
      [{ path: 'src/a.ts', text: 'x' }, 'proceed'],
      [{ path: 'docs/a b.md', text: '"path":"/etc"' }, 'proceed'],
      [{ path: 'src/../.git/config', text: '' }, 'block: a path with .. is not followed'],
      [{ path: '.envrc', text: '' }, 'block: only files below src/ and docs/ may be written'],
      [{ path: 'src', text: '' }, 'block: only files below src/ and docs/ may be written'],
      [{ path: '/src/a', text: '' }, 'block: only files below src/ and docs/ may be written'],
      [{ path: 'x', extra: { path: 'src/a' } }, 'block: only files below src/ and docs/ may be written'],
      [{ path: 'src/"a', text: '' }, 'block: the call names no plain path'],
      [{ path: ['x'], other: { path: 'src/a' } }, 'block: the call names a path that is not plain'],
      [{ text: 'x' }, 'block: the call names no plain path'],
    ]
    for (const [args, expected] of paths) t.equal(reasonOf(await write(args)), expected, JSON.stringify(args))
    const secrets: readonly [object, RegExp][] = [
      [{ argv: ['echo', `AKIA${'A'.repeat(16)}`] }, /^block: the arguments hold an AWS access key/],
      [{ argv: ['sh', '-c', `export T=ghp_${'a'.repeat(36)}`] }, /^block: the arguments hold a GitHub token/],
      [{ argv: ['echo', 'AKIA is a prefix'] }, /^proceed$/],
      [{ argv: { 'api_key="0123456789abcdef"': 1 } }, /^block: the arguments hold a key in an assignment/],
    ]
    for (const [args, expected] of secrets) t.match(reasonOf(await write(args, 'run')), expected, JSON.stringify(args))
    const answer = (answered: string, continuations: number): Promise<Consulted> =>
      port.stop({ text: answered, continuations }, moment())
    t.match(reasonOf(await answer('done', 0)), /^block: Say in a line/)
    t.equal(reasonOf(await answer('done', 1)), 'proceed')
    t.equal(reasonOf(await answer('done\nVerified: ran the tests', 0)), 'proceed')
    t.match(reasonOf(await answer('{"cause": "TODO"}', 0)), /^block: .*placeholder "TODO"/)
    t.equal(reasonOf(await answer('{"todo": "none left", "n/a": 0}', 0)), 'proceed', 'a key is no value')
    const cross = async (path: string, side: 'enter' | 'leave', attempt: number): Promise<string> =>
      reasonOf(await port.transition({ flow: 'f', path, moment: side, attempt, of: 9 }, moment()))
    t.equal(await cross('f.build', 'enter', 1), 'proceed')
    t.match(await cross('f.build', 'enter', 3), /two attempts/)
    t.match(await cross('f.deploy', 'enter', 1), /waits for the operator/)
    t.equal(await cross('f.deploy', 'leave', 7), 'proceed')
    mkdirSync(join(at.op, 'approvals'))
    writeFileSync(join(at.op, 'approvals', 'deploy'), '')
    t.equal(await cross('f.deploy', 'enter', 1), 'proceed')

    const run = { workspace: at.ws, runId: 'r', sessionId: null }
    for (const { on, tools, command } of document.hooks.filter(hook => hook.on !== 'stop')) {
      for (const { label, bytes } of broken({ hook: { on, tools }, run })) {
        const { exitCode } = await execa(command[0] ?? '', command.slice(1), {
          cwd: at.op,
          input: bytes,
          reject: false,
        })
        t.not(exitCode, 0, `${command[0]} lets nothing through that is ${label}`)
      }
    }
  },
)
