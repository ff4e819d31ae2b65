/** What we put into the temporary folder, what we inherit, and what outlives us. */
import { spawn } from 'node:child_process'
import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  readlinkSync,
  readSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { inheritable, inheritableRefusal } from '../../src/supervise/descriptors.js'
import { FifoPool } from '../../src/supervise/fifo-pool.js'
import { errnoBehind, PrivateFolder, removeLeftOvers, unusableFolder } from '../../src/supervise/private-folder.js'
import { pidNamespaceOf, processState } from '../../src/supervise/processes.js'
import { runToEnd } from '../../src/supervise/spawn.js'
import { openBytes } from '../../src/supervise/unnamed-file.js'
import { eventually, finished, fixture, marked, program, said } from '../support/children.js'
import { needs } from '../support/needs.js'

t.test('the folder', async t => {
  const parent = t.testdir({ grant: { inner: {} } })
  const folder = PrivateFolder.make({ parent, outside: [] })
  t.equal(statSync(folder.path).mode & 0o777, 0o700)
  t.not(folder.fresh('a'), folder.fresh('a'))
  const listeners = process.listenerCount('exit')
  folder.remove()
  folder.remove()
  t.notOk(existsSync(folder.path))
  t.equal(process.listenerCount('exit'), listeners - 1, 'and nothing waits for the end of the process any more')
  t.throws(() => PrivateFolder.make({ parent: join(parent, 'grant', 'inner'), outside: [join(parent, 'grant')] }), {
    code: 'control-file-inside',
  })
  symlinkSync(join(parent, 'grant'), join(parent, 'link'))
  t.throws(
    () => PrivateFolder.make({ parent: join(parent, 'link'), outside: [join(parent, 'grant')] }),
    { code: 'control-file-inside' },
    'by where it lands',
  )
  t.throws(() => PrivateFolder.make({ parent: join(parent, 'none', 'x'), outside: [] }))
})

t.test('a folder where nothing can be made is refused by its name and the way out', t => {
  const parent = t.testdir({ file: '' })
  for (const [folder, errno] of [
    [join(parent, 'none'), 'ENOENT'],
    [join(parent, 'file'), 'ENOTDIR'],
    ['/proc/self', process.platform === 'linux' ? 'ENOENT' : undefined],
  ] as const) {
    if (errno === undefined) continue
    const details = { path: folder, errno }
    let thrown: unknown
    try {
      PrivateFolder.make({ parent: folder, outside: [] })
    } catch (error) {
      thrown = error
    }
    t.match(thrown, { code: 'file-unreadable', message: /cannot be written .*TMPDIR/ }, folder)
    if (!folder.startsWith('/proc')) t.match(thrown, { details })
    t.equal(errnoBehind(thrown), errno, 'and what the system said is known')
  }
  const { errno } = { errno: 'EMFILE' }
  const full = Object.assign(new Error('no more'), { code: errno })
  t.throws(() => unusableFolder(full, parent), full, 'the folder is not to blame for that')
  t.end()
})

t.test('a folder that can be written and not listed will do', { skip: needs('not-root') }, t => {
  const parent = t.testdir({})
  chmodSync(parent, 0o300)
  try {
    const folder = PrivateFolder.make({ parent, outside: [] })
    t.match(folder.path, parent)
    folder.remove()
    t.notOk(existsSync(folder.path))
  } finally {
    chmodSync(parent, 0o700)
  }
  t.end()
})

t.test('left-overs of dead owners', async t => {
  const own = processState(process.pid)?.startTime ?? '0'
  const here = pidNamespaceOf('self') ?? '0'
  const parent = t.testdir({
    [`b10x-harness-4194304-77-${here}-x`]: { fifo: '' },
    'b10x-harness-4194304-77-4026530000-elsewhere': { fifo: '' },
    [`b10x-harness-${process.pid}-${own}-${here}-mine`]: {},
    [`b10x-harness-${process.pid}-1-${here}-reused`]: {},
    'b10x-harness-notes': {},
    target: { kept: '' },
  })
  symlinkSync(join(parent, 'target'), join(parent, `b10x-harness-4194304-78-${here}-x`))
  const expected =
    process.platform === 'linux'
      ? [`b10x-harness-4194304-77-${here}-x`, `b10x-harness-${process.pid}-1-${here}-reused`]
      : [`b10x-harness-4194304-77-${here}-x`]
  t.same(removeLeftOvers(parent).sort(), expected.map(name => join(parent, name)).sort())
  t.ok(existsSync(join(parent, 'target', 'kept')), 'a link is not followed')
  t.ok(existsSync(join(parent, `b10x-harness-${process.pid}-${own}-${here}-mine`)))
  t.ok(existsSync(join(parent, 'b10x-harness-4194304-77-4026530000-elsewhere')), 'a container may share the folder')
})

t.test(
  'the folder of a process in another pid namespace stays',
  { skip: needs('root', 'mount-namespace') },
  async t => {
    const parent = t.testdir({})
    const module = new URL('../../src/supervise/private-folder.js', import.meta.url).href
    const script = `import { PrivateFolder } from ${JSON.stringify(module)}; console.log(PrivateFolder.make({ parent: ${JSON.stringify(parent)}, outside: [] }).path + ' made'); setTimeout(() => undefined, 60_000)`
    const node = [process.execPath, '--input-type=module', '-e', script]
    const inside = program('unshare', ['-pf', '--mount-proc', '--kill-child', ...node])
    let text = ''
    inside.stdout?.on('data', (bytes: Buffer) => {
      text += bytes.toString()
    })
    await said(inside, 'made')
    const folder = text.replace(/ made\n/, '')
    t.match(folder, /b10x-harness-1-/)
    PrivateFolder.make({ parent, outside: [] }).remove()
    t.ok(existsSync(folder))
    inside.kill('SIGKILL')
  },
)

t.test('FIFOs', async t => {
  const parent = t.testdir({})
  const folder = PrivateFolder.make({ parent, outside: [] })
  let calls = 0
  const pool = new FifoPool(folder, async paths => {
    calls++
    await runToEnd('mkfifo', ['-m', '0666', ...paths])
  })
  const [first, second] = await Promise.all([pool.take(), pool.take()])
  t.equal(calls, 1, 'one call makes many')
  t.not(first.path, second.path)
  t.equal(statSync(first.path).mode & 0o777, 0o666, 'whatever the umask')
  for (const fd of [first.reader, first.writer, second.reader, second.writer]) closeSync(fd)
  pool.giveBack(first.path, 'held')
  t.notOk(existsSync(first.path), 'one that may be held is never used again')
  pool.giveBack(second.path, 'drained')
  const again = await pool.take()
  t.equal(again.path, second.path)
  for (const fd of [again.reader, again.writer]) closeSync(fd)
  folder.remove()
})

t.test('bytes without a name', async t => {
  const parent = t.testdir({})
  const umask = process.umask(0o077)
  const fd = openBytes(Buffer.from('hello'), parent)
  process.umask(umask)
  const buffer = Buffer.alloc(10)
  t.equal(readSync(fd, buffer), 5, 'from the start')
  if (process.platform === 'linux') {
    t.match(readlinkSync(`/proc/self/fd/${fd}`), /deleted/)
    t.equal(statSync(`/proc/self/fd/${fd}`).mode & 0o777, 0o444, 'whatever the umask')
    t.equal(readFileSync(`/proc/self/fd/${fd}`, 'utf8'), 'hello', 'it can be opened again')
  }
  closeSync(fd)
})

t.test('inherited descriptors', { skip: needs('linux') }, async t => {
  const before = inheritable()
  const ours = openSync('/dev/null', 'r')
  t.same(inheritable(), before, 'what Node opens is not inherited')
  closeSync(ours)
  t.equal(inheritableRefusal() === null, before.length === 0)
  const given = openSync('/dev/null', 'r')
  // Node marks low numbers itself at its start; high ones stay inheritable.
  const slot = (fd: number) => (fd === 199 || fd === 200 ? given : fd === 1 || fd === 2 ? 'pipe' : 'ignore')
  const stdio = Array.from({ length: 201 }, (_, fd) => slot(fd))
  const child = spawn(process.execPath, [fixture('supervise/descriptors')], { stdio })
  closeSync(given)
  const ran = await finished(child)
  t.equal(ran.status, 0, ran.stderr)
  const told = JSON.parse(ran.stdout) as Record<string, unknown>
  t.match(told, { refused: { code: 'inheritable-descriptors' }, kept: [199], left: { length: 0 } })
  t.ok((told.before as number[]).includes(200))
  t.ok((told.closed as number[]).includes(200))
})

t.test('without /proc what a command would inherit is unknown', { skip: needs('root', 'mount-namespace') }, async t => {
  const script = 'umount -l /proc && exec "$0" "$1"'
  const words = ['-m', 'sh', '-c', script, process.execPath, fixture('supervise/descriptors')]
  const ran = await finished(program('unshare', words))
  t.match(ran.stderr, /Refusal: .*\/proc\/self\/fdinfo cannot be listed \(ENOENT\)/)
  t.equal(ran.stdout, '')
})

t.test('the guardian ends what we leave', { skip: needs('linux') }, async t => {
  const mark = `GUARDED_MARK=guarded-${process.pid}`
  const killed = program(process.execPath, [fixture('supervise/guarded'), mark.slice(13)])
  await said(killed, 'started')
  t.ok(await eventually(() => marked(mark).length > 0, 5_000))
  killed.kill('SIGKILL')
  t.ok(await eventually(() => marked(mark).length === 0, 2_000), 'killed: gone within a moment')
  const clean = program(process.execPath, [fixture('supervise/guarded'), mark.slice(13), 'end'])
  const ran = await finished(clean)
  t.equal(ran.status, 0, ran.stderr)
  const guardian = ran.stdout.match(/guardian (\S+)/)?.[1] ?? 'none'
  t.ok(await eventually(() => marked(guardian).length === 0, 500), 'a clean end takes the guardian with it at once')
})

t.test('an own folder of the process is removed when it exits', async t => {
  const parent = t.testdir({})
  mkdirSync(join(parent, 'tmp'))
  const child = program(process.execPath, [
    '--input-type=module',
    '-e',
    `import { PrivateFolder } from ${JSON.stringify(new URL('../../src/supervise/private-folder.js', import.meta.url).href)}; const f = await PrivateFolder.make({ parent: ${JSON.stringify(join(parent, 'tmp'))}, outside: [] }); console.log(f.path)`,
  ])
  const ran = await finished(child)
  t.equal(ran.status, 0, ran.stderr)
  t.match(ran.stdout, join(parent, 'tmp'))
  t.notOk(existsSync(ran.stdout.trim()))
})
