/** The part of `run` and `tools` that is the same: flags → policy request, boundary where asked for, reach, tools. */
import { type Boundary, type BoundaryRequest, openBoundary } from '../confinement/boundary.js'
import { readHostFacts } from '../confinement/host-facts.js'
import type { HostFacts, Policy } from '../confinement/types.js'
import { Refusal } from '../errors.js'
import type { Emit, HarnessEvent, StartedEvent } from '../events.js'
import { documentTools } from '../loop/document-tools.js'
import type { Documents } from '../loop/documents/documents.js'
import { withOwnedTools } from '../loop/owned-tools.js'
import { vainRules } from '../paths/write-scope.js'
import { closeInherited } from '../supervise/descriptors.js'
import type { FileReach } from '../tools/folders.js'
import type { ToolPort } from '../tools/port.js'
import { type EffectsPlace, makeToolPort } from '../tools/port-local.js'
import { confineChoice, requestOf } from './confinement-options.js'
import { documentWarnings, openDocuments } from './document-options.js'
import { HOOK_FLAGS } from './flag-rows/hooks.js'
import type { CommandName } from './flags.js'
import type { RunHooks } from './hook-options.js'
import type { Io } from './io.js'
import type { Given } from './parse.js'
import { fileReach } from './reach.js'
import { refuseUnheld } from './unheld.js'

export interface Surroundings {
  /** Null where confinement is off. */
  readonly boundary: Boundary | null
  readonly effects: EffectsPlace
  readonly reach: FileReach
  /** The port's tools, and behind them `skill` and `recall` where there are documents for them. */
  readonly tools: ToolPort
  readonly documents: Documents
  readonly programs: readonly string[]
  /** What the boundary was opened with, for one that is narrower; null where confinement is off. */
  readonly opening: Omit<BoundaryRequest, 'probe'> | null
  /** Null without `--hooks`. */
  readonly hooks: RunHooks | null
  /** For the record, once the run has started. */
  readonly warnings: readonly HarnessEvent[]
  close(): Promise<void>
}

export interface SurroundingsOptions {
  readonly command: CommandName
  readonly given: Given
  readonly io: Io
  readonly runId: string
  readonly emit: Emit
}

/** A named boundary is tried for real before anything else happens; without it the refusal is thrown. */
export async function openSurroundings({
  command,
  given,
  io,
  runId,
  emit,
}: SurroundingsOptions): Promise<Surroundings> {
  closeInherited()
  const programs = given.all('--allow-program')
  const documents = await openDocuments({ command, given, io })
  const confine = confineChoice(command, given)
  const asked = requestOf(given, io, programs)
  if (confine === 'off') refuseUnheld(given)
  const facts = await readHostFacts({ cgroupRoot: asked.cgroupRoot })
  // Loaded for those who have hooks alone: the audit of them is a large part of this program.
  const hooks = HOOK_FLAGS.some(({ name }) => given.has(name))
    ? await (await import('./hook-options.js')).openHooks({ command, given, io, facts, request: asked, runId })
    : null
  try {
    const request = { ...asked, controlFiles: [...asked.controlFiles, ...(hooks?.controlFiles ?? [])] }
    const opening = confine === 'off' ? null : { confine, request, facts, runId, onEvent: emit, kill: () => io.kill }
    const boundary = opening === null ? null : await opened(opening)
    const reach = fileReach({
      request,
      policy: boundary?.policy ?? null,
      writeScope: given.all('--write-scope'),
      cwd: io.cwd,
      facts,
    })
    const surface = given.one('--surface') === 'verbs' ? 'verbs' : 'flat'
    const effects = openOrClosed(boundary, given.all('--process-write-subtree'))
    const port = makeToolPort({ surface, reach, boundary: effects, programs })
    const tools = withOwnedTools(port, documentTools(documents))
    const close = async (): Promise<void> => {
      await boundary?.close()
      hooks?.close()
    }
    const warnings = [
      ...initWarning(facts),
      ...ownerWarning(boundary),
      ...scopeWarnings(given.all('--write-scope')),
      ...documentWarnings(documents),
      ...(hooks?.warnings ?? []),
    ]
    return { boundary, effects, reach, tools, documents, programs, opening, hooks, warnings, close }
  } catch (error) {
    hooks?.close()
    throw error
  }
}

/**
 * Node reaps what it has started and no orphan that the kernel gives to pid 1 (wait(2)). What runs in a boundary is reaped by
 * bubblewrap's init, for which bubblewrap itself does not wait.
 */
function initWarning({ pid1WithoutInit }: HostFacts): HarnessEvent[] {
  if (!pid1WithoutInit) return []
  const message =
    'pid 1 without an init: every launch leaves a defunct process until this run ends; start it under tini, or with docker run --init'
  return [{ kind: 'warning', code: 'no-init', message }]
}

/** What is done about the owner is part of what confines the run, so the record says it (case B17). */
function ownerWarning(boundary: Boundary | null): HarnessEvent[] {
  const owner = boundary?.policy.gitOwner ?? null
  if (owner === null) return []
  const message = `a repository of the workspace belongs to uid ${owner}, and not to the user of the processes: git is told to use it all the same, inside and for this run alone (safe.directory)`
  return [{ kind: 'warning', code: 'git-owner', message }]
}

/** A rule that matches nothing leaves open what it was to close. */
function scopeWarnings(rules: readonly string[]): HarnessEvent[] {
  return vainRules(rules).map(message => ({ kind: 'warning', code: 'write-scope', message }))
}

/** `writes`: folders that processes may write, as they were spelled. */
export function openOrClosed(boundary: Boundary | null, writes: readonly string[]): EffectsPlace {
  if (boundary === null) return { kind: 'closed', why: 'confinement is off (--confine auto turns it on)' }
  const hints = {
    writes,
    network: boundary.policy.network === null ? 'none' : 'allow-list',
    cwd: boundary.policy.workspace.path,
    landed: boundary.policy,
  } as const
  return { kind: 'open', launcher: boundary, hints, wallMs: boundary.policy.limits.wall }
}

export async function opened(options: Omit<BoundaryRequest, 'probe'>): Promise<Boundary> {
  const boundary = await openBoundary({ ...options, probe: 'now' })
  if (boundary instanceof Refusal) throw boundary
  return boundary
}

/** What the record tells of the driver and the toolchains. */
export function stagedFacts(policy: Policy | undefined): Pick<StartedEvent, 'toolchains' | 'driver'> {
  const [driver] = policy?.staged ?? []
  return {
    toolchains: (policy?.toolchains ?? []).map(({ name, root: source, sha256 }) => ({ name, source, sha256 })),
    ...(driver === undefined ? {} : { driver: { program: driver.path, sha256: driver.sha256 } }),
  }
}
