/** A step of the model: one run to a verdict, in the conversation of its section (contract §22). */
import { isUtf8 } from 'node:buffer'
import { DOCUMENT_BYTES_MAX } from '../bounds.js'
import { Refusal } from '../errors.js'
import type { WarningCode } from '../events.js'
import { runLoop } from '../loop/engine.js'
import type { LoopEnd } from '../loop/run-state.js'
import type { LlmStep } from './step.js'
import { stepAnswer, stepSchema } from './step-answer.js'
import { inputOf, type StepInput } from './step-input.js'
import { broken, haltBy, type Prepared, type StepRun, type Verdict } from './step-run.js'

export async function runModel(run: StepRun, step: LlmStep, { options, signal }: Prepared): Promise<Verdict> {
  const { walking, section, place, handoffs } = run
  const files = contextOf(run, step)
  if ('unread' in files) {
    options.emit({ kind: 'warning', code: files.code, message: `${place.path}: ${files.unread}` })
    return { kind: 'verdict', failed: true, note: files.unread, gives: {} }
  }
  const { attempt, of, gives, failedBefore } = section
  const input = inputOf({
    ...{ flow: walking.flow.id, input: walking.input, path: place.path, section: section.path },
    ...{ attempt, of, failedBefore, step, handoffs, gives, files: files.texts },
  })
  const end = await runLoop({ ...options, answer: stepSchema(gives), input, signal })
  if (end.kind !== 'refused') {
    walking.turns += end.turns
    section.conversation.items = end.items
  }
  return verdictOf(end)
}

function verdictOf(end: LoopEnd): Verdict {
  if (end.kind === 'refused') return broken(end.refusal.code, end.refusal.message)
  if (end.kind === 'failed') return broken(end.code, end.reason)
  const { stop, structured } = end
  if (stop.kind === 'completed' && structured !== null) return { kind: 'verdict', ...stepAnswer(structured) }
  const ended = Object.entries(stop).map(([key, value]) => (key === 'kind' ? String(value) : `${key} ${value}`))
  return (
    haltBy(stop) ?? {
      kind: 'verdict',
      failed: true,
      note: `it ended without a verdict: ${ended.join(', ')}`,
      gives: {},
    }
  )
}

type Files =
  | { readonly texts: StepInput['files'] }
  | { readonly unread: string; readonly code: Extract<WarningCode, 'context-refused' | 'step-context'> }

/** A step that is not given what it was to be given does not begin: what it made of less would look like the whole. */
function contextOf({ walking }: StepRun, { context }: LlmStep): Files {
  const texts: { path: string; text: string }[] = []
  for (const path of context) {
    const bytes = walking.host.readContext(path, DOCUMENT_BYTES_MAX + 1)
    if (bytes instanceof Refusal) {
      const code = bytes.code === 'missing' ? 'step-context' : 'context-refused'
      return { code, unread: `the context file ${path} cannot be given to the model: ${bytes.message}` }
    }
    const why =
      bytes.length > DOCUMENT_BYTES_MAX
        ? `it has more than ${DOCUMENT_BYTES_MAX} bytes: give a part of it`
        : isUtf8(bytes)
          ? null
          : 'it is no text in UTF-8'
    if (why !== null)
      return { code: 'step-context', unread: `the context file ${path} cannot be given to the model: ${why}` }
    texts.push({ path, text: bytes.toString('utf8') })
  }
  return { texts }
}
