/** The standing instruction of a run with these options, from what its surroundings turned out to be. */
import { buildContext, type StandingContext } from '../loop/context.js'
import type { ChildFacts } from '../loop/run-state.js'
import { type OperatorFiles, workspaceFacts } from './context-files.js'
import type { Given } from './parse.js'
import type { Surroundings } from './surroundings.js'
import { workspaceReader } from './workspace-reader.js'

export function standingContext(
  given: Given,
  { reach, tools, boundary, programs, documents }: Surroundings,
  files: OperatorFiles,
  { child }: { readonly child?: ChildFacts } = {},
): StandingContext {
  const scope = given.all('--write-scope')
  return buildContext({
    tools,
    documents,
    ...(child === undefined ? { owned: ownedTools(given) } : { child }),
    writeScope: given.one('--scope-announce') === 'silent' ? [] : scope,
    ...files,
    workspace: workspaceFacts(given, reach.workspace.path, workspaceReader(reach.workspace)),
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
}

/** What the loop itself publishes with these options. */
function ownedTools(given: Given): { readonly answer: boolean; readonly delegate: boolean } {
  return { answer: given.has('--output-schema'), delegate: given.has('--delegate') }
}
