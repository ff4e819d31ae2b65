/** Sessions for tests: a folder, facts, and a run's worth of lines. */
import { join } from 'node:path'
import { Refusal } from '../../src/errors.js'
import type { SessionFacts } from '../../src/session/records.js'
import type { Session } from '../../src/session/session.js'
import { newSession, type StoreSeams } from '../../src/session/store.js'
import type { Item } from '../../src/wires/port.js'
import { scratch } from './scratch.js'

export const FACTS: SessionFacts = {
  wire: 'openai-responses',
  model: 'm-1',
  base_url: 'http://127.0.0.1:1/v1',
  workspace: '/work',
}

export function unrefused<Value>(value: Value | Refusal): Value {
  if (value instanceof Refusal) throw value
  return value
}

/** A place for sessions that is not there yet. */
export function place(t: { teardown(undo: () => void): void }): string {
  return join(scratch(t), 'sessions')
}

export const call = (id: string): Item => ({
  kind: 'tool-call',
  call_id: id,
  name: 'file_read',
  arguments: { path: id },
})
export const result = (id: string, output: string = id): Item => ({
  kind: 'tool-result',
  call_id: id,
  output,
  failed: false,
})
export const user = (text: string): Item => ({ kind: 'user-text', text })
export const answer = (text: string): Item => ({ kind: 'assistant-text', text })

/** The journal as the loop uses it: an answer with calls and its turn, the results, the next answer, the end. */
export async function play(session: Session, name: string): Promise<void> {
  const turn = (n: number) => ({
    turn: n,
    model: 'm-2',
    usage: { inputTokens: 3, outputTokens: 2, cachedInputTokens: 1 },
    microUsd: 7,
  })
  session.item(user(`task ${name}`))
  await session.settle()
  for (const item of [answer(`look ${name}`), call(`${name}-a`), call(`${name}-b`)]) session.item(item)
  session.turn(turn(1))
  await session.settle()
  for (const item of [result(`${name}-a`), result(`${name}-b`)]) session.item(item)
  await session.settle()
  session.item(answer(`done ${name}`))
  session.turn(turn(2))
  session.end({ kind: 'completed' })
  await session.settle()
}

/** A session on disk, closed. */
export async function filed(path: string, name = 'x', seams: StoreSeams = {}): Promise<Session> {
  const session = unrefused(newSession(path, FACTS, seams))
  session.withheld([{ tool: 'run', reason: 'none is allowed' }])
  await play(session, name)
  session.close()
  return session
}
