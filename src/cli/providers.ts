/** The built-in providers: where each is, how it is spoken to, which model and which variable (contract §19). Pure. */
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
  /** The variable that holds the API key. Absent: none is sent unless a source is named. */
  readonly keyEnv?: string
  /** Short name → what is sent. Any other name is sent as it is. */
  readonly aliases: Readonly<Record<string, string>>
}

/** In the order they are listed. */
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
export function providerNamed(name: string): Provider {
  const spelled = Object.hasOwn(SPELLINGS, name) ? SPELLINGS[name] : name
  const provider = PROVIDERS.find(one => one.name === spelled)
  if (provider !== undefined) return provider
  const known = [...PROVIDERS.map(one => one.name), ...Object.keys(SPELLINGS)].sort()
  throw new Refusal(
    'provider-unknown',
    { name, known },
    `the provider ${JSON.stringify(name)} is not known: take one of ${known.join(', ')}, or give --base-url URL with --model NAME`,
  )
}

/** The name that is sent for a model's name or alias. */
export function resolveModel({ aliases }: Pick<Provider, 'aliases'>, asked: string): string {
  return (Object.hasOwn(aliases, asked) && aliases[asked]) || asked
}
