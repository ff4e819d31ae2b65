/** The standing instruction of a run with these options, from what its surroundings turned out to be. */
import { buildContext, type StandingContext } from '../loop/context.js'
import type { ChildFacts } from '../loop/run-state.js'
import { type OperatorFiles, type WorkspaceTexts, workspaceTexts } from './context-files.js'
import type { Given } from './parse.js'
import type { Surroundings } from './surroundings.js'
import { workspaceReader } from './workspace-reader.js'

/** With what has to be told of the files that it is made of. */
export type RunContext = StandingContext & Pick<WorkspaceTexts, 'warnings'>

export interface ContextOptions {
  readonly child?: ChildFacts
  /** The run ends with a call of `answer`; absent: where there is an output schema. */
  readonly answers?: boolean
}

export function standingContext(
  given: Given,
  { reach, tools, boundary, programs, documents }: Surroundings,
  files: OperatorFiles,
  { child, answers = given.has('--output-schema') }: ContextOptions = {},
): RunContext {
  const { path } = reach.workspace
  const { facts, warnings } = workspaceTexts(given, path, workspaceReader(reach.workspace))
  const scope = given.all('--write-scope')
  const context = buildContext({
    tools,
    documents,
    ...(child === undefined ? { owned: { answer: answers, delegate: given.has('--delegate') } } : { child }),
    writeScope: given.one('--scope-announce') === 'silent' ? [] : scope,
    ...files,
    workspace: facts,
    execution: {
      path: given.one('--execution-path') === 'metaharness' ? 'metaharness' : 'direct',
      boundary: boundary?.confinement.boundary ?? null,
      programs,
      writes: given.all('--process-write-subtree'),
      hosts: [],
    },
    platform: { os: process.platform, arch: process.arch },
    now: new Date(),
  })
  return { ...context, warnings }
}
