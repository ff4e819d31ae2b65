/**
 * Which model, where, by which wire and with which credential. Sources are named by the operator; nothing is searched
 * for, nothing is renewed, and naming none sends no header (contract §19).
 */
import { resolve } from 'node:path'
import { Refusal } from '../errors.js'
import { WIRE_NAMES, type WireName } from '../wires/port.js'
import type { Credential } from '../wires/transport.js'
import { credentialInFile, credentialInVariable } from './credential-source.js'
import type { Io } from './io.js'
import type { Given } from './parse.js'
import { type Provider, providerNamed, resolveModel } from './providers.js'

export interface ModelChoice {
  /** Empty for the demo. */
  readonly baseUrl: string
  readonly wire: WireName
  /** What is sent: an alias is resolved. */
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
  const known = given.configuration.providers
  const provider = name === undefined || typedUrl !== undefined ? undefined : providerNamed(name, known)
  if (provider === undefined && typedUrl === undefined) {
    throw new Refusal(
      'bad-arguments',
      { argument: '--base-url' },
      'no endpoint: give --provider NAME, or --base-url URL with --model NAME',
    )
  }
  return {
    baseUrl: typedUrl === undefined ? (provider?.baseUrl ?? '') : checkUrl(typedUrl),
    wire: WIRE_NAMES.find(word => word === given.one('--wire')) ?? provider?.wire ?? 'openai-responses',
    model: modelName(given, provider),
    ...credentialOf(given, io, provider),
    demo: provider?.baseUrl === null,
  }
}

/** What is sent for a model that a document of this run names: aliases are those of the provider, as for `--model`. */
export function modelNamed(given: Given, asked: string): string {
  const name = given.one('--provider')
  if (name === undefined || given.one('--base-url') !== undefined) return asked
  return resolveModel(providerNamed(name, given.configuration.providers), asked)
}

function modelName(given: Given, provider: Provider | undefined): string {
  const asked = given.one('--model') ?? provider?.model
  if (asked === undefined) throw new Refusal('model-missing', {}, 'no model: give --model NAME')
  return provider === undefined ? asked : resolveModel(provider, asked)
}

function checkUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null
  if (url !== null && (url.protocol === 'http:' || url.protocol === 'https:')) return text
  throw new Refusal('bad-arguments', { argument: '--base-url' }, `--base-url ${text}: write an http or https address`)
}

type Chosen = Pick<ModelChoice, 'credential' | 'credentialSource'>

interface NamedSource {
  readonly kind: 'api-key' | 'bearer'
  readonly from: 'file' | 'environment'
  /** The file, or the variable. */
  readonly where: string
  readonly source: string
}

const SOURCES: readonly (Omit<NamedSource, 'where'> & { readonly flag: string })[] = [
  { flag: '--api-key-file', kind: 'api-key', from: 'file', source: 'api-key:file' },
  { flag: '--api-key-env', kind: 'api-key', from: 'environment', source: 'api-key:environment' },
  { flag: '--oauth-token-file', kind: 'bearer', from: 'file', source: 'oauth:file' },
  { flag: '--oauth-token-env', kind: 'bearer', from: 'environment', source: 'oauth:environment' },
]

/** Read once now, so that what is missing refuses the run before it starts. */
function credentialOf(given: Given, { env, cwd }: Pick<Io, 'env' | 'cwd'>, provider: Provider | undefined): Chosen {
  const typed = typedSource(given)
  const named = typed ?? sourceOf(provider)
  const pointer = pointerOf(given, named) ?? (typed === null ? provider?.tokenPointer : undefined)
  if (named === null) return { credential: { kind: 'none' }, credentialSource: 'none' }
  const { kind, from, where, source } = named
  const read =
    from === 'file'
      ? () => credentialInFile(resolve(cwd, where), { pointer })
      : () => credentialInVariable(where, env, { pointer })
  read()
  return { credential: { kind, read }, credentialSource: source }
}

/** At most one of them is given; parsing has seen to it. */
function typedSource(given: Given): NamedSource | null {
  const named = SOURCES.find(({ flag }) => given.has(flag))
  return named === undefined ? null : { ...named, where: given.one(named.flag) ?? '' }
}

function sourceOf(provider: Provider | undefined): NamedSource | null {
  const source = `provider:${provider?.name}`
  if (provider?.tokenFile !== undefined) return { kind: 'bearer', from: 'file', where: provider.tokenFile, source }
  if (provider?.keyEnv === undefined) return null
  return { kind: 'api-key', from: 'environment', where: provider.keyEnv, source }
}

function pointerOf(given: Given, named: NamedSource | null): string | undefined {
  const pointer = given.one('--oauth-token-pointer')
  if (pointer === undefined || (named?.kind === 'bearer' && pointer.startsWith('/'))) return pointer
  const why =
    named?.kind === 'bearer'
      ? `${JSON.stringify(pointer)} is no JSON pointer: it begins with /, e.g. /tokens/access`
      : 'needs --oauth-token-file or --oauth-token-env'
  throw new Refusal('bad-arguments', { argument: '--oauth-token-pointer' }, `--oauth-token-pointer ${why}`)
}

/** Variables that hold a credential of this run or of a provider that is known: only the wire is given them. */
export function credentialVariables(given: Given): ReadonlySet<string> {
  const headers = given.all('--header').map(entry => entry.slice(entry.indexOf('=') + 1))
  const named = [given.one('--api-key-env'), given.one('--oauth-token-env'), ...headers]
  const known = given.configuration.providers.map(({ keyEnv }) => keyEnv)
  return new Set([...named, ...known].filter(name => name !== undefined))
}
