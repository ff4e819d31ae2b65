/** The conversation of one attempt of a section, which its steps share; opened with the first of them that says something. */
import { Refusal } from '../errors.js'
import type { Journal } from '../loop/run-state.js'
import type { Item } from '../wires/port.js'
import type { FlowHost, OpenedSection } from './ports.js'

export class SectionConversation {
  /** As the next step goes on with it. */
  items: readonly Item[] = []
  #opened: OpenedSection | null = null
  #kept: number

  /** `keep`: items of its session that count from before; null: it begins. */
  constructor(
    private readonly host: FlowHost,
    private readonly session: string,
    private readonly keep: number | null,
  ) {
    this.#kept = keep ?? 0
  }

  /** Items of the session that count so far. */
  get kept(): number {
    return this.#kept
  }

  /** Returns the refusal of a session that cannot be had. */
  open(): OpenedSection['options'] | Refusal {
    try {
      if (this.#opened === null) {
        this.#opened = this.host.openSection({ session: this.session, keep: this.keep })
        this.items = this.#opened.items
      }
      const { journal, ...options } = this.#opened.options
      return journal === undefined ? options : { ...options, journal: this.#counting(journal) }
    } catch (error) {
      if (error instanceof Refusal) return error
      throw error
    }
  }

  #counting(journal: Journal): Journal {
    return {
      item: item => {
        this.#kept += 1
        journal.item(item)
      },
      turn: record => journal.turn(record),
      end: (ended, structured) => journal.end(ended, structured),
      settle: () => journal.settle(),
    }
  }

  /** The session that was filed; null: none was. Calling it again does nothing. */
  close(): { readonly id: string; readonly path: string } | null {
    const opened = this.#opened
    this.#opened = null
    const filed = opened?.filed() ?? null
    opened?.close()
    return filed
  }
}
