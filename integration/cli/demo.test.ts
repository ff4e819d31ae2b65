/** `harness demo` as a program: the main job for real, and nothing left behind. */
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { execa } from 'execa'
import t from 'tap'
import type { HarnessEvent } from '../../src/events.js'
import { needs } from '../../test/support/needs.js'
import { eventsOf, harness, harnessBin, scratch } from '../support/harness.js'

function completed(events: readonly HarnessEvent[], name: string): HarnessEvent[] {
  const calls = events.flatMap(event => (event.kind === 'tool-requested' && event.name === name ? [event.call_id] : []))
  return events.filter(event => event.kind === 'tool-completed' && calls.includes(event.call_id))
}

t.test('reads, edits and runs the tests, inside the boundary', { skip: needs('bubblewrap') }, async t => {
  const { path, remove } = scratch({ 'config/b10x/harness.toml': '[default]\nprovider = "nobody"\n' })
  t.teardown(remove)
  const ran = await harness(['demo', '--json'], { env: { TMPDIR: path, XDG_CONFIG_HOME: `${path}/config` } })
  t.equal(ran.status, 0, ran.stderr)
  t.match(ran.stderr, /\$ harness run --provider demo .*--confine auto/)
  const events = eventsOf(ran.stdout)
  t.match(
    events.find(({ kind }) => kind === 'started'),
    { confinement: { boundary: 'bubblewrap' } },
  )
  t.match(
    events.flatMap(event => (event.kind === 'launch-ended' ? [event.outcome.ending] : [])),
    [
      { kind: 'exited', status: 1 },
      { kind: 'exited', status: 0 },
    ],
  )
  t.match(completed(events, 'file_edit'), [{ failed: false }])
  t.match(completed(events, 'file_write'), [{ failed: true, code: 'outside-roots' }])
  t.same(readdirSync(path), ['config'], 'the sample is gone')
})

t.test('a folder for temporary files that will not do is refused by its name', { skip: needs('linux') }, async t => {
  const hooks = JSON.stringify({ version: 1, hooks: [{ on: 'stop', command: ['/bin/true'] }] })
  const { path, remove } = scratch({ file: '', 'hooks.json': hooks, 'ws/file': '' })
  t.teardown(remove)
  const run = ['run', '--provider', 'demo', '--no-session', '--workspace', join(path, 'ws'), '--input', 'x']
  const commands = [
    ['demo'],
    [...run, '--hooks', join(path, 'hooks.json')],
    ['exec', '--confine', 'landlock', '--workspace', join(path, 'ws'), '--', 'true'],
  ]
  for (const TMPDIR of ['/proc', join(path, 'none')]) {
    for (const words of commands) {
      const { status, stderr } = await harness(words, { env: { TMPDIR } })
      t.equal(status, words[0] === 'exec' ? 125 : 1, `${words[0]} with ${TMPDIR}: ${stderr}`)
      t.match(stderr, /refused .*the folder for temporary files \S+ cannot be written \(E[A-Z]+\): set TMPDIR/)
    }
  }
})

/** A filter (seccomp(2)) that answers ENOSYS to one call: load its number, compare, answer, else allow. */
function without(call: number): Buffer {
  const bytes = Buffer.alloc(4 * 8)
  const words: readonly (readonly [code: number, yes: number, no: number, value: number])[] = [
    [0x20, 0, 0, 0],
    [0x15, 0, 1, call],
    [0x06, 0, 0, 0x0005_0026],
    [0x06, 0, 0, 0x7fff_0000],
  ]
  for (const [at, [code, yes, no, value]] of words.entries()) {
    bytes.writeUInt16LE(code, at * 8)
    bytes.writeUInt8(yes, at * 8 + 2)
    bytes.writeUInt8(no, at * 8 + 3)
    bytes.writeUInt32LE(value, at * 8 + 4)
  }
  return bytes
}

t.test('where no boundary can be had it goes on with the reading tools', { skip: needs('bubblewrap') }, async t => {
  const { path, remove } = scratch()
  t.teardown(remove)
  const filter = join(path, 'filter')
  // landlock_create_ruleset, the same number on both processors; and no user namespace below this one.
  writeFileSync(filter, without(444))
  const outer = ['--unshare-user', '--disable-userns', '--unshare-pid', '--bind', '/', '/', '--dev', '/dev']
  const line = 'exec bwrap "$@" 9<"$FILTER"'
  const words = [...outer, '--proc', '/proc', '--seccomp', '9', '--', process.execPath, harnessBin, 'demo']
  const ran = await execa('sh', ['-c', line, 'sh', ...words], {
    env: { TMPDIR: path, FILTER: filter },
    reject: false,
    stdin: 'ignore',
  })
  t.equal(ran.exitCode, 0, ran.stderr)
  t.match(ran.stderr, /no boundary here: the demo goes on with the reading tools only/)
  t.match(ran.stdout, /I was not given file_edit, run, file_write/)
  t.same(readdirSync(path), ['filter'])
})
