/** What hooks are held by beyond their own launch: the namespace that was asked for, and the record of what may outlive us. */
import { join } from 'node:path'
import { namespaceReapRefusal } from '../confinement/hook-reap.js'
import type { HostFacts } from '../confinement/types.js'
import type { HarnessEvent } from '../events.js'
import { endLeftOvers, type LaunchRecord, type LeftOverReport, openLaunchRecord } from '../supervise/left-overs.js'
import { baseFolder } from './own-folders.js'

type Warning = Extract<HarnessEvent, { kind: 'warning' }>

export interface HookLaunchesRequest {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly facts: Pick<HostFacts, 'bwrap' | 'installHint'>
  readonly reap: 'group' | 'namespace'
  /** 16 hex digits. */
  readonly runId: string
}

export interface HookLaunches {
  /** For every launch of the run. Absent: a namespace ends with us by itself, so nothing is recorded. */
  readonly record?: LaunchRecord
  /** For `namespace`: the launcher that was tried. */
  readonly bwrap?: string
  /** What was ended that dead runs had left, and what cannot be recorded. */
  readonly warnings: readonly Warning[]
  /** A clean end. */
  close(): void
}

/**
 * Tries the namespace where that is asked for, ends what dead runs have left, opens this run's record. Throws
 * `boundary-unavailable` where no namespace can be had.
 */
export async function openHookLaunches({ env, facts, reap, runId }: HookLaunchesRequest): Promise<HookLaunches> {
  const refusal = reap === 'namespace' ? await namespaceReapRefusal(facts, runId) : null
  if (refusal !== null) throw refusal
  const base = baseFolder(env, 'XDG_STATE_HOME')
  const stateHome = base && join(base.path, base.below)
  const ended = warningsOf(await endLeftOvers(stateHome))
  if (reap === 'namespace') {
    return { ...(facts.bwrap === null ? {} : { bwrap: facts.bwrap.path }), warnings: ended, close() {} }
  }
  const record = openLaunchRecord({ stateHome, runId })
  const warnings = record.problem === null ? ended : [...ended, warning('launches-unrecorded', record.problem)]
  return { record, warnings, close: () => record.close() }
}

function warningsOf({ ended, notes }: LeftOverReport): Warning[] {
  const runs = [...new Set(ended.map(({ run_id }) => run_id))]
  const told = runs.map(run => {
    const pids = ended.filter(({ run_id }) => run_id === run).map(({ pid }) => pid)
    return warning('left-over-ended', `ended what the killed run ${run} had left: process ${pids.join(', ')}`)
  })
  return [...told, ...notes.map(note => warning('launches-unrecorded', note))]
}

function warning(code: Warning['code'], message: string): Warning {
  return { kind: 'warning', code, message }
}
