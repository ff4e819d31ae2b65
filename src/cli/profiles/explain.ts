/** What a run with these profiles would be given, and from which table each value is (contract §2.2). Pure. */
import type { ConfigDocument } from '../../config/document.js'
import {
  type Layer,
  originText,
  profileLayers,
  providerLayer,
  type Resolved,
  resolveLayers,
} from '../../config/layers.js'
import { chosen, configurationOf, RIVALS } from '../apply-configuration.js'
import { COMMANDS } from '../commands-table.js'
import { type CommandName, FLAGS, flagsOf } from '../flags.js'
import { Given, NO_CONFIGURATION, type OptionValue } from '../given.js'
import { PROVIDERS, plainName, providerNamed } from '../providers.js'
import { refuseUnheld } from '../unheld.js'

export interface Explained {
  /** One flag a line, as it would be typed, then one line for each table that contributes. */
  readonly text: string
  /** One line for flags that no command has yet, which refuse it, and one for each command that has not all of the others. */
  readonly notes: string
  readonly json: unknown
}

/** Null: there is no file. Throws `profile-unknown`, `provider-unknown`, and `confinement-off` for grants that nothing would hold. */
export function explainProfiles(document: ConfigDocument | null, names: readonly string[]): Explained {
  const tables = document === null ? [] : chosen(document, names)
  const layers = profileLayers(tables, document?.defaults ?? null)
  const { profiles, providers } = document === null ? NO_CONFIGURATION : configurationOf(document, tables)
  const name = resolveLayers(layers, RIVALS).get('--provider')?.value
  const provider = typeof name === 'string' ? providerNamed(name, providers).name : null
  const resolved = resolveLayers([...bundle(provider, document), ...layers], RIVALS)
  refuseWithoutBoundary(resolved, document?.path ?? '')
  const unbuilt = [...resolved.keys()].filter(flag => !BUILT.has(flag))
  const left = leftOut([...resolved.keys()].filter(flag => BUILT.has(flag)))
  const lines = [...resolved].flatMap(([flag, { value }]) => argvLines(flag, value))
  return {
    text: [...lines, ...profiles.map(one => `profile ${one.name} ${one.sha256.slice(0, 12)}`), '']
      .join('\n')
      .trimStart(),
    notes: [
      ...(unbuilt.length === 0 ? [] : [`not built yet, so that a run is refused: ${unbuilt.join(' ')}\n`]),
      ...left.map(({ command, flags }) => `left out by ${command}: ${flags.join(' ')}\n`),
    ].join(''),
    json: {
      version: 1,
      file: document?.path ?? null,
      values: [...resolved].map(([flag, { value, origin }]) => ({
        flag,
        value,
        from: origin,
        told: originText(origin),
      })),
      profiles,
      not_built: unbuilt,
      left_out: Object.fromEntries(left.map(({ command, flags }) => [command, flags])),
    },
  }
}

/** The lowest layers: what a provider's name stands for. */
function bundle(name: string | null, document: ConfigDocument | null): readonly Layer[] {
  const builtIn = PROVIDERS.find(provider => provider.name === name)
  const written = [...(document?.providers ?? [])].filter(([key]) => plainName(key) === name)
  return [
    ...(builtIn === undefined ? [] : [providerLayer(builtIn, { kind: 'built-in-provider', name: builtIn.name })]),
    ...written.map(([key, table]) => providerLayer(table, { kind: 'provider', name: key })),
  ]
}

/** As `run` judges it. */
function refuseWithoutBoundary(resolved: ReadonlyMap<string, Resolved>, file: string): void {
  const confine = resolved.get('--confine')?.value ?? 'off'
  if (confine !== 'off' || resolved.has('--substrate-embedded')) return
  const tables = new Map([...resolved].map(([flag, { origin }]) => [flag, originText(origin)]))
  const values = new Map([...resolved].map(([flag, { value }]) => [flag, value]))
  refuseUnheld(new Given(values, { tables, configuration: { ...NO_CONFIGURATION, file } }))
}

const BUILT: ReadonlySet<string> = new Set(FLAGS.flatMap(({ name, built }) => (built ? [name] : [])))

/** Commands that take `-p`, and which of `resolved` they do not have. */
function leftOut(resolved: readonly string[]): readonly { command: CommandName; flags: readonly string[] }[] {
  const names: readonly CommandName[] = [...COMMANDS.map(({ name }) => name), 'hookcheck']
  return names.flatMap(command => {
    const has = new Set(flagsOf(command).map(({ name }) => name))
    const flags = resolved.filter(flag => !has.has(flag))
    return command === 'profiles' || !has.has('--profile') || flags.length === 0 ? [] : [{ command, flags }]
  })
}

function argvLines(flag: string, value: OptionValue): readonly string[] {
  if (typeof value === 'boolean') return value ? [flag] : []
  return (typeof value === 'string' ? [value] : value).map(word => `${flag} ${shellWord(word)}`)
}

/** A word as a POSIX shell takes it, so that a line can be typed. */
function shellWord(word: string): string {
  return /^[A-Za-z0-9_./:=@%+,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}
