/** `hookcheck` as a program: statuses, formats, pipes, pins, policies, other clients' settings, and probes of real hooks. */
import { execFileSync, spawn } from 'node:child_process'
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { execa, type Options } from 'execa'
import type { Log } from 'sarif'
import t from 'tap'
import type { Report } from '../../src/hookcheck/report.js'
import { NOBODY } from '../../test/support/children.js'
import { needs } from '../../test/support/needs.js'
import { projectRoot } from '../../test/support/root.js'
import { harness, type Ran, type Scratch, scratch } from '../support/harness.js'

const bin = join(projectRoot, 'dist', 'bin', 'hookcheck.cjs')
const GUARD = '#!/bin/sh\nset -e\ntest -n "$1"\n'

interface Scene extends Scratch {
  readonly env: Readonly<Record<string, string>>
  hooks(hooks: readonly object[], name?: string): string
  program(name: string, text: string): string
}

/** A folder of the operator's (`ops`), a workspace beside it, a home. */
function scene(test: { teardown(undo: () => void): unknown }): Scene {
  const place = scratch()
  test.teardown(place.remove)
  for (const folder of ['ops', 'ws', 'home']) mkdirSync(join(place.path, folder), { mode: 0o755 })
  const program = (name: string, text: string): string => {
    const file = place.write(name, text)
    chmodSync(file, 0o755)
    return file
  }
  return {
    ...place,
    env: { PATH: '/usr/bin:/bin', HOME: join(place.path, 'home'), LANG: 'C.UTF-8', TMPDIR: place.path },
    program,
    hooks: (hooks, name = 'ops/hooks.json') => place.write(name, JSON.stringify({ version: 1, hooks }, null, 2)),
  }
}

async function hookcheck(at: Scene, words: readonly string[], more: Options = {}): Promise<Ran> {
  const ran = await execa(process.execPath, [bin, ...words], {
    cwd: at.path,
    env: at.env,
    extendEnv: false,
    stdin: 'ignore',
    reject: false,
    stripFinalNewline: false,
    timeout: 120_000,
    maxBuffer: 256 * 1024 * 1024,
    ...more,
  })
  return {
    status: ran.exitCode,
    signal: ran.signal,
    stdout: String(ran.stdout ?? ''),
    stderr: String(ran.stderr ?? ''),
  }
}

const gate = (...command: readonly string[]) => ({
  on: 'before-call',
  tools: ['run', 'file_write', 'file_edit'],
  name: 'g',
  command,
})

t.test('P061: the report tells what each status of each of these hooks means, and at no other point', async t => {
  const at = scene(t)
  const command = [at.program('ops/guard.sh', GUARD)]
  const told = async (...points: readonly string[]): Promise<string[]> => {
    const file = at.hooks(points.map(on => ({ on, command })))
    const { stdout } = await hookcheck(at, ['--workspace', 'ws', file])
    return (stdout.split('\nexit status of a hook:\n')[1] ?? '').split('\n\n')[0]?.split('\n') ?? []
  }
  t.match(await told('before-call', 'after-call', 'stop', 'transition'), [
    /^ {2}before-call {2}0 goes on, 2 blocks the call, every other ending refuses it \(fails closed\)$/,
    /^ {2}after-call {3}0 goes on, 2 and every other ending become a note/,
    /^ {2}stop {9}0 lets the run end, 2 continues it at most three times, every other ending lets it end \(fails open\)$/,
    /^ {2}transition {3}0 crosses, 2 and every other ending refuse the crossing \(fails closed\)$/,
  ])
  t.match(await told('stop'), [/^ {2}stop /])
  t.equal((await told('stop', 'stop')).length, 1)
})

t.test('exit statuses', async t => {
  const at = scene(t)
  const guard = at.program('ops/guard.sh', GUARD)
  const clean = at.hooks([gate(guard, 'x')])
  at.hooks([gate('guard.sh')], 'ops/bare.json')
  at.hooks([gate(at.program('ws/own.sh', GUARD))], 'ops/reach.json')
  at.write('ops/empty.json', '')
  at.write('ops/huge.json', `{"version":1,"hooks":[]${' '.repeat(5 * 1024 * 1024)}}`)
  at.write('ops/policy.json', '{}')
  at.write('ops/late.json', '{"version":1,"hooks":[{"on":"stop","command":["/bin/ls"],"timeout-ms":0}]}')
  execFileSync('mkfifo', [join(at.path, 'ops/fifo')])
  symlinkSync('loop', join(at.path, 'ops/loop'))
  const ws = ['--workspace', 'ws']
  const cases: readonly [words: readonly string[], status: number, says: RegExp][] = [
    [[...ws, clean], 0, /1 hook, \d+ checks: 0 errors/],
    [[...ws, 'ops/hooks.json'], 0, /0 errors/],
    [[...ws, 'ops/bare.json'], 1, /error HC204/],
    [[...ws, 'ops/reach.json'], 1, /error HC305.*own\.sh/],
    [[...ws, '--fail-on', 'never', 'ops/reach.json'], 0, /error HC305/],
    [[...ws, '--report-only', 'ops/reach.json'], 0, /info {2}HC305/],
    [[...ws, '--fail-on', 'warn', '--max-warnings', '0', clean], 1, /warnings?/],
    [[...ws, '--strict', clean], 1, /error HC801/],
    [[clean], 1, /error HC105[\s\S]*warn {2}HC003/],
    [['--strict', clean], 1, /error HC003/],
    [[...ws, 'ops/empty.json'], 1, /error HC101/],
    [[...ws, 'ops/huge.json'], 1, /error HC101.*more than 4194304 bytes/],
    [[...ws, 'ops/late.json'], 1, /error HC702/],
    [[...ws, '--rule', 'HC1', 'ops/reach.json'], 0, /HCxxx {2}only HC1 was asked for/],
    [[...ws, '--rule', 'HC305', 'ops/reach.json'], 1, /HC305/],
    [['ops/none.json'], 2, /ops\/none\.json: there is no such file/],
    [['ops'], 2, /is a folder/],
    [['ops/fifo'], 2, /is a fifo/],
    [['ops/loop'], 2, /ELOOP/],
    [['/dev/null'], 2, /is a (?:device|character-device)/],
    [[], 2, /name the hooks file/],
    [['a', 'b'], 2, /too many arguments/],
    [['--no-such', clean], 2, /--no-such.*see hookcheck --help|Did you mean/],
    [['--format', 'xml', clean], 2, /text, json, sarif, github, junit/],
    [['--rule', 'HCx', clean], 2, /no rule/],
    [['--ignore', 'HC203', clean], 2, /RULE=REASON/],
    [['--ignore', 'HC105=x', clean], 2, /cannot be ignored/],
    [['--ignore', 'HC999=x', clean], 2, /no rule/],
    [['--max-warnings', 'x', clean], 2, /no number/],
    [['--probe-budget', 'soon', clean], 2, /no time/],
    [['--write', clean], 2, /needs --pin/],
    [['--sample', 'x=block', clean], 2, /needs --probe/],
    [['--strict', '--report-only', clean], 2, /cannot be used with/],
    [['--pin', '--probe', clean], 2, /cannot be used with/],
    [['--explain', 'HC99'], 2, /no rule/],
    [['--workspace', 'nowhere', clean], 2, /nowhere/],
    [['--limit', 'wall=0', ...ws, clean], 2, /wall/],
    [['--policy', 'ops/policy.json', clean], 2, /harness explain --json/],
    [['--policy', 'ops/none', clean], 2, /no such file/],
    [['--toolchain-spec', 'x', clean], 2, /not built yet/],
    [['--output', 'no/where', ...ws, clean], 2, /the report .*cannot be written \(ENOENT\)/],
    [['--output', 'ops', ...ws, clean], 2, /cannot be written/],
    [['--output', 'ops/loop', ...ws, clean], 2, /is a link: name the file itself/],
    [['--output', '/dev/null', ...ws, clean], 0, /1 hook/],
    [['--version'], 0, /^hookcheck \d/],
    [['--help'], 0, /Exit status:/],
    [['--list-rules'], 0, /HC912/],
    [['--explain', 'hc305'], 0, /^HC305 /],
  ]
  for (const [words, status, says] of cases) {
    const ran = await hookcheck(at, words)
    const shown = words.join(' ').replaceAll(at.path, '')
    t.equal(ran.status, status, `${shown}: ${ran.stderr.slice(0, 300)}${ran.stdout.slice(0, 300)}`)
    t.match(status === 2 ? ran.stderr : ran.stdout, says, shown)
    t.notMatch(ran.stderr, /\n\s+at /, 'no stack')
    t.equal(status === 2 ? ran.stdout : '', '', `${shown}: nothing was audited, nothing on stdout`)
  }
})

t.test(
  'an audit loads nothing that starts programs, opens sockets or drives terminals, and nothing to digest little',
  async t => {
    const at = scene(t)
    const guard = at.program('ops/guard.sh', '#!/bin/sh\nset -e\nexit 2\n')
    const hooks = at.write(
      'ops/h.json',
      JSON.stringify({ version: 1, hooks: [{ on: 'before-call', command: [guard] }] }),
    )
    const tell = `process.on('exit', () => require('fs').writeSync(2, process.moduleLoadList.join(' ')))`
    const words = ['-r', at.write('tell.cjs', tell), bin, '--workspace', join(at.path, 'ws'), hooks]
    const { stderr, stdout } = await execa(process.execPath, words, {
      cwd: at.path,
      env: at.env,
      extendEnv: false,
      stdin: 'ignore',
      reject: false,
    })
    t.match(stdout, /1 hook, /)
    for (const name of ['fs', 'vm']) t.match(` ${stderr} `, ` NativeModule ${name} `, name)
    for (const name of ['child_process', 'net', 'tty', 'os']) t.notMatch(` ${stderr} `, ` NativeModule ${name} `, name)
  },
)

t.test('a file that may not be read', { skip: needs('root', 'setpriv') }, async t => {
  const at = scene(t)
  at.hooks([gate('/bin/ls')])
  chmodSync(join(at.path, 'ops/hooks.json'), 0o600)
  chmodSync(at.path, 0o755)
  const ran = await execa(
    'setpriv',
    [
      `--reuid=${NOBODY}`,
      `--regid=${NOBODY}`,
      '--clear-groups',
      process.execPath,
      bin,
      join(at.path, 'ops/hooks.json'),
    ],
    { env: at.env, extendEnv: false, reject: false },
  )
  t.match([ran.exitCode, ran.stderr], [2, /cannot be read \(EACCES\)/])
})

t.test('formats say the same', async t => {
  const at = scene(t)
  const own = at.program('ws/own.sh', GUARD)
  const file = at.hooks([gate(own), { on: 'stop', command: ['/nowhere/x'] }], 'ops/my hooks.json')
  const run = (format: string, ...more: readonly string[]) =>
    hookcheck(at, ['--workspace', 'ws', '--format', format, ...more, file])
  const json = JSON.parse((await run('json')).stdout) as Report
  t.match(json, {
    schema: 'hookcheck/1',
    tool: { name: 'hookcheck' },
    file: { path: file, sha256: /^[0-9a-f]{64}$/ },
    context: { profile: 'default', writeSet: { origin: 'given', roots: [join(at.path, 'ws')] } },
  })
  t.equal(json.hooks.length, 2)
  t.match(json.hooks[0], { name: 'g', resolved: own, failurePolicy: 'fails closed', probe: null })
  t.match(json.hooks[0]?.closure[0], { path: own, role: 'program', sha256: /^[0-9a-f]{64}$/, mode: '0755' })
  t.equal(json.findings.filter(({ severity }) => severity === 'error').length, json.summary.errors)
  const rules = (severity: string) =>
    json.findings.filter(finding => finding.severity === severity).map(({ rule }) => rule)

  const sarif = JSON.parse((await run('sarif')).stdout) as Log
  const results = sarif.runs[0]?.results ?? []
  t.strictSame(
    results.filter(({ level }) => level === 'error').map(({ ruleId }) => ruleId),
    rules('error'),
  )
  t.match(results.at(-1)?.locations?.[0]?.physicalLocation, {
    artifactLocation: { uri: 'ops/my%20hooks.json' },
    region: { startLine: Number },
  })

  const github = (await run('github')).stdout.trim().split('\n')
  t.equal(
    github.filter(line => line.startsWith('::error file=ops/my hooks.json,line=')).length +
      github.filter(line => /^::error file=[^,]*,title/.test(line)).length,
    rules('error').length,
  )
  t.match(github.at(-1), /^::notice title=hookcheck::/)
  const junit = (await run('junit')).stdout
  t.equal(junit.match(/<failure /g)?.length, rules('error').length)
  t.equal(
    (await run('junit', '--fail-on', 'warn')).stdout.match(/<failure /g)?.length,
    rules('error').length + rules('warn').length,
  )

  const both = await run('sarif', '--output', 'out.sarif')
  t.match(both, { status: 1, stdout: /^ *(?:error|warn|info|hook) / })
  t.match(both.stdout, /2 hooks, \d+ checks/)
  t.strictSame(JSON.parse(readFileSync(join(at.path, 'out.sarif'), 'utf8')), sarif)
})

t.test('names from outside steer no terminal', async t => {
  const at = scene(t)
  const name = 'gu\x1b[31mard\u202e.sh'
  const file = at.hooks([gate(at.program(`ws/${name}`, GUARD), 'a\x07b')], 'ops/h\x1b[2J.json')
  for (const format of ['text', 'json', 'sarif', 'github', 'junit']) {
    const { stdout, stderr, status } = await hookcheck(at, ['--workspace', 'ws', '--format', format, file])
    t.equal(status, 1)
    t.notMatch(stdout + stderr, /[^\P{Cc}\n]|\p{Cf}/u, format)
  }
  t.match((await hookcheck(at, ['/none\x1b[2J'])).stderr, /\\x1b/)
})

t.test('colour only for people', { skip: needs('script') }, async t => {
  const at = scene(t)
  const file = at.hooks([gate('/nowhere/x')])
  const line = `${process.execPath} ${bin} --workspace ws ${file}`
  const onTerminal = async (env: Readonly<Record<string, string>>) =>
    (
      await execa('script', ['-qec', line, '/dev/null'], {
        cwd: at.path,
        env: { ...at.env, TERM: 'xterm', ...env },
        extendEnv: false,
        reject: false,
        stdin: 'ignore',
      })
    ).stdout
  t.match(await onTerminal({}), /\x1b\[31merror/)
  t.notMatch(await onTerminal({ NO_COLOR: '1' }), /\x1b/)
  t.notMatch(await onTerminal({ TERM: 'dumb' }), /\x1b/)
  t.notMatch((await hookcheck(at, ['--workspace', 'ws', file])).stdout, /\x1b/)
})

t.test('ten thousand hooks, and pipes', async t => {
  const at = scene(t)
  const guard = at.program('ops/guard.sh', GUARD)
  const many = (count: number) =>
    Array.from({ length: count }, (_, at) => ({ ...gate(guard, String(at)), name: `h-${at}` }))
  const file = at.hooks(many(10_000), 'ops/many.json')
  const words = ['--workspace', 'ws', file]
  const whole = await hookcheck(at, words)
  t.match(whole, { status: 0, stdout: /\n10000 hooks, \d+ checks: 0 errors/ })
  t.ok(whole.stdout.length > 3_000_000, `${whole.stdout.length} bytes`)
  const line = (rest: string) =>
    execa('bash', ['-c', `set -o pipefail; "$0" "$@" ${rest}`, process.execPath, bin, ...words], {
      cwd: at.path,
      env: at.env,
      extendEnv: false,
      reject: false,
      timeout: 120_000,
      maxBuffer: 64 * 1024 * 1024,
    })
  t.equal(
    (await line('| (sleep 1; wc -c)')).stdout.trim(),
    String(Buffer.byteLength(whole.stdout)),
    'a slow reader gets every byte',
  )
  const closed = await line('| head -n 1')
  t.equal(closed.stdout.split('\n').length, 1)
  t.match(closed.stderr, /^(?:stdout was closed by its reader: stopping)?$/)
  t.notOk(closed.timedOut)
  t.match(await line('> /dev/full'), { exitCode: 2, stderr: /ENOSPC/ }, 'what cannot be printed is no success')
  t.match(await hookcheck(at, ['--workspace', 'ws', at.hooks(many(10_001), 'ops/more.json')]), {
    status: 1,
    stdout: /10001 hooks, over the bound of 10000/,
  })
})

t.test('pins', async t => {
  const at = scene(t)
  const guard = at.program('ops/guard.sh', GUARD)
  const file = at.hooks([gate(guard, 'x')])
  const lock = join(at.path, 'ops/hooks.lock.json')
  const printed = await hookcheck(at, ['--workspace', 'ws', '--pin', file])
  t.match(printed, { status: 0, stderr: '' })
  t.match(JSON.parse(printed.stdout), {
    version: 1,
    hooksFileSha256: /^[0-9a-f]{64}$/,
    entries: [{ name: 'g', index: 1, files: { [guard]: /^sha256:/ } }],
  })
  t.throws(() => statSync(lock), 'printed, not written')
  t.match(await hookcheck(at, ['--workspace', 'ws', '--pin', '--write', file]), { status: 0, stdout: `${lock}\n` })
  t.equal(statSync(lock).mode & 0o777, 0o600)
  t.strictSame(
    readdirSync(join(at.path, 'ops')).sort(),
    ['guard.sh', 'hooks.json', 'hooks.lock.json'],
    'no temporary file is left',
  )
  const run = async () => (await hookcheck(at, ['--workspace', 'ws', '--strict', file])).stdout
  t.notMatch(await run(), /HC80[124]|^ +error/m)
  writeFileSync(guard, `${GUARD}# changed\n`)
  t.match(await run(), /error HC802.*guard\.sh is not what was pinned/)
  t.match(await hookcheck(at, ['--workspace', 'ws', '--pin', '--write', file]), { status: 0 }, 'a new approval')
  t.notMatch(await run(), /HC802/)
  at.hooks([gate(guard, 'y')])
  t.match(await run(), /error HC802.*hooks file is not the one/)
  chmodSync(lock, 0o666)
  t.match(await run(), /error HC804/)
  writeFileSync(lock, '{')
  t.match(await run(), /error HC804.*not JSON/)
  rmSync(lock)
  const reach = at.hooks([gate(at.program('ws/own.sh', GUARD))], 'ops/reach.json')
  t.match(await hookcheck(at, ['--workspace', 'ws', '--pin', '--write', reach]), {
    status: 1,
    stdout: '',
    stderr: /error HC305[\s\S]*not written/,
  })
  t.throws(() => statSync(join(at.path, 'ops/reach.lock.json')))
  t.match(
    await hookcheck(at, ['--workspace', 'ws', '--pin', '--write', '--fail-on', 'never', reach]),
    { status: 0 },
    'the operator may',
  )
  t.match(await hookcheck(at, ['--workspace', 'ws', '--pin', at.write('ops/bad.json', '{"version":1,"hooks":[{}]}')]), {
    status: 1,
    stdout: '',
    stderr: /no lock/,
  })
})

t.test('what was put up with, and until when', async t => {
  const at = scene(t)
  const file = at.hooks([{ ...gate(at.program('ops/guard.sh', GUARD)), tools: ['run'] }])
  const allow = (entries: readonly object[]) =>
    at.write('ops/hookcheck-allow.json', JSON.stringify({ version: 1, entries }))
  const run = async (...more: readonly string[]) => (await hookcheck(at, ['--workspace', 'ws', ...more, file])).stdout
  t.match(await run(), /warn {2}HC704/)
  allow([{ rule: 'HC704', hook: 'g', reason: 'edits are watched elsewhere' }])
  t.match(await run(), /ignored HC704 hook 1: .*hookcheck-allow\.json: edits are watched elsewhere/)
  t.match(await run(), /Ignored: 1\./)
  allow([
    { rule: 'HC704', reason: 'x', until: '2020-01-01' },
    { rule: 'HC105', reason: 'x' },
  ])
  t.match(await run(), /warn {2}HC704[\s\S]*/)
  t.match(
    await run(),
    /HC806.*until 2020-01-01[\s\S]*HC806.*cannot be ignored|HC806.*cannot be ignored[\s\S]*HC806.*until 2020-01-01/,
  )
  allow([{ rule: 'HC704', reason: 'x' }])
  chmodSync(join(at.path, 'ops/hookcheck-allow.json'), 0o666)
  t.match(await run(), /HC806.*others can change[\s\S]*warn {2}HC704/)
  rmSync(join(at.path, 'ops/hookcheck-allow.json'))
  t.match(await run('--ignore', 'HC704=on the command line'), /ignored HC704 hook 1: .*--ignore: on the command line/)
  const inReach = at.hooks([{ ...gate('/bin/ls'), tools: ['run'] }], 'ws/hooks.json')
  at.write(
    'ws/hookcheck-allow.json',
    JSON.stringify({ version: 1, entries: [{ rule: 'HC704', reason: 'says the agent' }] }),
  )
  t.match((await hookcheck(at, ['--workspace', 'ws', inReach])).stdout, /HC806.*where the agent can write/)
})

t.test('the write set of the very policy', { skip: needs('bubblewrap') }, async t => {
  const at = scene(t)
  mkdirSync(join(at.path, 'ws/build'))
  const own = at.program('ws/build/own.sh', GUARD)
  const explained = await harness(
    ['explain', '--json', '--workspace', 'ws', '--process-write-subtree', 'build', '--', 'true'],
    { cwd: at.path },
  )
  t.equal(explained.status, 0, explained.stderr)
  const policy = at.write('ops/policy.json', explained.stdout)
  const file = at.hooks([gate(own)])
  const run = () => hookcheck(at, ['--policy', policy, file])
  t.match(await run(), { status: 1, stdout: /error HC305.*own\.sh/ })
  t.match(
    (await hookcheck(at, ['--policy', policy, at.hooks([gate(at.program('ops/guard.sh', GUARD))], 'ops/two.json')]))
      .status,
    0,
  )
  t.match(await hookcheck(at, ['--policy', at.write('ws/policy.json', explained.stdout), file]), {
    status: 2,
    stderr: /says what the agent likes/,
  })
  symlinkSync('../ws/policy.json', join(at.path, 'ops/linked.json'))
  t.match(await hookcheck(at, ['--policy', 'ops/linked.json', file]), {
    status: 2,
    stderr: /says what the agent likes/,
  })
  const inside = JSON.parse(explained.stdout) as { policy: { write: { identity: { ino: string } }[] } }
  for (const grant of inside.policy.write) grant.identity.ino = '1'
  t.match(await hookcheck(at, ['--policy', at.write('ops/stale.json', JSON.stringify(inside)), file]), {
    status: 2,
    stderr: /not what it was/,
  })
})

t.test('--from claude, in a folder with a space (E15)', async t => {
  const at = scene(t)
  const plugin = join(at.path, 'My Plugins', 'p 1')
  const settings = (name: string, value: unknown) => at.write(name, JSON.stringify(value))
  const hooks = {
    PreToolUse: [
      {
        matcher: 'Bash',
        hooks: [
          { type: 'command', command: 'bash ${CLAUDE_PLUGIN_ROOT}/hooks/x.sh', timeout: 5 },
          { type: 'command', command: '"${CLAUDE_PLUGIN_ROOT}/hooks/y.sh" --all' },
          { type: 'command', command: 'jq . | grep -q x && exit 2' },
        ],
      },
    ],
    SessionStart: [{ hooks: [{ type: 'command', command: 'x' }] }],
  }
  const ran = await hookcheck(at, [
    '--from',
    'claude',
    settings('My Plugins/p 1/hooks/hooks.json', { description: 'd', hooks }),
  ])
  t.equal(ran.status, 1)
  const document = JSON.parse(ran.stdout) as { version: number; hooks: { command: string[] }[] }
  t.match(document, {
    version: 1,
    hooks: [
      { on: 'before-call', tools: ['run'], command: ['bash', `${plugin}/hooks/x.sh`], 'timeout-ms': 5_000 },
      { command: [`${plugin}/hooks/y.sh`, '--all'] },
      { command: [join(at.path, 'home/.config/b10x/hooks/pre-tool-use.sh')] },
    ],
  })
  t.match(ran.stderr, /left out {2}SessionStart/)
  t.match(
    ran.stderr,
    /by hand {2}PreToolUse\[1\]\.hooks\[3\]: only a shell can run it[\s\S]*\n {4}#!\/bin\/sh\n[\s\S]*\n {4}jq \. \| grep -q x && exit 2\n/,
  )
  t.match(ran.stderr, /note .*call\.arguments/)
  const back = await hookcheck(at, ['--workspace', 'ws', at.write('ops/hooks.json', ran.stdout)])
  t.match(
    back,
    { status: 1, stdout: /HC204[\s\S]*3 hooks/ },
    'what it writes is read, and what is not in place yet is an error',
  )
  t.match(await hookcheck(at, ['--from', 'claude', settings('ops/none.json', { theme: 'dark' })]), {
    status: 0,
    stdout: '{\n  "version": 1,\n  "hooks": []\n}\n',
    stderr: /it has no hooks/,
  })
  t.match(
    await hookcheck(at, [
      '--from',
      'claude',
      settings('ops/clean.json', { hooks: { Stop: [{ hooks: [{ command: '/opt/done' }] }] } }),
    ]),
    { status: 0 },
  )
  t.match(await hookcheck(at, ['--from', 'claude', at.program('ops/before-stop', '#!/usr/bin/env bash\necho hi\n')]), {
    status: 2,
    stdout: /^$/,
    stderr: /^.*is not JSON: .*: name a settings\.json.*\n$/,
  })
  t.match(await hookcheck(at, ['--from', 'claude', at.write('ops/list.json', '[]')]), {
    status: 2,
    stdout: /^$/,
    stderr: /holds no JSON object: name a settings\.json/,
  })
  t.match(await hookcheck(at, ['--from', 'claude', at.write('ops/bom.json', '\ufeff{}')]), { status: 0 })
  t.match(await hookcheck(at, ['--from', 'gemini', 'x']), { status: 2, stderr: /claude/ })
})

/** Of a hook that is as it should be: what it cannot read it refuses, and at a point it does not know it goes on. */
const READS = `set -e
document=$(cat)
case $document in
*'"hook":"before-call"'*'"call":{'*'}') ;;
*'"hook":"before-call"'*) exit 1 ;;
*'"hook":"'*'}') exit 0 ;;
*) exit 1 ;;
esac
`

t.test('probes of real hooks', async t => {
  const at = scene(t)
  const cases: readonly [name: string, text: string, expected: readonly string[], on?: string][] = [
    ['good', READS, []],
    ['E04 a silent 2', `${READS}exit 2\n`, ['HC903 warn', 'HC904 error']],
    ['E04 a 2 with words on stderr', `${READS}echo no >&2\nexit 2\n`, ['HC903 warn', 'HC904 error']],
    ['a 2 with a reason', `${READS}echo '{"reason":"no"}'\nexit 2\n`, ['HC903 warn']],
    ['E05 status 1', 'cat >/dev/null\nexit 1\n', ['HC903 error']],
    ['E05 killed', 'kill -KILL $$\n', ['HC903 error']],
    ['E08 noise before the JSON', `${READS}echo ready\necho '{}'\n`, ['HC904 error']],
    ['E09 two documents', `${READS}echo '{}'\necho '{}'\n`, ['HC904 error']],
    ['P047 too much', `${READS}head -c 100000 /dev/zero | tr '\\0' x\n`, ['HC904 error']],
    ['P044 reads nothing', 'date >/dev/null\n', ['HC905 error']],
    ['another dialect', `${READS}echo '{"decision":"block"}'\n`, ['HC904 warn']],
    ['E01 leaves a child', `${READS}setsid sleep 30 >/dev/null 2>&1 &\n`, ['HC908 error']],
    ['E01 leaves a child on its output', `${READS}sleep 30 &\n`, ['HC908 error']],
    ['E02 ignores TERM', `trap '' TERM\ncat >/dev/null\nsleep 0.3\nsleep 5\n`, ['HC902 error', 'HC908 warn']],
    [
      'runs what it reads',
      'set -e\ndocument=$(cat)\ncase $document in *}) ;; *) exit 1 ;; esac\npath=$(printf %s "$document" | sed -n \'s/.*"path":"\\([^"]*\\)".*/\\1/p\')\neval "test -n \\"$path\\" || true"\nexit 0\n',
      ['HC904 error', 'HC905 error', 'HC909 error'],
    ],
    [
      'touches the workspace',
      `${READS}ws=$(printf %s "$document" | sed 's/.*"workspace":"\\([^"]*\\)".*/\\1/')\ndate +%N >> "$ws/README.md"\n`,
      ['HC911 warn'],
    ],
  ]
  for (const [name, text, expected, on = 'before-call'] of cases) {
    t.test(name, async t => {
      const script = at.program(`ops/${name.replaceAll(' ', '-')}.sh`, `#!/bin/sh\n${text}`)
      const slow = name.includes('ignores TERM') ? { 'timeout-ms': 1_500 } : {}
      const file = at.hooks(
        [{ on, tools: ['file_write'], name: 'g-only', command: [script], ...slow }],
        `ops/${name.replaceAll(' ', '-')}.json`,
      )
      const ran = await hookcheck(at, [
        '--workspace',
        'ws',
        '--probe',
        '--rule',
        'HC9',
        '--rule',
        'HC3',
        '--rule',
        'HC4',
        '--format',
        'json',
        file,
      ])
      t.equal(ran.stderr, '')
      const { findings, summary, hooks } = JSON.parse(ran.stdout) as Report
      const told = findings
        .filter(({ rule, severity }) => rule.startsWith('HC9') && severity !== 'info')
        .map(({ rule, severity }) => `${rule} ${severity}`)
      const wanted = new Set(expected)
      for (const one of wanted)
        t.ok(told.includes(one), `${one} in ${findings.map(({ rule, message }) => `${rule} ${message}`).join('\n')}`)
      // A slow machine may add that it came near its limit, or that four at once were slow.
      t.strictSame(
        [...new Set(told)].filter(one => !wanted.has(one) && !/HC902|HC910/.test(one)),
        [],
        findings.map(({ rule, message }) => `${rule} ${message}`).join('\n'),
      )
      t.ok((summary.probes ?? 0) > 0)
      if (!told.includes('HC902 error')) t.match(hooks[0]?.probe, { n: Number, p50: Number })
      const left = execFileSync('sh', [
        '-c',
        'grep -lz "^TMPDIR=$1" /proc/[0-9]*/environ 2>/dev/null || true',
        '_',
        at.path,
      ]).toString()
      t.strictSame(
        left.split('\n').filter(path => path !== '' && !path.includes(String(process.pid))),
        [],
        'nothing of it is left',
      )
      t.strictSame(
        readdirSync(at.path).filter(entry => entry.startsWith('b10x-harness-')),
        [],
        'the private folder is gone',
      )
    })
  }
})

t.test('probes: who is not started, samples, budget, environments', async t => {
  const at = scene(t)
  const marker = join(at.path, 'ran')
  const own = at.program('ws/own.sh', `#!/bin/sh\ntouch ${marker}\n`)
  const reach = at.hooks([gate(own)], 'ops/reach.json')
  const ran = await hookcheck(at, ['--workspace', 'ws', '--probe', reach])
  t.match(ran, { status: 1, stdout: /hook 1 was not probed: HC305 \(--probe-anyway/ })
  t.throws(() => statSync(marker), 'what the agent can write is not started to see what it does')
  await hookcheck(at, ['--workspace', 'ws', '--probe', '--probe-anyway', reach])
  t.ok(statSync(marker).isFile())

  const deny = at.program(
    'ops/deny.sh',
    `#!/bin/sh\n${READS}case $document in *rm*) echo '{"reason":"no"}'; exit 2 ;; esac\n`,
  )
  const file = at.hooks([gate(deny)])
  const good = at.write('ok.json', '{"hook":"before-call","call":{"name":"run"}}')
  const bad = at.write('rm.json', '{"hook":"before-call","call":{"name":"rm"}}')
  const samples = (...words: readonly string[]) =>
    hookcheck(at, ['--workspace', 'ws', '--probe', ...words.flatMap(word => ['--sample', word]), file])
  t.match(await samples(`${good}=proceed`, `${bad}=block`), { status: 0 })
  t.match(await samples(`${bad}=proceed`), {
    status: 1,
    stdout: /HC903.*rm\.json should proceed, and the hook says block/,
  })
  t.match(await hookcheck(at, ['--workspace', 'ws', '--probe', '--probe-budget', '1ms', file]), {
    status: 0,
    stdout: /P10 was left out, the time/,
  })

  const depends = at.hooks(
    [gate(at.program('ops/depends.sh', `#!/bin/sh\n${READS}test "$SPECIAL" = yes || exit 1\n`))],
    'ops/depends.json',
  )
  const compared = await hookcheck(at, ['--workspace', 'ws', '--probe', '--probe-compare', depends], {
    env: { ...at.env, SPECIAL: 'yes', OTHER: '1', MORE: '2' },
  })
  t.match(compared.stdout, /warn {2}HC912.*depends on SPECIAL/)
})

t.test('a signal ends the probes and what they started', async t => {
  for (const [signal, status] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const) {
    const at = scene(t)
    const marker = join(at.path, 'pid')
    const file = at.hooks([gate(at.program('ops/slow.sh', `#!/bin/sh\necho $$ > ${marker}\nexec sleep 60\n`))])
    const child = spawn(process.execPath, [bin, '--workspace', 'ws', '--probe', file], {
      cwd: at.path,
      env: at.env,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const ended = new Promise<number | null>(resolve => child.on('close', resolve))
    let pid = 0
    for (let tries = 0; tries < 400 && pid === 0; tries++) {
      await sleep(50)
      try {
        pid = Number(readFileSync(marker, 'utf8'))
      } catch {
        // not started yet
      }
    }
    t.ok(pid > 0)
    child.kill(signal)
    t.equal(await ended, status, signal)
    t.throws(() => process.kill(pid, 0), `${signal}: the hook is gone`)
    t.strictSame(
      readdirSync(at.path).filter(entry => entry.startsWith('b10x-harness-')),
      [],
    )
  }
})
