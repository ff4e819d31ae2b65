/**
 * `harness demo`: the main job on a fresh sample project, with no key, no network and no root. The model is a script, everything
 * it does is real: it reads, edits and runs the project's tests inside the boundary. Exit status: that of `run`.
 *
 * Where no boundary can be had, the same run goes on with the reading tools and says what would bring the rest. The
 * configuration file says nothing here, so that the demo is the same everywhere.
 */
import { realpathSync } from 'node:fs'
import { dirname } from 'node:path'
import { openBoundary } from '../../confinement/boundary.js'
import { readHostFacts } from '../../confinement/host-facts.js'
import { Refusal } from '../../errors.js'
import { randomHex } from '../../random.js'
import { closeInherited } from '../../supervise/descriptors.js'
import { PrivateFolder } from '../../supervise/private-folder.js'
import { confineChoice, policyRequest } from '../confinement-options.js'
import { controlFiles } from '../control-files.js'
import { makeSample } from '../demo-sample.js'
import type { Io } from '../io.js'
import { parseArgv } from '../parse.js'
import { escapeLines } from '../terminal-text.js'
import type { Invocation } from './invocation.js'
import { run } from './run.js'

const SAFE_PATH = '/usr/local/bin:/usr/bin:/bin'
const TASK = 'The tests of this project fail. Find out why, fix it and show that they pass.'

export async function demo({ given }: Invocation, io: Io): Promise<number> {
  closeInherited()
  const folder = PrivateFolder.make({ outside: [] })
  try {
    const workspace = makeSample(folder.path)
    const shown = given.has('--json') ? ['--json'] : []
    // The workspace is gone afterwards: there is nothing to go on with.
    const words = ['run', '--provider', 'demo', '--no-session', ...shown, '--workspace', workspace]
    const confined = [...words, ...grants()]
    const refusal = await boundaryRefusal(asRun(confined), io)
    if (refusal !== null) {
      io.err.write(`${escapeLines(refusal.message)}\n`)
      io.err.write('no boundary here: the demo goes on with the reading tools only\n')
    }
    const chosen = refusal === null ? confined : words
    io.err.write(`$ harness ${chosen.join(' ')} --input "${TASK}"\n\n`)
    return await run(asRun([...chosen, '--input', TASK]), io)
  } finally {
    folder.remove()
  }
}

/** What the scenario uses. The running node may lie where the boundary shows nothing: its folder is added by name. */
function grants(): string[] {
  const bin = dirname(realpathSync(process.execPath))
  const reach = bin.startsWith('/usr/') ? [] : ['--read', dirname(bin)]
  const grants = ['--confine', 'auto', '--allow-program', 'node', '--process-write-subtree', '.', '--yes']
  return [...grants, ...reach, '--env', `PATH=${bin}:${SAFE_PATH}`]
}

function asRun(words: readonly string[]): Invocation {
  const parsed = parseArgv(words)
  if (parsed.kind === 'text') throw new Error('these words ask for no text')
  return parsed
}

/** Why a run with these words would be refused its boundary; null: it has one. */
async function boundaryRefusal({ given }: Invocation, io: Io): Promise<Refusal | null> {
  const programs = given.all('--allow-program')
  const request = policyRequest(given, { cwd: io.cwd, env: io.env, controlFiles: controlFiles(given, io), programs })
  const facts = await readHostFacts({ cgroupRoot: request.cgroupRoot })
  try {
    const confine = confineChoice('run', given)
    if (confine === 'off') return null
    const boundary = await openBoundary({
      confine,
      request,
      facts,
      runId: randomHex(8),
      onEvent: () => {},
      probe: 'now',
    })
    if (boundary instanceof Refusal) throw boundary
    await boundary.close()
    return null
  } catch (error) {
    if (error instanceof Refusal && error.code === 'boundary-unavailable') return error
    throw error
  }
}
