/**
 * The closure of a hook: every file whose bytes decide what it does. The program and what the kernel starts in its place,
 * what wrappers and `env` start, the script an interpreter is given, the modules it is told to load, and the start-up files
 * it reads by itself. One list for the audit, the pins and the run's control files.
 */
import type { ControlPath } from '../paths/control-files.js'
import type { PathFacts } from '../paths/file-view.js'
import { codeOf, type NamedCode } from './interpreters.js'
import {
  type Chain,
  type ChainLink,
  type Inspected,
  type ProgramHost,
  type Resolution,
  resolveProgram,
} from './program.js'
import { startUpFiles } from './start-up-files.js'
import { type Unwrapped, unwrap } from './wrappers.js'
import { landedPath } from './write-set.js'

export type MemberRole = 'program' | 'interpreter' | 'loader' | 'argument' | 'start-up'

export interface ClosureMember {
  readonly role: MemberRole
  /** As the command or the file before it names it. */
  readonly named: string
  /** Landed; as named where it does not land. */
  readonly path: string
  /** Null: nothing is there, or it cannot be told what. */
  readonly facts: PathFacts | null
  readonly inspected: Inspected
}

/** A name that a wrapper or `env` looks up when the hook runs. */
export interface LookUp {
  /** `env`, `timeout`, … */
  readonly wrapper: string
  /** The script whose first line names the wrapper; null: the command does. */
  readonly script: string | null
  readonly word: string
  readonly resolution: Resolution
}

export interface Closure {
  /** Of the command's first word. */
  readonly resolution: Resolution
  /** Without doubles. Empty only where the program was not found. */
  readonly members: readonly ClosureMember[]
  /** Every chain the kernel follows: the program's, then one for each look-up. */
  readonly chains: readonly Chain[]
  readonly lookUps: readonly LookUp[]
  /** The argv that is left when wrappers and first lines are resolved; its first word names what runs the code. */
  readonly argv: readonly string[]
  readonly code: NamedCode | null
  /** Folders in which ELF members look for libraries first, `$ORIGIN` replaced, and whose they are. */
  readonly libraryFolders: readonly { readonly of: string; readonly folder: string }[]
  /** A wrapper whose command cannot be told: what it starts is not in the closure. */
  readonly opaque: readonly string[]
  /** `NAME=VALUE` words by which `env` and its like set variables for the code, from the outside in. */
  readonly assigned: readonly string[]
}

export interface ClosureContext {
  readonly host: ProgramHost
  /** The scrubbed PATH. */
  readonly path: string | null
  /** Absolute. */
  readonly cwd: string
  /** HOME as the hook gets it; null: none. */
  readonly home: string | null
}

/** Wrappers around wrappers that are followed. */
const WRAPPERS_MAX = 8

/** Finds the closure of `command`. */
export function closureOf(command: readonly [string, ...string[]], context: ClosureContext): Closure {
  const collector = new Collector(context)
  const resolution = resolveProgram(command[0], context)
  if (resolution.kind === 'problem') return collector.closure(resolution, command)
  collector.follow(resolution.path, resolution.chain, command.slice(1))
  return collector.closure(resolution, command)
}

class Collector {
  readonly #members = new Map<string, ClosureMember>()
  readonly #chains: Chain[] = []
  readonly #lookUps: LookUp[] = []
  readonly #opaque: string[] = []
  readonly #assigned: string[] = []
  #argv: readonly string[] = []
  #code: NamedCode | null = null

  constructor(readonly context: ClosureContext) {}

  closure(resolution: Resolution, command: readonly string[]): Closure {
    const members = [...this.#members.values()]
    return {
      resolution,
      members,
      chains: this.#chains,
      lookUps: this.#lookUps,
      argv: this.#argv.length === 0 ? command : this.#argv,
      code: this.#code,
      libraryFolders: members.flatMap(libraryFoldersOf),
      opaque: this.#opaque,
      assigned: this.#assigned,
    }
  }

  follow(path: string, chain: Chain, args: readonly string[]): void {
    let argv: readonly string[] = this.#through(path, chain, args)
    let search = this.context.path
    for (let depth = 0; ; depth++) {
      const inner = unwrap(argv)
      if (inner === null) break
      this.#assigned.push(...inner.assigned)
      if (inner.argv === null || depth === WRAPPERS_MAX) {
        this.#opaque.push(inner.wrapper)
        break
      }
      if (inner.path !== undefined) search = inner.path
      if (inner.applet) argv = inner.argv
      else {
        const next = this.#lookUp(inner, inner.argv, search)
        if (next === null) break
        argv = next
      }
    }
    this.#argv = argv
    this.#code = codeOf(argv)
    this.#addCode(argv[0] ?? path)
  }

  /** The argv that the kernel makes of a chain: interpreter, its one argument, the script, and the rest. */
  #through(path: string, chain: Chain, args: readonly string[]): readonly string[] {
    this.#chains.push(chain)
    for (const link of chain.links) this.#addLink(link)
    let argv: readonly string[] = [path, ...args]
    for (const { inspected, handler } of chain.links) {
      const { format } = inspected
      if (handler !== null) argv = [handler.interpreter, ...argv]
      else if (format?.kind === 'script' && !format.nameIsCut && format.interpreter !== '') {
        const given = format.argument === null ? [] : [format.argument]
        argv = [format.interpreter, ...given, ...argv]
      }
    }
    return argv
  }

  #lookUp(
    { wrapper }: Unwrapped,
    [word, ...args]: readonly [string, ...string[]],
    search: string | null,
  ): readonly string[] | null {
    const { host, cwd } = this.context
    const path = word.includes('/') && !word.startsWith('/') ? `${cwd}/${word}` : word
    const resolution = resolveProgram(path, { path: search, cwd, host })
    const script =
      this.#chains.at(-1)?.links.find(({ inspected }) => inspected.format?.kind === 'script')?.named ?? null
    this.#lookUps.push({ wrapper, script, word, resolution })
    return resolution.kind === 'found' ? this.#through(resolution.path, resolution.chain, args) : null
  }

  #addCode(program: string): void {
    const { home, cwd } = this.context
    const code = this.#code
    if (code !== null)
      for (const named of [code.script, ...code.modules]) if (named !== null) this.#add('argument', named)
    for (const file of startUpFiles(program, code, { home, cwd })) this.#add('start-up', file)
  }

  #addLink({ role, named, inspected }: ChainLink): void {
    this.#put(this.#chains.length > 1 && role === 'program' ? 'interpreter' : role, named, inspected)
  }

  #add(role: MemberRole, named: string): void {
    this.#put(role, named, this.context.host.inspect(named, this.context.cwd))
  }

  #put(role: MemberRole, named: string, inspected: Inspected): void {
    const path = inspected.facts?.path ?? landedPath(inspected.walk) ?? named
    // The script that a first line leads from is in the argv again: the first role it was seen in is the one that tells.
    if (!this.#members.has(path)) this.#members.set(path, { role, named, path, facts: inspected.facts, inspected })
  }
}

function libraryFoldersOf({ path, inspected: { elf } }: ClosureMember): Closure['libraryFolders'] {
  const origin = path.slice(0, path.lastIndexOf('/'))
  return (elf?.libraryFolders ?? []).map(folder => ({
    of: path,
    folder: folder.replace(/\$(?:\{ORIGIN\}|ORIGIN)/g, origin),
  }))
}

/**
 * The closure as control files of the run: what a confined process must not be able to write. Start-up files that do not
 * exist are among them, because making one is enough.
 */
export function closureFiles(closures: Iterable<Closure>): readonly ControlPath[] {
  const files = new Map<string, ControlPath>()
  for (const { members } of closures)
    for (const { path, named, role } of members) {
      for (const each of named.startsWith('/') ? [path, named] : [path])
        files.set(each, { path: each, what: WHAT[role] })
    }
  return [...files.values()]
}

const WHAT: Readonly<Record<MemberRole, string>> = {
  program: 'the program of a hook',
  interpreter: 'the interpreter of a hook',
  loader: 'the loader of a hook',
  argument: 'the code of a hook',
  'start-up': 'a start-up file of a hook',
}
