/**
 * A command that prints much, through our library in a process of its own.
 *
 *   node flood-process.js WORKSPACE BYTES      prints {"bytes", "kept", "ms"}
 */
import { performance } from 'node:perf_hooks'
import { Refusal } from '../../src/errors.js'
import { requestFor } from './bare-launch.js'
import { openOurs } from './library.js'

const [workspace = '', bytes = '0'] = process.argv.slice(2)
const boundary = await openOurs(requestFor(workspace))
const started = performance.now()
const outcome = await boundary.run({ argv: ['head', '-c', bytes, '/dev/zero'], purpose: 'exec' })
if (outcome instanceof Refusal) throw outcome
if (outcome.ending.kind !== 'exited' || outcome.ending.status !== 0) throw new Error(JSON.stringify(outcome.ending))
const { totalBytes, head, tail } = outcome.stdout
const line = { bytes: totalBytes, kept: head.length + tail.length, ms: performance.now() - started }
process.stdout.write(`${JSON.stringify(line)}\n`)
await boundary.close()
