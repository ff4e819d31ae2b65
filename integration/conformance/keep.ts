/** Keeps what the guarantee tests saw as files, where `HARNESS_RESULTS_DIR` names a folder: one for each boundary and user. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { release } from 'node:os'
import { join } from 'node:path'
import type { Guarantee } from '../../src/outcome.js'
import { GUARANTEES, type MatrixRow } from '../matrix.js'
import type { Verdict } from './verdict.js'

interface KeptGuarantee {
  /** What the matrix says of it here. */
  readonly claimed: 'held' | 'gap'
  /** `untried`: no attempt of it was made, or the machine had nothing to be attacked. */
  readonly verdict: 'held' | 'broken' | 'untried'
  /** Attempts by name. */
  readonly refused: readonly string[]
  readonly through: readonly string[]
  readonly unanswered: readonly string[]
}

export interface KeptResult {
  readonly schema: 'b10x.conformance/1'
  readonly backend: string
  readonly boundary: string
  readonly privilege: string
  readonly machine: { readonly os: string; readonly kernel: string; readonly arch: string; readonly node: string }
  readonly guarantees: Readonly<Record<Guarantee, KeptGuarantee>>
}

/** Pure but for the machine's own name. */
export function resultOf(backend: string, row: MatrixRow, verdicts: readonly Verdict[]): KeptResult {
  const names = Object.keys(GUARANTEES) as Guarantee[]
  const guarantees = names.map(name => [name, kept(name, row, verdicts)] as const)
  return {
    schema: 'b10x.conformance/1',
    backend,
    boundary: row.backend,
    privilege: row.privilege,
    machine: { os: process.platform, kernel: release(), arch: process.arch, node: process.versions.node },
    guarantees: Object.fromEntries(guarantees) as Record<Guarantee, KeptGuarantee>,
  }
}

/** Writes `result` below the folder that was asked for; without one, nothing. */
export function keepResult(result: KeptResult, folder = process.env.HARNESS_RESULTS_DIR): void {
  if (folder === undefined || folder === '') return
  mkdirSync(folder, { recursive: true })
  const name = `${result.backend}-${result.boundary}-${result.privilege}.json`
  writeFileSync(join(folder, name), `${JSON.stringify(result, null, 2)}\n`)
}

function kept(name: Guarantee, row: MatrixRow, verdicts: readonly Verdict[]): KeptGuarantee {
  const mine = verdicts.filter(({ guarantee }) => guarantee === name)
  const named = (result: Verdict['result']): string[] =>
    mine.filter(verdict => verdict.result === result).map(({ attempt }) => attempt)
  const [refused, through, unanswered] = [named('refused'), named('succeeded'), named('unanswered')]
  const broken = through.length + unanswered.length > 0
  return {
    claimed: row.holds.includes(name) ? 'held' : 'gap',
    verdict: broken ? 'broken' : refused.length > 0 ? 'held' : 'untried',
    refused,
    through,
    unanswered,
  }
}
