/** What was seen of the rows, kept in a file: the README's table is made of it. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { projectRoot } from '../../test/support/root.js'
import type { RowFacts } from './facts.js'
import type { RowRun } from './run-row.js'

export const MEASURED_FILE = 'integration/containers/measured.json'

/** One row, as it was seen. */
export interface MeasuredRow {
  /** Null: every boundary is refused. */
  readonly rung: string | null
  /** Guarantees that were claimed and held whole against everything that was tried; null: not tried. */
  readonly held: readonly string[] | null
  /** What `--confine container` comes to: `accepted`, or the name of what refuses it. */
  readonly container: string
  /** Rungs to which following the doctor leads, one after the other. */
  readonly advised: readonly (string | null)[]
}

export interface Measured {
  /** What it was seen on: versions that matter for it. */
  readonly on: {
    /** The first two numbers of the kernel's version. */
    readonly kernel: string
    readonly landlock_abi: number | null
    readonly bubblewrap: string | null
    /** Versions, by the name of the engine. */
    readonly engines: Readonly<Record<string, string>>
  }
  /** By the name of the row; one that was skipped is not here. */
  readonly rows: Readonly<Record<string, MeasuredRow>>
}

export function measuredRow({ facts, steps }: Exclude<RowRun, { readonly skipped: string }>): MeasuredRow {
  const { auto, container } = facts.taken
  return {
    rung: 'boundary' in auto ? auto.boundary : null,
    held: facts.judged === null ? null : facts.judged.applied,
    container: 'boundary' in container ? 'accepted' : (container.probe ?? container.code),
    advised: steps.map(({ rung }) => rung),
  }
}

/** `facts` of any row: all of them ran on one machine. */
export function measuredOn({ doctor }: RowFacts, engines: Measured['on']['engines']): Measured['on'] {
  const machine = doctor?.machine
  return {
    kernel: machine?.kernel.split('.').slice(0, 2).join('.') ?? '',
    landlock_abi: machine?.landlock_abi ?? null,
    bubblewrap: machine?.bubblewrap?.split(' ')[0] ?? null,
    engines,
  }
}

export function measured(): Measured {
  return JSON.parse(readFileSync(join(projectRoot, MEASURED_FILE), 'utf8')) as Measured
}
