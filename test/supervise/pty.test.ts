/** Terminals for programs of ours: both ends, keys, size, and what must not be left of them. */
import { closeSync, openSync, readdirSync, readFileSync, readSync } from 'node:fs'
import t from 'tap'
import { PTY_KEYS_BYTES_MAX } from '../../src/bounds.js'
import { systemClock } from '../../src/supervise/deadline.js'
import { closeInherited, inheritable, inheritableRefusal, keptFromChildren } from '../../src/supervise/descriptors.js'
import { GroupTree } from '../../src/supervise/group-kill.js'
import { Pty, SIZE_DEFAULT, terminalRefusal } from '../../src/supervise/pty.js'
import { PtyCapture } from '../../src/supervise/pty-capture.js'
import { start } from '../../src/supervise/spawn.js'
import { eventually, NOBODY } from '../support/children.js'
import { needs } from '../support/needs.js'

closeInherited()
const skip = needs('linux', 'node-pty')

async function opened(size = SIZE_DEFAULT, owner: { uid: number; gid: number } | null = null): Promise<Pty> {
  const pty = await Pty.open(size, owner)
  if ('kind' in pty) throw new Error(pty.message)
  return pty
}

/** Runs `script` on a terminal; what it showed. */
async function shown(pty: Pty, script: string, keptBytes = 1_000_000) {
  const supervised = await start(
    {
      file: '/bin/sh',
      args: ['-c', script],
      env: { PATH: '/usr/bin:/bin' },
      cwd: '/',
      identity: null,
      format: 'check',
      stdin: { fd: pty.slave },
      stdout: { pty, relay: null, onOpen: () => undefined },
      stderr: { fd: pty.slave },
      extra: new Map(),
    },
    { wallMs: 60_000, graceMs: 1_000, keptBytes, clock: systemClock, tree: pid => new GroupTree(pid) },
    () => Promise.reject(new Error('nothing is captured in a FIFO')),
  )
  if ('kind' in supervised) throw new Error(supervised.message)
  const ended = await supervised.ended
  return { ...ended, text: Buffer.from([...ended.stdout.head, ...ended.stdout.tail]).toString() }
}

function terminals(): string[] {
  const links = readdirSync('/proc/self/fdinfo').filter(fd => /tty-index|\bpts\b/.test(read(`/proc/self/fdinfo/${fd}`)))
  return links
}

function read(path: string): string {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return ''
  }
}

t.test('a program shows, is typed at, and has the size that was asked for last', { skip }, async t => {
  t.equal(await terminalRefusal(), null)
  const pty = await opened({ columns: 91, rows: 17 })
  const script =
    'stty size; read -r x; echo "[$x]"; stty size; read -r x; test -t 0 && test -t 1 && test -t 2 && echo all'
  const running = shown(pty, script)
  pty.type(Buffer.from('hello\n'))
  await pty.typed()
  await new Promise(resolve => setTimeout(resolve, 200))
  pty.resize({ columns: 100, rows: 50 })
  pty.type(Buffer.from('\n'))
  const { text, treeGone } = await running
  t.match(text, /17 91\r\n/)
  t.match(text, /\[hello\]\r\n/)
  t.match(text, /all\r\n$/)
  t.ok(treeGone)
  pty.resize({ columns: 1, rows: 1 })
  t.ok(pty.type(Buffer.from('x')), 'a closed terminal takes everything and does nothing')
})

t.test('a size that was changed meanwhile is the size', { skip }, async t => {
  const pty = await opened({ columns: 91, rows: 17 })
  pty.resize({ columns: 100, rows: 50 })
  t.match((await shown(pty, 'stty size')).text, '50 100')
})

t.test('both ends of the output are kept, and all of it is read', { skip }, async t => {
  for (let round = 0; round < 5; round++) {
    const pty = await opened()
    const { stdout } = await shown(pty, 'stty -opost; head -c 3000000 /dev/zero | tr "\\0" y', 1_000)
    t.equal(stdout.totalBytes, 3_000_000)
    t.equal(stdout.head.length + stdout.tail.length, 1_000)
  }
})

t.test('keys that nobody reads are bounded, and closing ends the waiting for them', { skip }, async t => {
  const pty = await opened()
  const block = Buffer.alloc(64 * 1024, 'x')
  let taken = 0
  while (pty.type(block) && taken < 10 * PTY_KEYS_BYTES_MAX) taken += block.length
  t.ok(taken >= PTY_KEYS_BYTES_MAX - block.length && taken <= 2 * PTY_KEYS_BYTES_MAX, `${taken} bytes were taken`)
  let over = false
  const typed = pty.typed().then(() => {
    over = true
  })
  t.notOk(over)
  pty.close()
  await typed
  t.ok(over)
  t.ok(pty.type(block), 'afterwards keys go nowhere')
  await pty.typed()
  pty.close()
})

t.test('what is started meanwhile has no end of it, and nothing is left of a closed one', { skip }, async t => {
  const before = readdirSync('/proc/self/fd').length
  const pty = await opened()
  const [number] = keptFromChildren()
  t.type(number, 'number')
  t.same(inheritable(), [], 'it counts as kept, not as inherited')
  t.equal(inheritableRefusal(), null)
  const other = await opened()
  const { text } = await shown(other, 'ls -l /proc/self/fd')
  const lines = text.split('\r\n').filter(line => line.includes('->'))
  t.notOk(
    lines.some(line => line.includes('ptmx')),
    text,
  )
  t.equal(new Set(lines.flatMap(line => /-> (\/dev\/pts\/\d+)/.exec(line)?.[1] ?? [])).size, 1, text)
  t.match(
    lines.filter(line => line.includes(` ${number} -> `)),
    [/\/dev\/null$/],
  )
  pty.close()
  t.same(keptFromChildren(), [])
  for (let round = 0; round < 50; round++) (await opened()).close()
  await eventually(() => readdirSync('/proc/self/fd').length <= before, 2_000)
  t.ok(readdirSync('/proc/self/fd').length <= before, 'no descriptor is left')
  t.same(terminals(), [])
})

t.test('its end of the terminal is the program’s alone', { skip: skip || needs('root') }, async t => {
  const pty = await opened(SIZE_DEFAULT, { uid: NOBODY, gid: NOBODY })
  const { text } = await shown(pty, 'stat -L -c "%u %a" /proc/self/fd/0')
  t.match(text, `${NOBODY} 600`)
})

t.test('a program’s end that is given away is closed here once', { skip }, async t => {
  const pty = await opened()
  const { slave } = pty
  pty.given()
  const taken = openSync('/dev/null', 'r')
  t.equal(taken, slave, 'the number is free again')
  pty.given()
  pty.close()
  t.equal(readSync(taken, Buffer.alloc(1)), 0, 'and whoever has it now keeps it')
  closeSync(taken)
})

t.test('a relay whose reader is gone hangs the terminal up', { skip }, async t => {
  const pty = await opened()
  let opens = 0
  const capture = new PtyCapture({ pty, relay: 9_999, onOpen: () => opens++ }, 100)
  let closed = 0
  capture.read(
    () => undefined,
    () => closed++,
  )
  capture.passOn()
  t.equal(opens, 1)
  pty.type(Buffer.from('echoed\n'))
  t.ok(await eventually(() => closed === 1, 5_000))
  t.equal(capture.failed, 'EBADF')
  capture.finish()
})
