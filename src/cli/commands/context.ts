/** `harness context show`: the layers of the standing instruction that a run with these options would send. */
import { Refusal } from '../../errors.js'
import type { ContextEntry } from '../../events.js'
import type { StandingContext } from '../../loop/context.js'
import { randomHex } from '../../random.js'
import { operatorFiles } from '../context-files.js'
import type { Io } from '../io.js'
import type { Given } from '../parse.js'
import { printJson, printText } from '../print.js'
import { standingContext } from '../standing-context.js'
import { openSurroundings } from '../surroundings.js'
import { tellWarnings } from '../tell-warnings.js'
import type { Invocation } from './invocation.js'

export async function context({ given, words }: Invocation, io: Io): Promise<number> {
  if (words.length !== 1 || words[0] !== 'show') {
    throw new Refusal('bad-arguments', { argument: words[0] ?? 'context' }, 'write harness context show')
  }
  const files = operatorFiles(given, io.cwd)
  const runId = randomHex(8)
  const surroundings = await openSurroundings({ command: 'context', given, io, runId, emit: () => {} })
  try {
    const standing = standingContext(given, surroundings, files)
    print(given, standing, io)
    tellWarnings([...surroundings.warnings, ...standing.warnings], io)
    return 0
  } finally {
    await surroundings.close()
  }
}

/** A workspace's own instructions are in it, word for word. */
function print(given: Given, { instruction, manifest }: StandingContext, io: Io): void {
  if (given.has('--json')) printJson(io, `${JSON.stringify(manifest, null, 2)}\n`)
  else printText(io, given.has('--body') ? `${instruction}\n` : manifest.map(line).join(''))
}

function line({ id, kind, trust, bytes, sha256 }: ContextEntry): string {
  return `${id} kind=${kind} trust=${trust} bytes=${bytes} sha256=${sha256}\n`
}
