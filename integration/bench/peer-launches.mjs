/**
 * Launches through the library of @anthropic-ai/sandbox-runtime in a process of its own: one launch of the command for
 * each line on stdin, answered by its milliseconds. Its settings say what ours say: no network, write in the workspace.
 *
 *   node peer-launches.mjs ENTRY.js COMMAND        (cwd: the workspace)
 */
import { spawn } from 'node:child_process'
import { performance } from 'node:perf_hooks'
import { createInterface } from 'node:readline'
import { pathToFileURL } from 'node:url'

const [entry = '', command = ''] = process.argv.slice(2)
const { SandboxManager } = await import(pathToFileURL(entry).href)
await SandboxManager.initialize({
  network: { allowedDomains: [], deniedDomains: [] },
  filesystem: { denyRead: [], allowWrite: ['.'], denyWrite: [] },
})

/** As its own documentation spells a launch, with both streams read. */
async function launch() {
  const start = performance.now()
  const line = await SandboxManager.wrapWithSandbox(command)
  const child = spawn(line, { shell: true, stdio: ['ignore', 'pipe', 'pipe'] })
  let said = ''
  child.stdout.resume()
  child.stderr.on('data', chunk => {
    said += chunk
  })
  const status = await new Promise(resolve => child.on('close', resolve))
  if (status !== 0) throw new Error(`the peer ended with ${status}: ${said}`)
  return performance.now() - start
}

process.stdout.write('ready\n')
for await (const _ of createInterface({ input: process.stdin })) process.stdout.write(`${await launch()}\n`)
await SandboxManager.reset()
process.exit(0)
