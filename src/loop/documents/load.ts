/** All documents of a run, read once before it starts: skills, agents, plugins' of both, memories. */
import { type AgentDocument, parseAgent } from './agents.js'
import { Collection, takeAgents, takeSkills } from './collect.js'
import type { Documents } from './documents.js'
import { type DocumentFolder, fileIn, landIn, withFolder } from './folders.js'
import { readMemories } from './memories.js'
import { takePlugin } from './plugins.js'
import { badDocument, type DocumentProblem } from './problems.js'
import { parseSkill, type SkillDocument } from './skills.js'

export interface DocumentFolders {
  /** Folders as the operator spelled them, in order; relative to `cwd`. Empty: none of that kind. */
  readonly skills: readonly string[]
  readonly agents: readonly string[]
  readonly plugins: readonly string[]
  readonly memories: readonly string[]
  readonly cwd: string
  /** `unread`: nothing can call an agent, so those of plugins are not looked at either. */
  readonly agentsAre: 'read' | 'unread'
  /** `refuse`: the first problem but a document that asks not to be offered is thrown as `bad-document`. */
  readonly problems: 'tell' | 'refuse'
}

/**
 * Reads them. Throws `missing` or `not-a-directory` for a folder that was named, `bad-document` for memories and under
 * `refuse`, `over-bound` for more than 5 000 of a kind.
 */
export function loadDocuments(folders: DocumentFolders): Documents {
  const { cwd } = folders
  const problems: DocumentProblem[] = []
  const report = (problem: DocumentProblem): void => {
    if (folders.problems === 'refuse' && problem.code !== 'document-withheld') throw badDocument(problem)
    problems.push(problem)
  }
  const skills = new Collection<SkillDocument>('skills', parseSkill, report)
  const agents = new Collection<AgentDocument>('agents', parseAgent, report)
  for (const path of folders.skills) {
    withFolder({ path, flag: '--skills-dir', cwd }, folder => takeSkillFolder(skills, folder))
  }
  for (const path of folders.agentsAre === 'read' ? folders.agents : []) {
    withFolder({ path, flag: '--agents-dir', cwd }, folder => takeAgents(agents, folder, [], ''))
  }
  const targets = { skills, agents: folders.agentsAre === 'read' ? agents : null, report }
  for (const path of folders.plugins) {
    withFolder({ path, flag: '--plugin-dir', cwd }, folder => takePlugin(folder, targets))
  }
  const memories = readMemories(folders.memories, cwd)
  return { skills: skills.all(), agents: agents.all(), memories, problems }
}

/** One level too deep is the usual mistake, and an empty list would hide it. */
function takeSkillFolder(into: Collection<SkillDocument>, folder: DocumentFolder): void {
  const itself = landIn(folder, ['SKILL.md'])
  if (itself !== 'absent') {
    const reason = 'a folder of skills holds them one level down, as NAME/SKILL.md'
    into.refuse(fileIn(folder, ['SKILL.md']), { line: null, reason, fix: 'name the folder above it' })
  }
  takeSkills(into, folder, [], '')
}
