/** What loading a thousand skills costs, against reading the same files and parsing their front matter with the YAML library. */
import { readdirSync, readFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { parse } from 'yaml'
import { loadDocuments } from '../../../src/loop/documents/load.js'
import type { Row } from '../row.js'
import { interleave } from '../sampling.js'
import { workspace } from '../scratch.js'

const SKILLS = 1_000

export const skills: Row = {
  name: 'skills',
  about: 'loading a thousand skills against the same files through the YAML library alone',
  needs: () => false,
  async measure(bench) {
    const folder = join(await workspace(bench), 'skills')
    for (let index = 0; index < SKILLS; index += 1) await write(join(folder, `skill-${index}`), index)
    const { ours, bare } = await interleave(
      { ours: async () => milliseconds(() => load(folder)), bare: async () => milliseconds(() => readAlone(folder)) },
      bench.rounds(10),
    )
    return [
      {
        name: `${SKILLS} skills`,
        unit: 'ms',
        ours,
        baseline: { name: 'readFileSync + yaml', value: bare },
        target: { by: 'ratio', accept: 2 },
      },
    ]
  },
}

/** As real ones are: a long description, a licence, some metadata, a page of text. */
async function write(folder: string, index: number): Promise<void> {
  await mkdir(folder, { recursive: true })
  const text = [
    '---',
    `name: skill-${index}`,
    `description: ${'Use it when the task is about one thing and not about another, and say so. '.repeat(4).trim()}`,
    'license: MIT',
    'metadata:',
    '  version: 1.0.0',
    '  author: someone',
    '---',
    '',
    'One line of what to do.\n'.repeat(100),
  ]
  await writeFile(join(folder, 'SKILL.md'), text.join('\n'))
}

function milliseconds(work: () => number): number {
  const start = performance.now()
  if (work() !== SKILLS) throw new Error('not all skills were loaded')
  return performance.now() - start
}

function load(folder: string): number {
  const none = { agents: [], plugins: [], memories: [], agentsAre: 'unread', problems: 'tell' } as const
  return loadDocuments({ ...none, skills: [folder], cwd: '/' }).skills.length
}

function readAlone(folder: string): number {
  return readdirSync(folder).filter(name => {
    const text = readFileSync(join(folder, name, 'SKILL.md'), 'utf8')
    return typeof (parse(text.slice(4, text.indexOf('\n---\n', 4))) as { name: unknown }).name === 'string'
  }).length
}
