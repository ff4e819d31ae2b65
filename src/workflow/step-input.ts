/** What a step of the model is told: the flow's task, where it stands, what was handed on, its own part, its files. Pure. */
import { exactJson, type JsonObject } from '../json.js'
import type { LlmStep } from './step.js'

/** What a section before this one hands on. */
export interface Handoff {
  readonly path: string
  readonly values: JsonObject
}

export interface StepInput {
  readonly flow: string
  readonly input: string
  readonly path: string
  /** Of the section that it stands in. */
  readonly section: string
  readonly attempt: number
  readonly of: number
  /** Why the attempt before failed; null: this is the first, or nothing is known. */
  readonly failedBefore: string | null
  readonly step: LlmStep
  readonly handoffs: readonly Handoff[]
  /** What the section is to give. */
  readonly gives: readonly string[]
  readonly files: readonly { readonly path: string; readonly text: string }[]
}

export function inputOf(told: StepInput): string {
  const { step } = told
  return [
    told.input,
    positionOf(told),
    ...(step.state === null ? [] : [`State: ${step.state}`]),
    ...(step.summary === null ? [] : [`Summary: ${step.summary}`]),
    ...(told.handoffs.length === 0 ? [] : [handedOn(told.handoffs)]),
    ...(step.prompt === null ? [] : [`Your part:\n${step.prompt}`]),
    ...(step.scope.length === 0 ? [] : [scopeLines(step.scope)]),
    ...(told.gives.length === 0 ? [] : [givesLine(told.gives)]),
    ...told.files.map(({ path, text }) => `The file ${path}:\n${text}`),
  ].join('\n\n')
}

function positionOf({ flow, path, section, attempt, of, failedBefore }: StepInput): string {
  const which = of > 1 ? `, attempt ${attempt} of ${of} of section ${section}` : ''
  const before = failedBefore === null ? '' : `\nThe attempt before failed: ${failedBefore}`
  return `This is step ${path} of the flow ${flow}${which}.${before}\nEnd it by calling answer with the outcome "passed" or "failed" and a short note.`
}

function handedOn(handoffs: readonly Handoff[]): string {
  const lines = handoffs.flatMap(({ path, values }) =>
    Object.entries(values).map(
      ([name, value]) => `- ${path}, ${name}: ${typeof value === 'string' ? value : exactJson(value)}`,
    ),
  )
  return ['Handed on by earlier sections:', ...lines].join('\n')
}

function scopeLines(scope: readonly string[]): string {
  return [
    'Files you may write in this step (the first rule that matches counts):',
    ...scope.map(rule => `- ${rule}`),
  ].join('\n')
}

function givesLine(names: readonly string[]): string {
  return `This section hands on: ${names.join(', ')}. Put what you have for them into "gives" of the answer.`
}
