/**
 * The tool `answer`: the run's result as data that fits the operator's schema (contract §12). An answer that does not fit is a
 * failed result with every place that does not; one that fits is taken and ends the run, as far as its hooks let it end.
 */
import { type JsonObject, withExactText } from '../../json.js'
import { failure } from '../../tools/failures.js'
import type { OwnedTool } from '../owned-tools.js'
import type { AnswerSchema } from './validator.js'

export const ANSWER = 'answer'

/** `accept` is given the value with its text: digits, escapes and the order of keys as the model wrote them. */
export function answerTool({ schema, judge }: AnswerSchema, accept: (value: JsonObject) => void): OwnedTool {
  return {
    spec: {
      name: ANSWER,
      description: 'Give the result of the task. Call it once, alone, when the work is done; it ends the run.',
      input_schema: schema,
      approval: 'not-required',
      envelope: { effects: [], risk: 'low', idempotency: 'idempotent', access: [] },
    },
    first: (value, { text }) => {
      const problems = judge(value, text)
      if (problems.length > 0) {
        const said = `the answer does not fit its schema: ${problems.join(' | ')}. Mend it and call answer again`
        return failure('answer-misfit', said)
      }
      accept(withExactText(value, text ?? JSON.stringify(value)))
      return { output: { accepted: true }, failed: false }
    },
    invoke: () => {
      throw new Error('an answer was invoked past its schema')
    },
  }
}
