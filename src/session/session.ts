/**
 * A session in use: the journal of one run (decisions 12). Nothing is on disk until the first lines are settled, so a run
 * that is refused before its start leaves none.
 */
import type { Refusal } from '../errors.js'
import type { Withheld } from '../events.js'
import type { JsonObject } from '../json.js'
import type { Ended, Journal, TurnRecord } from '../loop/run-state.js'
import type { Item } from '../wires/port.js'
import { AppendFile, type AppendRequest } from './append.js'
import type { SessionFolder } from './folder.js'
import { delegateId } from './ids.js'
import type { SessionLock } from './lock.js'
import {
  endLineOf,
  type HeaderLine,
  keptUrl,
  lineOf,
  type SessionFacts,
  type SessionRecord,
  usageRecord,
} from './records.js'

/** What the operator is told of how a session was found; never an event (contract §3). */
export interface SessionNote {
  /** `session`: of the file; `session-workspace`: the run is over other files than the one before. */
  readonly code: 'session' | 'session-workspace'
  readonly message: string
}

export interface SessionParts {
  readonly folder: SessionFolder
  readonly id: string
  readonly facts: SessionFacts
  readonly file: AppendRequest['file']
  readonly calls?: AppendRequest['calls']
  /** Null for a delegate: its parent's lock is over it. */
  readonly lock: SessionLock | null
  /** Written before all else. */
  readonly head: readonly (HeaderLine | SessionRecord)[]
  readonly items: readonly Item[]
  readonly turns: number
  readonly notes: readonly SessionNote[]
  /** False for a delegate: the folder is its parent's. */
  readonly ownsFolder: boolean
}

/** In use, in the order they were opened: one listener for all of them (Node warns of a leak at the eleventh). */
const open = new Set<Session>()

/** Delegates before the session they work for, whose folder they use. */
function closeAll(): void {
  for (const session of [...open].reverse()) session.close()
}

export class Session implements Journal {
  readonly id: string
  /** The conversation to go on with; empty for a new one. It is paired by the loop. */
  readonly items: readonly Item[]
  readonly facts: SessionFacts
  readonly notes: readonly SessionNote[]
  readonly #parts: SessionParts
  readonly #file: AppendFile
  #turns: number
  #filed = false
  #closed = false

  constructor(parts: SessionParts) {
    const { folder, id, file, calls, head, items, turns, notes, facts } = parts
    this.#parts = parts
    this.id = id
    this.items = items
    this.facts = facts
    this.notes = notes
    this.#turns = turns
    this.#file = new AppendFile({ folder, name: nameOf(id), file, ...(calls === undefined ? {} : { calls }) })
    for (const line of head) this.#file.push(lineOf(line))
    if (open.size === 0) process.once('exit', closeAll)
    open.add(this)
  }

  get path(): string {
    return this.#parts.folder.pathOf(nameOf(this.id))
  }

  /** True once something of this run is on disk. */
  get filed(): boolean {
    return this.#filed
  }

  /** Size of the file. */
  get bytes(): number {
    return this.#file.bytes
  }

  item(item: Item): void {
    this.#file.push(lineOf(item))
  }

  turn({ model, usage, microUsd }: TurnRecord): void {
    this.#turns += 1
    const line = { kind: 'turn', turn: this.#turns, model, usage: usage === null ? null : usageRecord(usage) } as const
    this.#file.push(lineOf({ ...line, cost: microUsd }))
  }

  /** What the run does not publish; an empty list is not written. */
  withheld(withheld: readonly Withheld[]): void {
    if (withheld.length > 0) this.#file.push(lineOf({ kind: 'withheld', withheld }))
  }

  end(ended: Ended, structured: JsonObject | null = null): void {
    const end = { kind: 'end', stop: ended, turns: this.#turns, model: this.facts.model } as const
    this.#file.push(endLineOf({ ...end, ...(structured === null ? {} : { structured }) }))
  }

  async settle(): Promise<Refusal | null> {
    const refusal = await this.#file.settle()
    this.#filed ||= this.#file.made
    return refusal
  }

  /**
   * Writes what was not settled yet, where anything was, and gives the lock back. A refusal says what could
   * not be kept. Calling it again does nothing.
   */
  close(): Refusal | null {
    if (this.#closed) return null
    this.#closed = true
    open.delete(this)
    if (open.size === 0) process.removeListener('exit', closeAll)
    const refusal = this.#file.close(this.#filed ? 'write' : 'drop')
    this.#parts.lock?.release()
    if (this.#parts.ownsFolder) this.#parts.folder.close()
    return refusal
  }

  /**
   * The session of a delegate of this one, `<id>.d<n>` with `n` from 1, or the next number that is free: a session that is
   * resumed has delegates of earlier runs. The caller closes it before this one.
   */
  child(n: number, model: string): Session {
    const { folder, calls } = this.#parts
    const facts = { ...this.facts, model }
    const taken = new Set(folder.names())
    let free = n
    while (taken.has(nameOf(delegateId(this.id, free)))) free += 1
    const id = delegateId(this.id, free)
    return new Session({
      ...{ folder, id, facts, file: null, lock: null, items: [], turns: 0, notes: [], ownsFolder: false },
      ...(calls === undefined ? {} : { calls }),
      head: [headerLine(id, facts, { parent: this.id })],
    })
  }
}

export function nameOf(id: string): string {
  return `${id}.jsonl`
}

export function headerLine(
  id: string,
  facts: SessionFacts,
  more: Pick<HeaderLine, 'parent' | 'forked_from'> = {},
): HeaderLine {
  return { version: 2, id, ...facts, created_unix: nowUnix(), ...more }
}

/** Seconds since 1970. */
export function nowUnix(): number {
  return Math.floor(Date.now() / 1_000)
}

/** Facts as they are kept. */
export function sessionFacts(run: {
  readonly wire: SessionFacts['wire']
  readonly model: string
  /** Empty: in this process. */
  readonly baseUrl: string
  /** Landed. */
  readonly workspace: string
}): SessionFacts {
  return { wire: run.wire, model: run.model, base_url: keptUrl(run.baseUrl), workspace: run.workspace }
}
