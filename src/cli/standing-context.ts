/** The standing instruction of a run with these options, from what its surroundings turned out to be. */
import { buildContext, type StandingContext } from '../loop/context.js'
import { type OperatorFiles, workspaceFacts } from './context-files.js'
import type { Given } from './parse.js'
import type { Surroundings } from './surroundings.js'
import { workspaceReader } from './workspace-reader.js'

export function standingContext(
  given: Given,
  { reach, tools, boundary, programs, documents }: Surroundings,
  files: OperatorFiles,
): StandingContext {
  const scope = given.all('--write-scope')
  return buildContext({
    tools,
    documents,
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
