/** `harness exec --tty`: interactive programs inside the boundary, driven with real keys on a real terminal. */
import { execFileSync } from 'node:child_process'
import { chownSync, copyFileSync, cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { execa } from 'execa'
import t, { type Test } from 'tap'
import { eventually, marked, NOBODY, procText } from '../../test/support/children.js'
import { needs } from '../../test/support/needs.js'
import { projectRoot } from '../../test/support/root.js'
import { harness, harnessBin, type Scratch, scratch } from '../support/harness.js'
import { type Session, type SessionOptions, session } from '../support/terminal.js'

const onTerminal = { skip: needs('node-pty', 'bubblewrap') }

const SCREEN = readFileSync(join(projectRoot, 'integration', 'fixtures', 'terminal', 'screen.mjs'), 'utf8')

/** A Node that does not lie in a system folder is shown by name. */
const NODE = ['--read', dirname(dirname(process.execPath)), '--', process.execPath]

/** The shell's words for a line that runs `exec --tty`, with the terminal's modes before and after in files. */
function line(words: readonly string[], program = harnessBin): string {
  const quoted = [process.execPath, program, 'exec', '--tty', ...words].map(
    word => `'${word.replaceAll("'", `'\\''`)}'`,
  )
  return `tty > operators; stty -a > before; ${quoted.join(' ')}; s=$?; stty -a > after; echo "ended:$s"; exit $s`
}

interface Driven {
  readonly status: number
  readonly screen: string
  readonly restored: boolean
}

async function driven(
  ws: Scratch,
  words: readonly string[],
  act: (on: Session) => Promise<void>,
  options: SessionOptions = {},
): Promise<Driven> {
  const on = await session(`trap : INT; ${line(words)}`, ws.path, options)
  await act(on)
  const { status, screen } = await on.ended
  // The size is the window's, which some tests change.
  const read = (name: string): string => readFileSync(join(ws.path, name), 'utf8').replace(/rows \d+; columns \d+/, '')
  return { status, screen, restored: read('after') === read('before') }
}

function workspace(t: Test, files: Readonly<Record<string, string>> = {}): Scratch {
  const ws = scratch(files)
  t.teardown(ws.remove)
  return ws
}

/** A word that is in no other process's argv. */
function fresh(): string {
  return `tty-${process.pid}-${Math.random().toString(36).slice(2)}`
}

t.test(
  'a full-screen program draws, gets every key, its size and its colours, and keeps its status',
  onTerminal,
  async t => {
    const ws = workspace(t, { 'screen.mjs': SCREEN })
    const ended = await driven(
      ws,
      [...NODE, 'screen.mjs'],
      async on => {
        await on.seen('ready')
        on.type('a\u001b[A\u001bOP\u0003\u001a\u001c\u0011\u0013\u0004é')
        await on.seen('keys')
        await on.seen('c3a9.')
        on.resize({ cols: 91, rows: 37 })
        await on.seen('size 91x37')
        on.type('\u001b')
        await on.seen('keys 1b.')
        on.type('q')
      },
      { size: { cols: 120, rows: 40 }, env: { TERM: 'xterm-256color' } },
    )
    t.match(ended, { status: 7, restored: true })
    t.match(ended.screen, /\u001b\[\?1049h/, 'it drew')
    t.match(ended.screen, '\u001b[38;5;208mcolours 8\u001b[0m', 'in 256 colours')
    t.match(ended.screen, 'tty true true true')
    t.match(ended.screen, 'size 120x40')
    t.match(
      ended.screen.replace(/\.\r\nkeys /g, ''),
      '611b5b411b4f50031a1c111304c3a9',
      'control keys are bytes like all others',
    )
    t.notMatch(ended.screen, 'INT', 'no signal came of them')
    t.notMatch(ended.screen, '\r\r\n', 'line ends are written once')
  },
)

t.test('an editor and a pager of the system (B13)', { skip: onTerminal.skip || needs('vi', 'less') }, async t => {
  const ws = workspace(t, { 'note.txt': 'one\ntwo\nthree\n', 'long.txt': 'line\n'.repeat(300) })
  const edited = await driven(ws, ['--process-write-subtree', '.', '--', 'vi', 'note.txt'], async on => {
    await on.seen('three')
    await sleep(300)
    on.type('dd')
    await sleep(100)
    on.type('ofour\u001b')
    await sleep(100)
    on.type(':wq\r')
  })
  t.match(edited, { status: 0, restored: true })
  t.equal(readFileSync(join(ws.path, 'note.txt'), 'utf8'), 'two\nfour\nthree\n')
  const paged = await driven(ws, ['--', 'less', 'long.txt'], async on => {
    await on.seen('long.txt')
    on.type('G')
    await on.seen('END')
    on.type('q')
  })
  t.match(paged, { status: 0, restored: true })
})

const COUNTS = `n=0
trap 'n=$((n+1)); echo INT=$n' INT
echo ready
until [ $n = 2 ]; do sleep 0.1; done
sleep 0.5
exit 5
`

t.test('Ctrl-C reaches the program once, and us not at all', onTerminal, async t => {
  const ws = workspace(t, { 'count.sh': COUNTS })
  const ended = await driven(ws, ['--', 'bash', 'count.sh'], async on => {
    await on.seen('ready')
    on.type('\u0003')
    await on.seen('INT=1')
    await sleep(300)
    on.type('\u0003')
    await on.seen('INT=2')
  })
  t.notMatch(ended.screen, 'INT=3')
  t.match(ended, { status: 5, restored: true })
})

t.test('a shell with job control: Ctrl-Z stops the job inside, not us (B13)', onTerminal, async t => {
  const ws = workspace(t)
  const ended = await driven(ws, ['--', 'bash', '--norc', '--noprofile', '-i'], async on => {
    await on.seen('bash')
    on.type('PS1="in> "; echo set-$((40+2))\r')
    await on.seen('set-42')
    on.type('sleep 300\r')
    await sleep(500)
    on.type('\u001a')
    await on.seen('Stopped')
    on.type('kill -KILL %1; sleep 0.3; exit 9\r')
  })
  t.match(ended, { status: 9, restored: true })
  t.notMatch(ended.screen, /no job control|cannot set terminal process group/)
})

/** Neither ends it; with the two seconds of grace it says more than `ready`. */
const STUBBORN = 'trap "" HUP; trap "sleep 1; echo graceful" TERM; echo ready; while :; do sleep 0.1; done'

t.test('Ctrl-] twice leaves: the tree is ended, a further one skips the grace', onTerminal, async t => {
  const ws = workspace(t)
  const mark = fresh()
  const left = await driven(
    ws,
    ['--outcome-file', 'record', '--', 'sh', '-c', `setsid sh -c "sleep 300; : ${mark}" & echo ready; cat`],
    async on => {
      await on.seen('ready')
      on.type('\u001d')
      await on.seen('^]')
      await sleep(1_200)
      on.type('x\u001d')
      await on.seen('x^]')
      on.type('\u001d')
    },
  )
  t.match(left, { status: 143, restored: true })
  t.same(marked(mark), [], 'nothing is left')
  const record = JSON.parse(readFileSync(join(ws.path, 'record'), 'utf8'))
  t.match(record, { version: 1, ending: { kind: 'cancelled', by: 'esc' } })
  const stubborn = await driven(ws, ['--', 'sh', '-c', STUBBORN], async on => {
    await on.seen('ready')
    on.type('\u001d\u001d')
    await sleep(200)
    on.type('\u001d')
  })
  t.match(stubborn, { status: 143, restored: true })
  t.notMatch(stubborn.screen, 'graceful')
})

t.test('what a killed program left on the screen is undone', onTerminal, async t => {
  const ws = workspace(t, { 'screen.mjs': SCREEN })
  const ended = await driven(ws, [...NODE, 'screen.mjs'], async on => {
    await on.seen('ready')
    on.type('x')
  })
  t.match(ended, { status: 137, restored: true })
  t.match(ended.screen, /\u001b\[\?1049l\u001b\[\?25h[^\u001b]*ended:137/)
})

t.test('TERM, HUP and INT from outside end it and give the terminal back', onTerminal, async t => {
  const ws = workspace(t)
  for (const [signal, status] of [
    ['TERM', 143],
    ['HUP', 129],
    ['INT', 130],
  ] as const) {
    const mark = fresh()
    const ended = await driven(
      ws,
      ['--', 'sh', '-c', `stty raw -echo; echo ready; exec sh -c "sleep 300; : ${mark}"`],
      async on => {
        await on.seen('ready')
        execFileSync('pkill', [`-${signal}`, '-P', String(on.pid), 'node'])
      },
    )
    t.match(ended, { status, restored: true }, signal)
    t.same(marked(mark), [], `${signal}: nothing is left`)
  }
})

t.test('kill -9 of us leaves nothing of the tree', onTerminal, async t => {
  const ws = workspace(t)
  const mark = fresh()
  const on = await session(
    line(['--', 'sh', '-c', `setsid sh -c "sleep 300; : ${mark}" & echo ready; sleep 301`]),
    ws.path,
  )
  await on.seen('ready')
  execFileSync('pkill', ['-KILL', '-P', String(on.pid), 'node'])
  t.ok(await eventually(() => marked(mark).length === 0, 3_000), 'and is gone')
  await on.ended
})

t.test('a terminal that is closed ends us and the tree (P016)', onTerminal, async t => {
  const ws = workspace(t)
  const mark = fresh()
  const on = await session(
    line(['--', 'sh', '-c', `trap "" HUP; echo ready; sleep 300; sleep 301; : ${mark}`]),
    ws.path,
  )
  await on.seen('ready')
  on.hangUp()
  t.ok(await eventually(() => marked(mark).length === 0, 10_000), 'and is gone')
})

t.test(
  'suspended from outside we give the terminal back; continued, we take it and its new size',
  onTerminal,
  async t => {
    const ws = workspace(t, { 'screen.mjs': SCREEN })
    const shell = await session('exec bash --norc --noprofile -i', ws.path, { size: { cols: 100, rows: 30 } })
    shell.type(`PS1='ready> '; stty -a | grep -v rows > before\r`)
    await shell.seen('ready> ')
    const words = [process.execPath, harnessBin, 'exec', '--tty', ...NODE, 'screen.mjs']
    shell.type(`${words.map(word => `'${word}'`).join(' ')}\r`)
    await shell.seen('size 100x30')
    await shell.seen('ready', 3)
    execFileSync('pkill', ['-TSTP', '-P', String(shell.pid), 'node'])
    await shell.seen('Stopped')
    shell.type('stty -a | grep -v rows > stopped\r')
    await sleep(300)
    shell.resize({ cols: 95, rows: 29 })
    shell.type('fg\r')
    await shell.seen('size 95x29')
    shell.type('k')
    await shell.seen('keys 6b.')
    shell.type('q')
    await sleep(500)
    shell.type('stty -a | grep -v rows > after; exit\r')
    await shell.ended
    const read = (name: string): string => readFileSync(join(ws.path, name), 'utf8')
    t.equal(read('stopped'), read('before'), 'while we are stopped the terminal is the shell’s')
    t.equal(read('after'), read('before'), 'and afterwards as it was')
  },
)

t.test(
  'started in the background it waits for the foreground, as every program that wants keys',
  onTerminal,
  async t => {
    const ws = workspace(t)
    const shell = await session('exec bash --norc --noprofile -i', ws.path)
    shell.type(`PS1='ready> '; stty -a > before\r`)
    await shell.seen('ready> ')
    const words = [process.execPath, harnessBin, 'exec', '--tty', '--', 'cat']
    shell.type(`${words.map(word => `'${word}'`).join(' ')} &\r`)
    await sleep(1_000)
    shell.type('\r')
    await shell.seen('Stopped')
    shell.type('fg\r')
    await sleep(400)
    shell.type('typed\r')
    await shell.seen('typed', 2)
    shell.type('\u0004')
    await shell.seen('ready> ')
    await sleep(400)
    shell.type('stty -a > after; exit\r')
    await shell.ended
    t.equal(readFileSync(join(ws.path, 'after'), 'utf8'), readFileSync(join(ws.path, 'before'), 'utf8'))
  },
)

t.test('what stands on stdin otherwise is typed, then the end-of-file key', onTerminal, async t => {
  const ws = workspace(t, { file: 'from a file\n', partial: 'no newline' })
  const run = async (stdin: string, script: string): Promise<{ stdout: string; status: number | undefined }> => {
    const ran = await execa(
      'bash',
      ['-c', `'${process.execPath}' '${harnessBin}' exec --tty -- sh -c '${script}' ${stdin}`],
      {
        cwd: ws.path,
        reject: false,
        timeout: 60_000,
      },
    )
    return { stdout: ran.stdout, status: ran.exitCode }
  }
  // What is typed is echoed too, as on every terminal.
  const reads = 'while read -r x; do echo "[$x]"; done; echo "($x)"; stty size; exit 3'
  const size = '\\r\\n24 80\\r?$'
  const cases: readonly [stdin: string, shown: RegExp][] = [
    ['< file', new RegExp(`\\[from a file\\]\\r\\n\\(\\)${size}`)],
    ['< <(printf "a\\nb\\n")', new RegExp(`\\[a\\]\\r\\n\\[b\\]\\r\\n\\(\\)${size}`)],
    ['< partial', new RegExp(`\\(no newline\\)${size}`)],
    ['< /dev/null', new RegExp(`^\\(\\)${size}`)],
    ['<&-', new RegExp(`^\\(\\)${size}`)],
  ]
  for (const [stdin, shown] of cases) t.match(await run(stdin, reads), { stdout: shown, status: 3 }, stdin)
  const many = await run('< <(seq 20000)', 'wc -l; tty -s; echo $?')
  t.match(many, { stdout: /\r\n20000\r\n0\r?$/, status: 0 }, 'no faster than it is read')
})

t.test('inside there is one terminal, which is not the operator’s', onTerminal, async t => {
  const ws = workspace(t)
  const words = [
    '--',
    'sh',
    '-c',
    'tty; ls -l /proc/self/fd; echo mine > /dev/tty; cat /dev/stdin < /dev/null; echo err > /dev/stderr',
  ]
  const seen = await driven(ws, words, async () => undefined)
  t.match(seen, { status: 0, restored: true })
  const links = [...seen.screen.matchAll(/ (\d+) -> (\S+)/g)].map(([, fd, to]) => [Number(fd), to])
  t.same(
    links.map(([fd]) => fd),
    [0, 1, 2, 3],
    'three descriptors, and the one that lists them',
  )
  const own = new Set(links.slice(0, 3).map(([, to]) => to))
  t.equal(own.size, 1, 'all lead to one terminal')
  const operators = readFileSync(join(ws.path, 'operators'), 'utf8').trim()
  t.match(operators, /^\/dev\/pts\/\d+$/)
  t.notOk(own.has(operators), 'which is another')
  t.match(seen.screen, /mine\r\n.*err\r\n/s)
})

t.test('nothing inside types into its terminal', { skip: onTerminal.skip || needs('perl') }, async t => {
  const ws = workspace(t)
  const perl =
    'open(my $t, "+<", "/dev/tty") or die; for my $r (0x5412, 0x541c) { my $c = "x"; print ioctl($t, $r, $c) ? "done " : "refused:" . ($!+0) . " " } print "\\n"'
  const injected = await driven(ws, ['--', 'perl', '-e', perl], async () => undefined)
  t.match(injected.screen, 'refused:1 refused:1', 'TIOCSTI and TIOCLINUX')
  t.match(injected, { status: 0, restored: true })
})

t.test(
  'as root, the program runs as the owner of the workspace, and its terminal is its own',
  { skip: onTerminal.skip || needs('root') },
  async t => {
    const ws = workspace(t)
    chownSync(ws.path, NOBODY, NOBODY)
    const script = 'id -u; stat -L -c "%u %a" /dev/stdin; echo again > /dev/stderr; echo tty > /dev/tty'
    const seen = await driven(ws, ['--', 'sh', '-c', script], async () => undefined)
    t.match(seen, { status: 0, restored: true })
    t.match(seen.screen, new RegExp(`${NOBODY}\\r\\n${NOBODY} 600\\r\\nagain\\r\\ntty`))
  },
)

t.test('TERM is ours, NO_COLOR goes, and --env stands above both', onTerminal, async t => {
  const ws = workspace(t)
  const shows = ['--', 'sh', '-c', 'echo "<$TERM|${NO_COLOR-unset}>"']
  const none = async () => undefined
  t.match((await driven(ws, shows, none, { env: { TERM: 'screen-256color' } })).screen, '<screen-256color|unset>')
  const unnamed = await harness(['exec', '--tty', ...shows], { cwd: ws.path, env: { TERM: '' } })
  t.match(unnamed.stdout, '<xterm-256color|unset>')
  const env = ['--env', 'TERM=dumb', '--env', 'NO_COLOR=1']
  t.match((await driven(ws, [...env, ...shows], none)).screen, '<dumb|1>')
})

t.test('output of any size arrives whole, and a slow reader costs no memory', onTerminal, async t => {
  const ws = workspace(t)
  const command = `'${process.execPath}' '${harnessBin}' exec --tty --limit output-total=1GiB --`
  const whole = await execa(
    'bash',
    ['-c', `${command} sh -c 'stty -opost; head -c 8000000 /dev/zero | tr "\\\\0" y' < /dev/null | wc -c`],
    { cwd: ws.path },
  )
  t.equal(whole.stdout.trim(), '8000000')
  const slow = execa('bash', ['-c', `${command} yes < /dev/null | (sleep 300)`], {
    cwd: ws.path,
    reject: false,
    detached: true,
  })
  const program = (): number =>
    marked('--tty').find(pid => procText(pid, 'cmdline').includes('\0yes\0') && /node/.test(procText(pid, 'comm'))) ?? 0
  t.ok(await eventually(() => program() > 0, 5_000))
  await sleep(1_500)
  const peak = Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${program()}/status`, 'latin1'))?.[1])
  t.ok(peak > 0 && peak < 150_000, `${peak} KiB at most`)
  if (slow.pid !== undefined) process.kill(-slow.pid, 'SIGKILL')
  await slow
})

t.test('the bounds hold: a deadline, the output, and the record', onTerminal, async t => {
  const ws = workspace(t)
  const late = await driven(ws, ['--limit', 'wall=600ms', '--', 'cat'], async () => undefined)
  t.match(late, { status: 124, restored: true, screen: /deadline of 600 ms|deadline of 0\.6 s/ })
  const flood = await driven(ws, ['--limit', 'output-total=100KiB', '--', 'yes'], async () => undefined)
  t.match(flood, { status: 124, restored: true, screen: /output-total/ })
  const record = await harness(['exec', '--tty', '--outcome-file', 'record', '--', 'echo', 'hello'], { cwd: ws.path })
  t.match(record, { status: 0, stdout: 'hello\r\n', stderr: '' })
  t.match(JSON.parse(readFileSync(join(ws.path, 'record'), 'utf8')), {
    ending: { kind: 'exited', status: 0 },
    stdout_bytes: 7,
    stderr_bytes: 0,
  })
  const missing = await driven(ws, ['--', 'no-such-program'], async () => undefined)
  t.match(missing, { status: 127, restored: true, screen: /no-such-program/ })
})

t.test(
  'without node-pty it is refused with the reason and the fix, and so where it cannot be loaded',
  { skip: needs('bubblewrap') },
  async t => {
    const ws = workspace(t)
    const installed = workspace(t)
    cpSync(join(projectRoot, 'dist', 'bin'), join(installed.path, 'dist', 'bin'), { recursive: true })
    copyFileSync(join(projectRoot, 'package.json'), join(installed.path, 'package.json'))
    const program = join(installed.path, 'dist', 'bin', 'harness.cjs')
    const run = (): Promise<{ exitCode?: number | undefined; stderr: string }> =>
      execa(process.execPath, [program, 'exec', '--tty', '--', 'true'], {
        cwd: ws.path,
        reject: false,
        stdin: 'ignore',
      })
    const missing = await run()
    t.match(missing, { exitCode: 125, stderr: /refused \[terminal-unavailable\].*not installed.*npm install node-pty/ })
    const broken = join(installed.path, 'node_modules', 'node-pty')
    mkdirSync(broken, { recursive: true })
    writeFileSync(join(broken, 'index.js'), 'throw new Error("no native module for this machine\\nsecond line")')
    t.match(await run(), {
      exitCode: 125,
      stderr: /refused \[terminal-unavailable\].*cannot be loaded: no native module for this machine; .*npm rebuild/,
    })
    writeFileSync(join(broken, 'index.js'), 'require("something-it-needs")')
    t.match(await run(), { exitCode: 125, stderr: /cannot be loaded: Cannot find module 'something-it-needs'/ })
    writeFileSync(join(broken, 'index.js'), 'exports.spawn = () => {}')
    t.match(await run(), { exitCode: 125, stderr: /cannot open a terminal/ })
    t.same(readdirSync(ws.path), [], 'nothing was run')
  },
)
