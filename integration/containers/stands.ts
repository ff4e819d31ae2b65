/** Engines as the rows need them: started once each, with the image of the rows and what their options name. */
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { execa } from 'execa'
import { projectRoot } from '../../test/support/root.js'
import { type Engine, type EngineName, startEngine } from './engines.js'
import type { Row } from './rows.js'
import type { Stand } from './run-row.js'

const IMAGE = 'localhost/harness-rows:1'

/** What tells engines apart: two rows of one key share one. */
export function standKey({ engine, runtime }: Pick<Row, 'engine' | 'runtime'>): string {
  return engine === 'docker' ? engine : `${engine} ${runtime ?? 'runc'}`
}

/** Starts the engine of `row` with the image in `tar`. A text: why it cannot run here. */
export async function openStand(
  { engine: name, runtime }: Pick<Row, 'engine' | 'runtime'>,
  tar: string,
): Promise<Stand | string> {
  const engine = await startEngine(name, runtime === undefined ? {} : { runtime })
  if (typeof engine === 'string') return engine
  const imported = await engine.command(['import', tar, IMAGE])
  if (imported.status !== 0) {
    await engine.close()
    return `${name}: the image cannot be imported: ${imported.stderr.trim().split('\n').at(-1)}`
  }
  const stand = { engine, image: IMAGE, seccomp: null, socket: engine.socket }
  return { ...stand, seccomp: name === 'docker' ? await profileOf(name, stand) : null }
}

/**
 * The profile that our own command makes of the one that the engine has given to a container without capabilities: Docker keeps
 * its default in its program alone, and containerd's folder has it in the `config.json` of each container.
 */
async function profileOf(name: EngineName, { engine, image }: Pick<Stand, 'engine' | 'image'>): Promise<string | null> {
  const options = ['--detach', '--cap-drop=ALL', '--user=1000:1000']
  const created = await engine.command(['run', ...options, ...engine.limits, image, 'sleep', '300'])
  const id = created.stdout.trim()
  try {
    const config = configOf(engine, id)
    if (created.status !== 0 || config === null) return null
    const harness = join(projectRoot, 'dist/bin/harness.cjs')
    const made = await execa(process.execPath, [harness, 'doctor', '--seccomp-profile', config], { reject: false })
    if (made.exitCode !== 0) throw new Error(`${name}: no profile is made of its own: ${made.stderr}`)
    const file = join(engine.scratch, 'harness-seccomp.json')
    writeFileSync(file, made.stdout, { mode: 0o644 })
    return file
  } finally {
    await engine.command(['rm', '--force', id])
  }
}

function configOf({ scratch }: Engine, id: string): string | null {
  const root = join(scratch, 'exec')
  const found = readdirSync(root, { recursive: true, encoding: 'utf8' }).find(
    path => path.includes(id) && path.endsWith('/config.json'),
  )
  return found === undefined ? null : join(root, found)
}
