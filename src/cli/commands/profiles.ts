/**
 * `harness profiles list`, `show NAME`, `explain [-p NAME]…`, `init`: what the configuration file says, where each value
 * comes from, and a file to begin with (contract §2.2).
 */
import { stringify } from 'smol-toml'
import type { ConfigDocument, ProfileTable } from '../../config/document.js'
import { Refusal } from '../../errors.js'
import { chosen, readConfiguration } from '../apply-configuration.js'
import { configurationPath, isThere } from '../configuration.js'
import type { Io } from '../io.js'
import { explainProfiles } from '../profiles/explain.js'
import { makeFile } from '../profiles/make-file.js'
import type { Invocation } from './invocation.js'

type Action = (invocation: Invocation, path: string) => string

const ACTIONS: Readonly<Record<string, Action>> = {
  list: ({ given }, path) => {
    const tables = tablesOf(documentAt(path))
    return given.has('--json') ? json(tables.map(table => facts(table, path))) : tables.map(line).join('')
  },
  show: ({ given, words }, path) => {
    const table = named(documentAt(path), words[1] ?? '', path)
    return given.has('--json') ? json({ ...facts(table, path), table: table.table }) : shown(table)
  },
  explain: ({ given }, path) => {
    const document = documentAt(path)
    if (document === null && given.has('--profile')) throw unknown(given.all('--profile')[0] ?? '', path)
    const { text, notes, json: explained } = explainProfiles(document, given.all('--profile'))
    if (given.has('--json')) return json(explained)
    return `${text}${notes}`
  },
  init: (_, path) => `${makeFile(path)}\n`,
}

/** Words after the action's name that it takes. */
const WORDS: Readonly<Record<string, number>> = { list: 0, show: 1, explain: 0, init: 0 }

export async function profiles(invocation: Invocation, io: Io): Promise<number> {
  const { given, words } = invocation
  const [name = ''] = words
  const action = Object.hasOwn(ACTIONS, name) ? ACTIONS[name] : undefined
  if (action === undefined || words.length !== 1 + (WORDS[name] ?? 0)) throw usage(name)
  if (given.has('--profile') && name !== 'explain')
    throw new Refusal('bad-arguments', { argument: '--profile' }, `--profile goes with profiles explain, not ${name}`)
  const path = configurationPath(io.env)
  if (path === null)
    throw new Refusal(
      'missing',
      { path: '' },
      'there is no place for a configuration file: set HOME or XDG_CONFIG_HOME',
    )
  if (name !== 'init' && !isThere(path)) io.err.write(`note: there is no file ${path}\n`)
  io.out.write(action(invocation, path))
  return 0
}

function usage(argument: string): Refusal {
  const text = 'write harness profiles list, show NAME, explain [-p NAME]… or init'
  return new Refusal('bad-arguments', { argument: argument || 'profiles' }, text)
}

/** Null: there is no file, which is no fault. */
function documentAt(path: string): ConfigDocument | null {
  return isThere(path) ? readConfiguration(path) : null
}

function tablesOf(document: ConfigDocument | null): readonly ProfileTable[] {
  if (document === null) return []
  return [...(document.defaults === null ? [] : [document.defaults]), ...document.profiles]
}

function named(document: ConfigDocument | null, name: string, path: string): ProfileTable {
  if (document === null) throw unknown(name, path)
  if (name === 'default' && document.defaults !== null) return document.defaults
  const [table] = chosen(document, [name])
  if (table === undefined) throw new Error('a profile was neither found nor refused')
  return table
}

function unknown(name: string, path: string): Refusal {
  const text = `there is no profile ${name}, for there is no file ${path}: make one with harness profiles init`
  return new Refusal('profile-unknown', { name, known: [] }, text)
}

function facts({ name, sha256, values, write }: ProfileTable, source: string) {
  const keys = Object.fromEntries([...values].map(([flag, value]) => [flag.slice(2), value]))
  return { name, source, sha256, write, keys }
}

function line({ name, sha256, table }: ProfileTable): string {
  const keys = Object.keys(table).filter(key => key !== 'name')
  return `${name}  ${sha256.slice(0, 12)}  ${keys.join(' ')}\n`
}

function shown({ name, table, sha256 }: ProfileTable): string {
  const text = stringify(name === 'default' ? { default: table } : { profiles: [table] })
  return `${text.trimEnd()}\n# sha256 ${sha256}\n`
}

function json(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`
}
