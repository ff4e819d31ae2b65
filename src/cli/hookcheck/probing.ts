/**
 * `--probe`: the hooks started for real, through what starts them in a run (`hooks/run.ts`), in a disposable workspace and a
 * private folder. Loaded only where it was asked for.
 */
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { HOOK_CONSULTATION_MS_DEFAULT } from '../../bounds.js'
import type { HooksTable } from '../../config/document.js'
import type { Finding } from '../../hookcheck/audit.js'
import type { AuditContext } from '../../hookcheck/context.js'
import type { ProbeFinding } from '../../hookcheck/probe-finding.js'
import { judgeProbes, timesOf } from '../../hookcheck/probe-judge.js'
import { type Ask, type AskOptions, probeHook, type Sample } from '../../hookcheck/probe-run.js'
import type { ProbeTimes, Skipped } from '../../hookcheck/report.js'
import { gatherHookHost, type HookHostRequest } from '../../hooks/hook-host.js'
import type { HookSpec, HooksDocument } from '../../hooks/hook-spec.js'
import type { HooksLock } from '../../hooks/lock.js'
import { prepareHooks } from '../../hooks/prepare.js'
import type { PreparedHook } from '../../hooks/prepared.js'
import { runHook } from '../../hooks/run.js'
import { randomHex } from '../../random.js'
import { systemClock } from '../../supervise/deadline.js'
import { closeInherited } from '../../supervise/descriptors.js'
import { launchHost } from '../../supervise/host-launch.js'
import { PrivateFolder } from '../../supervise/private-folder.js'
import type { Io } from '../io.js'

export interface ProbingRequest {
  readonly document: HooksDocument
  readonly context: AuditContext
  readonly lock: HooksLock | null
  readonly findings: readonly Finding[]
  readonly samples: readonly Sample[]
  readonly budgetMs: number
  /** Probe hooks whose files did not pass, too. */
  readonly anyway: boolean
  readonly compare: boolean
  readonly host: Omit<HookHostRequest, 'tmpdir'>
  /** `[hooks]` of the configuration file, as a run takes it. */
  readonly hooks: HooksTable
  readonly io: Pick<Io, 'env' | 'stop' | 'kill'>
}

export interface Probed {
  readonly findings: readonly (ProbeFinding & { readonly hook: HookSpec })[]
  readonly times: ReadonlyMap<number, ProbeTimes>
  readonly runs: number
  readonly skipped: readonly Skipped[]
}

const REPEATS = 7
/** Rules about what is run and who can change it: a program that fails them is not started to see what it does. */
const OF_ITS_FILES = /^HC(?:3|4)\d\d$|^HC10[56]$/

export async function probeHooks(request: ProbingRequest): Promise<Probed> {
  closeInherited()
  const roots = request.context.writeSet.places.filter(({ kind }) => kind === 'root').map(({ landed }) => landed)
  const folder = PrivateFolder.make({ outside: roots })
  try {
    return await probeIn(folder.path, request)
  } finally {
    folder.remove()
  }
}

async function probeIn(folder: string, request: ProbingRequest): Promise<Probed> {
  const { document, lock, context, budgetMs, hooks, io } = request
  const reap = hooks.reap ?? 'group'
  mkdirSync(join(folder, 'home'), { mode: 0o700 })
  const workspace = makeWorkspace(folder)
  const host = gatherHookHost({ ...request.host, tmpdir: folder })
  const prepared = prepareHooks({
    document,
    host,
    lock,
    names: hooks.env,
    reap,
  })
  const until = systemClock.now() + budgetMs
  const findings: (ProbeFinding & { hook: HookSpec })[] = []
  const times = new Map<number, ProbeTimes>()
  const skipped: Skipped[] = []
  let runs = 0
  for (const [at, spec] of document.hooks.entries()) {
    const hook = prepared.hooks[at]
    if (hook === undefined) throw new Error(`hook ${spec.index} was not prepared`)
    const failed = request.findings.find(finding => isAgainst(finding, spec))
    if (failed !== undefined && !request.anyway) {
      skipped.push({
        rule: 'HC9xx',
        reason: `hook ${spec.index} was not probed: ${failed.rule} (--probe-anyway starts it all the same)`,
      })
      continue
    }
    const results = await probeHook({
      hook: spec,
      run: { runId: randomHex(8), sessionId: null, workspace },
      ask: asker(placed(hook, context, workspace), {
        ...{ env: io.env, stop: io.stop, kill: io.kill, workspace },
        ...{ reap, timeoutMs: hooks.timeoutMs },
      }),
      clock: systemClock,
      until,
      samples: request.samples,
      ...marker(folder),
      workspaceDigest: () => digestOf(workspace),
      times: REPEATS,
      compared: request.compare ? Object.keys(io.env).filter(name => !Object.hasOwn(hook.env, name)) : null,
      stop: io.stop,
    })
    runs += results.runs
    const why = results.silent ? 'it answers nothing in its time' : 'the time for all probes was over'
    for (const probe of results.skipped)
      skipped.push({ rule: 'HC9xx', reason: `hook ${spec.index}: ${probe} was left out, ${why}` })
    const took = timesOf(results)
    if (took !== null) times.set(spec.index, took)
    const starts = !request.findings.some(
      ({ hook: of, rule, severity }) => of === spec.index && severity === 'error' && /^HC(?:2|4)/.test(rule),
    )
    findings.push(
      ...judgeProbes(results, {
        timeoutMs: Math.min(
          spec.timeoutMs ?? HOOK_CONSULTATION_MS_DEFAULT,
          hooks.timeoutMs ?? Number.POSITIVE_INFINITY,
        ),
        startsByTheAudit: starts,
      }).map(found => ({
        ...found,
        hook: spec,
      })),
    )
  }
  return { findings, times, runs, skipped }
}

function isAgainst({ hook, rule, severity }: Finding, { index }: HookSpec): boolean {
  return severity === 'error' && (hook === null || hook === index) && OF_ITS_FILES.test(rule)
}

/** A working folder that the agent can write is not entered: the disposable one stands in for it. */
function placed(hook: PreparedHook, { walk, reach }: AuditContext, workspace: string): PreparedHook {
  return reach(walk(hook.cwd)) === null ? hook : { ...hook, cwd: workspace }
}

interface AskSeams {
  readonly env: NodeJS.ProcessEnv
  readonly stop: AbortSignal
  readonly kill: AbortSignal
  readonly workspace: string
  readonly reap: 'group' | 'namespace'
  /** Null: the hook's own alone. */
  readonly timeoutMs: number | null
}

/** Asks `hook` as a run does, but for the bytes of the document. */
function asker(hook: PreparedHook, { env, stop, kill, workspace, reap, timeoutMs }: AskSeams): Ask {
  return async (bytes, options = {}) => {
    const asked = options.environment === 'whole' ? { ...hook, env: wholeEnvironment(env, options) } : hook
    const signal = options.signal === undefined ? stop : AbortSignal.any([stop, options.signal])
    const moment = { signal, emit: () => {} }
    const { verdict, outcome } = await runHook(asked, {}, moment, {
      // Launches of one machine are told apart by this.
      run: { runId: randomHex(8), sessionId: null, workspace },
      timeoutMs,
      reap,
      kill: () => kill,
      launch: plan => launchHost({ ...plan, stdin: bytes }),
    })
    return { decision: verdict.decision, reasonSource: verdict.reasonSource, outcome }
  }
}

function wholeEnvironment(env: NodeJS.ProcessEnv, { without = [] }: AskOptions): Readonly<Record<string, string>> {
  const left = Object.entries(env).filter(([name, value]) => value !== undefined && !without.includes(name))
  return Object.fromEntries(left) as Record<string, string>
}

function makeWorkspace(folder: string): string {
  const workspace = join(folder, 'workspace')
  mkdirSync(join(workspace, 'src'), { recursive: true, mode: 0o700 })
  writeFileSync(join(workspace, 'README.md'), 'hello\n')
  writeFileSync(join(workspace, 'src', 'main.txt'), 'hello\n')
  return workspace
}

function marker(folder: string): { readonly marker: string; readonly takeMarker: () => boolean } {
  const path = join(folder, `marker-${randomHex(4)}`)
  return {
    marker: path,
    takeMarker: () => {
      const there = existsSync(path)
      rmSync(path, { force: true, recursive: true })
      return there
    },
  }
}

function digestOf(workspace: string): string {
  const hash = createHash('sha256')
  for (const name of (readdirSync(workspace, { recursive: true }) as string[]).sort()) {
    const path = join(workspace, name)
    const stat = statSync(path, { throwIfNoEntry: false })
    hash.update(`${name}\0${stat?.size ?? -1}\0${stat?.mode ?? -1}\0`)
    if (stat?.isFile() === true) hash.update(readFileSync(path))
  }
  return hash.digest('hex')
}
