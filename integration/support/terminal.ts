/** Programs on a terminal of their own, driven with real key bytes. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { harnessBin } from './harness.js'

/** Longer than any step takes on a busy machine; a test that waits this long has failed. */
const PATIENCE_MS = 30_000

export interface Size {
  readonly cols: number
  readonly rows: number
}

export interface Session {
  readonly pid: number
  /** Resolves when `text` is on the screen; with a number, when it is there that many times. */
  seen(text: string, times?: number): Promise<void>
  type(keys: string): void
  resize(size: Size): void
  /** Closes the terminal, as a window that is closed does. */
  hangUp(): void
  /** All that was shown so far. */
  screen(): string
  /** Asked for, it rejects where the end does not come. */
  readonly ended: Promise<{ readonly status: number; readonly screen: string }>
}

export interface SessionOptions {
  readonly env?: Readonly<Record<string, string | undefined>>
  readonly size?: Size
}

/** A shell line on a terminal of its own; the terminal is 200 by 50 unless told otherwise. */
export async function session(line: string, cwd: string, options: SessionOptions = {}): Promise<Session> {
  const { spawn } = await import('node-pty')
  const env = { ...process.env, TERM: 'xterm', ...options.env } as Record<string, string>
  const terminal = spawn('sh', ['-c', line], { ...(options.size ?? { cols: 200, rows: 50 }), cwd, env })
  const closeOurEnd = readBeforeClosing(terminal)
  let screen = ''
  terminal.onData(data => {
    screen += data
  })
  let status: number | undefined
  terminal.onExit(({ exitCode }) => {
    status = exitCode
  })
  return {
    pid: terminal.pid,
    seen: (text, times = 1) =>
      until(
        () => screen.split(text).length > times,
        () => `${JSON.stringify(text)} in:\n${screen}`,
      ),
    type: keys => terminal.write(keys),
    resize: ({ cols, rows }) => terminal.resize(cols, rows),
    hangUp: closeOurEnd,
    screen: () => screen,
    get ended() {
      const over = until(
        () => status !== undefined,
        () => `its end; on the screen:\n${screen}`,
      )
      return over.then(() => ({ status: status ?? -1, screen }))
    },
  }
}

/** What is left of a terminal is read within this on a busy machine; its end comes at once, where nobody else holds it. */
const LAST_WORDS_MS = 5_000

/**
 * node-pty destroys its socket 200 ms after the end, read or not: on a busy machine the last words are lost. Here what has come
 * is read first. Returns what closes our end at once, for which node-pty has no way; it is what its own destroy() begins with.
 */
function readBeforeClosing(terminal: object): () => void {
  const { _socket: socket } = terminal as {
    readonly _socket: { destroy(error?: Error): unknown; readonly readableEnded: boolean }
  }
  const destroy = socket.destroy.bind(socket)
  // The kernel's own end of a terminal is an error (EIO), or the end of what can be read.
  socket.destroy = error =>
    error !== undefined || socket.readableEnded ? destroy(error) : setTimeout(destroy, LAST_WORDS_MS)
  return destroy
}

/** The shell's words for `harness` with these. */
export function harnessLine(words: readonly string[], program = harnessBin): string {
  return [process.execPath, program, ...words].map(word => `'${word.replaceAll("'", `'\\''`)}'`).join(' ')
}

export interface Watched extends Session {
  /** A file of its folder, empty while it is not there. */
  read(name: string): string
  /** Asked after the end: are the modes of the terminal what they were before? */
  restored(): boolean
}

/** `harness` on a terminal of its own, with the modes of that before and after in the files `before` and `after`. */
export async function watched(words: readonly string[], cwd: string): Promise<Watched> {
  const line = `trap : INT; stty -a > before; ${harnessLine(words)}; s=$?; stty -a > after; exit $s`
  const on = await session(line, cwd)
  const read = (name: string): string => (existsSync(join(cwd, name)) ? readFileSync(join(cwd, name), 'utf8') : '')
  return Object.assign(on, { read, restored: () => read('after') !== '' && read('after') === read('before') })
}

/** A shell with job control, at its prompt `ready$ `. */
export async function jobShell(cwd: string, options: SessionOptions = {}): Promise<Session> {
  const shell = await session('exec bash --norc --noprofile -i', cwd, options)
  shell.type(`PS1='ready$ '\r`)
  await shell.seen('ready$ ')
  return shell
}

/** Looks again and again until `holds`, and throws `what` was never so in the end. */
export async function until(holds: () => boolean, what: () => string): Promise<void> {
  for (let waited = 0; !holds(); waited += 20) {
    if (waited > PATIENCE_MS) throw new Error(`never seen ${what()}`)
    await sleep(20)
  }
}
