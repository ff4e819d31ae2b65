/**
 * A control group for one launch: limits that bind a whole tree, and what the kernel counted. Version 2 where a delegated
 * folder is known, else the singly mounted controllers of version 1 (kernel: admin-guide/cgroup-v2, cgroup-v1/{pids,memory,cpuacct}).
 */
import { mkdirSync, promises, readdirSync, rmdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { errnoOf } from '../errors.js'
import type { AppliedLimit } from '../outcome.js'
import {
  ownStartTime,
  pidNamespaceOf,
  processIds,
  processState,
  procIsOurs,
  signalled,
} from '../supervise/processes.js'
import { CONTROLLERS, type ControllerName, type GroupCounts, NO_COUNTS, readGroupFile } from './cgroup-controllers.js'
import type { LaunchPlan } from './types.js'

export { type GroupCounts, NO_COUNTS }

/** Rmdir answers EBUSY for a moment after the last member is gone. */
const REMOVE_TRIES = 200
const REMOVE_PAUSE_MS = 5

/**
 * Pid, start time and pid namespace of the owner, then the launch. A group is one folder for every container that has the
 * hierarchy, and a pid of another namespace says nothing here.
 */
const NAME = /^harness-(\d+)-(\d+)-(\d+)-/
/** Stands in the name where there are no pid namespaces. */
const NO_NAMESPACE = '0'

type Folders = ReadonlyMap<ControllerName, string>
type Limits = readonly AppliedLimit[]
type Grouped = Pick<LaunchPlan, 'cgroup' | 'limits' | 'landlock'>

/**
 * How a launch comes into its group. `inherited`: our thread goes in, starts it and comes out again; version 1 moves a
 * thread that moves itself at once. `attached`: the process is moved, for which the kernel stops all forks and exits of the
 * machine for a moment (10 to 30 ms where that is rare); version 2 has no other way that Node can go.
 */
type Entry = 'inherited' | 'attached'

/** Processes in the group that are not the command's: bwrap and its init, or the init alone. Under Landlock it is the warden. */
const OWN_PROCESSES: Readonly<Record<Entry, number>> = { inherited: 2, attached: 1 }
const OWN_OF_LANDLOCK = 1

export class LaunchGroup {
  private constructor(
    private readonly folders: Folders,
    private readonly limits: Limits,
    private readonly entry: Entry,
    private readonly own: number,
  ) {}

  /**
   * Makes the groups a plan names; null where it names none. Throws the system's error, with nothing left behind: a limit
   * that the plan says is applied must be.
   */
  static make({ cgroup, limits, landlock }: Grouped, launchId: string): LaunchGroup | null {
    const parents = parentsOf(cgroup)
    if (parents.length === 0) return null
    for (const [, parent] of parents) removeStaleOnce(parent)
    const membership = readGroupFile('/proc/self', 'cgroup') ?? ''
    const entry = parents.every(([controller, parent]) => controller !== 'v2' && isHome(parent, membership))
      ? 'inherited'
      : 'attached'
    const own = landlock === undefined ? OWN_PROCESSES[entry] : OWN_OF_LANDLOCK
    const name = `harness-${process.pid}-${ownStartTime()}-${ownNamespace()}-${launchId}`
    const folders = new Map<ControllerName, string>()
    try {
      for (const [controller, parent] of parents) {
        const folder = join(parent, name)
        mkdirSync(folder)
        folders.set(controller, folder)
      }
      if (entry === 'attached') writeLimits(folders, limits, own)
    } catch (error) {
      for (const folder of folders.values()) removeNow(folder)
      throw error
    }
    return new LaunchGroup(folders, limits, entry, own)
  }

  /**
   * Runs `spawn`, which must not wait, so that what it starts is in the group where that can be inherited. The limits are
   * written after we are out again, because they are not for us; what was started is held meanwhile. Throws where we cannot
   * go in, come out, or write them. `later`: {@link limit} writes them.
   */
  started<Child>(spawn: () => Child, limits: 'now' | 'later' = 'now'): Child {
    if (this.entry === 'attached') return spawn()
    const folders = [...this.folders.values()]
    try {
      for (const folder of folders) moveOurThread(folder)
      return spawn()
    } finally {
      for (const folder of folders) moveOurThread(dirname(folder))
      if (limits === 'now') this.#write()
    }
  }

  /**
   * Writes the limits that were left for later, and counts from here on: what ran before was not the command's. Throws where it
   * cannot be done. What is attached was never in the group before.
   */
  limit(): void {
    if (this.entry === 'attached') return
    this.#write()
    for (const [controller, folder] of this.folders) {
      const { resets } = CONTROLLERS[controller]
      if (resets !== undefined) writeFileSync(join(folder, resets), '0')
    }
  }

  #write(): void {
    writeLimits(this.folders, this.limits, this.own)
  }

  /**
   * Puts a process in that was not started in it; what it starts from then on is in it too. Rejects where that cannot be
   * done. Off the event loop, because it can take long.
   */
  async enter(pid: number): Promise<void> {
    if (this.entry === 'inherited') return
    // Through node:fs, which loads its promises with their first use: most launches have none.
    await Promise.all(
      [...this.folders.values()].map(folder => promises.writeFile(join(folder, 'cgroup.procs'), String(pid))),
    )
  }

  /**
   * Puts what `pid` started before it was in the group into it too. `pid` and its one child are in where each group has two
   * members; only else the child is looked for.
   */
  async enterChildren(pid: number): Promise<void> {
    if (this.entry === 'inherited' || [...this.folders.values()].every(folder => members(folder).length > 1)) return
    for (const child of processIds().filter(other => processState(other)?.parent === pid)) await this.enter(child)
  }

  /** Pids in the group now. */
  members(): number[] {
    const [folder] = this.folders.values()
    return folder === undefined ? [] : members(folder)
  }

  counts(): GroupCounts {
    let counts = NO_COUNTS
    for (const [controller, folder] of this.folders) counts = { ...counts, ...CONTROLLERS[controller].count(folder) }
    return counts
  }

  /** Removes the groups; false where one is still busy after a second. */
  async remove(): Promise<boolean> {
    for (let tries = 0; tries < REMOVE_TRIES; tries++) {
      if ([...this.folders.values()].filter(folder => !removeNow(folder)).length === 0) return true
      await new Promise(resolve => setTimeout(resolve, REMOVE_PAUSE_MS))
    }
    return false
  }
}

function parentsOf({ v2, v1 = {} }: LaunchPlan['cgroup']): [ControllerName, string][] {
  if (v2 !== undefined) return [['v2', v2]]
  return (['pids', 'memory', 'cpuacct'] as const).flatMap(name => {
    const parent = v1[name]
    return parent === undefined ? [] : [[name, parent] satisfies [ControllerName, string]]
  })
}

/** `0` is whoever writes it (kernel: admin-guide/cgroup-v1/cgroups, "tasks"). */
function moveOurThread(folder: string): void {
  writeFileSync(join(folder, 'tasks'), '0')
}

const homes = new Map<string, boolean>()

/** Whether `parent` is the group we are in, so that coming out of a group below it brings us back. Asked again once we were moved. */
function isHome(parent: string, membership: string): boolean {
  const key = `${parent}\n${membership}`
  const known = homes.get(key)
  if (known !== undefined) return known
  const home = members(parent).includes(process.pid)
  homes.set(key, home)
  return home
}

function writeLimits(folders: Folders, limits: Limits, own: number): void {
  for (const { name, value, mechanism } of limits) {
    if (!mechanism.startsWith('cgroup') || (name !== 'memory' && name !== 'pids')) continue
    const written = name === 'pids' ? value + own : value
    for (const [controller, folder] of folders) {
      for (const { file, optional: mayMiss } of CONTROLLERS[controller].limits[name] ?? []) {
        if (mayMiss && readGroupFile(folder, file) === null) continue
        writeFileSync(join(folder, file), String(written))
      }
    }
  }
}

/** Pids in the group. One of another pid namespace is told as 0 (cgroups(7)), which to kill(2) is our own process group. */
function members(folder: string): number[] {
  return (readGroupFile(folder, 'cgroup.procs') ?? '')
    .split('\n')
    .map(Number)
    .filter(pid => pid > 0)
}

function ownNamespace(): string {
  return pidNamespaceOf('self') ?? NO_NAMESPACE
}

/** True when the folder is gone. */
function removeNow(folder: string): boolean {
  try {
    rmdirSync(folder)
    return true
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return true
    if (errnoOf(error) === 'EBUSY') return false
    throw error
  }
}

const cleaned = new Set<string>()

function removeStaleOnce(parent: string): void {
  if (cleaned.has(parent)) return
  cleaned.add(parent)
  removeStale(parent)
}

/**
 * Ends what is left in groups whose owner is gone, and removes them. Returns the folders removed. Groups of another pid
 * namespace are left alone, because nobody here can say whether their owner lives.
 */
export function removeStale(parent: string): string[] {
  if (!procIsOurs()) return []
  const here = ownNamespace()
  return readdirSync(parent).flatMap(name => {
    const [, pid, startTime, namespace] = NAME.exec(name) ?? []
    if (pid === undefined || namespace !== here) return []
    if (processState(Number(pid))?.startTime === startTime) return []
    const folder = join(parent, name)
    for (const member of members(folder)) signalled(member, 'SIGKILL')
    return removeNow(folder) ? [folder] : []
  })
}
