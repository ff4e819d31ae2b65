/**
 * The supervisor under test as a process of its own, so that it can be another user, carry a marker in its environment,
 * hold an open descriptor, sit on a terminal, and be killed.
 *
 * Usage: node driver.mjs REQUEST.json RESULT.json. The request is a {@link DriverRequest}. On stdout: `calling` right
 * before each call, and `supervisor PID` where a backend starts the real supervisor as a process. `{supervisor}` in an argv is the supervisor's pid.
 */
import { readFileSync, writeFileSync, writeSync } from 'node:fs'
import { Socket } from 'node:net'
import type { Backend, RunOptions, RunResult } from './backend.js'
import { brokenBackend } from './broken.js'
import { isBrokenLandlock } from './broken-landlock.js'
import { BROKEN_BOUNDARIES, type BrokenName } from './broken-recipes.js'
import { PEER_NAMES, type PeerName, peerBackend } from './peers.js'
import { PRODUCT_BACKENDS, type ProductName } from './product.js'

export type BackendName = ProductName | PeerName | BrokenName

export interface DriverRequest {
  readonly backend: BackendName
  readonly calls: readonly { readonly argv: readonly string[]; readonly options: RunOptions }[]
}

export interface DriverResponse {
  readonly results: readonly RunResult[]
  /** Highest resident memory of the supervisor, in bytes. */
  readonly peakBytes: number
}

export function backendOf(name: BackendName): Backend {
  const isBroken = (value: BackendName): value is BrokenName =>
    value === 'plain' || value in BROKEN_BOUNDARIES || isBrokenLandlock(value)
  const isPeer = (value: BackendName): value is PeerName => PEER_NAMES.some(peer => peer === value)
  if (isPeer(name)) return peerBackend(name)
  return isBroken(name) ? brokenBackend(name) : PRODUCT_BACKENDS[name]()
}

async function main([requestFile = '', responseFile = '']: readonly string[]): Promise<void> {
  const request = JSON.parse(readFileSync(requestFile, 'utf8')) as DriverRequest
  const backend = backendOf(request.backend)
  const results: RunResult[] = []
  for (const { argv, options } of request.calls) {
    writeSync(1, 'calling\n')
    results.push(
      await backend.run(
        argv.map(word => word.replaceAll('{supervisor}', String(process.pid))),
        options,
      ),
    )
  }
  const response: DriverResponse = { results, peakBytes: process.resourceUsage().maxRSS * 1024 }
  writeFileSync(responseFile, JSON.stringify(response))
}

// Whoever started us holds the other end: when it dies, so do we, and with us what we supervise.
if (!process.stdin.isTTY) {
  process.stdin.on('end', () => process.exit(1)).resume()
  if (process.stdin instanceof Socket) process.stdin.unref()
}
await main(process.argv.slice(2))
