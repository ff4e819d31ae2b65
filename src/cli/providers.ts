/** Providers: where each is, how it is spoken to, which model and which credential (contract §19, decisions 46). Pure. */
import type { ProviderTable } from '../config/provider-table.js'
import { Refusal } from '../errors.js'
import type { WireName } from '../wires/port.js'

export interface Provider {
  /** The name that the record shows, whichever spelling was typed. */
  readonly name: string
  /** Null for the demo: the emulator in this process chooses its port. */
  readonly baseUrl: string | null
  readonly wire: WireName
  /** Absent: the model has to be named. May be an alias. */
  readonly model?: string
  /** The variable that holds the API key. Absent, and no token file: none is sent unless a source is named. */
  readonly keyEnv?: string
  /** Absolute: the file that holds a bearer token; then there is no `keyEnv`. */
  readonly tokenFile?: string
  /** JSON pointer to the token in that file. */
  readonly tokenPointer?: string
  /** Short name → what is sent. Any other name is sent as it is. */
  readonly aliases: Readonly<Record<string, string>>
}

/** The built-in ones, in the order they are listed. */
export const PROVIDERS: readonly Provider[] = [
  {
    name: 'anthropic',
    baseUrl: 'https://api.anthropic.com/v1',
    wire: 'anthropic-messages',
    model: 'opus',
    keyEnv: 'ANTHROPIC_API_KEY',
    aliases: { opus: 'claude-opus-5', sonnet: 'claude-sonnet-5', haiku: 'claude-haiku-4-5-20251001' },
  },
  {
    name: 'openai',
    baseUrl: 'https://api.openai.com/v1',
    wire: 'openai-responses',
    keyEnv: 'OPENAI_API_KEY',
    aliases: {},
  },
  { name: 'ollama', baseUrl: 'http://127.0.0.1:11434/v1', wire: 'openai-chat', aliases: {} },
  { name: 'demo', baseUrl: null, wire: 'openai-responses', model: 'demo', aliases: {} },
]

/** Other spellings of a provider's name. */
export const SPELLINGS: Readonly<Record<string, string>> = { claude: 'anthropic' }

/** Throws `provider-unknown`. */
export function providerNamed(name: string, providers: readonly Provider[]): Provider {
  const spelled = plainName(name)
  const provider = providers.find(one => one.name === spelled)
  if (provider !== undefined) return provider
  const known = [...providers.map(one => one.name), ...Object.keys(SPELLINGS)].sort()
  throw new Refusal(
    'provider-unknown',
    { name, known },
    `the provider ${JSON.stringify(name)} is not known: take one of ${known.join(', ')}, define it as [providers.NAME] in the configuration file, or give --base-url URL with --model NAME`,
  )
}

/** A provider's name, whichever spelling was used. */
export function plainName(name: string): string {
  return (Object.hasOwn(SPELLINGS, name) && SPELLINGS[name]) || name
}

/**
 * The built-in providers with the fields that `tables` replace, then those that `tables` define, which need an address and
 * a wire. Throws `bad-document`, naming `file`.
 */
export function providersWith(tables: ReadonlyMap<string, ProviderTable>, file: string): readonly Provider[] {
  const providers = new Map(PROVIDERS.map(provider => [provider.name, provider]))
  const seen = new Map<string, string>()
  for (const [written, table] of tables) {
    const name = plainName(written)
    const refuse = (why: string): Refusal =>
      new Refusal('bad-document', { file }, `${file}: [providers.${written}]: ${why}`)
    const double = seen.get(name)
    if (double !== undefined) throw refuse(`[providers.${double}] is the same provider: keep one table`)
    seen.set(name, written)
    const builtIn = providers.get(name)
    const merged = builtIn === undefined ? defined(name, table) : merge(builtIn, table)
    if (typeof merged === 'string') throw refuse(merged)
    providers.set(name, merged)
  }
  return [...providers.values()]
}

function defined(name: string, table: ProviderTable): Provider | string {
  const { baseUrl, wire, tokenFile, tokenPointer } = table
  if (baseUrl === undefined || wire === undefined) return 'a provider of your own needs base-url and wire'
  if (tokenPointer !== undefined && tokenFile === undefined) return POINTS_NOWHERE
  return { ...table, name, baseUrl, wire }
}

/** A credential of one kind takes the place of the other: nobody has meant to send both. */
function merge(builtIn: Provider, table: ProviderTable): Provider | string {
  if (builtIn.baseUrl === null && table.baseUrl !== undefined)
    return `${builtIn.name} runs in this process and has no address: define a provider of another name`
  if (table.tokenPointer !== undefined && table.tokenFile === undefined) return POINTS_NOWHERE
  const { keyEnv: _, ...keyless } = builtIn
  const base = table.tokenFile === undefined ? builtIn : keyless
  return { ...base, ...table, aliases: { ...builtIn.aliases, ...table.aliases } }
}

const POINTS_NOWHERE = 'oauth-token-pointer needs oauth-token-file beside it'

/** The name that is sent for a model's name or alias. */
export function resolveModel({ aliases }: Pick<Provider, 'aliases'>, asked: string): string {
  return (Object.hasOwn(aliases, asked) && aliases[asked]) || asked
}
