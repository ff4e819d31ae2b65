/** The configuration file under what was typed: its values reach the flags that a command has, and no others. */
import { resolve } from 'node:path'
import { type ConfigDocument, type ProfileTable, readDocument } from '../config/document.js'
import { type Layer, originText, profileLayers, type Rivals, resolveLayers } from '../config/layers.js'
import { readConfigFile } from '../config/read-file.js'
import { Refusal } from '../errors.js'
import { nearest } from '../hooks/nearest.js'
import { controlFileWithin, indexControlFiles } from '../paths/control-files.js'
import { realFiles } from '../paths/file-view.js'
import { land } from '../paths/resolve.js'
import { type CommandName, FLAGS, flagsOf } from './flags.js'
import { Given, type OptionValue } from './given.js'
import { providersWith } from './providers.js'

export interface ConfigurationRequest {
  readonly command: CommandName
  readonly given: Given
  readonly cwd: string
  /** Of the file; something is there. */
  readonly path: string
}

/** Throws for a file that is wrong, lies in the workspace or can be changed by others, and for an unknown profile. */
export function applyConfiguration({ command, given, cwd, path }: ConfigurationRequest): Given {
  const workspace = given.one('--workspace')
  if (workspace !== undefined) refuseInside(resolve(cwd, workspace), path)
  const document = readConfiguration(path)
  if (document === null) return given
  const tables = chosen(document, given.all('--profile'))
  const flags = flagsOf(command)
  const reaches = new Set(flags.map(({ name }) => name))
  const resolved = resolveLayers([...profileLayers(tables, document.defaults), typedLayer(given)], RIVALS)
  const values = new Map(given.values)
  const told = new Map<string, string>()
  for (const [flag, { value, origin }] of resolved) {
    if (origin.kind === 'typed') continue
    if (!FLAG_NAMES.has(flag.slice(2))) throw notBuilt(flag, `${flag} (${originText(origin)} of ${path})`)
    if (!reaches.has(flag)) continue
    values.set(flag, value)
    told.set(flag, originText(origin))
  }
  const typed = new Set([...given.values.keys()].filter(flag => given.isTyped(flag)))
  const applied = new Given(values, { typed, tables: told, configuration: configurationOf(document, tables) })
  const unbuilt = flags.find(({ name, built }) => !built && applied.has(name))
  if (unbuilt === undefined) return applied
  throw notBuilt(unbuilt.name, applied.told(unbuilt.name))
}

/** Also for a key whose option no command has yet: a value that reaches nothing is not taken as if it did. */
function notBuilt(option: string, told: string): Refusal {
  return new Refusal('not-built-yet', { option }, `${told} is not built yet: leave it out`)
}

/** The file, read and checked; null where there is none after all. */
export function readConfiguration(path: string): ConfigDocument | null {
  const bytes = readConfigFile(path, realFiles)
  return bytes === null ? null : readDocument(bytes, path, { flags: FLAG_NAMES })
}

/** The profiles of `-p`, in its order. Throws `profile-unknown`. */
export function chosen({ path, profiles }: ConfigDocument, names: readonly string[]): readonly ProfileTable[] {
  return names.map(name => {
    const found = profiles.find(profile => profile.name === name)
    if (found !== undefined) return found
    const known = profiles.map(profile => profile.name)
    const near = nearest(name, known)
    const hint = near === null ? `it has ${known.join(', ') || 'none'}` : `did you mean ${near}?`
    throw new Refusal('profile-unknown', { name, known }, `-p ${name}: there is no such profile in ${path}: ${hint}`)
  })
}

export function configurationOf(document: ConfigDocument, tables: readonly ProfileTable[]): Given['configuration'] {
  const contributing = [...(document.defaults === null ? [] : [document.defaults]), ...tables]
  return {
    file: document.path,
    providers: providersWith(document.providers, document.path),
    hooks: document.hooks,
    profiles: contributing.map(({ name, sha256 }) => ({ name, source: document.path, sha256 })),
  }
}

/** What the table of options says of its rows, both ways round; and what says one thing by two names. */
export const RIVALS: Rivals = rivals([
  ...FLAGS.flatMap(({ name, conflicts = [] }) => conflicts.map((other): [string, string] => [name, other])),
  ['--confine', '--substrate-embedded'],
  ['--oauth-token-pointer', '--api-key-env'],
  ['--oauth-token-pointer', '--api-key-file'],
])

const FLAG_NAMES: ReadonlySet<string> = new Set(FLAGS.map(({ name }) => name.replace(/^--/, '')))

function rivals(pairs: readonly (readonly [string, string])[]): Rivals {
  const all = new Map<string, string[]>()
  for (const [one, other] of pairs.flatMap(
    ([a, b]) =>
      [
        [a, b],
        [b, a],
      ] as const,
  ))
    all.set(one, [...(all.get(one) ?? []), other])
  return all
}

function typedLayer(given: Given): Layer {
  const values = [...given.values].filter(([flag]) => given.isTyped(flag))
  return { origin: { kind: 'typed' }, values: new Map<string, OptionValue>(values), write: null }
}

/** The workspace counts as written by the agent even where nothing is: what lies in it does not decide what is run. */
function refuseInside(workspace: string, file: string): void {
  const landing = land(workspace, { cwd: '/' })
  if (landing instanceof Refusal || !landing.exists) return
  const what = 'the configuration file'
  const index = indexControlFiles([{ path: file, what: `${what} (XDG_CONFIG_HOME, else HOME)` }], '/')
  if (index instanceof Refusal) throw index
  const place = { path: landing.landed, identity: landing.identity }
  if (controlFileWithin(index, place, landing.steps) === null) return
  throw new Refusal(
    'control-file-inside',
    { folder: landing.landed, file, what },
    `the configuration file ${file} lies in the workspace ${landing.landed}, so the agent's own files would decide what is run: keep it elsewhere (XDG_CONFIG_HOME), or take another --workspace`,
  )
}
