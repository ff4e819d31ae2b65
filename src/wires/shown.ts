/** What a stream shows, in the words of all wires. Pure. */
import { wordsOf } from './failure.js'
import type { StreamEvent } from './port.js'

/** A piece of text or reasoning; nothing where it is empty or no text. */
export function textEvent(kind: 'text-delta' | 'reasoning-delta', text: unknown): readonly StreamEvent[] {
  return typeof text === 'string' && text !== '' ? [{ kind, text }] : []
}

/** True for what is a part of the answer; a warning is none. */
export function isContent({ kind }: StreamEvent): boolean {
  return kind !== 'warning'
}

/** The model declined, in these words. */
export function declined(words: string): StreamEvent {
  return { kind: 'warning', code: 'provider-refusal', message: `the model declined: ${wordsOf(words)}` }
}
