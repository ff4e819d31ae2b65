/**
 * The configuration file as a whole: text → its tables, checked to the last key. A key that is not known refuses the file,
 * because what it was meant to forbid would be allowed. Pure.
 */
import { dirname, resolve } from 'node:path'
import { HOOK_TIMEOUT_MS_MAX, HOOK_TIMEOUT_MS_MIN } from '../bounds.js'
import { sha256Of } from '../digest.js'
import { Refusal } from '../errors.js'
import { refusedName, VARIABLE } from '../hooks/environment-names.js'
import { quoted } from '../json.js'
import { absoluteHide, onlyOfShells } from '../paths/hide-glob.js'
import { HOOKS_KEYS, type OptionValue, PROFILE_KEYS, PROVIDER_KEYS, type ProfileKey } from './profile-keys.js'
import { type ProviderTable, readProvider } from './provider-table.js'
import { refuseAt, type Source, TableReader } from './table-reader.js'
import { isTable, kindOf, parseToml, type TomlPath, type TomlTable, type TomlValue } from './toml.js'

/** `[default]` or one of `[[profiles]]`. */
export interface ProfileTable {
  /** `default` for `[default]`. */
  readonly name: string
  /** By flag, with dashes. A false switch takes back what an earlier table has set. */
  readonly values: ReadonlyMap<string, OptionValue>
  /** Null: not said. */
  readonly write: boolean | null
  /** The table as written, with its name. */
  readonly table: TomlTable
  /** Hex SHA-256 of the table as JSON with sorted keys: of what it says, not of how it is laid out. */
  readonly sha256: string
}

/** `[hooks]`: the operator's own settings for every hook. */
export interface HooksTable {
  /** Absolute folders in which hooks are found; null: the inherited PATH. */
  readonly path: readonly string[] | null
  /** Names of variables that are passed on. */
  readonly env: readonly string[]
  /** Ceiling of every consultation; null: none of its own. */
  readonly timeoutMs: number | null
  readonly reap: 'group' | 'namespace' | null
}

export interface ConfigDocument {
  /** Absolute, as it was looked for. */
  readonly path: string
  /** Null: there is no `[default]`. */
  readonly defaults: ProfileTable | null
  readonly profiles: readonly ProfileTable[]
  readonly providers: ReadonlyMap<string, ProviderTable>
  readonly hooks: HooksTable
}

const NO_HOOKS_TABLE: HooksTable = { path: null, env: [], timeoutMs: null, reap: null }

export interface Known {
  /** Names of all flags, without their dashes: those that are no keys are refused as given on the command line alone. */
  readonly flags: ReadonlySet<string>
}

const TABLES = ['default', 'profiles', 'providers', 'hooks']
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/

/** Reads `bytes` as the file at `path` (absolute). Throws `bad-document` with line, key and what is expected. */
export function readDocument(bytes: Uint8Array, path: string, known: Known): ConfigDocument {
  const source = { file: path, text: decoded(bytes, path) }
  const parsed = parseToml(source.text)
  if ('fault' in parsed) {
    const { line, column, why } = parsed.fault
    const place = `${line}:${column}`
    throw new Refusal('bad-document', { file: path, place }, `${path}:${place}: this is no TOML: ${why}`)
  }
  const root = new TableReader(source, 'the file', [], parsed.root)
  root.onlyKeys(TABLES)
  const defaults = root.get('default')
  return {
    path,
    defaults: defaults === undefined ? null : profile(tableAt(source, '[default]', ['default'], defaults), known),
    profiles: profilesOf(root, known),
    providers: providersOf(root),
    hooks: hooksOf(root),
  }
}

function decoded(bytes: Uint8Array, file: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new Refusal('bad-document', { file }, `${file}: it is no UTF-8: save it as UTF-8`)
  }
}

function tableAt(source: Source, label: string, path: TomlPath, value: TomlValue): TableReader {
  if (isTable(value)) return new TableReader(source, label, path, value)
  throw refuseAt(source, path, `${label}: a table is expected, and it is ${kindOf(value)}`)
}

function profilesOf(root: TableReader, known: Known): readonly ProfileTable[] {
  const { source } = root
  const list = root.get('profiles')
  if (list === undefined) return []
  if (!Array.isArray(list) || !list.every(item => isTable(item as TomlValue)))
    throw refuseAt(source, ['profiles'], 'profiles: write each one as [[profiles]] with a name')
  const profiles = list.map((item: TomlValue, at) =>
    profile(tableAt(source, `[[profiles]] ${at + 1}`, ['profiles', at], item), known),
  )
  const double = profiles.findIndex(({ name }, at) => profiles.findIndex(other => other.name === name) < at)
  if (double < 0) return profiles
  throw refuseAt(
    source,
    ['profiles', double, 'name'],
    `[[profiles]] name: ${quoted(profiles[double]?.name ?? '')} is there twice`,
  )
}

function profile(reader: TableReader, { flags }: Known): ProfileTable {
  const isDefault = reader.path[0] === 'default'
  const ours = isDefault ? ['write'] : ['name', 'write']
  reader.onlyKeys([...ours, ...PROFILE_KEYS.map(({ key }) => key)], key => whyNoKey(key, isDefault, flags))
  const values = new Map<string, OptionValue>()
  for (const row of PROFILE_KEYS) {
    const value = settingOf(reader, row)
    if (value === undefined) continue
    if (values.has(row.flag))
      throw reader.refusal(row.key, `it says ${row.flag} a second time: keep one of the two keys`)
    values.set(row.flag, value)
  }
  return {
    name: isDefault ? 'default' : nameOf(reader),
    values,
    write: reader.boolean('write') ?? null,
    table: reader.table,
    sha256: sha256Of(canonical(reader.table)),
  }
}

function nameOf(reader: TableReader): string {
  const name = reader.text('name')
  if (name === undefined)
    throw refuseAt(reader.source, reader.path, `${reader.label} has no "name": -p NAME could not choose it`)
  if (NAME.test(name) && name !== 'default') return name
  const why = name === 'default' ? '[default] has it already' : 'letters, digits, ".", "_" and "-", at most 64'
  throw reader.refusal('name', `${quoted(name)} can be no name: ${why}`)
}

/** Better words than "unknown" for what is known elsewhere. */
function whyNoKey(key: string, isDefault: boolean, flags: ReadonlySet<string>): string | null {
  if (key === 'name' && isDefault) return '[default] has no name: it always holds'
  if ((PROVIDER_KEYS as readonly string[]).includes(key) || key === 'aliases')
    return `it belongs in [providers.NAME], and provider = "NAME" here`
  return flags.has(key) ? `no key of a profile: it is given on the command line alone, as --${key}` : null
}

function settingOf(reader: TableReader, { key, kind, min, choices, isPath }: ProfileKey): OptionValue | undefined {
  const place = (word: string): string => (isPath === true ? placeOf(reader, key, word) : word)
  switch (kind) {
    case 'switch':
      return reader.boolean(key)
    case 'number':
      return reader.whole(key, { min: min ?? 1 })?.toString()
    case 'text': {
      const word = reader.text(key, choices)
      return word === undefined ? undefined : place(word)
    }
    case 'list':
      return reader.list(key)?.map(place)
    case 'joined':
      return joined(reader.list(key))
  }
}

/** Absolute; a relative one is relative to the folder of the file. */
function placeOf(reader: TableReader, key: string, word: string): string {
  const why = onlyOfShells(word)
  if (why !== null) throw reader.refusal(key, `${quoted(word)}: ${why}`)
  const folder = dirname(reader.source.file)
  return key === 'hide' ? absoluteHide(folder, word) : resolve(folder, word)
}

/** No words: the flag is not given, which takes nothing back that has one value. */
function joined(words: readonly string[] | undefined): OptionValue | undefined {
  return words === undefined ? undefined : words.length === 0 ? false : words.join(',')
}

function providersOf(root: TableReader): ReadonlyMap<string, ProviderTable> {
  const value = root.get('providers')
  if (value === undefined) return new Map()
  const all = tableAt(root.source, '[providers]', ['providers'], value)
  return new Map(
    all.keys().map(name => {
      if (!NAME.test(name)) throw all.refusal(name, 'letters, digits, ".", "_" and "-" make a name, at most 64')
      const path = ['providers', name]
      return [name, readProvider(tableAt(root.source, `[providers.${name}]`, path, all.get(name) ?? ''))]
    }),
  )
}

function hooksOf(root: TableReader): HooksTable {
  const value = root.get('hooks')
  if (value === undefined) return NO_HOOKS_TABLE
  const reader = tableAt(root.source, '[hooks]', ['hooks'], value)
  reader.onlyKeys(HOOKS_KEYS)
  const env = reader.list('env') ?? []
  const odd = env.find(name => !VARIABLE.test(name))
  if (odd !== undefined)
    throw reader.refusal('env', `${quoted(odd)} is no name of a variable: write names, without values`)
  const refused = env.find(name => refusedName(name) !== null)
  if (refused !== undefined) throw reader.refusal('env', `it lets ${refused} through: ${refusedName(refused)}`)
  const folders = reader.list('path')?.map(folder => resolve(dirname(root.source.file), folder))
  const split = folders?.find(folder => folder.includes(':'))
  if (split !== undefined) throw reader.refusal('path', `${quoted(split)} holds a colon: write each folder on its own`)
  return {
    path: folders ?? null,
    env,
    timeoutMs: reader.whole('timeout-ms', { min: HOOK_TIMEOUT_MS_MIN, max: HOOK_TIMEOUT_MS_MAX }) ?? null,
    reap: (reader.text('reap', ['group', 'namespace']) as HooksTable['reap'] | undefined) ?? null,
  }
}

/** JSON with sorted keys. */
function canonical(value: TomlValue): string {
  if (!isTable(value) && !Array.isArray(value)) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${(value as readonly TomlValue[]).map(canonical).join(',')}]`
  const table = value as TomlTable
  const members = Object.keys(table)
    .sort()
    .map(key => `${JSON.stringify(key)}:${canonical(table[key] as TomlValue)}`)
  return `{${members.join(',')}}`
}
