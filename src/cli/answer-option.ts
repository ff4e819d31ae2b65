/** `--output-schema FILE` → the schema that the answer has to fit. Read and judged before the first request. */
import { resolve } from 'node:path'
import type { HarnessEvent } from '../events.js'
import type { AnswerSchema } from '../loop/answer/validator.js'
import type { Io } from './io.js'
import { readOperatorFile } from './operator-file.js'
import type { Given } from './parse.js'

/** Null without the flag. Throws the refusal of a file that cannot be read or is no schema that can be kept. */
export async function openAnswer(given: Given, { cwd }: Pick<Io, 'cwd'>): Promise<AnswerSchema | null> {
  const file = given.one('--output-schema')
  if (file === undefined) return null
  const bytes = readOperatorFile(resolve(cwd, file), '--output-schema', file)
  // Loaded for those who have a schema alone: the validator is a large part of this program.
  const { openAnswerSchema } = await import('../loop/answer/validator.js')
  return openAnswerSchema(bytes, file)
}

/** What of the schema is not checked, for the record. */
export function answerWarnings(answer: AnswerSchema | null): readonly HarnessEvent[] {
  return (answer?.warnings ?? []).map(message => ({ kind: 'warning', code: 'answer-schema', message }))
}
