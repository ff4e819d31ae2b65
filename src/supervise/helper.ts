/**
 * Programs of the host that we run and wait for outside of any boundary, and that are no launch: version queries, and for
 * `doctor` a second one of ourselves. Nothing of a model or a workspace is ever started here.
 */
import { execa } from 'execa'

/** What the locale and the search path are, so that words can be read and nothing of a workspace is found. */
const HELPER_ENV = { PATH: '/usr/bin:/bin:/usr/sbin:/sbin', LC_ALL: 'C' } as const

/** Programs that are asked for their version answer at once. */
const HELPER_MS = 2_000
const HELPER_BYTES_MAX = 256 * 1024

/** Standard output of a program that ended with 0 within two seconds, else null. Never rejects. */
export async function helperOutput(file: string, args: readonly string[], input?: Uint8Array): Promise<Buffer | null> {
  const ran = await execa(file, [...args], {
    env: HELPER_ENV,
    extendEnv: false,
    cwd: '/',
    ...(input === undefined ? { stdin: 'ignore' as const } : { input }),
    stderr: 'ignore',
    encoding: 'buffer',
    timeout: HELPER_MS,
    killSignal: 'SIGKILL',
    maxBuffer: HELPER_BYTES_MAX,
    reject: false,
    stripFinalNewline: false,
  })
  return ran.exitCode === 0 && !ran.failed ? Buffer.from(ran.stdout) : null
}

export interface BesideRequest {
  readonly file: string
  readonly args: readonly string[]
  /** Added to our own environment. */
  readonly env: Readonly<Record<string, string>>
  /** Descriptor for its stdout. */
  readonly stdout: number
  /** Descriptor that it finds as 3, left open across its start. */
  readonly third: number
}

export interface Helper {
  /** Resolves when it has ended, with what it said on stderr, or with how it ended where it said nothing. */
  readonly ended: Promise<string>
  kill(): void
}

/** Starts one that is to be killed, in a session of its own. */
export function startHelper({ file, args, env, stdout, third }: BesideRequest): Helper {
  const child = execa(file, [...args], {
    env: { ...env },
    cwd: '/',
    // Its types know descriptors by literal numbers alone.
    stdio: ['ignore', stdout, 'pipe', third] as unknown as readonly ['ignore', 'ignore', 'pipe', 'ignore'],
    detached: true,
    reject: false,
  })
  return {
    ended: child.then(
      ({ stderr, code, signal, exitCode }) => String(stderr ?? '') || endedBy({ code, signal, exitCode }),
    ),
    kill: () => void child.kill('SIGKILL'),
  }
}

interface Ended {
  /** Of the error that kept it from starting. */
  readonly code?: string | undefined
  readonly signal?: string | undefined
  readonly exitCode?: number | undefined
}

/** In few words: those of its library carry the whole command. */
function endedBy({ code, signal, exitCode }: Ended): string {
  if (code !== undefined) return `it could not be started: ${code}`
  return signal === undefined ? `it ended with ${exitCode ?? 'nothing'}` : `it was ended by ${signal}`
}
