/** The documents of a run as values, without what reads them. */
import type { AgentDocument } from './agents.js'
import type { Memory } from './memories.js'
import type { DocumentProblem } from './problems.js'
import type { SkillDocument } from './skills.js'

export interface Documents {
  /** Of the folders first, then of the plugins; names are unique in each kind. */
  readonly skills: readonly SkillDocument[]
  readonly agents: readonly AgentDocument[]
  /** All records, active or not. */
  readonly memories: readonly Memory[]
  readonly problems: readonly DocumentProblem[]
}

export const NO_DOCUMENTS: Documents = { skills: [], agents: [], memories: [], problems: [] }
