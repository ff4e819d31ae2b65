/** Documents as the standing instruction lists them: one line each, in their authors' words. Pure. */
import { DOCUMENT_DESCRIPTION_CHARS_MAX } from '../../bounds.js'
import type { Documents } from './documents.js'
import { oneLine } from './problems.js'

/** Skills, memories, agents, in this order (contract §18); kinds that are empty say nothing. */
export function listedText({ skills, memories, agents }: Pick<Documents, 'skills' | 'memories' | 'agents'>): string[] {
  const active = memories.filter(({ status }) => status === 'active')
  return [
    ...section(
      'Skills: when a task fits one, call skill with its name before you start, and follow what it says.',
      skills.map(({ name, description }) => [name, description]),
    ),
    ...section(
      'Memories of earlier work, unreviewed: they may be wrong or out of date. recall gives one in full.',
      active.map(({ id, kind, summary }) => [`${id} (${kind})`, summary]),
    ),
    ...section(
      'Agents that delegate can give a task to:',
      agents.map(({ name, description }) => [name, description]),
    ),
  ]
}

function section(heading: string, rows: readonly (readonly [name: string, text: string])[]): string[] {
  return rows.length === 0 ? [] : [heading, ...rows.map(([name, text]) => `- ${name} — ${listed(text)}`)]
}

/** Characters are counted whole, so that no cut falls inside one. */
function listed(text: string): string {
  const line = oneLine(text)
  if (line.length <= DOCUMENT_DESCRIPTION_CHARS_MAX) return line
  const characters = Array.from(line)
  if (characters.length <= DOCUMENT_DESCRIPTION_CHARS_MAX) return line
  return `${characters.slice(0, DOCUMENT_DESCRIPTION_CHARS_MAX).join('')}… (cut)`
}
