/** One run at a time: a live holder is refused with its name, a gone one is taken over by exactly one (H16). */
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { Refusal } from '../../src/errors.js'
import { SessionFolder } from '../../src/session/folder.js'
import { type LockHost, lockHost, takeLock } from '../../src/session/lock.js'
import { resumeSession } from '../../src/session/store.js'
import { finished, program } from '../support/children.js'
import { needs } from '../support/needs.js'
import { scratch } from '../support/scratch.js'
import { FACTS, filed, place, unrefused } from '../support/sessions.js'

function folderAt(path: string): SessionFolder {
  const folder = unrefused(SessionFolder.open(path, 'make'))
  if (folder === null) throw new Error('no folder')
  return folder
}

const line = (over: object): string =>
  JSON.stringify({
    pid: process.pid,
    start_time: lockHost.startTime(),
    boot_id: lockHost.bootId(),
    pid_namespace: lockHost.pidNamespace(),
    nonce: 'n',
    ...over,
  })

t.test('H16: whose lock is in the way', async t => {
  const cases: readonly (readonly [what: string, text: string, taken: boolean])[] = [
    ['a live process', line({}), false],
    ['another start time: the pid is another program by now', line({ start_time: '1' }), true],
    ['a pid that nobody has', line({ pid: 4_194_304 }), true],
    ['another boot', line({ boot_id: '00000000-0000-0000-0000-000000000000' }), true],
    ['another pid namespace', line({ pid_namespace: '1', pid: 4_194_304 }), false],
    ['another boot and pid namespace', line({ pid_namespace: '1', boot_id: 'x' }), true],
    ['no text: lost with the power', '', true],
    ['zeros: lost with the power', '\0\0\0', true],
    ['something else', 'hello', false],
    ['a number for a boot', line({ boot_id: 3 }), false],
    ['pid 0', line({ pid: 0 }), false],
  ]
  for (const [what, text, taken] of cases) {
    const path = scratch(t)
    const folder = folderAt(path)
    writeFileSync(join(path, 'a.lock'), text, { mode: 0o600 })
    const came = takeLock(folder, 'a')
    t.equal(!(came instanceof Refusal), taken, what)
    if (came instanceof Refusal) {
      t.equal(came.code, 'session-unusable')
      t.match(came.message, /fork a/, 'and what works is said')
      t.equal(readFileSync(join(path, 'a.lock'), 'utf8'), text, 'it is left alone')
    } else {
      came.release()
      came.release()
    }
    t.strictSame(readdirSync(path), taken ? [] : ['a.lock'], 'nothing is left behind')
    folder.close()
  }
})

t.test('H16: a session in use is refused at once with who holds it, and free afterwards', async t => {
  const path = place(t)
  const { id } = await filed(path)
  const first = unrefused(resumeSession(path, id, FACTS))
  const second = resumeSession(path, id, FACTS)
  t.match(second instanceof Refusal ? second.message : '', new RegExp(`pid ${process.pid} `))
  first.close()
  unrefused(resumeSession(path, id, FACTS)).close()
  t.notOk(existsSync(join(path, `${id}.lock`)))
})

t.test('a zombie holds nothing', { skip: needs('linux') }, async t => {
  // It ends only once its parent is a program that reaps nobody: a shell would.
  const parent = spawn('sh', ['-c', 'sleep 0.5 & echo $!; exec sleep 20'], { stdio: ['ignore', 'pipe', 'ignore'] })
  t.teardown(() => void parent.kill('SIGKILL'))
  const pid = Number(
    await new Promise(resolve => parent.stdout.once('data', (bytes: Buffer) => resolve(bytes.toString()))),
  )
  const stat = (): string => readFileSync(`/proc/${pid}/stat`, 'latin1')
  while (!/\) Z /.test(stat())) await new Promise(resolve => setTimeout(resolve, 5))
  const startTime =
    stat()
      .slice(stat().lastIndexOf(')') + 2)
      .split(' ')[19] ?? ''
  t.equal(lockHost.lives(pid, startTime), false)
})

t.test('of many takers of a stale lock one wins, however they are interleaved', async t => {
  const path = scratch(t)
  const folder = folderAt(path)
  const holders = new Set<number>()
  let live = new Set<number>()
  const hostOf = (pid: number, seen: () => void): LockHost => ({
    ...lockHost,
    pid,
    startTime: () => '1',
    lives: other => {
      seen()
      return live.has(other)
    },
  })
  for (let round = 0; round < 50; round += 1) {
    live = new Set()
    holders.clear()
    writeFileSync(join(path, 'a.lock'), line({ pid: 999, start_time: '1' }), { mode: 0o600 })
    live.add(1).add(2)
    let nested: ReturnType<typeof takeLock> | null = null
    let looks = 0
    // The second taker does all of its work at one of the instants at which the first asks about the holder.
    const second = hostOf(2, () => {})
    const first = hostOf(1, () => {
      looks += 1
      if (looks === (round % 3) + 1) nested = takeLock(folder, 'a', second)
    })
    const came = takeLock(folder, 'a', first)
    const winners = [came, nested].filter(one => one !== null && !(one instanceof Refusal))
    t.equal(winners.length, 1, `round ${round}`)
    for (const one of winners) if (one !== null && !(one instanceof Refusal)) one.release()
    rmSync(join(path, 'a.lock'), { force: true })
  }
  t.strictSame(readdirSync(path), [])
  folder.close()
})

t.test('a second taker right before the first one replaces the lock is refused', async t => {
  const path = scratch(t)
  const [folder, other] = [folderAt(path), folderAt(path)]
  writeFileSync(join(path, 'a.lock'), line({ pid: 999, start_time: '1' }), { mode: 0o600 })
  const hostOf = (pid: number): LockHost => ({ ...lockHost, pid, startTime: () => '1', lives: one => one < 10 })
  const rename = folder.rename.bind(folder)
  let second: ReturnType<typeof takeLock> | null = null
  folder.rename = (from, to) => {
    second = takeLock(other, 'a', hostOf(2))
    rename(from, to)
  }
  const first = unrefused(takeLock(folder, 'a', hostOf(1)))
  t.ok((second as unknown) instanceof Refusal)
  first.release()
  t.strictSame(readdirSync(path), [])
  folder.close()
  other.close()
})

const taker = fileURLToPath(new URL('../../integration/fixtures/sessions/taker.js', import.meta.url))

t.test('real processes race for a stale lock, and some are killed on the way', { skip: needs('linux') }, async t => {
  const path = scratch(t)
  for (let round = 0; round < 6; round += 1) {
    const folder = mkdtempSync(join(path, 'r-'))
    writeFileSync(join(folder, 'a.lock'), line({ pid: 4_194_304 }), { mode: 0o600 })
    const children = Array.from({ length: 4 }, () => program(process.execPath, [taker, folder, '400']))
    const ended = children.map(finished)
    if (round % 2 === 1) setTimeout(() => children[0]?.kill('SIGKILL'), 30 + round * 8)
    const told = await Promise.all(ended)
    const overlaps = told.filter(({ stdout }) => stdout.includes('overlap'))
    t.strictSame(overlaps, [], 'no two held it at once')
    const winners = told.filter(({ stdout }) => stdout.includes('held'))
    if (round % 2 === 0) t.ok(winners.length >= 1, 'somebody got it')
    // Whatever was left, the next one gets it.
    const next = await finished(program(process.execPath, [taker, folder, '0']))
    t.match(next.stdout, /held/, next.stderr)
  }
})
