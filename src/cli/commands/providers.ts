/** `harness providers list`, `harness providers show NAME`: what a provider's name stands for. No key is ever shown. */
import { Refusal } from '../../errors.js'
import type { JsonObject } from '../../json.js'
import type { Io } from '../io.js'
import { type Provider, providerNamed, resolveModel, SPELLINGS } from '../providers.js'
import type { Invocation } from './invocation.js'

export async function providers({ given, words }: Invocation, io: Io): Promise<number> {
  const [action, name, ...rest] = words
  const text = given.has('--json') ? jsonText : humanText
  const known = given.configuration.providers
  if (action === 'list' && words.length === 1) {
    io.out.write(text(known.map(provider => facts(provider, io.env))))
    return 0
  }
  if (action === 'show' && name !== undefined && rest.length === 0) {
    io.out.write(text(facts(providerNamed(name, known), io.env)))
    return 0
  }
  throw new Refusal(
    'bad-arguments',
    { argument: action ?? 'providers' },
    'write harness providers list, or harness providers show NAME',
  )
}

interface Facts extends JsonObject {
  readonly name: string
  readonly spellings: readonly string[]
  /** Null: in this process. */
  readonly base_url: string | null
  readonly wire: string
  /** Null: `--model` is needed. */
  readonly model: string | null
  /** What the default model's alias stands for. */
  readonly model_sent: string | null
  readonly aliases: Readonly<Record<string, string>>
  readonly credential: { readonly env: string; readonly set: boolean } | { readonly file: string } | null
}

function facts(provider: Provider, env: NodeJS.ProcessEnv): Facts {
  const { name, baseUrl, wire, model, aliases } = provider
  return {
    name,
    spellings: Object.keys(SPELLINGS).filter(other => SPELLINGS[other] === name),
    base_url: baseUrl,
    wire,
    model: model ?? null,
    model_sent: model === undefined ? null : resolveModel(provider, model),
    aliases,
    credential: credentialOf(provider, env),
  }
}

function credentialOf({ keyEnv, tokenFile }: Provider, env: NodeJS.ProcessEnv): Facts['credential'] {
  if (tokenFile !== undefined) return { file: tokenFile }
  return keyEnv === undefined ? null : { env: keyEnv, set: (env[keyEnv] ?? '') !== '' }
}

function jsonText(value: Facts | readonly Facts[]): string {
  return `${JSON.stringify(value, null, 2)}\n`
}

function humanText(value: Facts | readonly Facts[]): string {
  return Array.isArray(value) ? (value as readonly Facts[]).map(line).join('') : details(value as Facts)
}

function line(one: Facts): string {
  const { name, wire, base_url, model } = one
  const where = base_url ?? 'in this process'
  return `${name}: ${where}, ${wire}, model ${model ?? 'to be named'}, ${keyText(one)}\n`
}

function details(one: Facts): string {
  const rows: readonly (readonly [string, string])[] = [
    ['name', [one.name, ...one.spellings].join(', ')],
    ['base URL', one.base_url ?? 'in this process'],
    ['wire', one.wire],
    ['model', one.model === null ? 'give --model NAME' : modelText(one)],
    ...Object.entries(one.aliases).map(([alias, model]) => [`alias ${alias}`, model] as const),
    ['credential', keyText(one)],
  ]
  return rows.map(([label, text]) => `${label}: ${text}\n`).join('')
}

function modelText({ model, model_sent: sent }: Facts): string {
  return model === sent ? `${model}` : `${model} (${sent})`
}

function keyText({ credential }: Facts): string {
  if (credential === null) return 'no key'
  if ('file' in credential) return `token in ${credential.file}`
  return `key in ${credential.env} (${credential.set ? 'set' : 'not set'})`
}
