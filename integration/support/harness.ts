/** Runs the built programs the way a person does, and reads back what they said. */
import { mkdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { execa, type Options } from 'execa'
import { dirSync } from 'tmp-promise'
import type { HarnessEvent } from '../../src/events.js'
import { projectRoot } from '../../test/support/root.js'

export const harnessBin = join(projectRoot, 'dist', 'bin', 'harness.cjs')

export interface Ran {
  readonly status: number | undefined
  readonly signal: string | undefined
  readonly stdout: string
  readonly stderr: string
}

/** One run of `harness`; never rejects. */
export async function harness(words: readonly string[], options: Options = {}): Promise<Ran> {
  const ran = await execa(process.execPath, [harnessBin, ...words], {
    reject: false,
    stdin: 'ignore',
    ...options,
    stripFinalNewline: false,
  })
  return {
    status: ran.exitCode,
    signal: ran.signal,
    stdout: String(ran.stdout ?? ''),
    stderr: String(ran.stderr ?? ''),
  }
}

/** Every line of a `--json` stdout, each of which has to parse. */
export function eventsOf(stdout: string): HarnessEvent[] {
  return stdout
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line) as HarnessEvent)
}

export interface Scratch {
  readonly path: string
  write(name: string, text: string): string
  remove(): void
}

/** A folder of its own for one test. */
export function scratch(files: Readonly<Record<string, string>> = {}): Scratch {
  const path = realpathSync(dirSync({ prefix: 'harness-test', mode: 0o700 }).name)
  const write = (name: string, text: string): string => {
    const file = join(path, name)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text)
    return file
  }
  for (const [name, text] of Object.entries(files)) write(name, text)
  return { path, write, remove: () => rmSync(path, { recursive: true, force: true }) }
}
