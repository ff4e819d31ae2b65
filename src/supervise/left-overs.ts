/**
 * The third line behind the trees: what a run has launched outside of any boundary is on disk, so that when the run and its
 * guardian were both killed the next run ends what is left. Nothing is signalled for its number alone: the boot, the start
 * time and the unguessable cookie in its environment have to be those of the record.
 */
import { closeSync, ftruncateSync, readFileSync } from 'node:fs'
import { LEFT_OVER_BYTES_MAX } from '../bounds.js'
import { errnoOf } from '../errors.js'
import { COOKIE } from './cookie-sweep.js'
import { GUARD, guardCookie } from './guardian.js'
import { LeftOverFolder, writeLine } from './left-over-folder.js'
import { type LaunchLine, type LeftOverRecord, parseRecord, type RunLine } from './left-over-lines.js'
import { type ListedProcess, type ProcessLister, procLister } from './process-list.js'
import { ownStartTime, pidNamespaceOf, processState, signalled } from './processes.js'

/** What a record needs of the machine; tests give their own. */
export interface LeftOverHost {
  readonly list: ProcessLister
  /** Changes with every start of the machine; null where it cannot be told. */
  bootId(): string | null
  /** Of this process; null where there are none. */
  pidNamespace(): string | null
  /** Start time of a process, as the lister tells it; null when there is none. */
  startTime(pid: number): string | null
  kill(target: number): void
  readonly pid: number
}

/** Linux (proc_sys_kernel(5), `random/boot_id`). */
export const leftOverHost: LeftOverHost = {
  list: procLister,
  bootId: () => read(() => readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim()),
  pidNamespace: () => pidNamespaceOf('self'),
  startTime: pid => processState(pid)?.startTime ?? null,
  kill: target => void signalled(target, 'SIGKILL'),
  pid: process.pid,
}

function read(from: () => string): string | null {
  try {
    return from() || null
  } catch {
    return null
  }
}

/** A launch as it is recorded. */
export interface RecordedLaunch {
  readonly launchId: string
  readonly pid: number
  /** E.g. `hook`. */
  readonly purpose: string
}

export interface LaunchRecord {
  begin(launch: RecordedLaunch): void
  /** Its tree is gone. */
  end(launchId: string): void
  /** A clean end: removes the record where nothing of it runs any more. Calling it again does nothing. */
  close(): void
  /** Why nothing is recorded, with what that costs; null while everything is. */
  readonly problem: string | null
}

/** What a record that cannot be kept means for the run; it is no reason not to run. */
const COST = 'if this run and its guardian are both killed, what its hooks have started is not ended at the next start'

export interface RecordRequest {
  /** Absolute: `$XDG_STATE_HOME` or what stands in for it. Null: there is none (no home). */
  readonly stateHome: string | null
  /** 16 hex digits. */
  readonly runId: string
  readonly host?: LeftOverHost
}

/** Opens this run's record, `<stateHome>/b10x-harness/launches/<run id>.jsonl`. Never throws for what is on disk. */
export function openLaunchRecord(request: RecordRequest): LaunchRecord {
  const made = FileRecord.make(request)
  return made instanceof FileRecord ? made : { begin() {}, end() {}, close() {}, problem: `${made}: ${COST}` }
}

/** Well below what a reader takes; what runs at one time is far less. */
const REWRITTEN_BYTES = LEFT_OVER_BYTES_MAX / 4

class FileRecord implements LaunchRecord {
  problem: string | null = null
  readonly #running = new Map<string, LaunchLine>()
  #bytes: number
  #closed = false

  private constructor(
    private readonly folder: LeftOverFolder,
    private readonly fd: number,
    private readonly run: RunLine,
    private readonly firstBytes: number,
    private readonly host: LeftOverHost,
  ) {
    this.#bytes = firstBytes
    process.once('exit', this.#atExit)
  }

  /** A text says why there is none. */
  static make({ stateHome, runId, host = leftOverHost }: RecordRequest): FileRecord | string {
    const boot_id = host.bootId()
    if (boot_id === null) return 'launches are not recorded: this system does not tell its boot id'
    if (stateHome === null) return 'launches are not recorded: neither XDG_STATE_HOME nor HOME names a folder'
    const folder = LeftOverFolder.open(stateHome, 'make')
    if (!(folder instanceof LeftOverFolder)) return `launches are not recorded: ${folder ?? stateHome}`
    const run: RunLine = {
      version: 1,
      run_id: runId,
      pid: host.pid,
      start_time: host.startTime(host.pid) ?? ownStartTime(),
      boot_id,
      pid_namespace: host.pidNamespace(),
      cookie: guardCookie(),
      started_at: new Date().toISOString(),
    }
    let fd: number | undefined
    try {
      fd = folder.create(nameOf(runId))
      return new FileRecord(folder, fd, run, writeLine(fd, run), host)
    } catch (error) {
      const errno = errnoOf(error)
      if (errno === undefined) throw error
      if (fd !== undefined) {
        closeSync(fd)
        folder.remove(nameOf(runId))
      }
      const path = folder.pathOf(nameOf(runId))
      folder.close()
      return `launches are not recorded: ${path} cannot be written (${errno})`
    }
  }

  begin({ launchId, pid, purpose }: RecordedLaunch): void {
    const { boot_id, cookie } = this.run
    const start_time = this.host.startTime(pid) ?? '0'
    const started_at = new Date().toISOString()
    const line: LaunchLine = { launch_id: launchId, pid, start_time, boot_id, cookie, started_at, purpose }
    this.#running.set(launchId, line)
    this.#write(() => this.#append(line))
  }

  /** Lines of what has ended go when nothing runs, or when they are many: the record does not grow with the run. */
  end(launchId: string): void {
    this.#running.delete(launchId)
    if (this.#running.size > 0 && this.#bytes < REWRITTEN_BYTES) return
    this.#write(() => {
      ftruncateSync(this.fd, this.firstBytes)
      this.#bytes = this.firstBytes
      for (const line of this.#running.values()) this.#append(line)
    })
  }

  #append(line: LaunchLine): void {
    this.#bytes += writeLine(this.fd, line)
  }

  #write(how: () => void): void {
    if (this.#closed) return
    try {
      how()
    } catch (error) {
      const errno = errnoOf(error)
      if (errno === undefined) throw error
      this.problem ??= `${this.folder.pathOf(nameOf(this.run.run_id))} cannot be written (${errno}): ${COST}`
    }
  }

  readonly #atExit = (): void => this.close()

  close(): void {
    if (this.#closed) return
    this.#closed = true
    process.removeListener('exit', this.#atExit)
    if (this.#running.size === 0) this.folder.remove(nameOf(this.run.run_id))
    closeSync(this.fd)
    this.folder.close()
  }
}

function nameOf(runId: string): string {
  return `${runId}.jsonl`
}

export interface EndedLeftOver {
  readonly run_id: string
  /** Null where the process does not say it. */
  readonly launch_id: string | null
  readonly pid: number
}

export interface LeftOverReport {
  readonly ended: readonly EndedLeftOver[]
  /** One line for each record that was left as it is although its run is no more, and for what could not be ended. */
  readonly notes: readonly string[]
}

/** Records looked at in one go; more are named and wait for the next start. */
const RECORDS_MAX = 1_000
/** Looks for what is left; between them what was killed gets time to be gone. */
const LOOKS = 10
const LOOK_MS = 50

/**
 * Ends what runs that are no more have left, and removes their records. The record of a live run, and one of another pid
 * namespace (a container that shares the home), is left alone. Never rejects for what is on disk or in /proc.
 */
export async function endLeftOvers(
  stateHome: string | null,
  host: LeftOverHost = leftOverHost,
): Promise<LeftOverReport> {
  const folder = stateHome === null ? null : LeftOverFolder.open(stateHome, 'null')
  if (folder === null) return { ended: [], notes: [] }
  if (typeof folder === 'string') return { ended: [], notes: [`left-over records are not read: ${folder}`] }
  const report: { ended: EndedLeftOver[]; notes: string[] } = { ended: [], notes: [] }
  try {
    const names = folder.names().filter(name => /^[0-9a-f]{16}\.jsonl$/.test(name))
    if (names.length > RECORDS_MAX)
      report.notes.push(`of ${names.length} left-over records ${RECORDS_MAX} are looked at`)
    for (const name of names.slice(0, RECORDS_MAX)) await endOne(folder, name, host, report)
  } finally {
    folder.close()
  }
  return report
}

async function endOne(
  folder: LeftOverFolder,
  name: string,
  host: LeftOverHost,
  report: { ended: EndedLeftOver[]; notes: string[] },
): Promise<void> {
  const found = folder.read(name)
  if (found === null) return
  const record = 'text' in found ? parseRecord(found.text) : null
  if (record === null) {
    const why = 'problem' in found ? found.problem : 'is no record of ours'
    report.notes.push(`left-over record ${folder.pathOf(name)} ${why}: it is left alone; remove it`)
    return
  }
  const { run } = record
  const boot = host.bootId()
  if (boot === run.boot_id) {
    if (run.pid_namespace !== host.pidNamespace() || host.startTime(run.pid) === run.start_time) return
    const left = await endRun(record, host, report.ended)
    if (left.length > 0) {
      report.notes.push(`of run ${run.run_id} processes ${left.join(', ')} are left and could not be ended`)
      return
    }
  } else if (boot === null) return
  folder.remove(name)
}

/** Pids that are still alive in the end. */
async function endRun(record: LeftOverRecord, host: LeftOverHost, ended: EndedLeftOver[]): Promise<number[]> {
  const told = new Set<string>()
  for (let look = 0; ; look++) {
    const list = await host.list()
    const left = leftOf(record, list, host.pid)
    if (left.length === 0 || look === LOOKS) return left.map(({ pid }) => pid)
    // Asked of all before any is ended: a group takes others with it, and the dead say nothing.
    const saying = left.map(process => ({ ...process, launch_id: process.variable(COOKIE) }))
    for (const { pid, startTime, launch_id } of saying) {
      // The list is a moment old, and the number may be another's by now.
      if (host.startTime(pid) !== startTime) continue
      const key = `${pid} ${startTime}`
      if (!told.has(key)) ended.push({ run_id: record.run.run_id, launch_id, pid })
      told.add(key)
      if (record.launches.some(launch => launch.pid === pid && launch.start_time === startTime)) host.kill(-pid)
      host.kill(pid)
    }
    await new Promise(resolve => setTimeout(resolve, LOOK_MS))
  }
}

/** What carries the record's cookie, but for ourselves and what we come from: a run may have been started by a hook. */
function leftOf({ run }: LeftOverRecord, list: readonly ListedProcess[], self: number): readonly ListedProcess[] {
  const parents = new Map(list.map(({ pid, parent }) => [pid, parent]))
  const own = new Set<number>()
  for (let pid: number | undefined = self; pid !== undefined && pid > 0 && !own.has(pid); pid = parents.get(pid))
    own.add(pid)
  return list.filter(({ pid, alive, variable }) => alive && !own.has(pid) && variable(GUARD) === run.cookie)
}
