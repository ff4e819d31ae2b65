/**
 * The keys of front matter: which are read, which narrow, and which real documents use besides. A key that narrows must not
 * be passed over because it is spelled in another way, so those are found by a plain form, and near misses refuse. Pure.
 */
import { nearest } from '../../hooks/nearest.js'

/** Keys that take something away from an agent, by their plain form. */
export const NARROWING = {
  tools: 'tools',
  allowedtools: 'tools',
  disallowedtools: 'disallowedTools',
  deniedtools: 'disallowedTools',
  disabledtools: 'disallowedTools',
  readonly: 'readonly',
  permissionmode: 'permissionMode',
  maxturns: 'maxTurns',
  disablemodelinvocation: 'disable-model-invocation',
} as const

export type Narrowing = (typeof NARROWING)[keyof typeof NARROWING]

/** Keys of documents in use elsewhere. They end a broken description that goes on at the left margin. */
const IN_USE = `
  name description tools model effort color skills license metadata version author authors tags category title domain
  type tier triggers command argument-hint user-invocable mode hidden target handoffs agents agent context emoji vibe
  compatibility compatible_tools dependencies hooks mcp-servers mcpServers memory background isolation initialPrompt
  initial_prompt paths globs shell when_to_use when-to-use whenToUse arguments temperature top_p steps prompt permission
  permissions summary kind trust status supersedes id
`
  .trim()
  .split(/\s+/)

const IN_USE_SPELLED = new Set(IN_USE)
const IN_USE_PLAIN = new Set(IN_USE.map(plainKey))

/** Case, `-` and `_` do not count. */
export function plainKey(key: string): string {
  return key.toLowerCase().replace(/[-_\s]/g, '')
}

/** What the key narrows; null: it does not. */
export function narrowingOf(key: string): Narrowing | null {
  const plain = plainKey(key)
  return Object.hasOwn(NARROWING, plain) ? NARROWING[plain as keyof typeof NARROWING] : null
}

/** The narrowing key that an unknown one was most likely meant to be; null: none, or the key is known elsewhere. */
export function nearNarrowing(key: string): string | null {
  const plain = plainKey(key)
  if (IN_USE_PLAIN.has(plain) || narrowingOf(key) !== null) return null
  const near = nearest(plain, Object.keys(NARROWING))
  return near === null ? null : NARROWING[near as keyof typeof NARROWING]
}

/** True for a key as documents spell it, here or elsewhere, and in any spelling for one that narrows or is close to one. */
export function isKnownKey(key: string): boolean {
  return IN_USE_SPELLED.has(key) || narrowingOf(key) !== null || nearNarrowing(key) !== null
}
