/** What the operator has given: words of the command line, and below them what the configuration file says. Pure. */
import type { HooksTable } from '../config/document.js'
import type { OptionValue } from '../config/profile-keys.js'
import type { StartedEvent } from '../events.js'
import { PROVIDERS, type Provider } from './providers.js'

export type { OptionValue }

/** What the configuration file says beside the values of flags. */
export interface Configuration {
  /** Null: there is none. */
  readonly file: string | null
  /** The built-in ones, with what the file changes of them, then its own. */
  readonly providers: readonly Provider[]
  readonly hooks: HooksTable
  /** The tables that contribute, in their order. */
  readonly profiles: StartedEvent['profiles']
}

export const NO_CONFIGURATION: Configuration = {
  file: null,
  providers: PROVIDERS,
  hooks: { path: null, env: [], timeoutMs: null, reap: null },
  profiles: [],
}

interface GivenMore {
  /** Flags that were typed; absent: all of them. */
  readonly typed?: ReadonlySet<string>
  /** Flag → the table of the file that it is from, e.g. `profile ci`. */
  readonly tables?: ReadonlyMap<string, string>
  readonly configuration?: Configuration
}

/** Options by flag: only what was given or has a default. */
export class Given {
  readonly configuration: Configuration

  constructor(
    readonly values: ReadonlyMap<string, OptionValue>,
    private readonly more: GivenMore = {},
  ) {
    this.configuration = more.configuration ?? NO_CONFIGURATION
  }

  /** The single value of a flag, or undefined when it was not given. */
  one(flag: string): string | undefined {
    const value = this.values.get(flag)
    return typeof value === 'string' ? value : undefined
  }

  /** All values of a repeatable flag, in order; empty when it was not given. */
  all(flag: string): readonly string[] {
    const value = this.values.get(flag)
    return Array.isArray(value) ? (value as readonly string[]) : []
  }

  /** An empty list of the configuration file gives nothing: it takes back what another table has given. */
  has(flag: string): boolean {
    const value = this.values.get(flag)
    return value !== undefined && value !== false && (value === true || value.length > 0)
  }

  /** On the command line, neither by default nor from the file. */
  isTyped(flag: string): boolean {
    return this.more.typed === undefined ? this.values.has(flag) : this.more.typed.has(flag)
  }

  /** The flag as a message names it: with the table of the file that gave it. */
  told(flag: string): string {
    const table = this.more.tables?.get(flag)
    return table === undefined ? flag : `${flag} (${table} of ${this.configuration.file ?? ''})`
  }
}
