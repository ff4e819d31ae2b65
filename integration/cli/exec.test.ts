/** `harness exec`, `explain`, `tools`, `emulate` and `completion` as programs. */
import {
  chmodSync,
  closeSync,
  cpSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { execa } from 'execa'
import t from 'tap'
import { needs } from '../../test/support/needs.js'
import { outcomeProblem } from '../../test/support/schemas.js'
import { harness, harnessBin, scratch } from '../support/harness.js'

const confined = { skip: needs('bubblewrap') }

t.test('the exit status is the command’s own, or 124 to 127 by a closed table (A20)', confined, async t => {
  const ws = scratch({ 'plain.txt': 'no program\n', 'dir/x': '' })
  t.teardown(ws.remove)
  const cases: readonly [words: string[], status: number, says: RegExp][] = [
    [['--', 'true'], 0, /^$/],
    [['--', 'sh', '-c', 'exit 7'], 7, /^$/],
    [['--', 'sh', '-c', 'exit 137'], 137, /^$/],
    [['--', 'sh', '-c', 'kill -INT $$'], 130, /^$/],
    [['--', 'sh', '-c', 'kill -KILL $$'], 137, /^$/],
    [['--', 'sh', '-c', 'kill -TERM $$'], 143, /^$/],
    [['--', 'sh', '-c', 'kill -TERM 0'], 143, /^$/],
    [['--', 'no-such-program-anywhere'], 127, /no-such-program-anywhere/],
    [['--', './missing'], 127, /missing/],
    [['--', './plain.txt'], 126, /plain\.txt/],
    [['--', './dir'], 126, /dir/],
    [['--limit', 'wall=300ms', '--', 'sleep', '60'], 124, /deadline of 300 ms.*--limit wall/],
    [['--limit', 'output-total=10KiB', '--', 'sh', '-c', 'yes'], 124, /output-total/],
    [['--workspace', '/nowhere/at/all', '--', 'true'], 125, /\/nowhere\/at\/all/],
    [['--confine', 'off', '--', 'true'], 125, /leave --confine off out/],
    [['--confine', 'seatbelt', '--', 'true'], 125, /this is not macOS; nothing was run/],
    [['--limit', 'wall=0', '--', 'true'], 125, /wall/],
    [['--limit', 'open-files=3', '--', 'true'], 125, /from 16/],
    [['--limit', 'cpu=1s', '--', 'sh', '-c', 'while :; do :; done'], 124, /cpu limit of 1s \(--limit cpu=VALUE/],
    [['--limit', 'file-size=1MiB', '--', 'sh', '-c', 'exec head -c 2000000 /dev/zero > /tmp/x'], 124, /limit of 1MiB/],
    [['--no-such', '--', 'true'], 125, /--no-such/],
    [['--process-write-subtree', '..', '--', 'true'], 125, /outside/],
  ]
  for (const [words, status, says] of cases) {
    const ran = await harness(['exec', ...words], { cwd: ws.path })
    const shown = words.join(' ').slice(0, 80)
    t.equal(ran.status, status, `${shown}: ${ran.stderr}`)
    t.match(ran.stderr, says, shown)
    t.notMatch(ran.stderr, /\n\s+at /, 'no stack')
  }
})

t.test('what a shell starts beside its command neither holds it up nor outlives it', confined, async t => {
  const ws = scratch()
  t.teardown(ws.remove)
  const cases: readonly { name: string; argv: readonly string[]; status: number; stdout: string }[] = [
    { name: 'A01', argv: ['sh', '-c', 'sleep 300 & echo up'], status: 0, stdout: 'up\n' },
    { name: 'A03', argv: ['sh', '-c', 'setsid sleep 300 & echo up; exit 3'], status: 3, stdout: 'up\n' },
    { name: 'A08', argv: ['bash', '-c', 'kill -KILL -1; echo alive'], status: 0, stdout: 'alive\n' },
    { name: 'P005', argv: ['bash', '-c', 'sleep 300 & kill %1; wait; echo waited'], status: 0, stdout: 'waited\n' },
    { name: 'P010', argv: ['sh', '-c', 'read x; echo "$? [$x]"'], status: 0, stdout: '1 []\n' },
    { name: 'P013', argv: ['bash', '-c', 'cat <(sleep 0.2; echo x)'], status: 0, stdout: 'x\n' },
    { name: 'P013, a reader that stays', argv: ['bash', '-c', 'echo y | tee >(sleep 300)'], status: 0, stdout: 'y\n' },
  ]
  for (const bounded of [[], ['--limit', 'output-total=1MiB']]) {
    for (const { name, argv, status, stdout } of cases) {
      const ran = await harness(['exec', ...bounded, '--', ...argv], { cwd: ws.path, timeout: 60_000 })
      t.match(ran, { status, signal: undefined, stdout }, `${name} ${bounded.join(' ')}`)
    }
  }
})

t.test('stdio is passed through', confined, async t => {
  const ws = scratch()
  t.teardown(ws.remove)
  const piped = await harness(['exec', '--', 'cat'], { cwd: ws.path, stdin: 'pipe', input: 'line\n' })
  t.strictSame([piped.status, piped.stdout], [0, 'line\n'])
  const again = await harness(['exec', '--', 'sh', '-c', 'echo back >&0; cat /dev/stdin'], {
    cwd: ws.path,
    stdin: 'pipe',
    input: 'line\n',
  })
  t.equal(again.stdout, 'line\n', 'a socket is read as a FIFO is')
  const none = await harness(['exec', '--', 'cat'], { cwd: ws.path, stdin: 'ignore' })
  t.strictSame([none.status, none.stdout], [0, ''])
  const both = await harness(['exec', '--', 'sh', '-c', 'echo out; echo err >&2; echo again > /dev/stderr'], {
    cwd: ws.path,
  })
  t.strictSame([both.stdout, both.stderr], ['out\n', 'err\nagain\n'])
  const { stdout } = await execa(
    'sh',
    ['-c', `"${process.execPath}" "${harnessBin}" exec -- sh -c 'yes | head -c 3000000' | wc -c`],
    { cwd: ws.path },
  )
  t.equal(stdout.trim(), '3000000', 'every byte of a large output')
  const head = await execa(
    'bash',
    ['-c', `"${process.execPath}" "${harnessBin}" exec -- yes | head -1; echo "\${PIPESTATUS[0]}"`],
    { cwd: ws.path },
  )
  t.match(head.stdout, /^y\n(141|0)$/, 'a reader that goes away ends the command as it would outside')
})

t.test('a file of ours is read and written through us, and cannot be opened again inside', confined, async t => {
  const ws = scratch({ file: 'kept\n', log: 'old\n', lines: '1\n2\n3\n' })
  const outside = scratch({ file: 'kept\n' })
  t.teardown(ws.remove)
  t.teardown(outside.remove)
  const exec = `"${process.execPath}" "${harnessBin}" exec`
  const sh = async (script: string) => (await execa('bash', ['-c', script], { cwd: ws.path, reject: false })).stdout
  const at = (path: string) => readFileSync(path, 'utf8')
  for (const file of [join(ws.path, 'file'), join(outside.path, 'file')]) {
    await sh(`${exec} -- sh -c 'echo PWN > /proc/self/fd/0; echo PWN >> /dev/stdin; : > /proc/self/fd/0' < '${file}'`)
    t.equal(at(file), 'kept\n', 'stdin cannot be written')
    t.equal(await sh(`${exec} -- cat < '${file}'`), 'kept', 'and is read')
  }
  const log = join(ws.path, 'log')
  await sh(`${exec} -- sh -c ': > /proc/self/fd/1; : > /dev/stderr; echo new; echo err >&2' >> log 2>&1`)
  t.equal(at(log), 'old\nnew\nerr\n', 'stdout is only added to')
  await sh(`${exec} --limit wall=2s -- sh -c 'cat /proc/self/fd/1 >&2 & sleep 0.2; kill $!' >> log 2> seen`)
  t.equal(at(join(ws.path, 'seen')), '', 'nor read')
  await sh(`${exec} -- sh -c 'for i in 1 2 3 4; do echo o$i; echo e$i >&2; done' > both 2>&1`)
  t.equal(at(join(ws.path, 'both')), 'o1\ne1\no2\ne2\no3\ne3\no4\ne4\n', 'two streams to one file keep their order')
  t.equal(await sh(`while read -r x; do echo "$x"; ${exec} -- true; done < lines`), '1\n2\n3', 'nothing is read ahead')
  t.equal(
    await sh(`${exec} -- sh -c 'ls -l /proc/self/fd; cat' < file 2> err > out; cat out`).then(text =>
      /ws|file$/m.test(text),
    ),
    false,
  )
  t.equal(await sh(`head -c 40000000 /dev/zero > big; ${exec} -- sh -c 'cat | wc -c' < big`), '40000000')
  t.equal(await sh(`${exec} -- true < big; echo $?`), '0', 'one that does not read is not held up')
  t.match(await sh(`${exec} -- echo x 2>&1 > /dev/full; echo $?`), /stdout could not be passed on.*ENOSPC.*\n1$/)
  t.equal(
    await sh(
      'mkfifo named; (echo once > named &) ; ' +
        `${exec} -- sh -c 'cat; ls -l /proc/self/fd/0' < named | grep -c named`,
    ),
    '0',
  )
})

t.test('a relay that takes no more holds nothing up, and a loss is said', confined, async t => {
  const ws = scratch()
  t.teardown(ws.remove)
  const exec = `"${process.execPath}" "${harnessBin}" exec --limit wall=20s`
  const again = 'echo one >&2; sleep 0.3; echo two > /dev/stderr; echo three >> /proc/self/fd/2; echo done; exit 7'
  const full = await execa('bash', ['-c', `${exec} -- sh -c '${again}' 2> /dev/full`], { cwd: ws.path, reject: false })
  t.strictSame([full.exitCode, full.stdout], [7, 'done'], 'its own status is kept')
  const lost = `${exec} --outcome-file o -- sh -c 'echo one; sleep 0.3; echo two > /dev/stdout; echo done >&2' > /dev/full`
  const said = await execa('bash', ['-c', lost], { cwd: ws.path, reject: false })
  t.equal(said.exitCode, 1, 'success would be a lie')
  t.match(said.stderr, /^done\nharness: stdout could not be passed on to its end \(ENOSPC\)$/)
  t.match(JSON.parse(readFileSync(join(ws.path, 'o'), 'utf8')), {
    ending: { kind: 'exited', status: 0 },
    stream_failures: [{ stream: 'stdout', errno: 'ENOSPC' }],
  })
  const gone = `${exec} --limit output-total=9MiB -- sh -c 'trap "" PIPE; echo one; sleep 0.5; echo two > /dev/stdout; exit 7' | true; echo "\${PIPESTATUS[0]}"`
  t.equal((await execa('bash', ['-c', gone], { cwd: ws.path })).stdout, '7', 'a reader that is gone')
})

t.test('a socket of messages as stdin is refused by name', { skip: needs('bubblewrap', 'perl') }, async t => {
  const ws = scratch()
  t.teardown(ws.remove)
  for (const [type, status, says] of [
    ['SOCK_DGRAM', 125, /^refused \[file-unreadable\] descriptor 0 is a socket of messages.*give it a pipe/],
    ['SOCK_SEQPACKET', 125, /^refused \[file-unreadable\] descriptor 0 is a socket of messages/],
    ['SOCK_STREAM', 0, /^$/],
  ] as const) {
    const start =
      'use Socket; socketpair(my $a, my $b, AF_UNIX, eval shift, 0) or die; syswrite $b, "in"; close $b; open STDIN, "<&", $a; close $a; exec @ARGV'
    const words = ['-e', start, type, process.execPath, harnessBin, 'exec', '--', 'cat']
    const ran = await execa('perl', words, { cwd: ws.path, reject: false, stdin: 'inherit' })
    t.equal(ran.exitCode, status, `${type}: ${ran.stderr}`)
    t.match(ran.stderr, says)
    t.equal(ran.stdout, status === 0 ? 'in' : '', type)
  }
})

t.test('closed standard streams: nothing fails, and what went nowhere is said', confined, async t => {
  const ws = scratch()
  t.teardown(ws.remove)
  const program = `"${process.execPath}" "${harnessBin}"`
  const exec = `${program} exec --outcome-file o`
  const both = "sh -c 'echo out; echo error >&2'"
  const lost = (bytes: number, stream: string) =>
    `harness: ${bytes} bytes of ${stream} went nowhere: it is /dev/null open for reading and writing, as which a closed one is opened`
  for (const [line, stdout, stderr, nowhere] of [
    [`${exec} -- echo hi >&-`, '', lost(3, 'stdout'), [{ stream: 'stdout', bytes: 3 }]],
    [`${exec} -- true >&-`, '', '', undefined],
    [`${exec} -- ${both} >&-`, '', `error\n${lost(4, 'stdout')}`, [{ stream: 'stdout', bytes: 4 }]],
    [`${exec} -- ${both} 2>&-`, 'out', '', [{ stream: 'stderr', bytes: 6 }]],
    [
      `${exec} -- ${both} >&- 2>&-`,
      '',
      '',
      [
        { stream: 'stdout', bytes: 4 },
        { stream: 'stderr', bytes: 6 },
      ],
    ],
    [`${exec} -- cat <&-`, '', '', undefined],
    [`${exec} -- ${both} > /dev/null`, '', 'error', undefined],
    [`${exec} -- ${both} 2> /dev/null`, 'out', '', undefined],
    [
      `${program} tools >&-; rm -f o; ${program} exec --outcome-file o -- true`,
      '',
      /^harness: \d+ bytes of stdout/m,
      undefined,
    ],
    [
      `${program} run --json --provider demo --input x >&-; echo '{}' > o`,
      '',
      /harness: \d+ bytes of stdout went/,
      undefined,
    ],
  ] as const) {
    const ran = await execa('bash', ['-c', line], { cwd: ws.path, reject: false })
    t.equal(ran.exitCode, 0, line)
    t.equal(ran.stdout, stdout, line)
    if (typeof stderr === 'string') t.equal(ran.stderr, stderr, line)
    else t.match(ran.stderr, stderr, line)
    t.strictSame(JSON.parse(readFileSync(join(ws.path, 'o'), 'utf8')).nowhere, nowhere, line)
  }
})

t.test(
  'what a command makes in a write grant for others to run is said',
  { skip: needs('bubblewrap', 'git') },
  async t => {
    const ws = scratch({ 'a/b/x': '' })
    t.teardown(ws.remove)
    const outcome = join(scratch().path, 'outcome.json')
    const make = 'git init -q a/sub; printf "[core]\\nfsmonitor = evil\\n" >> a/sub/.git/config; echo x > a/b/.envrc'
    const bare = 'mkdir objects refs; echo "ref: refs/heads/m" > HEAD'
    const exec = async (script: string, ...options: string[]) => {
      const ran = await harness(['exec', '--outcome-file', outcome, ...options, '--', 'sh', '-c', script], {
        cwd: ws.path,
      })
      return { ...ran, record: JSON.parse(readFileSync(outcome, 'utf8')) }
    }
    const clean = await exec('echo x > a/y', '--process-write-subtree', '.')
    t.strictSame([clean.record.tampered, clean.stderr], [[], ''])
    t.match(clean.record.confinement.gaps, [{ guarantee: 'nothing-planted' }])
    t.strictSame(
      (await exec('true')).record.confinement.gaps.filter(
        (gap: { guarantee: string }) => gap.guarantee === 'nothing-planted',
      ),
      [],
    )
    const ran = await exec(`${make}; ${bare}`, '--process-write-subtree', '.')
    const lines = [
      `appeared: ${ws.path} (a git folder)`,
      `appeared: ${ws.path}/a/sub/.git`,
      `appeared: ${ws.path}/a/b/.envrc`,
      `moved aside: ${ws.path}/a/sub/.git/config to ${ws.path}/a/sub/.git/config.planted: git would run core.fsmonitor`,
    ]
    const plain = (text: string): string => text.replaceAll(/planted-[0-9a-f]{16}/g, 'planted')
    t.same([ran.status, new Set(ran.record.tampered.map(plain))], [0, new Set(lines)])
    for (const line of lines) t.ok(plain(ran.stderr).includes(line), line)
  },
)

t.test('a slow reader gets every byte of a relayed stream, and the bound still counts', confined, async t => {
  const ws = scratch()
  t.teardown(ws.remove)
  const command = `"${process.execPath}" "${harnessBin}" exec --limit output-total=9MiB -- sh -c 'yes | head -c 3000000'`
  const { stdout } = await execa('bash', ['-c', `${command} | (sleep 1; cat) | wc -c`], { cwd: ws.path })
  t.equal(stdout.trim(), '3000000')
  const gone = await execa(
    'bash',
    ['-c', `${command.replace('head -c 3000000', 'cat')} | head -c 1; echo "\${PIPESTATUS[0]}"`],
    {
      cwd: ws.path,
    },
  )
  t.match(gone.stdout, /(141|0|1)$/, 'a reader that goes away ends the command')
})

t.test('a terminal is passed bytes and never handed in', { skip: needs('bubblewrap', 'script') }, async t => {
  const ws = scratch()
  t.teardown(ws.remove)
  const inside =
    'test -t 0 || test -t 1 || test -t 2 && echo "a terminal is inside" || echo "no terminal"; ls -l /proc/self/fd'
  const command = `'${process.execPath}' '${harnessBin}' exec -- sh -c '${inside}'; stty -a | cksum`
  const before = await execa('script', ['-qec', 'stty -a | cksum', '/dev/null'], { stdin: 'ignore' })
  const { stdout } = await execa('script', ['-qec', command, '/dev/null'], { cwd: ws.path, stdin: 'ignore' })
  t.match(stdout, /no terminal/)
  t.notMatch(stdout, /\/dev\/(pts|tty)/)
  t.equal(stdout.trim().split('\n').at(-1), before.stdout.trim(), 'the terminal is as it was')
})

t.test('the outcome record: a file, a descriptor, and no descriptor of ours inside', confined, async t => {
  const ws = scratch()
  t.teardown(ws.remove)
  const file = join(ws.path, 'outcome.json')
  await harness(['exec', '--outcome-file', file, '--', 'sh', '-c', 'exit 3'], { cwd: ws.path })
  const record = JSON.parse(readFileSync(file, 'utf8'))
  t.match(record, { version: 1, ending: { kind: 'exited', status: 3 }, confinement: { boundary: /bubblewrap/ } })
  const other = join(ws.path, 'fd.json')
  const script = `exec 7>"${other}" 200>"${join(ws.path, 'canary')}"; "${process.execPath}" "${harnessBin}" exec --outcome-fd 7 -- ls -l /proc/self/fd`
  const { stdout } = await execa('bash', ['-c', script], { cwd: ws.path })
  t.match(JSON.parse(readFileSync(other, 'utf8')), { version: 1, ending: { kind: 'exited', status: 0 } })
  t.notMatch(stdout, /canary|fd\.json/, 'neither descriptor is inside')
  for (const bad of ['2', 'x', '99']) {
    const ran = await harness(['exec', '--outcome-fd', bad, '--', 'true'], { cwd: ws.path })
    t.strictSame([ran.status, /--outcome-fd/.test(ran.stderr)], [125, true], bad)
  }
  const refused = await harness(['exec', '--outcome-file', file, '--', 'no-such-program'], { cwd: ws.path })
  t.equal(refused.status, 127)
  t.ok(JSON.parse(readFileSync(file, 'utf8')).version === 1, 'a refusal is recorded as well')
})

t.test('TERM, INT and HUP of us end the command, which may clean up first', confined, async t => {
  const ws = scratch()
  t.teardown(ws.remove)
  mkdirSync(join(ws.path, 'out'))
  for (const [signal, status] of [
    ['SIGTERM', 143],
    ['SIGINT', 130],
    ['SIGHUP', 129],
  ] as const) {
    const command = 'trap "echo bye > out/bye; exit 0" TERM; echo up > out/up; while :; do sleep 0.05; done'
    const child = execa(
      process.execPath,
      [harnessBin, 'exec', '--process-write-subtree', 'out', '--', 'sh', '-c', command],
      { cwd: ws.path, reject: false, stdin: 'ignore' },
    )
    while (!existsSync(join(ws.path, 'out/up'))) await sleep(20)
    child.kill(signal)
    const ran = await child
    t.equal(ran.exitCode, status, `${signal}: ${ran.stderr}`)
    t.equal(readFileSync(join(ws.path, 'out/bye'), 'utf8'), 'bye\n')
    for (const name of ['up', 'bye']) await execa('rm', [join(ws.path, 'out', name)])
  }
})

t.test('a second INT leaves at once, and the record says so', confined, async t => {
  const ws = scratch()
  t.teardown(ws.remove)
  mkdirSync(join(ws.path, 'out'))
  const file = join(ws.path, 'outcome.json')
  const command = 'trap "" TERM; echo up > out/up; while :; do sleep 0.05; done'
  const words = ['exec', '--outcome-file', file, '--process-write-subtree', 'out', '--', 'sh', '-c', command]
  const child = execa(process.execPath, [harnessBin, ...words], { cwd: ws.path, reject: false, stdin: 'ignore' })
  while (!existsSync(join(ws.path, 'out/up'))) await sleep(20)
  child.kill('SIGINT')
  await sleep(100)
  child.kill('SIGINT')
  const { exitCode, durationMs } = await child
  t.equal(exitCode, 130)
  t.ok(durationMs < 20_000)
  const record = JSON.parse(readFileSync(file, 'utf8'))
  t.match(record, { version: 1, left: { status: 130, reason: /left before/ } })
  t.equal(outcomeProblem(record), null)
})

const ORDINARY = 4_711

t.test('without room for its threads it is refused, in time', { skip: needs('linux', 'root', 'setpriv') }, async t => {
  const ws = scratch()
  t.teardown(ws.remove)
  chmodSync(ws.path, 0o777)
  // The project may lie where this user may not read. With less than 8 left Node does not come to our first line.
  const bin = join(ws.path, 'bin')
  cpSync(dirname(harnessBin), bin, { recursive: true })
  const limited = ['--reuid', `${ORDINARY}`, '--regid', `${ORDINARY}`, '--clear-groups', 'prlimit', '--nproc=13', '--']
  for (const confine of ['auto', 'landlock']) {
    const words = [...limited, process.execPath, join(bin, 'harness.cjs'), 'exec', '--confine', confine, '--', 'true']
    const ran = await execa('setpriv', words, {
      ...{ cwd: ws.path, reject: false, stdin: 'ignore', timeout: 30_000, extendEnv: false },
      env: { PATH: process.env.PATH ?? '', HOME: ws.path },
    })
    t.equal(ran.exitCode, 125, ran.stderr)
    t.match(
      ran.stderr,
      /^refused \[over-bound\] this user may have 13 processes and threads.*nothing was started.*ulimit -u/,
    )
  }
})

t.test('explain starts nothing and tells everything', confined, async t => {
  const ws = scratch()
  t.teardown(ws.remove)
  const text = await harness(['explain', '--process-write-subtree', '.', '--', 'sh', '-c', 'touch started'], {
    cwd: ws.path,
  })
  t.equal(text.status, 0, text.stderr)
  for (const word of ['--unshare-net', '--die-with-parent', '--process-write-subtree', 'PATH=', 'ret']) {
    t.ok(text.stdout.includes(word), word)
  }
  t.notOk(existsSync(join(ws.path, 'started')))
  const json = await harness(['explain', '--json', '--', 'true'], { cwd: ws.path })
  t.doesNotThrow(() => JSON.parse(json.stdout))
  const refused = await harness(['explain', '--', 'no-such-program-anywhere'], { cwd: ws.path })
  t.equal(refused.status, 1)
})

t.test('words that are no UTF-8 refuse, whatever the command', confined, async t => {
  const ws = scratch({ 'h/x': 'kept\n' })
  t.teardown(ws.remove)
  const program = `"${process.execPath}" "${harnessBin}"`
  for (const [words, status] of [
    [`exec --hide $'h\\xff' -- true`, 125],
    [`exec -- echo $'\\xff'`, 125],
    [`tools --read $'h\\xff'`, 1],
    [`check-path $'h\\xff'`, 1],
  ] as const) {
    const ran = await execa('bash', ['-c', `${program} ${words}`], { cwd: ws.path, reject: false })
    t.equal(ran.exitCode, status, words)
    t.match(ran.stderr, /^refused \[bad-arguments\] word \d of the command line: its bytes are no UTF-8/, words)
  }
  const ran = await harness(['exec', '--', 'echo', '\ufffd'], { cwd: ws.path })
  t.strictSame([ran.status, ran.stdout], [0, '\ufffd\n'])
})

t.test('a home that is no folder is no home', confined, async t => {
  const ws = scratch({ file: '' })
  t.teardown(ws.remove)
  const none = join(ws.path, '..', `harness-none-${process.pid}`)
  for (const HOME of ['/dev/null', join(ws.path, 'file'), none]) {
    for (const XDG_CACHE_HOME of ['/dev/null', '']) {
      const env = { HOME, XDG_CACHE_HOME }
      t.match(await harness(['exec', '--', 'true'], { cwd: ws.path, env }), { status: 0, stderr: '' }, HOME)
    }
  }
  t.notOk(existsSync(none), 'a home is not made for the code cache')
  const granted = ['exec', '--process-write-subtree', '.', '--', 'true']
  const ran = await harness(granted, {
    cwd: ws.path,
    env: { HOME: join(ws.path, 'file'), XDG_CACHE_HOME: '/dev/null' },
  })
  t.strictSame([ran.status, /control-file-inside/.test(ran.stderr)], [125, true], 'a folder could be put in its stead')
})

t.test('tools: four without a boundary', async t => {
  const ws = scratch()
  t.teardown(ws.remove)
  const bare = await harness(['tools'], { cwd: ws.path })
  const answer = JSON.parse(bare.stdout)
  t.strictSame(Object.keys(answer), [
    'workspace',
    'surface',
    'tools',
    'catalogue',
    'mcp',
    'withheld',
    'skills',
    'agents',
    'memories',
    'driver',
  ])
  t.equal(answer.tools.length, 4)
  t.equal(bare.stderr.split('\n').filter(line => line.startsWith('note:')).length, 3)
  const verbs = JSON.parse((await harness(['tools', '--surface', 'verbs'], { cwd: ws.path })).stdout)
  t.strictSame(
    verbs.tools.map((tool: { name: string }) => tool.name),
    ['tool_search', 'tool_describe', 'tool_invoke'],
  )
})

t.test('tools: seven with a boundary and a program', confined, async t => {
  const ws = scratch()
  t.teardown(ws.remove)
  const full = await harness(['tools', '--confine', 'auto', '--allow-program', 'git'], { cwd: ws.path })
  t.strictSame([JSON.parse(full.stdout).tools.length, full.stderr], [7, ''])
})

t.test('emulate serves a scenario, and ends with 2 when a request differs', async t => {
  const ws = scratch({
    'ok.yaml': 'version: 1\nmodel: m\nturns:\n  - reply: { text: hello }\nthen: refuse\n',
    'strict.json': JSON.stringify({
      version: 1,
      model: 'm',
      turns: [{ expect: { contains: 'magic word' }, reply: { text: 'x' } }],
      then: 'refuse',
    }),
    'broken.yaml': 'version: 1\nmodel: m\nturns:\n  - replay: { text: hello }\n',
  })
  t.teardown(ws.remove)
  for (const [file, status, runStatus] of [
    ['ok.yaml', 0, 0],
    ['strict.json', 2, 1],
  ] as const) {
    const server = execa(process.execPath, [harnessBin, 'emulate', '--scenario', join(ws.path, file), '--json'], {
      reject: false,
      stdin: 'ignore',
    })
    const baseUrl = await new Promise<string>(resolve =>
      server.stdout?.once('data', chunk => resolve(JSON.parse(String(chunk).split('\n')[0] ?? '').base_url)),
    )
    const ran = await harness(['run', '--base-url', baseUrl, '--model', 'm', '--workspace', ws.path, '--input', 'hi'])
    t.equal(ran.status, runStatus, ran.stderr)
    server.kill('SIGTERM')
    const ended = await server
    t.equal(ended.exitCode, status, ended.stderr)
  }
  const broken = await harness(['emulate', '--scenario', join(ws.path, 'broken.yaml')])
  t.equal(broken.status, 1)
  t.match(broken.stderr, /bad-document.*broken\.yaml.*replay/s)
  t.notMatch(broken.stderr, /\n\s+at /)
  t.equal((await harness(['emulate', '--port', '99999'])).status, 1)
  t.equal((await harness(['emulate', '--wire', 'openai'])).status, 1)
})

t.test('completion, help and version come out whole', async t => {
  for (const shell of ['bash', 'zsh', 'fish']) t.equal((await harness(['completion', shell])).status, 0, shell)
  const syntax = await execa('bash', ['-c', `"${process.execPath}" "${harnessBin}" completion bash | bash -n`], {
    reject: false,
  })
  t.equal(syntax.exitCode, 0)
  for (const words of [['--help'], ['run', '--help'], ['--version'], ['-V']])
    t.equal((await harness(words)).status, 0, words.join(' '))
  t.equal((await harness([])).status, 1)
})

t.test('no code cache in the working folder or behind a link', async t => {
  const ws = scratch()
  const away = scratch()
  t.teardown(ws.remove)
  t.teardown(away.remove)
  mkdirSync(join(ws.path, 'w'))
  symlinkSync(away.path, join(ws.path, 'link'))
  const kept = async (base: string, env: Record<string, string>, cwd: string) => {
    t.equal((await harness(['completion', 'bash'], { env, cwd })).status, 0)
    return existsSync(join(base, 'b10x-harness'))
  }
  const at = (path: string) => ({ XDG_CACHE_HOME: join(ws.path, path) })
  t.equal(await kept(join(ws.path, 'w/c'), at('w/c'), join(ws.path, 'w')), false, 'inside')
  t.equal(
    await kept(join(ws.path, 'w/.cache'), { HOME: join(ws.path, 'w'), XDG_CACHE_HOME: '' }, join(ws.path, 'w')),
    false,
    'a home',
  )
  t.equal(await kept(join(ws.path, 'w'), at('w'), '/'), false, 'everything lies in /')
  t.equal(await kept(away.path, at('link'), join(ws.path, 'w')), false, 'behind a link')
  t.equal(await kept(join(ws.path, 'w2'), at('w2'), join(ws.path, 'w')), true, 'beside')
  const [file] = (await execa('ls', [join(ws.path, 'w2/b10x-harness')])).stdout.split('\n')
  symlinkSync(join(ws.path, 'w2'), join(ws.path, 'l2'))
  const cached = join(ws.path, 'w2/b10x-harness', file ?? '')
  const before = readFileSync(cached)
  writeFileSync(cached, 'not a cache')
  for (const [env, cwd] of [
    [at('l2'), join(ws.path, 'w')],
    [at('w2'), ws.path],
  ] as const) {
    await harness(['completion', 'bash'], { env, cwd })
    t.equal(readFileSync(cached, 'utf8'), 'not a cache', 'neither read nor replaced')
  }
  await harness(['completion', 'bash'], { env: at('w2'), cwd: join(ws.path, 'w') })
  t.not(readFileSync(cached).length, 11, `replaced where it counts (${before.length} bytes)`)
})

t.test('what a help text needed is no code cache for a launch', confined, async t => {
  const ws = scratch()
  const base = scratch()
  t.teardown(ws.remove)
  t.teardown(base.remove)
  const env = { XDG_CACHE_HOME: base.path }
  const kept = (): string[] => readdirSync(join(base.path, 'b10x-harness')).map(name => name.replace(/^.*-/, ''))
  for (const [words, cache] of [
    [['exec', '--help'], 'part.v8'],
    [['exec', '--', 'no-such-program'], 'part.v8'],
    [['exec', '--', 'true'], 'whole.v8'],
    [['exec', '--help'], 'whole.v8'],
  ] as const) {
    await harness(words, { env, cwd: ws.path })
    t.strictSame(kept(), [cache], words.join(' '))
  }
})

t.test('the code cache is used only from a folder that is ours alone', async t => {
  const ws = scratch()
  t.teardown(ws.remove)
  const cache = join(ws.path, 'cache')
  const folder = join(cache, 'b10x-harness')
  const env = { XDG_CACHE_HOME: cache }
  t.equal((await harness(['completion', 'bash'], { env })).status, 0)
  t.ok(existsSync(folder), 'kept after a run')
  const [file] = (await execa('ls', [folder])).stdout.split('\n')
  t.match(file, /\.v8$/)
  // A poisoned cache in a folder others may write is not even read.
  writeFileSync(join(folder, file ?? ''), 'not a cache')
  await execa('chmod', ['777', folder])
  t.equal((await harness(['completion', 'bash'], { env })).status, 0)
  await execa('chmod', ['700', folder])
  t.equal((await harness(['completion', 'bash'], { env })).status, 0, 'a damaged one is rejected by V8 and replaced')
  closeSync(openSync(folder, 'r'))
})
