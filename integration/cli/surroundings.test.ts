/** The programs in surroundings that do not fit: each says what is wrong, ends by itself and mirrors what it can. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { execa } from 'execa'
import t from 'tap'
import { needs } from '../../test/support/needs.js'
import { harness, harnessBin, scratch } from '../support/harness.js'

const LINUX = { skip: needs('linux', 'bubblewrap') }
/** Far above what a command needs that starts one process. */
const timeout = 20_000

t.test('a cache folder where nothing can be made costs time, never the end', LINUX, async t => {
  const { path, remove } = scratch()
  t.teardown(remove)
  for (const home of ['/proc', '/sys', `${path}/a/b/c`]) {
    const env = { XDG_CACHE_HOME: home, HOME: 'relative' }
    t.match(
      await harness(['exec', '--workspace', path, '--', 'true'], { env, timeout }),
      { status: 0, stderr: '' },
      home,
    )
  }
})

t.test('a working folder that has been removed is named', LINUX, async t => {
  const { path, remove } = scratch()
  t.teardown(remove)
  const script = 'mkdir gone && cd gone && rmdir ../gone && exec "$@"'
  const inGone = (...words: string[]) =>
    execa('/bin/sh', ['-c', script, 'sh', process.execPath, harnessBin, ...words], {
      cwd: path,
      reject: false,
      timeout,
    })
  const exec = await inGone('exec', '--', 'true')
  t.equal(exec.exitCode, 125)
  t.match(exec.stderr, /^refused \[missing\] the working folder is gone [^\n]*$/)
  t.equal((await inGone('check-path', '.')).exitCode, 1)
  t.equal((await inGone('--help')).exitCode, 0)
})

t.test('an outcome record that cannot be written leaves the status to the command', LINUX, async t => {
  const { path, remove } = scratch()
  t.teardown(remove)
  const words = ['exec', '--workspace', path, '--outcome-fd', '3', '--', 'sh', '-c', 'exit 5']
  const script = 'exec 3>/dev/full; exec "$@"'
  const ran = await execa('/bin/sh', ['-c', script, 'sh', process.execPath, harnessBin, ...words], {
    reject: false,
    timeout,
  })
  t.equal(ran.exitCode, 5)
  t.equal(ran.stderr, 'harness: the outcome record could not be written (ENOSPC)')
})

/** Modules of Node that cost a start several milliseconds each, and that a command without their business does without. */
const HEAVY = ['crypto', 'http', 'https', 'tls', 'dns', 'readline', 'worker_threads', 'zlib', 'stream/web', 'inspector']

t.test('exec loads nothing of Node that its work does not need', LINUX, async t => {
  const { path, write, remove } = scratch()
  t.teardown(remove)
  const hook = write(
    'hook.cjs',
    `process.on('exit', () => require('fs').writeFileSync('loaded', process.moduleLoadList.join('\\n')))`,
  )
  const words = ['--require', hook, harnessBin, 'exec', '--workspace', path, '--', 'true']
  t.equal((await execa(process.execPath, words, { cwd: path, timeout })).exitCode, 0)
  const loaded = new Set(readFileSync(join(path, 'loaded'), 'utf8').split('\n'))
  t.ok(loaded.has('NativeModule child_process'), 'the list names what is loaded')
  t.strictSame(
    HEAVY.filter(name => loaded.has(`NativeModule ${name}`)),
    [],
  )
})
