/** A step that is one command: a call of `run` like any other, in the conversation of its section. Status 0 passes. */
import { isJsonObject, type Json, type JsonObject } from '../json.js'
import { callOnce, runCall } from '../loop/one-call.js'
import type { CommandStep } from './step.js'
import { broken, haltBy, type Prepared, type StepRun, type Verdict } from './step-run.js'

/** Characters at the end of what it printed that an attempt after a failed one is told. */
const TAIL_CHARS = 2_000

export async function runCommand(run: StepRun, step: CommandStep, { options, signal }: Prepared): Promise<Verdict> {
  const { walking, place, section } = run
  const id = `flow-command-${walking.ordinals.get(place.path) ?? 0}`
  const said = `This is step ${place.path} of the flow ${walking.flow.id}: a command.`
  const end = await callOnce(options, { call: runCall(options.tools.surface, id, step.command), said, signal })
  if (end.kind === 'failed') return broken(end.code, end.reason)
  if (end.kind === 'stopped') {
    const halt = haltBy(end.stop)
    if (halt === null) throw new Error(`a command was stopped by ${end.stop.kind}`)
    return halt
  }
  section.conversation.items = end.items
  const { output, failed } = end.output
  const result = isJsonObject(output) ? unwrapped(output) : {}
  if (!failed && result.exit === 0) return { kind: 'verdict', failed: false, note: null, gives: {} }
  const note = noteOf(result)
  if (failed) options.emit({ kind: 'warning', code: 'step-command', message: `${place.path}: ${note}` })
  return { kind: 'verdict', failed: true, note, details: `${note}${tailOf(result)}`, gives: {} }
}

/** A hook's notes may have wrapped the result. */
function unwrapped(output: JsonObject): JsonObject {
  return isJsonObject(output.output) && output.exit === undefined ? output.output : output
}

function noteOf({ exit, signal, note, error }: JsonObject): string {
  if (typeof error === 'string') return error
  if (typeof note === 'string') return note
  return typeof signal === 'string' ? `it was killed by ${signal}` : `it exited with ${JSON.stringify(exit)}`
}

function tailOf({ stdout, stderr }: JsonObject): string {
  const text = (value: Json | undefined): string => (typeof value === 'string' ? value : '')
  const printed = `${text(stdout)}${text(stderr)}`.trim()
  return printed === '' ? '' : `\n${printed.slice(-TAIL_CHARS)}`
}
