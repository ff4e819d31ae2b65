/** `[providers.NAME]`: where a model is, by which wire and with which credential; fields of a built-in one it replaces (decisions 46). Pure. */
import { dirname, resolve } from 'node:path'
import { VARIABLE } from '../hooks/environment-names.js'
import { quoted } from '../json.js'
import { WIRE_NAMES, type WireName } from '../wires/port.js'
import { PROVIDER_KEYS } from './profile-keys.js'
import { TableReader } from './table-reader.js'
import { isTable, kindOf } from './toml.js'

/** Absent: not said, so a built-in provider of that name keeps its own. */
export interface ProviderTable {
  readonly baseUrl?: string
  readonly wire?: WireName
  /** May be an alias. */
  readonly model?: string
  /** At most one of the two. */
  readonly keyEnv?: string
  /** Absolute. */
  readonly tokenFile?: string
  /** JSON pointer (RFC 6901) into the token file. */
  readonly tokenPointer?: string
  /** Short name → what is sent. */
  readonly aliases: Readonly<Record<string, string>>
}

/** Throws `bad-document`; both kinds of credential in one table refuse it. */
export function readProvider(reader: TableReader): ProviderTable {
  reader.onlyKeys([...PROVIDER_KEYS, 'aliases'])
  if (reader.has('api-key-env') && reader.has('oauth-token-file'))
    throw reader.refusal('oauth-token-file', 'there is api-key-env too: keep one of the two credentials')
  if (reader.has('oauth-token-pointer') && reader.has('api-key-env'))
    throw reader.refusal('oauth-token-pointer', 'it points into an oauth-token-file, and api-key-env is none')
  const tokenFile = reader.text('oauth-token-file')
  const values = {
    baseUrl: checked(reader, 'base-url', isHttp, 'an http or https address'),
    wire: reader.text('wire', WIRE_NAMES) as WireName | undefined,
    model: reader.text('model'),
    keyEnv: checked(reader, 'api-key-env', word => VARIABLE.test(word), 'the name of a variable'),
    tokenFile: tokenFile === undefined ? undefined : resolve(dirname(reader.source.file), tokenFile),
    tokenPointer: checked(
      reader,
      'oauth-token-pointer',
      word => word.startsWith('/'),
      'a JSON pointer, which begins with /,',
    ),
  }
  const given = Object.entries(values).filter(([, value]) => value !== undefined)
  return { ...(Object.fromEntries(given) as Omit<ProviderTable, 'aliases'>), aliases: aliasesOf(reader) }
}

function checked(
  reader: TableReader,
  key: string,
  fits: (word: string) => boolean,
  expected: string,
): string | undefined {
  const word = reader.text(key)
  if (word === undefined || fits(word)) return word
  throw reader.refusal(key, `${expected} is expected, and it is ${quoted(word)}`)
}

function isHttp(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : null
  return url !== null && (url.protocol === 'http:' || url.protocol === 'https:')
}

function aliasesOf(reader: TableReader): Readonly<Record<string, string>> {
  const value = reader.get('aliases')
  if (value === undefined) return {}
  if (!isTable(value)) throw reader.refusal('aliases', `a table is expected, and it is ${kindOf(value)}`)
  const aliases = new TableReader(
    reader.source,
    `${reader.label.slice(0, -1)}.aliases]`,
    [...reader.path, 'aliases'],
    value,
  )
  return Object.fromEntries(aliases.keys().map(name => [name, aliases.text(name) ?? '']))
}
