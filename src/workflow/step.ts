/** The steps of a flow and their key `run` (contract §22). A key that the kind of the step would not read refuses. Pure. */
import { ARGUMENT_BYTES_MAX, DOCUMENT_BYTES_MAX } from '../bounds.js'
import { isRefusal } from '../errors.js'
import { nearest } from '../hooks/nearest.js'
import type { Placed } from '../hooks/strict-json.js'
import { normalizeRelative, parseWriteScope } from '../paths/write-scope.js'
import type { Members, Reader } from './reader.js'

interface StepBase {
  readonly id: string
  /** Ids of siblings that come before it. */
  readonly needs: readonly string[]
  /** Words for people and for the model; null: none. */
  readonly state: string | null
  readonly summary: string | null
}

/** A run of the model to a verdict. */
export interface LlmStep extends StepBase {
  readonly kind: 'llm'
  readonly prompt: string | null
  /** Files of the workspace that the model is given, relative, canonical. */
  readonly context: readonly string[]
  /** `GLOB=SCOPE` in order; empty: no further restriction. */
  readonly scope: readonly string[]
}

/** One command; its status 0 passes. */
export interface CommandStep extends StepBase {
  readonly kind: 'command'
  /** At least the program. */
  readonly command: readonly string[]
  readonly scope: readonly string[]
}

/** The walk pauses here until the operator resumes it. */
export interface OperatorStep extends StepBase {
  readonly kind: 'operator'
  readonly prompt: string
}

export type Step = LlmStep | CommandStep | OperatorStep

const KINDS = ['llm', 'command', 'operator'] as const
/** Those that every kind has; `description` is for people alone. */
const COMMON = ['kind', 'state', 'summary', 'description'] as const
const OWN: Readonly<Record<Step['kind'], readonly string[]>> = {
  llm: ['prompt', 'context', 'scope'],
  command: ['command', 'scope'],
  operator: ['prompt'],
}
const ALL_KEYS = [...COMMON, ...new Set(Object.values(OWN).flat())]
/** Kind → keys that it reads. */
const READ: Readonly<Record<Step['kind'], readonly string[]>> = {
  llm: [...COMMON, ...OWN.llm],
  command: [...COMMON, ...OWN.command],
  operator: [...COMMON, ...OWN.operator],
}

export interface StepRequest {
  readonly id: string
  readonly path: string
  readonly needs: readonly string[]
  /** Absent: a step of the model with nothing but the flow's input. */
  readonly run: Placed | undefined
}

/** Throws `bad-document`. */
export function readStep(reader: Reader, { id, path, needs, run }: StepRequest): Step {
  if (run === undefined)
    return { kind: 'llm', id, needs, state: null, summary: null, prompt: null, context: [], scope: [] }
  const what = `"run" of ${path}`
  const keys = reader.object(run, what, ALL_KEYS)
  const kind = kindIn(reader, keys.get('kind'), what)
  const stray = keys.beside(READ[kind])
  if (stray !== undefined) {
    const hint = stray.name === 'command' ? 'write kind: command, or leave it out' : 'leave it out'
    throw reader.bad(stray.value, `${what}: "${stray.name}" is not read by a step of kind ${kind}: ${hint}`)
  }
  wordsOf(reader, keys, 'description', path)
  const [state, summary] = [wordsOf(reader, keys, 'state', path), wordsOf(reader, keys, 'summary', path)]
  const base = { id, needs, state, summary }
  const prompt = wordsOf(reader, keys, 'prompt', path)
  switch (kind) {
    case 'llm':
      return { kind, ...base, prompt, context: contextIn(reader, keys, path), scope: scopeIn(reader, keys, path) }
    case 'command':
      return { kind, ...base, command: commandIn(reader, keys, path), scope: scopeIn(reader, keys, path) }
    case 'operator':
      if (prompt !== null && prompt.trim() !== '') return { kind, ...base, prompt }
      throw reader.bad(run, `${path} waits for the operator without a "prompt": say what is to be decided or done`)
  }
}

function kindIn(reader: Reader, value: Placed | undefined, what: string): Step['kind'] {
  if (value === undefined) return 'llm'
  const word = reader.text(value, `"kind" in ${what}`)
  const kind = KINDS.find(known => known === word)
  if (kind !== undefined) return kind
  const near = nearest(word, KINDS)
  const help = near === null ? `write one of ${KINDS.join(', ')}` : `did you mean ${near}?`
  throw reader.bad(value, `${what}: unknown kind ${JSON.stringify(word.slice(0, 80))}: ${help}`)
}

function wordsOf(reader: Reader, keys: Members, key: string, path: string): string | null {
  const value = keys.get(key)
  if (value === undefined) return null
  const what = `"${key}" of ${path}`
  const text = reader.text(value, what)
  const bytes = Buffer.byteLength(text)
  if (bytes <= DOCUMENT_BYTES_MAX) return text
  throw reader.bad(
    value,
    `${what} has ${bytes} bytes, over the bound of ${DOCUMENT_BYTES_MAX}: put it into a file and name that in "context"`,
  )
}

function commandIn(reader: Reader, keys: Members, path: string): readonly string[] {
  const value = keys.required('command')
  const what = `"command" of ${path}`
  const words = reader.list(value, what, '[npm, test]').map(item => {
    const word = reader.text(item, `a word of ${what}`)
    if (word.includes('\0')) throw reader.bad(item, `${what}: a word holds a NUL, which no argument can: take it out`)
    if (Buffer.byteLength(word) <= ARGUMENT_BYTES_MAX) return word
    throw reader.bad(item, `${what}: a word is longer than ${ARGUMENT_BYTES_MAX} bytes: put it into a file`)
  })
  if ((words[0] ?? '') !== '') return words
  throw reader.bad(value, `${what} has no program: write the program and its arguments as a list, e.g. [npm, test]`)
}

function scopeIn(reader: Reader, keys: Members, path: string): readonly string[] {
  return reader.list(keys.get('scope'), `"scope" of ${path}`, '["docs/**=allowed", "**=denied"]').map(item => {
    const text = reader.text(item, `a rule in "scope" of ${path}`)
    try {
      parseWriteScope(text)
    } catch (error) {
      if (isRefusal(error)) throw reader.bad(item, `"scope" of ${path}: ${error.message}`)
      throw error
    }
    return text
  })
}

/** As the tools would name them: nothing that leads out of the workspace or goes about. */
function contextIn(reader: Reader, keys: Members, path: string): readonly string[] {
  return reader.list(keys.get('context'), `"context" of ${path}`, '[docs/plan.md]').map(item => {
    const file = reader.text(item, `an entry of "context" of ${path}`)
    const why = whyNoContext(file)
    if (why === null) return file
    throw reader.bad(item, `"context" of ${path}: ${JSON.stringify(file.slice(0, 200))} ${why}`)
  })
}

function whyNoContext(file: string): string | null {
  if (file === '' || file.includes('\0')) return 'names no file'
  if (file.startsWith('/')) return 'is absolute: name a file relative to the workspace'
  const plain = normalizeRelative(file)
  if (plain === '..' || plain.startsWith('../')) return 'leads out of the workspace: copy the file into it'
  return plain === file ? null : `goes about: write ${plain === '' ? 'the name of a file' : plain}`
}
