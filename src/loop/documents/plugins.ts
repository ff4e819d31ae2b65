/**
 * Plugins: folders of skills and agents whose names begin with the plugin's. Of a manifest name, skills and agents are read
 * and nothing else; nothing outside the plugin's folder is; one bad entry is named and the others load.
 */
import { basename } from 'node:path'
import type { AgentDocument } from './agents.js'
import { type Collection, takeAgents, takeSkills } from './collect.js'
import { type DocumentFolder, fileIn, landIn, readIn } from './folders.js'
import { type Manifest, type ManifestPaths, parseManifest, pluginNameFault } from './manifest.js'
import { type DocumentProblem, isDefect } from './problems.js'
import type { SkillDocument } from './skills.js'

const MANIFEST = ['.claude-plugin', 'plugin.json'] as const

export interface PluginTargets {
  readonly skills: Collection<SkillDocument>
  /** Null: this run has no use for agents, and none are read. */
  readonly agents: Collection<AgentDocument> | null
  readonly report: (problem: DocumentProblem) => void
}

/** Skills and agents of one plugin. A manifest that is broken or has no name refuses the plugin as a whole. */
export function takePlugin(folder: DocumentFolder, { skills, agents, report }: PluginTargets): void {
  const manifest = manifestOf(folder, report)
  if (manifest === null) return
  const prefix = `${manifest.name}:`
  for (const below of placesOf(folder, 'skills', manifest.skills, report)) {
    takeSkillEntry(skills, folder, below, prefix)
  }
  if (agents === null) return
  for (const below of placesOf(folder, 'agents', manifest.agents, report)) {
    takeAgentEntry(agents, folder, below, prefix)
  }
}

/** Null: the plugin is refused, and that is told. */
function manifestOf(folder: DocumentFolder, report: PluginTargets['report']): Manifest | null {
  const file = fileIn(folder, MANIFEST)
  const read = readIn(folder, MANIFEST)
  const manifest = read === 'absent' ? unqualified(folder, report) : isDefect(read) ? read : parseManifest(read.text)
  if (manifest === null || !isDefect(manifest)) return manifest
  const reason = `the plugin ${JSON.stringify(basename(folder.root.path))} is refused: ${manifest.reason}`
  report({ code: 'document-refused', file, ...manifest, reason })
  return null
}

function unqualified(folder: DocumentFolder, report: PluginTargets['report']): Manifest | null {
  const name = basename(folder.root.path)
  const fault = pluginNameFault(name)
  const about = { file: folder.spelled, line: null, fix: `add ${MANIFEST.join('/')} with a name` }
  if (fault !== null) {
    report({ ...about, code: 'document-refused', reason: `it has no manifest, and its folder's name ${fault}` })
    return null
  }
  report({ ...about, code: 'plugin-unqualified', reason: `it has no manifest and is called ${JSON.stringify(name)}` })
  return { name, skills: null, agents: null }
}

/** The declared places, or the default folder where the field is not given and the folder is there. */
function placesOf(
  folder: DocumentFolder,
  field: 'skills' | 'agents',
  declared: ManifestPaths | null,
  report: PluginTargets['report'],
): readonly (readonly string[])[] {
  if (declared === null) return landIn(folder, [field]) === 'absent' ? [] : [[field]]
  for (const defect of declared.defects) {
    report({ code: 'document-refused', file: fileIn(folder, MANIFEST), ...defect })
  }
  return declared.entries
}

/** A skill's own folder, its SKILL.md, or a folder of skills' folders. */
function takeSkillEntry(
  into: Collection<SkillDocument>,
  folder: DocumentFolder,
  below: readonly string[],
  prefix: string,
): void {
  const last = below[below.length - 1] ?? basename(folder.root.path)
  if (last.endsWith('.md')) {
    const stem = below[below.length - 2] ?? basename(folder.root.path)
    if (!into.take(folder, below, { prefix, stem })) into.refuse(fileIn(folder, below), NOTHING)
    return
  }
  if (!into.take(folder, [...below, 'SKILL.md'], { prefix, stem: last })) takeSkills(into, folder, below, prefix)
}

/** An agent's own document, or a folder of them. */
function takeAgentEntry(
  into: Collection<AgentDocument>,
  folder: DocumentFolder,
  below: readonly string[],
  prefix: string,
): void {
  const last = below[below.length - 1] ?? ''
  if (!last.endsWith('.md')) takeAgents(into, folder, below, prefix)
  else if (!into.take(folder, below, { prefix, stem: last.slice(0, -3) })) into.refuse(fileIn(folder, below), NOTHING)
}

const NOTHING = { line: null, reason: 'it does not exist', fix: 'mend the path in the manifest' }
