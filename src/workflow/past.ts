/** What stands from before of a flow that is resumed, and the figures of its walk so far. Pure. */
import type { JsonObject } from '../json.js'
import type { FlowLine } from './flow-lines.js'

type Ended = Extract<FlowLine, { kind: 'ended' }>

/** Of the whole flow, over all times it was resumed. */
export interface Tally {
  ran: number
  failed: number
  skipped: number
  retreats: number
}

export class Past {
  readonly #ended = new Map<string, Ended>()
  readonly #left = new Map<string, { readonly failed: boolean; readonly gave: JsonObject }>()
  readonly #retreats = new Map<string, string>()
  readonly #skipped = new Set<string>()
  readonly #open = new Set<string>()
  /** Counted already, of steps whose sum has not come. */
  readonly #spent = new Map<string, number>()
  #paused: string | null = null
  /** Micro-USD; null: nothing was priced. */
  microUsd: number | null = null
  /** Null: it did not come to its end. */
  clean: boolean | null = null

  constructor(lines: readonly FlowLine[] = []) {
    for (const line of lines) this.#take(line)
  }

  #take(line: FlowLine): void {
    switch (line.kind) {
      case 'began':
        this.#open.add(line.at)
        this.#spent.delete(line.at)
        return
      case 'spent':
        this.#spend(line.cost)
        this.#spent.set(line.at, (this.#spent.get(line.at) ?? 0) + line.cost)
        return
      case 'ended':
        this.#open.delete(line.at)
        this.#ended.set(line.at, line)
        this.#close(line)
        if (this.#paused === line.at) this.#paused = null
        return
      case 'cut':
        this.#close(line)
        return
      case 'skipped':
        this.#skipped.add(line.at)
        return
      case 'retreat':
        this.#retreats.set(line.at, line.why)
        return
      case 'left':
        this.#left.set(line.at, line)
        return
      case 'paused':
        this.#paused = line.at
        return
      case 'finished':
        this.clean = line.clean
        return
      case 'resumed':
      case 'stopped':
        return
    }
  }

  /** The sum of a step, of which a part has been counted. */
  #close({ at, cost }: { readonly at: string; readonly cost: number | null }): void {
    if (cost !== null) this.#spend(Math.max(0, cost - (this.#spent.get(at) ?? 0)))
    this.#spent.delete(at)
  }

  #spend(cost: number | null): void {
    if (cost !== null) this.microUsd = (this.microUsd ?? 0) + cost
  }

  /** A step that is over. */
  step(at: string): Ended | undefined {
    return this.#ended.get(at)
  }

  /** A section that was left. */
  section(at: string): { readonly failed: boolean; readonly gave: JsonObject } | undefined {
    return this.#left.get(at)
  }

  /** Why an attempt failed that had another left; undefined: it did not, or is not over. */
  retreat(at: string): string | undefined {
    return this.#retreats.get(at)
  }

  wasSkipped(at: string): boolean {
    return this.#skipped.has(at)
  }

  /** The operator's step at which the flow paused: resuming it is what it waited for. */
  isPaused(at: string): boolean {
    return this.#paused === at
  }

  /** Items of a section's session that count: those up to its last step that is over. Null: none is. */
  itemsIn(attempt: string): number | null {
    let most: number | null = null
    for (const [at, { items }] of this.#ended)
      if (at.startsWith(`${attempt}.`) && !at.slice(attempt.length + 1).includes('.')) most = Math.max(most ?? 0, items)
    return most
  }

  /** Keys of steps that were begun and are not over; one that paused is not cut. */
  get cut(): readonly string[] {
    return [...this.#open].filter(at => at !== this.#paused)
  }

  get tally(): Tally {
    const ended = [...this.#ended.values()]
    return {
      ran: ended.length,
      failed: ended.filter(({ failed }) => failed).length,
      skipped: this.#skipped.size,
      retreats: this.#retreats.size,
    }
  }
}
