/** The folders of skills, agents, plugins and memories that the command line names → documents and what is said of them. */
import { Refusal } from '../errors.js'
import type { HarnessEvent } from '../events.js'
import { type Documents, NO_DOCUMENTS } from '../loop/documents/documents.js'
import { problemText } from '../loop/documents/problems.js'
import { FOLLOWED } from './control-files.js'
import type { CommandName } from './flags.js'
import type { Io } from './io.js'
import type { Given } from './parse.js'

export interface DocumentOptions {
  readonly command: CommandName
  readonly given: Given
  readonly io: Pick<Io, 'cwd'>
}

/** Throws what loading refuses, and `bad-arguments` where a run could not call the agents it is given. */
export async function openDocuments({ command, given, io }: DocumentOptions): Promise<Documents> {
  const shows = command === 'tools' || command === 'context'
  const delegates = given.has('--delegate')
  if (given.has('--agents-dir') && !delegates && !shows) {
    const said = '--agents-dir: nothing in this run can call an agent; add --delegate, or leave the folder out'
    throw new Refusal('bad-arguments', { argument: '--agents-dir' }, said)
  }
  if (!Object.keys(FOLLOWED).some(flag => given.has(flag))) return NO_DOCUMENTS
  // Loaded for those who have documents alone: the YAML reader is a large part of this program.
  const { loadDocuments } = await import('../loop/documents/load.js')
  return loadDocuments({
    skills: given.all('--skills-dir'),
    agents: given.all('--agents-dir'),
    plugins: given.all('--plugin-dir'),
    memories: given.all('--memory-dir'),
    cwd: io.cwd,
    agentsAre: delegates || command === 'tools' || given.has('--agents-dir') ? 'read' : 'unread',
    problems: given.has('--strict-documents') ? 'refuse' : 'tell',
  })
}

/** One warning for each problem, in the order they were found. */
export function documentWarnings({ problems }: Documents): readonly HarnessEvent[] {
  return problems.map(problem => ({ kind: 'warning', code: problem.code, message: problemText(problem) }))
}

/** What a record lists of them: names, and the ids of memories that can be recalled. */
export function documentNames({ skills, agents, memories }: Documents): {
  readonly skills: readonly string[]
  readonly agents: readonly string[]
  readonly memories: readonly string[]
} {
  return {
    skills: skills.map(({ name }) => name),
    agents: agents.map(({ name }) => name),
    memories: memories.filter(({ status }) => status === 'active').map(({ id }) => id),
  }
}
