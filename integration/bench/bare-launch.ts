/**
 * The argv of one of our plans, started by hand: what a launch costs without our checks, our hold and our watching.
 *
 * The plan's first program, a script of ours that sets limits and waits for a go-ahead, is spelled as prlimit(1) is. So
 * here it *is* prlimit: the same argv, the same limits, and nothing that waits.
 */
import { spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import which from 'which'
import { chooseBoundary } from '../../src/confinement/choose.js'
import { readHostFacts } from '../../src/confinement/host-facts.js'
import { planLaunch } from '../../src/confinement/launch-plan.js'
import { landPolicy } from '../../src/confinement/policy.js'
import { CHILD_FDS, type LaunchPlan, type PolicyRequest } from '../../src/confinement/types.js'
import { Refusal } from '../../src/errors.js'

/** What `least-exec.mjs` reads. */
export interface BarePlan {
  readonly file: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  /** Files to open for the child, from descriptor 3 on. */
  readonly descriptors: readonly string[]
}

/** No grant beyond the workspace's own, every limit by default. */
export function requestFor(workspace: string, more: Partial<PolicyRequest> = {}): PolicyRequest {
  const none = { read: [], writeSubtrees: [], hide: [], unprotect: [], env: {}, limits: {}, controlFiles: [] }
  return { workspace, ...none, programs: null, ...more }
}

/** Our plan for `command` in `workspace`, its descriptors' bytes written to files in `scratch`. */
export async function barePlan(request: PolicyRequest, command: readonly string[], scratch: string): Promise<BarePlan> {
  const facts = await readHostFacts()
  const [boundary] = unrefused(chooseBoundary('auto', facts))
  if (boundary === undefined) throw new Error('no boundary to plan with')
  const plan = unrefused(planLaunch({ boundary, policy: landPolicy(request, facts), facts, command }))
  const { file, args, env } = plan
  return { file, args, env, descriptors: await descriptorsOf(plan, await which('prlimit'), scratch) }
}

async function descriptorsOf(plan: LaunchPlan, prlimit: string, scratch: string): Promise<string[]> {
  const seccomp = join(scratch, 'filter')
  await writeFile(seccomp, plan.seccomp)
  const paths = new Map<number, string>([
    [CHILD_FDS.seccomp, seccomp],
    [CHILD_FDS.first, prlimit],
  ])
  for (const { fd, bytes } of plan.files) {
    const path = join(scratch, `fed-${fd}`)
    await writeFile(path, bytes)
    paths.set(fd, path)
  }
  const last = Math.max(...paths.keys(), ...Object.values(CHILD_FDS))
  return Array.from({ length: last - 2 }, (_, index) => paths.get(index + 3) ?? '/dev/null')
}

/** Milliseconds of one launch by hand: descriptors opened, spawned, both streams read to their end. */
export async function bareLaunch({ file, args, env, descriptors }: BarePlan): Promise<number> {
  const start = performance.now()
  const opened = descriptors.map(path => openSync(path, path === '/dev/null' ? 'r+' : 'r'))
  const child = spawn(file, args, { env, stdio: ['ignore', 'pipe', 'pipe', ...opened] })
  for (const fd of opened) closeSync(fd)
  let said = ''
  child.stdio[1]?.resume()
  child.stdio[2]?.on('data', (chunk: Buffer) => {
    said += chunk.toString('utf8')
  })
  const status = await new Promise<number | null>((resolve, reject) => child.on('error', reject).on('close', resolve))
  if (status !== 0) throw new Error(`the plan started by hand ended with ${status}: ${said.slice(-400)}`)
  return performance.now() - start
}

function unrefused<Value>(value: Value | Refusal): Value {
  if (value instanceof Refusal) throw value
  return value
}
