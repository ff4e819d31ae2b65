/** `harness events` over real records, pipes and files: nothing half-written, nothing left behind. */
import { lstatSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { execa } from 'execa'
import t from 'tap'
import { needs } from '../../test/support/needs.js'
import { harness, harnessBin, scratch } from '../support/harness.js'

const ws = scratch({ 'a.txt': 'hello\n' })
t.teardown(ws.remove)
const program = `"${process.execPath}" "${harnessBin}"`

const RECORD = '{"kind":"text-delta","text":"x"}\n{"kind":"finished","stop":{"kind":"completed"},"turns":1}\n'

interface Line {
  readonly event: string
  readonly seq: number
}

const linesOf = (text: string): Line[] =>
  text
    .split('\n')
    .filter(Boolean)
    .map(line => JSON.parse(line) as Line)

t.test('the record of a run, from a pipe and from a file', async t => {
  const run = ['run', '--provider', 'demo', '--no-session', '--json', '--input', 'look', '--workspace', ws.path]
  const { stdout: record } = await harness(run, { cwd: ws.path })
  const piped = await harness(['events'], { stdin: 'pipe', input: record })
  t.strictSame([piped.status, piped.stderr], [0, ''])
  const lines = linesOf(piped.stdout)
  t.equal(lines.length, linesOf(record).length, 'a line for each line')
  t.strictSame([lines[0]?.event, lines.at(-1)?.event], ['session.started', 'session.ended'])
  ws.write('run.jsonl', record)
  const filed = await harness(['events', '--in', 'run.jsonl', '--out', 'eval.jsonl'], { cwd: ws.path })
  t.strictSame([filed.status, filed.stdout, filed.stderr], [0, '', ''])
  t.equal(readFileSync(join(ws.path, 'eval.jsonl'), 'utf8'), piped.stdout)
  t.equal(lstatSync(join(ws.path, 'eval.jsonl')).mode & 0o777, 0o600)
  const fifo = await execa('bash', ['-c', `${program} events --in <(cat run.jsonl) --out -`], { cwd: ws.path })
  t.equal(`${fifo.stdout}\n`, piped.stdout, 'from a pipe that has a name')
})

t.test('what is no event is named, and crosses', async t => {
  const ran = await harness(['events'], { stdin: 'pipe', input: `${RECORD}\ngarb\u001bage\n${'[]\n'.repeat(30)}` })
  t.equal(ran.status, 0)
  t.equal(linesOf(ran.stdout).length, 2 + 31)
  t.match(ran.stderr, /^harness: stdin line 4: no JSON object\n/)
  t.match(ran.stderr, /\nharness: 11 more lines are no events\n$/)
})

t.test('what cannot be read or written is refused, and nothing is left', async t => {
  ws.write('in.jsonl', RECORD)
  mkdirSync(join(ws.path, 'folder'))
  symlinkSync('in.jsonl', join(ws.path, 'link'))
  const before = readdirSync(ws.path)
  const cases: readonly (readonly [words: readonly string[], said: RegExp])[] = [
    [['--in', 'gone'], /file-unreadable.*ENOENT/],
    [['--in', 'folder'], /file-unreadable.*EISDIR/],
    [['--in', 'in.jsonl', '--out', 'folder'], /no plain file/],
    [['--in', 'in.jsonl', '--out', 'link'], /no plain file/],
    [['--in', 'in.jsonl', '--out', '/dev/null'], /no plain file/],
    [['--in', 'in.jsonl', '--out', 'in.jsonl'], /would be lost/],
    [['--in', 'in.jsonl', '--out', 'gone/out'], /write-failed.*ENOENT/],
    [['in.jsonl'], /too many arguments/],
  ]
  for (const [words, said] of cases) {
    const ran = await harness(['events', ...words], { cwd: ws.path })
    t.strictSame([ran.status, ran.stdout], [1, ''], words.join(' '))
    t.match(ran.stderr, said)
  }
  t.strictSame(readdirSync(ws.path), before)
  t.equal(readFileSync(join(ws.path, 'in.jsonl'), 'utf8'), RECORD)
})

t.test('a file is there whole or as it was', async t => {
  ws.write('kept.jsonl', 'before\n')
  // Both ends are open in the shell, so the record comes to no end.
  const reading = `mkfifo record; exec 3<>record; printf '%s' '${RECORD}' >&3; ${program} events --in record --out kept.jsonl`
  const script = `${reading} & pid=$!; while ! ls kept.jsonl.*.tmp > /dev/null 2>&1; do sleep 0.05; done; kill -TERM $pid; wait $pid; echo $?`
  const ran = await execa('bash', ['-c', script], { cwd: ws.path, timeout: 60_000 })
  t.equal(ran.stdout, '143')
  t.equal(readFileSync(join(ws.path, 'kept.jsonl'), 'utf8'), 'before\n')
  t.strictSame(
    readdirSync(ws.path).filter(name => name.includes('.tmp')),
    [],
  )
})

t.test('a reader that goes away', async t => {
  ws.write('long.jsonl', RECORD.repeat(20_000))
  const line = `${program} events --in long.jsonl | head -n 1; echo "$\{PIPESTATUS[0]}"`
  const left = await execa('bash', ['-c', line], { cwd: ws.path })
  t.match(left.stdout, /"seq":1,.*\n0$/)
})

t.test('a disk that is full', { skip: needs('linux') }, async t => {
  ws.write('short.jsonl', RECORD)
  const full = await execa('bash', ['-c', `${program} events --in short.jsonl > /dev/full`], {
    cwd: ws.path,
    reject: false,
  })
  t.strictSame([full.exitCode, /ENOSPC/.test(full.stderr)], [1, true])
})
