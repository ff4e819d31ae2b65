/** The flow that the command line names, as it is to be walked. */
import { resolve } from 'node:path'
import { Refusal } from '../errors.js'
import type { Flow } from '../workflow/document.js'
import { parseFlow } from '../workflow/parse.js'
import { capped } from '../workflow/plan.js'
import { readOperatorFile } from './operator-file.js'
import type { Given } from './parse.js'
import { whole } from './run-options.js'

/** `--flow`, read, with `--max-attempts` applied. Throws what refuses. */
export function openFlow(given: Given, cwd: string): Flow {
  const file = given.one('--flow')
  if (file === undefined) {
    const text = 'a flow is needed: give one with --flow FILE (.yaml, .yml or .json)'
    throw new Refusal('bad-arguments', { argument: '--flow' }, text)
  }
  const attempts = whole(given, '--max-attempts') ?? null
  return capped(parseFlow(readOperatorFile(resolve(cwd, file), '--flow'), file), attempts)
}
