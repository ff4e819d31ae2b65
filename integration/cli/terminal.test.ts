/** `harness run` on a real terminal: approval questions, keys, and the terminal afterwards. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { parseScenario } from '../../src/emulator/scenario.js'
import { startEmulator } from '../../src/emulator/server.js'
import { needs } from '../../test/support/needs.js'
import { harnessBin, scratch } from '../support/harness.js'

const onTerminal = { skip: needs('node-pty', 'bubblewrap') }

/** Longer than any step takes on a busy machine; a test that waits this long has failed. */
const PATIENCE_MS = 30_000

interface Session {
  /** Resolves when `text` is on the screen. */
  seen(text: string): Promise<void>
  type(keys: string): void
  readonly ended: Promise<{ readonly status: number; readonly screen: string }>
}

/** A shell line on a terminal of its own. */
async function session(line: string, cwd: string): Promise<Session> {
  const { spawn } = await import('node-pty')
  const env = { ...process.env, TERM: 'xterm' } as Record<string, string>
  const terminal = spawn('sh', ['-c', line], { cols: 200, rows: 50, cwd, env })
  let screen = ''
  terminal.onData(data => {
    screen += data
  })
  const ended = new Promise<{ status: number; screen: string }>(resolve => {
    terminal.onExit(({ exitCode }) => resolve({ status: exitCode, screen }))
  })
  return {
    async seen(text) {
      for (let waited = 0; !screen.includes(text); waited += 20) {
        if (waited > PATIENCE_MS) throw new Error(`never seen ${JSON.stringify(text)} in:\n${screen}`)
        await sleep(20)
      }
    },
    type: keys => terminal.write(keys),
    ended,
  }
}

const WRITES = [
  { reply: { calls: [{ name: 'file_write', arguments: { path: 'a.txt', text: 'one' } }] } },
  { reply: { calls: [{ name: 'file_write', arguments: { path: 'b.txt', text: 'two' } }] } },
  { reply: { text: 'Finished.' } },
]

async function asked(t: Test, keys: readonly string[]) {
  const ws = scratch()
  t.teardown(ws.remove)
  const endpoint = await startEmulator({
    scenario: parseScenario(
      JSON.stringify({ version: 1, model: 'm', turns: WRITES, then: 'repeat-last' }),
      'inline.json',
    ),
  })
  const words = ['run', '--base-url', endpoint.baseUrl, '--model', 'm', '--confine', 'auto', '--input', 'go']
  const quoted = [process.execPath, harnessBin, ...words].map(word => `'${word}'`).join(' ')
  const run = await session(`trap : INT; stty -a > before; ${quoted}; s=$?; stty -a > after; exit $s`, ws.path)
  for (const [index, key] of keys.entries()) {
    await run.seen(index === 0 ? 'a.txt' : 'b.txt')
    await sleep(100)
    run.type(key)
  }
  const { status, screen } = await run.ended
  await endpoint.close()
  const made = ['a.txt', 'b.txt'].filter(name => existsSync(join(ws.path, name)))
  t.equal(
    readFileSync(join(ws.path, 'after'), 'utf8'),
    readFileSync(join(ws.path, 'before'), 'utf8'),
    'the terminal is as it was',
  )
  return { status, screen, made }
}

t.test('yes, no, always, an empty line and the end of file', onTerminal, async t => {
  t.match(await asked(t, ['y\r', 'n\r']), { status: 0, made: ['a.txt'], screen: /Finished\./ })
  t.match(await asked(t, ['a\r']), { status: 0, made: ['a.txt', 'b.txt'] }, 'always is not asked again')
  t.match(await asked(t, ['\r', 'yes\r']), { status: 0, made: ['b.txt'] })
  t.match(await asked(t, ['\u0004']), { status: 0, made: [] }, 'end of file denies, and all later ones unasked')
})

t.test('Ctrl-C at the question stops the run by name', onTerminal, async t => {
  t.match(await asked(t, ['\u0003']), { status: 2, made: [], screen: /stopped: cancelled/ })
})

t.test('on one terminal, answer and progress keep their lines', onTerminal, async t => {
  const ws = scratch({ 'greet.mjs': '', 'greet.test.mjs': '' })
  t.teardown(ws.remove)
  const quoted = `'${process.execPath}' '${harnessBin}' run --provider demo --input look`
  const { status, screen } = await (await session(quoted, ws.path)).ended
  t.equal(status, 0)
  const lines = screen.replace(/\u001b\[\d+m/g, '').split('\r\n')
  t.ok(lines.includes('I look at what is here.'), screen)
  t.ok(lines.includes('  dir_list {"path":"."}'), screen)
  t.ok(lines.includes('turn 2'), screen)
})
