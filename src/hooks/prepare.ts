/**
 * A hooks file → hooks that can be started: each program found as a start finds it, its code recorded, its pins compared,
 * its environment built. After this a hook starts what was recorded, or it does not start.
 */
import type { ControlPath } from '../paths/control-files.js'
import { askingOnce } from '../paths/file-view.js'
import { type Closure, type ClosureMember, closureFiles, closureOf } from './closure.js'
import type { HookHost } from './hook-host.js'
import type { HookSpec, HooksDocument } from './hook-spec.js'
import { type HooksLock, type Pins, pinsOf } from './lock.js'
import type { PreparedHook } from './prepared.js'
import { type ProgramHost, programHost } from './program.js'
import { describedFault, readiness, unpinned } from './readiness.js'
import { type MemberSnapshot, snapshotClosure } from './snapshot.js'

export interface PrepareRequest {
  readonly document: HooksDocument
  readonly host: HookHost
  /** Pins kept beside the file; null: none. */
  readonly lock: HooksLock | null
  /** `--hook-env` and `[hooks] env`: passed to every hook. */
  readonly names: readonly string[]
  readonly reap: 'group' | 'namespace'
}

export interface PreparedHooks {
  /** In the order of the file. */
  readonly hooks: readonly PreparedHook[]
  /** The code of all hooks: no confined process may write it. */
  readonly controlFiles: readonly ControlPath[]
  /** Hooks that will not start, by name, and why. Each fails wherever it is asked. */
  readonly unstartable: readonly Unstartable[]
}

export interface Unstartable {
  /** 1-based. */
  readonly hook: number
  readonly name: string
  /** The rule of hookcheck that tells it. */
  readonly rule: 'HC001' | 'HC204' | 'HC802'
  readonly why: string
}

export function prepareHooks(request: PrepareRequest): PreparedHooks {
  const { document, host } = request
  const programs = programHost(askingOnce(host.view), host.machine)
  const digests = new Map<string, string>()
  const closures: Closure[] = []
  const unstartable: Unstartable[] = []
  const hooks = document.hooks.map(spec => {
    const cwd = spec.cwd ?? document.folder
    const closure = closureOf(spec.command, { host: programs, path: host.path.path, cwd, home: host.home })
    closures.push(closure)
    const found = startable(spec, closure, { ...request, programs, digests })
    const name = nameOf(spec)
    if ('why' in found) unstartable.push({ hook: spec.index, name, ...found })
    return preparedHook(spec, found, { ...request, cwd, name })
  })
  return { hooks, controlFiles: closureFiles(closures), unstartable }
}

export function nameOf({ name, index }: Pick<HookSpec, 'name' | 'index'>): string {
  return name ?? `hook-${index}`
}

/** A program that was found, and what it was. */
interface Startable {
  /** Links not followed. */
  readonly argv0: string
  readonly program: ClosureMember
  readonly snapshots: readonly MemberSnapshot[]
  readonly pins: Pins
}

function startable(
  spec: HookSpec,
  closure: Closure,
  seams: PrepareRequest & { readonly programs: ProgramHost; readonly digests: Map<string, string> },
): Startable | Pick<Unstartable, 'rule' | 'why'> {
  const { resolution, members } = closure
  const [program] = members
  if (resolution.kind === 'problem' || program === undefined) {
    return { rule: 'HC204', why: notFound(spec, seams.host, closure) }
  }
  const { problem } = resolution.chain
  if (problem !== null) {
    return { rule: 'HC204', why: `${shown(problem.path)} cannot be started (${problem.errno}, ${problem.why})` }
  }
  const pins = pinsOf(spec, program.path, seams.lock)
  const known = new Set(members.flatMap(({ path, named }) => [path, named]))
  const beyond = Object.keys(pins).filter(path => !known.has(path))
  const pinned = beyond.map(path => pinnedMember(path, seams.programs))
  const snapshots = snapshotClosure({ members: [...members, ...pinned] }, seams.host.view, seams.digests)
  if ('what' in snapshots) return { rule: 'HC001', why: describedFault(snapshots) }
  const wrong = unpinned(pins, snapshots, [...members, ...pinned])
  if (wrong !== null) return { rule: 'HC802', why: wrong }
  return { argv0: resolution.path, program, snapshots, pins }
}

/** The kernel takes a carriage return for a part of the interpreter's name, and no terminal shows it. */
function shown(path: string): string {
  return path.endsWith('\r') ? `${JSON.stringify(path)}, named by a first line that ends in CR LF,` : path
}

function notFound({ command }: HookSpec, { path }: HookHost, { resolution }: Closure): string {
  const [word] = command
  if (resolution.kind !== 'problem') return `${word} has no code that could be looked at`
  if (resolution.problem === 'relative') return `${word} is relative: what it means depends on the working folder`
  if (resolution.problem === 'not-found') return `${word} is in no folder of the PATH of hooks, which is ${path.path}`
  return `which program ${word} is cannot be told (${resolution.errno})`
}

/** A pinned file that the closure does not know of, such as a list of rules: pinned is pinned. */
function pinnedMember(path: string, programs: ProgramHost): ClosureMember {
  const inspected = programs.inspect(path, '/')
  return { role: 'argument', named: path, path: inspected.facts?.path ?? path, facts: inspected.facts, inspected }
}

function preparedHook(
  spec: HookSpec,
  found: Startable | Pick<Unstartable, 'why'>,
  { host, names, reap, cwd, name }: PrepareRequest & { readonly cwd: string; readonly name: string },
): PreparedHook {
  const [command0, ...args] = spec.command
  return {
    name,
    on: spec.on,
    tools: spec.tools,
    command0,
    argv0: 'why' in found ? command0 : found.argv0,
    args,
    cwd,
    timeoutMs: spec.timeoutMs,
    env: host.environment([...names, ...spec.env]),
    ready: 'why' in found ? () => ({ fault: found.why }) : readiness(found, { host, reap }),
  }
}
