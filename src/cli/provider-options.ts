/**
 * Which model, where, by which wire and with which credential. Sources are named by the operator; nothing is searched
 * for, nothing is renewed, and naming none sends no header (contract §19).
 */
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { errnoOf, Refusal } from '../errors.js'
import type { WireName } from '../wires/port.js'
import type { Credential } from '../wires/transport.js'
import type { Io } from './io.js'
import type { Given } from './parse.js'

interface Provider {
  readonly baseUrl: string
  readonly wire: WireName
  readonly model?: string
  readonly keyEnv?: string
  readonly aliases: Readonly<Record<string, string>>
}

const ANTHROPIC: Provider = {
  baseUrl: 'https://api.anthropic.com/v1',
  wire: 'anthropic-messages',
  model: 'opus',
  keyEnv: 'ANTHROPIC_API_KEY',
  aliases: { opus: 'claude-opus-5', sonnet: 'claude-sonnet-5', haiku: 'claude-haiku-4-5-20251001' },
}

/** Built-in providers; `demo` has no address because the emulator chooses its port. */
const PROVIDERS: Readonly<Record<string, Provider>> = {
  anthropic: ANTHROPIC,
  claude: ANTHROPIC,
  openai: { baseUrl: 'https://api.openai.com/v1', wire: 'openai-responses', keyEnv: 'OPENAI_API_KEY', aliases: {} },
  ollama: { baseUrl: 'http://127.0.0.1:11434/v1', wire: 'openai-chat', aliases: {} },
  demo: { baseUrl: '', wire: 'openai-responses', model: 'demo', aliases: {} },
}

export interface ModelChoice {
  /** Empty for the demo. */
  readonly baseUrl: string
  readonly wire: WireName
  readonly model: string
  readonly credential: Credential
  /** `none`, `api-key:file`, `provider:openai`, … (contract §4). */
  readonly credentialSource: string
  readonly demo: boolean
}

/** A typed `--base-url` sets the provider bundle aside. Throws a refusal for anything missing or unknown. */
export function modelChoice(given: Given, io: Pick<Io, 'env' | 'cwd'>): ModelChoice {
  const name = given.one('--provider')
  const typedUrl = given.one('--base-url')
  const provider = name === undefined || typedUrl !== undefined ? undefined : providerNamed(name)
  const baseUrl = typedUrl ?? provider?.baseUrl
  if (baseUrl === undefined) {
    throw new Refusal(
      'bad-arguments',
      { argument: '--base-url' },
      'no endpoint: give --provider NAME, or --base-url URL with --model NAME',
    )
  }
  const asked = given.one('--model') ?? provider?.model
  if (asked === undefined) throw new Refusal('model-missing', {}, 'no model: give --model NAME')
  const wire = builtWire(WIRES.find(word => word === given.one('--wire')) ?? provider?.wire ?? 'openai-responses')
  return {
    baseUrl: typedUrl === undefined ? baseUrl : checkUrl(typedUrl),
    wire,
    model: provider?.aliases[asked] ?? asked,
    ...credentialOf(given, io, name, provider),
    demo: name === 'demo' && typedUrl === undefined,
  }
}

const WIRES: readonly WireName[] = ['openai-responses', 'anthropic-messages', 'openai-chat']

/** Said before a credential is asked for, which would not help. */
function builtWire(wire: WireName): WireName {
  if (wire === 'openai-responses') return wire
  throw new Refusal(
    'not-built-yet',
    { option: `--wire ${wire}` },
    `the wire ${wire} is not built yet; openai-responses is`,
  )
}

function providerNamed(name: string): Provider {
  const known = Object.keys(PROVIDERS)
  const provider = Object.hasOwn(PROVIDERS, name) ? PROVIDERS[name] : undefined
  if (provider !== undefined) return provider
  throw new Refusal(
    'provider-unknown',
    { name, known },
    `--provider ${JSON.stringify(name)}: known are ${known.join(', ')} (--help says which work); or give --base-url URL with --model NAME`,
  )
}

function checkUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null
  if (url !== null && (url.protocol === 'http:' || url.protocol === 'https:')) return text
  throw new Refusal('bad-arguments', { argument: '--base-url' }, `--base-url ${text}: write an http or https address`)
}

function credentialOf(
  given: Given,
  { env, cwd }: Pick<Io, 'env' | 'cwd'>,
  name: string | undefined,
  provider: Provider | undefined,
): Pick<ModelChoice, 'credential' | 'credentialSource'> {
  const keyFile = given.one('--api-key-file')
  if (keyFile !== undefined) return fromFile('api-key', resolve(cwd, keyFile), given)
  const tokenFile = given.one('--oauth-token-file')
  if (tokenFile !== undefined) return fromFile('bearer', resolve(cwd, tokenFile), given)
  const keyEnv = given.one('--api-key-env')
  if (keyEnv !== undefined) return fromEnv('api-key', keyEnv, env, given, 'api-key:environment')
  const tokenEnv = given.one('--oauth-token-env')
  if (tokenEnv !== undefined) return fromEnv('bearer', tokenEnv, env, given, 'oauth:environment')
  if (given.one('--oauth-token-pointer') !== undefined) {
    throw new Refusal(
      'bad-arguments',
      { argument: '--oauth-token-pointer' },
      '--oauth-token-pointer needs --oauth-token-file or --oauth-token-env',
    )
  }
  if (provider?.keyEnv !== undefined) return fromEnv('api-key', provider.keyEnv, env, given, `provider:${name}`)
  return { credential: { kind: 'none' }, credentialSource: 'none' }
}

type Kind = 'api-key' | 'bearer'

function fromFile(kind: Kind, path: string, given: Given): Pick<ModelChoice, 'credential' | 'credentialSource'> {
  const read = (): string => {
    try {
      return pointed(readFileSync(path, 'utf8'), given, path)
    } catch (error) {
      const errno = errnoOf(error)
      if (errno === undefined) throw error
      throw new Refusal('file-unreadable', { path, errno }, `the credential file ${path} cannot be read (${errno})`)
    }
  }
  read() // before the run starts, so that a missing file refuses it
  return { credential: { kind, read }, credentialSource: kind === 'api-key' ? 'api-key:file' : 'oauth:file' }
}

function fromEnv(
  kind: Kind,
  variable: string,
  env: NodeJS.ProcessEnv,
  given: Given,
  source: string,
): Pick<ModelChoice, 'credential' | 'credentialSource'> {
  const value = env[variable]
  if (value === undefined || value === '') {
    throw new Refusal(
      'credential-missing',
      { source: variable },
      `the variable ${variable} is not set: export it, or name another source with --api-key-env NAME or --api-key-file FILE`,
    )
  }
  const secret = pointed(value, given, variable)
  return { credential: { kind, read: () => secret }, credentialSource: source }
}

/** The secret itself, or what `--oauth-token-pointer` points at (RFC 6901) in a JSON source. */
function pointed(text: string, given: Given, source: string): string {
  const pointer = given.one('--oauth-token-pointer')
  const found = pointer === undefined ? text.trim() : follow(text, pointer)
  if (typeof found === 'string' && /^[\x21-\x7e]+$/.test(found)) return found
  const why = pointer === undefined ? 'is empty or holds more than one printable word' : `has no text at ${pointer}`
  throw new Refusal('credential-missing', { source }, `the credential in ${source} ${why}`)
}

function follow(text: string, pointer: string): unknown {
  try {
    return pointer
      .split('/')
      .slice(1)
      .map(part => part.replaceAll('~1', '/').replaceAll('~0', '~'))
      .reduce<unknown>((value, key) => (value as Record<string, unknown> | undefined)?.[key], JSON.parse(text))
  } catch {
    return undefined
  }
}
