/**
 * Which file a command's first word means, found as the spawn finds it, and whether the kernel starts it. The absolute
 * result is what is spawned, so that what was judged is what runs.
 *
 * The search is glibc's (exec(3), execvp): a match that is missing, no folder on the way, not permitted, *or whose interpreter
 * is missing* is passed over for the next entry, while a file without a format is taken and handed to a shell.
 */
import type { FileView, PathFacts, Unseen } from '../paths/file-view.js'
import { isUnseen } from '../paths/file-view.js'
import { type ElfLoading, readElf } from '../supervise/elf.js'
import { FIRST_BYTES, formatOf, type Machine, type ProgramFormat } from '../supervise/program-format.js'
import { type BinfmtHandler, handlerOf, readHandlers } from './binfmt.js'
import { openLanded, type StepWalk, walkSteps } from './steps.js'

/** One file as a program start sees it. */
export interface Inspected {
  readonly walk: StepWalk
  /** Of the opened file, or of lstat(2) where it cannot be opened; null where the path does not land. */
  readonly facts: PathFacts | null
  /** Null: no regular file, or not read. */
  readonly format: ProgramFormat | null
  /** The beginning of the file, for the kernel's handlers; empty where it was not read. */
  readonly first: Uint8Array
  /** What an ELF file loads; null for every other file and where it cannot be told. */
  readonly elf: ElfLoading | null
  /** Why the content is not known; null: it is. EACCES on an execute-only file. */
  readonly unread: Unseen | null
}

/** A filesystem and a machine on which programs are looked at; each file is opened once. */
export interface ProgramHost {
  readonly view: FileView
  readonly machine: Machine
  inspect(path: string, cwd: string): Inspected
  /** The kernel's handler for a file without a format of its own; null: none is needed, or there is none. */
  handlerOf(inspected: Inspected): BinfmtHandler | null
}

/** `view` is best one that asks once (`askingOnce`). */
export function programHost(view: FileView, machine: Machine = process): ProgramHost {
  const known = new Map<string, Inspected>()
  let handlers: readonly BinfmtHandler[] | null = null
  const table = (): readonly BinfmtHandler[] => {
    handlers ??= machine.platform === 'linux' ? readHandlers(view) : []
    return handlers
  }
  const inspect = (path: string, cwd: string): Inspected => {
    const key = path.startsWith('/') ? path : `${cwd}/${path}`
    const before = known.get(key)
    if (before !== undefined) return before
    const inspected = look(walkSteps(path, cwd, view), view, machine)
    known.set(key, inspected)
    return inspected
  }
  const ofKernel = ({ facts, format, first }: Inspected): BinfmtHandler | null => {
    const foreign = format?.kind === 'other' || format?.kind === 'pe' || (format?.kind === 'elf' && !format.runsHere)
    return foreign && facts !== null ? handlerOf(table(), facts.path, first) : null
  }
  return { view, machine, inspect, handlerOf: ofKernel }
}

const NO_BYTES = new Uint8Array()

function look(walk: StepWalk, view: FileView, machine: Machine): Inspected {
  const nothing = { walk, facts: null, format: null, first: NO_BYTES, elf: null, unread: null }
  const { end } = walk
  if (end.kind !== 'landed') return nothing
  if (end.facts.type !== 'file') return { ...nothing, facts: end.facts }
  const file = openLanded(walk, view)
  if (isUnseen(file)) return { ...nothing, facts: end.facts, unread: file }
  try {
    const first = file.read(0, FIRST_BYTES)
    if (isUnseen(first)) return { ...nothing, facts: file.facts, unread: first }
    const format = formatOf(first, machine)
    const read = (offset: number, bytes: number): Uint8Array | null => {
      const range = file.read(offset, bytes)
      return isUnseen(range) ? null : range
    }
    const elf = format.kind === 'elf' ? readElf(read) : null
    return { walk, facts: file.facts, format, first, elf, unread: null }
  } finally {
    file.close()
  }
}

/** What execve(2) says about a walk that does not land; null: it does. */
export function errnoOfWalk({ end }: StepWalk): string | null {
  switch (end.kind) {
    case 'landed':
      return null
    case 'missing':
      return 'ENOENT'
    case 'not-a-folder':
      return 'ENOTDIR'
    case 'too-many-links':
      return 'ELOOP'
    case 'unseen':
      return end.errno
  }
}

/** Why the kernel does not start a file, with the errno it answers. */
export interface StartProblem {
  readonly errno: string
  readonly why:
    | 'unreachable'
    | 'no-file'
    | 'not-executable'
    | 'no-format'
    | 'foreign-machine'
    | 'no-interpreter'
    | 'interpreter-fails'
    | 'too-deep'
    | 'loader-fails'
  /** The file it is said of: the program, or one of its interpreters or loader. */
  readonly path: string
}

/** A file of the chain: the program first, then what the kernel starts in its place. */
export interface ChainLink {
  /** As the link before it names it. */
  readonly named: string
  readonly inspected: Inspected
  readonly role: 'program' | 'interpreter' | 'loader'
  /** What the kernel starts it through, beside `#!`. */
  readonly handler: BinfmtHandler | null
}

export interface Chain {
  readonly links: readonly ChainLink[]
  /** Null: the kernel starts it, as far as can be told. */
  readonly problem: StartProblem | null
}

/** A chain of five script files ran, six gave ELOOP (Linux; execve(2) speaks of four recursions). */
export const SCRIPTS_MAX = 5

/** Follows interpreters and the loader as execve(2) does. */
export function chainOf(path: string, cwd: string, host: ProgramHost): Chain {
  const links: ChainLink[] = []
  let named = path
  for (let scripts = 0; ; scripts++) {
    const inspected = host.inspect(named, cwd)
    const handler = host.handlerOf(inspected)
    const link: ChainLink = { named, inspected, role: scripts === 0 ? 'program' : 'interpreter', handler }
    links.push(link)
    const problem = ownProblem(link, scripts === 0 ? 'unreachable' : 'interpreter-fails', host)
    if (problem !== null) return { links, problem }
    const { format, elf } = inspected
    const next = handler === null ? (format?.kind === 'script' ? format.interpreter : null) : handler.interpreter
    if (next === null) return withLoader({ links, problem: null }, elf, cwd, host)
    if (scripts === SCRIPTS_MAX) return { links, problem: { errno: 'ELOOP', why: 'too-deep', path: named } }
    named = next
  }
}

/** What is wrong with this file alone. */
function ownProblem(
  { named, inspected, handler }: ChainLink,
  missing: StartProblem['why'],
  { view }: ProgramHost,
): StartProblem | null {
  const { walk, facts, format } = inspected
  const path = facts?.path ?? named
  const errno = errnoOfWalk(walk)
  if (errno !== null || facts === null) return { errno: errno ?? 'ENOENT', why: missing, path }
  if (facts.type !== 'file') return { errno: 'EACCES', why: 'no-file', path }
  const mayExecute = view.mayExecute(path)
  if (isUnseen(mayExecute)) return { errno: mayExecute.errno, why: 'not-executable', path }
  if (handler !== null || format === null) return null
  if (format.kind === 'script') {
    return format.nameIsCut || format.interpreter === '' ? { errno: 'ENOEXEC', why: 'no-interpreter', path } : null
  }
  if (format.kind === 'elf' || format.kind === 'mach-o')
    return format.runsHere ? null : { errno: 'ENOEXEC', why: 'foreign-machine', path }
  return { errno: 'ENOEXEC', why: 'no-format', path }
}

function withLoader(chain: Chain, elf: ElfLoading | null, cwd: string, host: ProgramHost): Chain {
  if (elf === null || elf.loader === null) return chain
  const link: ChainLink = {
    named: elf.loader,
    inspected: host.inspect(elf.loader, cwd),
    role: 'loader',
    handler: null,
  }
  const links = [...chain.links, link]
  const problem = ownProblem(link, 'loader-fails', host)
  return { links, problem: problem === null ? null : { ...problem, why: 'loader-fails' } }
}

/** A file that the search came by. */
export interface Match {
  /** The PATH entry and the name. */
  readonly path: string
  /** `taken`: this one is started. `passed-over`: execvp goes on to the next. `shadowed`: a match further back. */
  readonly verdict: 'taken' | 'passed-over' | 'shadowed'
  readonly problem: StartProblem | null
}

export type Resolution =
  | {
      readonly kind: 'found'
      /** What is spawned: absolute, links not followed, because programs look at their own name. */
      readonly path: string
      readonly chain: Chain
      readonly matches: readonly Match[]
    }
  | {
      readonly kind: 'problem'
      /** `unknown`: it cannot be told which file would run. */
      readonly problem: 'empty' | 'nul' | 'relative' | 'not-found' | 'unknown'
      readonly path: string
      readonly errno: string
      readonly matches: readonly Match[]
    }

export interface ResolveContext {
  /** The PATH of the child; null: unset, where the C library has a default of its own. */
  readonly path: string | null
  /** Where the child starts: absolute. */
  readonly cwd: string
  readonly host: ProgramHost
}

/** confstr(3), _CS_PATH of glibc; posix_spawn of macOS has its own, which holds these two. */
const UNSET_PATH = '/bin:/usr/bin'
/** What execvp(3) of glibc goes on after. */
const PASSED_OVER: ReadonlySet<string> = new Set(['ENOENT', 'ENOTDIR', 'EACCES', 'ESTALE', 'ENODEV', 'ETIMEDOUT'])

/** Finds the file that the first word of a command means. */
export function resolveProgram(word: string, { path, cwd, host }: ResolveContext): Resolution {
  const refuse = (problem: Extract<Resolution, { kind: 'problem' }>['problem'], errno: string): Resolution => ({
    kind: 'problem',
    problem,
    path: word,
    errno,
    matches: [],
  })
  if (word === '') return refuse('empty', 'ENOENT')
  if (word.includes('\0')) return refuse('nul', 'EINVAL')
  if (word.startsWith('/')) return { kind: 'found', path: word, chain: chainOf(word, cwd, host), matches: [] }
  if (word.includes('/')) return refuse('relative', 'ENOENT')
  return search(word, (path ?? UNSET_PATH).split(':'), cwd, host)
}

function search(name: string, folders: readonly string[], cwd: string, host: ProgramHost): Resolution {
  const matches: Match[] = []
  let found: { readonly path: string; readonly chain: Chain } | null = null
  let errno = 'ENOENT'
  for (const folder of folders) {
    // An empty entry means the working folder, as a relative one does (exec(3)).
    const absolute = folder.startsWith('/') ? folder : [cwd, folder].filter(part => part !== '').join('/')
    const path = `${absolute === '/' ? '' : absolute.replace(/\/+$/, '')}/${name}`
    const chain = chainOf(path, cwd, host)
    const { problem } = chain
    if (problem?.why === 'unreachable' && (problem.errno === 'ENOENT' || problem.errno === 'ENOTDIR')) continue
    if (found !== null) {
      matches.push({ path, verdict: 'shadowed', problem })
    } else if (problem !== null && PASSED_OVER.has(problem.errno)) {
      matches.push({ path, verdict: 'passed-over', problem })
      errno = problem.errno
    } else if (problem !== null && problem.why === 'unreachable') {
      // ELOOP, EIO and their like end the search of execvp: which file is meant cannot be told.
      matches.push({ path, verdict: 'passed-over', problem })
      return { kind: 'problem', problem: 'unknown', path, errno: problem.errno, matches }
    } else {
      matches.push({ path, verdict: 'taken', problem })
      found = { path, chain }
    }
  }
  if (found !== null) return { kind: 'found', ...found, matches }
  return { kind: 'problem', problem: 'not-found', path: name, errno, matches }
}
