/**
 * Arguments of a call as typed values. The port has held them against the entry's schema already; what does not fit here
 * is therefore an embedder's call without a port, and it is answered with `bad-arguments` all the same.
 */
import { Refusal } from '../errors.js'
import type { JsonObject } from '../json.js'
import { refused } from './failures.js'
import type { ToolOutcome } from './port.js'

/** Runs a tool: a refusal, returned or thrown, becomes a failed outcome; a bug propagates. */
export function answering(tool: () => JsonObject | Refusal): ToolOutcome {
  try {
    return answerOf(tool())
  } catch (error) {
    if (error instanceof Refusal) return refused(error)
    throw error
  }
}

/** As {@link answering}, for a tool that takes its time. */
export async function answeringLater(tool: () => Promise<JsonObject | Refusal>): Promise<ToolOutcome> {
  try {
    return answerOf(await tool())
  } catch (error) {
    if (error instanceof Refusal) return refused(error)
    throw error
  }
}

function answerOf(result: JsonObject | Refusal): ToolOutcome {
  return result instanceof Refusal ? refused(result) : { output: result, failed: false }
}

/** A string argument; without `absent` it is required. */
export function textArgument(args: JsonObject, name: string, absent?: string): string {
  const value = args[name] ?? absent
  if (typeof value === 'string') return value
  throw bad(name, `the argument ${name} must be a string`)
}

export function flagArgument(args: JsonObject, name: string): boolean {
  const value = args[name] ?? false
  if (typeof value === 'boolean') return value
  throw bad(name, `the argument ${name} must be true or false`)
}

export interface CountBounds {
  readonly min: number
  readonly max: number
  /** The value of an argument that is not there. */
  readonly absent: number
}

/** A whole number within bounds. */
export function countArgument(args: JsonObject, name: string, { min, max, absent }: CountBounds): number {
  const value = args[name] ?? absent
  if (typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max) return value
  throw bad(name, `the argument ${name} must be a whole number from ${min} to ${max}`)
}

export function bad(argument: string, message: string): Refusal<'bad-arguments'> {
  return new Refusal('bad-arguments', { argument }, message)
}
