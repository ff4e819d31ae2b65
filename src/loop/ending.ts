/**
 * How a run that came to its end may end (contract §6): with an answer schema an ending in prose is nudged once towards the
 * tool; then the stop hooks are asked, and what they do not let end takes its answer back.
 */
import type { Stop } from '../events.js'
import { ANSWER } from './answer/answer-tool.js'
import { mayEnd } from './hooked.js'
import { keep, type Run } from './run-state.js'

/** Nudges of one ending. */
const NUDGES_MAX = 1

const NUDGE =
  'The task is not finished yet: its result is taken only from a call of the tool answer, not from text. Call answer now, with the whole result.'

/** Characters of the prose that the warning quotes. */
const QUOTED_CHARS = 80

/** Null: the run goes on. */
export async function ending(run: Run): Promise<Stop | null> {
  if (run.options.answer !== undefined && run.answer === null) return nudge(run)
  const stop = await mayEnd(run)
  if (stop !== null) return stop
  run.answer = null
  run.nudges = 0
  return null
}

/** The tool choice is held on the one turn that this opens (decisions 43). */
function nudge(run: Run): Stop | null {
  if (run.nudges >= NUDGES_MAX) return { kind: 'unstructured', asked_again: run.nudges }
  run.nudges += 1
  run.toolChoice = { kind: 'named', name: ANSWER }
  const said = run.text.length <= QUOTED_CHARS ? run.text : `${run.text.slice(0, QUOTED_CHARS)}…`
  const message = `the model ended in prose where the tool answer is needed, and is asked for a call of it; it said ${JSON.stringify(said)}`
  run.options.emit({ kind: 'warning', code: 'answer-nudged', message })
  keep(run, { kind: 'user-text', text: NUDGE })
  return null
}
