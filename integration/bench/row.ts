/** The one shape of a row, and what a row is given to measure with. */
import type { Endpoint } from './endpoint.js'
import type { Rounds } from './sampling.js'
import type { Seen } from './table.js'

/** What the run of the bench hands to its rows. */
export interface Bench {
  /** Fewer samples: for a look, not for a figure to quote. */
  readonly quick: boolean
  /** Peers that are compared with may be fetched from the registry when they are not in the cache folder. */
  readonly peers: boolean
  /** A private folder of this run, removed at its end. Holds `home` (empty, writable), workspaces and large files. */
  readonly scratch: string
  /** Environment of everything measured: constructed, without NODE_EXTRA_CA_CERTS. */
  readonly env: Readonly<Record<string, string>>
  /** The scripted endpoint, started with its first use. */
  endpoint(): Promise<Endpoint>
  /** `samples` rounds after a warm-up, a third of them (at least 3) under `--quick`. */
  rounds(samples: number): Rounds
  /** One line on stderr. */
  progress(text: string): void
}

/** A figure, or a thing that this machine or tree does not let us measure, with the predicate that is lacking. */
export type Found = Seen | { readonly name: string; readonly predicate: string }

export interface Row {
  /** For `--only`. Kebab-case. */
  readonly name: string
  /** What it answers, for `--help`. */
  readonly about: string
  /** False, or the predicate that keeps the whole row from being measured here. */
  needs(): false | string
  /** Rejects when the thing measured fails at its work. */
  measure(bench: Bench): Promise<readonly Found[]>
}
