/** What a row is asked inside its container, and what it answers. Types, and the words of `--confine`. */
import type { DoctorReport } from '../../src/confinement/doctor/report.js'
import type { BoundaryName, OutcomeRecord } from '../../src/outcome.js'
import type { ProductName } from '../conformance/product.js'
import type { TreeCheck } from '../conformance/trees.js'

/** Words of `--confine` that every row is asked. */
export const CHOICES = ['auto', 'native', 'bubblewrap', 'bubblewrap-hostproc', 'landlock', 'container'] as const
export type Choice = (typeof CHOICES)[number]

export interface RowQuestion {
  /** Which checks of how trees end are made; null: the suite is not run at all. */
  readonly trees: readonly TreeCheck[] | null
  /** `rung`: what `auto` takes and what the doctor says, and nothing more. */
  readonly only?: 'rung'
}

/** What one word of `--confine` came to. */
export type Taken = { readonly boundary: BoundaryName } | { readonly code: string; readonly probe: string | null }

export interface Judged {
  readonly backend: ProductName
  readonly tried: number
  /** Guarantees that the record claims. */
  readonly applied: readonly string[]
  /** Attempts that got through and are not declared to, or of which nobody knows: `guarantee/attempt: detail`. */
  readonly broken: readonly string[]
  /** Guarantees that the table of the matrix claims here and the record does not, and the other way round. */
  readonly otherThanTable: readonly string[]
}

export interface RowFacts {
  readonly uid: number
  readonly taken: Readonly<Record<Choice, Taken>>
  /** Of `harness exec` with what it chooses by itself; null: refused. */
  readonly exec: { readonly status: number | null; readonly record: OutcomeRecord | null; readonly stderr: string }
  readonly doctor: DoctorReport | null
  readonly doctorStatus: number | null
  readonly judged: Judged | null
  /** The main job with the demo's model, and whether it was done in a boundary. */
  readonly demo: Demo
  readonly durationMs: number
}

export interface Demo {
  readonly status: number | null
  /** Done in a boundary: the tests of the sample have passed there. */
  readonly confined: boolean
  /** The end of what it said. */
  readonly told: string
}
