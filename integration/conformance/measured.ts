/** The kept measurements of other sandboxes: `measured-peers.json`, written by `measure-peers.ts`. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Guarantee } from '../../src/outcome.js'
import { projectRoot } from '../../test/support/root.js'

/** One guarantee under a peer. */
interface MeasuredGuarantee {
  /** Attempts that the machine had something for and that answered. */
  readonly tried: number
  /** Those that got through, by name. */
  readonly through: readonly string[]
}

export interface MeasuredPeer {
  readonly version: string
  /** Year and month of the measurement. */
  readonly measured: string
  /** As an ordinary user on Linux. Guarantees that nothing was tried for are left out. */
  readonly guarantees: Readonly<Partial<Record<Guarantee, MeasuredGuarantee>>>
}

export const MEASURED_FILE = join(projectRoot, 'integration/conformance/measured-peers.json')

/** By the name of the peer. */
export function measuredPeers(): Readonly<Record<string, MeasuredPeer>> {
  return JSON.parse(readFileSync(MEASURED_FILE, 'utf8')) as Record<string, MeasuredPeer>
}
