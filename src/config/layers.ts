/**
 * Where a value comes from when several say one: built-in provider < `[providers.x]` < `[default]` < each `-p` in its order <
 * typed flag (contract §19). A later layer replaces a value whole, lists too. Pure.
 */
import type { ProfileTable } from './document.js'
import type { OptionValue } from './profile-keys.js'
import type { ProviderTable } from './provider-table.js'

export type Origin =
  | { readonly kind: 'built-in-provider' | 'provider' | 'profile'; readonly name: string }
  | { readonly kind: 'default' | 'typed' }

export interface Layer {
  readonly origin: Origin
  /** By flag, with dashes. */
  readonly values: ReadonlyMap<string, OptionValue>
  /** `write` of a profile: what it turns on is settled when all layers are known. Null: not said. */
  readonly write: boolean | null
}

export interface Resolved {
  readonly value: OptionValue
  readonly origin: Origin
}

/** Flag → flags that say the same thing in another way. */
export type Rivals = ReadonlyMap<string, readonly string[]>

/** What file tools may write under `write = true` where no scope is given (contract §19). First match decides. */
const WRITE_SCOPE = ['.git/**=denied', '**=allowed']

/**
 * The values that hold, by flag. A value also sets aside its rivals of earlier layers: a typed `--yes` leaves no ceiling of a
 * profile behind. A false switch is kept, as false: it has taken something back.
 */
export function resolveLayers(layers: readonly Layer[], rivals: Rivals): ReadonlyMap<string, Resolved> {
  const resolved = new Map<string, Resolved>()
  for (const { origin, values } of layers) {
    for (const [flag, value] of values) {
      if (value !== false) for (const rival of rivals.get(flag) ?? []) if (!values.has(rival)) resolved.delete(rival)
      resolved.set(flag, { value, origin })
    }
  }
  return withWriting(resolved, layers)
}

/** `write = true`: the embedded boundary, unless one is chosen, and a write scope, unless one is given. */
function withWriting(resolved: Map<string, Resolved>, layers: readonly Layer[]): ReadonlyMap<string, Resolved> {
  const at = layers.findLastIndex(({ write }) => write !== null)
  const layer = layers[at]
  if (layer?.write !== true) return resolved
  const { origin } = layer
  const chosen = resolved.get('--confine')
  const isOutranked = chosen?.value === 'off' && layers.findIndex(other => other.origin === chosen.origin) < at
  if (isOutranked) resolved.delete('--confine')
  if (chosen === undefined || isOutranked) resolved.set('--substrate-embedded', { value: true, origin })
  if (!resolved.has('--write-scope')) resolved.set('--write-scope', { value: WRITE_SCOPE, origin })
  return resolved
}

/** `[default]`, then the chosen profiles in the order of `-p`. */
export function profileLayers(tables: readonly ProfileTable[], defaults: ProfileTable | null): readonly Layer[] {
  const layer = (table: ProfileTable): Layer => ({
    origin: table === defaults ? { kind: 'default' } : { kind: 'profile', name: table.name },
    values: table.values,
    write: table.write,
  })
  return [...(defaults === null ? [] : [defaults]), ...tables].map(layer)
}

/** A provider's own fields, as the flags that would say the same. */
export function providerLayer(
  table: Omit<ProviderTable, 'aliases' | 'baseUrl'> & { readonly baseUrl?: string | null },
  origin: Extract<Origin, { readonly name: string }>,
): Layer {
  const fields: readonly (readonly [string, string | undefined])[] = [
    ['--base-url', table.baseUrl ?? undefined],
    ['--wire', table.wire],
    ['--model', table.model],
    ['--api-key-env', table.keyEnv],
    ['--oauth-token-file', table.tokenFile],
    ['--oauth-token-pointer', table.tokenPointer],
  ]
  const given = fields.filter((field): field is readonly [string, string] => field[1] !== undefined)
  return { origin, values: new Map(given), write: null }
}

/** The table a value is from, as a person finds it: `[default]`, `profile ci`, … */
export function originText(origin: Origin): string {
  switch (origin.kind) {
    case 'default':
      return '[default]'
    case 'profile':
      return `profile ${origin.name}`
    case 'provider':
      return `[providers.${origin.name}]`
    case 'built-in-provider':
      return `built-in provider ${origin.name}`
    case 'typed':
      return 'command line'
  }
}
