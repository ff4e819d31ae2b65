/** What the answers of all wires are made of: a reply with its ids, pieces and token counts. Pure. */
import type { ScenarioCall, ScenarioReply } from './scenario.js'

export interface PlayedReply {
  readonly reply: ScenarioReply
  /** From 1. Ids are made of it, so that the same reply and turn give the same bytes. */
  readonly turn: number
  readonly model: string
  /** Null: the answer reports none. Absent: the reply's own figures, none where it gives none. */
  readonly usage?: TokenCounts | null
}

export interface TokenCounts {
  /** The whole of the input; both cache figures are parts of it. */
  readonly input: number
  readonly output: number
  readonly cached: number
  readonly cacheWritten: number
}

/** Bytes of UTF-8 that count as one token where a reply gives no usage. */
const BYTES_PER_TOKEN = 4

/**
 * What a reply reports: its own figures, none under `usage: null`, else derived: one token for every
 * {@link BYTES_PER_TOKEN} bytes of UTF-8, rounded up; input by the whole body of the request, output by reasoning, text,
 * refusal, and the names and arguments of the calls; nothing cached.
 */
export function usageFor(reply: ScenarioReply, requestBytes: number): TokenCounts | null {
  if (reply.usage !== undefined) return ownUsage(reply)
  const said = [
    reply.reasoning,
    reply.text,
    reply.refusal,
    ...(reply.calls ?? []).flatMap(call => [call.name, argumentsText(call)]),
  ]
  const output = said.reduce((sum, text) => sum + Buffer.byteLength(text ?? ''), 0)
  return { input: tokens(requestBytes), output: tokens(output), cached: 0, cacheWritten: 0 }
}

/** What the answer says of tokens. */
export function reportedUsage({ reply, usage }: PlayedReply): TokenCounts | null {
  return usage === undefined ? ownUsage(reply) : usage
}

function ownUsage({ usage }: ScenarioReply): TokenCounts | null {
  if (!usage) return null
  const { input, output, cached = 0, cache_written: cacheWritten = 0 } = usage
  return { input, output, cached, cacheWritten }
}

function tokens(bytes: number): number {
  return Math.ceil(bytes / BYTES_PER_TOKEN)
}

export interface PlayedCall {
  readonly id: string
  readonly name: string
  /** As it goes over the wire; no JSON where the scenario wrote it so. */
  readonly text: string
}

/** The calls with their ids: their own, else by turn and place, the same on every wire. */
export function playedCalls({ reply, turn }: Pick<PlayedReply, 'reply' | 'turn'>): readonly PlayedCall[] {
  return (reply.calls ?? []).map((call, index) => ({
    id: call.id ?? defaultCallId(turn, index),
    name: call.name,
    text: argumentsText(call),
  }))
}

/** Of the call at `index` (from 0) of a turn. */
export function defaultCallId(turn: number, index: number): string {
  return `call_${turn}_${index + 1}`
}

function argumentsText(call: ScenarioCall): string {
  return typeof call.arguments === 'string' ? call.arguments : JSON.stringify(call.arguments)
}

/** What stands for a model's sealed reasoning: it only has to come back as it went out. */
export function sealOf(text: string, turn: number): string {
  return Buffer.from(`emulated ${turn}: ${text}`).toString('base64')
}

/** True where `seal` is none of ours, or one of ours for this text. */
export function sealFits(seal: string, text: string): boolean {
  const said = /^emulated \d+: (.*)$/s.exec(Buffer.from(seal, 'base64').toString('utf8'))?.[1]
  return said === undefined || said === text
}

/** Characters of one text delta, so that a short answer has several. */
const DELTA_CHARS = 24

/** The text in pieces that end between characters. */
export function pieces(text: string): readonly string[] {
  const characters = Array.from(text)
  const count = Math.ceil(characters.length / DELTA_CHARS)
  return Array.from({ length: count }, (_, n) => characters.slice(n * DELTA_CHARS, (n + 1) * DELTA_CHARS).join(''))
}
