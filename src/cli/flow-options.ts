/** The flow that the command line names. */
import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { isRefusal, Refusal } from '../errors.js'
import type { Flow } from '../workflow/document.js'
import { flowDigest, parseFlow } from '../workflow/parse.js'
import { capped } from '../workflow/plan.js'
import { readOperatorFile } from './operator-file.js'
import type { Given } from './parse.js'
import { whole } from './run-options.js'

export interface ReadFlow {
  /** As it is written. */
  readonly flow: Flow
  /** `--max-attempts`; null: not given. */
  readonly maxAttempts: number | null
  /** As it was spelled. */
  readonly file: string
  /** Absolute. */
  readonly path: string
  /** False for a pipe: it can be read once. */
  readonly isFile: boolean
}

/** Throws what refuses. */
export function readFlow(given: Given, cwd: string): ReadFlow {
  const file = given.one('--flow')
  if (file === undefined) {
    const text = 'a flow is needed: give one with --flow FILE (.yaml, .yml or .json)'
    throw new Refusal('bad-arguments', { argument: '--flow' }, text)
  }
  const path = resolve(cwd, file)
  const maxAttempts = whole(given, '--max-attempts') ?? null
  const flow = parseFlow(readOperatorFile(path, '--flow', file), file)
  return { flow, maxAttempts, file, path, isFile: statSync(path, { throwIfNoEntry: false })?.isFile() === true }
}

/** As it is to be walked. */
export function openFlow(given: Given, cwd: string): Flow {
  const { flow, maxAttempts } = readFlow(given, cwd)
  return capped(flow, maxAttempts)
}

/** True where the file says something else by now, or cannot be read any more. */
export function hasChanged({ flow, file, path, isFile }: ReadFlow): boolean {
  if (!isFile) return false
  try {
    return flowDigest(parseFlow(readOperatorFile(path, '--flow', file), file)) !== flowDigest(flow)
  } catch (error) {
    if (isRefusal(error)) return true
    throw error
  }
}
