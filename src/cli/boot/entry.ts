/**
 * The programs' entry, bundled on its own: answers `--version` before loading anything, else starts the bundle of its work
 * from V8's code cache where one can be trusted.
 *
 * Everything that runs later is in that bundle; this file stays small because it is parsed on every start.
 */
import './floor.js'
import { loadBundle } from './load.js'

declare const HARNESS_VERSION: string
declare const HARNESS_PROGRAM: string

const [, , first, ...rest] = process.argv
if (rest.length === 0 && (first === '--version' || first === '-V')) {
  process.stdout.write(`${HARNESS_PROGRAM} ${HARNESS_VERSION}\n`)
} else {
  // `exec` stands in front of other people's commands: its bundle leaves the model side out. So does hookcheck's.
  const ofHarness = first === 'exec' ? 'exec' : 'main'
  loadBundle(HARNESS_PROGRAM === 'hookcheck' ? 'audit' : ofHarness, HARNESS_PROGRAM)
}
