/**
 * `.claude-plugin/plugin.json`: the plugin's name, and where its skills and agents lie. Of paths the documented set is a text
 * or a list of texts, each relative to the plugin and staying in it: `skills`, `skills/`, `./skills`, `./`. Pure.
 */
import { type Member, type Placed, readStrictJson } from '../../hooks/strict-json.js'
import { nameFault } from './head.js'
import { type Defect, defect, isDefect } from './problems.js'

export interface ManifestPaths {
  /** Components below the plugin's folder, for each entry that can be used. */
  readonly entries: readonly (readonly string[])[]
  readonly defects: readonly Defect[]
}

export interface Manifest {
  readonly name: string
  /** Null: the field is not given, and the default folder is looked at. */
  readonly skills: ManifestPaths | null
  readonly agents: ManifestPaths | null
}

const DEPTH_MAX = 16

/** A defect where the document is no JSON object, a key stands twice, or there is no name to qualify with. */
export function parseManifest(text: string): Manifest | Defect {
  const { root, defects } = readStrictJson(Buffer.from(text.replace(/^\ufeff/, '')), DEPTH_MAX)
  const first = defects[0]
  if (first !== undefined) return defect(first.place?.line ?? null, first.message, 'mend the manifest')
  if (root?.kind !== 'object') return defect(1, 'it is no JSON object', 'write {"name": "…"}')
  const member = (name: string): Member | undefined => root.members.find(one => one.name === name)
  const name = member('name')
  const value = name?.value.kind === 'string' ? name.value.value.trim() : ''
  const fault = pluginNameFault(value)
  if (fault !== null) return defect(name?.place.line ?? 1, `its name ${fault}`, 'write "name": "…"')
  return { name: value, skills: pathsOf(member('skills')), agents: pathsOf(member('agents')) }
}

/** Why a text cannot stand before the colon of a qualified name; null: it can. */
export function pluginNameFault(name: string): string | null {
  return name.includes(':') ? 'holds a colon' : nameFault(name)
}

function pathsOf(member: Member | undefined): ManifestPaths | null {
  if (member === undefined) return null
  const { name, value } = member
  const given = value.kind === 'array' ? value.items : [value]
  const read = given.map(one => pathOf(name, one))
  return {
    entries: read.filter(one => !isDefect(one)) as (readonly string[])[],
    defects: read.filter(isDefect),
  }
}

function pathOf(field: string, value: Placed): readonly string[] | Defect {
  const { line } = value.place
  const works = `write a path in the plugin, e.g. "./${field}"`
  if (value.kind !== 'string') return defect(line, `${field} holds an entry that is no text`, works)
  const told = `${field} entry ${JSON.stringify(value.value)}`
  if (value.value.trim() === '') return defect(line, `${told} is empty`, works)
  if (/^[/~\\]|^[A-Za-z]:/.test(value.value)) return defect(line, `${told} is not relative to the plugin`, works)
  const components = value.value.split(/[/\\]/).filter(part => part !== '' && part !== '.')
  return components.includes('..') ? defect(line, `${told} goes up`, works) : components
}
