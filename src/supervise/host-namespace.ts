/**
 * A host program in a pid namespace of its own, with everything else of the host as it is: whatever it starts ends with it,
 * in whatever session and with whatever environment, also when we are killed (pid_namespaces(7)).
 *
 * bubblewrap makes it, not unshare(1), although that takes 2 to 3 ms less: under unshare the program itself is pid 1, which
 * ignores every signal it does not handle and is left the zombies of all its descendants, and unshare does not end when its
 * parent does. The time between the spawn and bubblewrap's tie to our life is covered by the guardian: bubblewrap's init
 * carries the cookie, and with an init the kernel ends the namespace.
 */
import { existsSync, mkdirSync, rmSync, symlinkSync } from 'node:fs'
import { basename, join } from 'node:path'
import { BWRAP_WORDS_MAX } from '../bounds.js'
import type { Ending } from '../outcome.js'
import { BwrapStatus } from './bwrap-status.js'
import { launcherEnd, plainEnd } from './command-status.js'
import { NamespaceTree } from './namespace-kill.js'
import { mayMakeNamespaces } from './processes.js'
import { findProgram, isScript, judgeProgram, loaderOf, type NotStarted, notStarted } from './program.js'
import { sharedFolder } from './shared-fifos.js'
import { judgeWords } from './spawn.js'
import type { Ended, Supervised } from './supervised.js'

export interface NamespaceRequest {
  readonly file: string
  readonly argv0?: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly cwd: string
  /** Absolute path of a bubblewrap that the caller trusts; absent: the one of the system. */
  readonly bwrap?: string
}

/** Where a bubblewrap is looked for; never the caller's PATH. The last is NixOS's. */
const SYSTEM_FOLDERS = ['/usr/bin', '/bin', '/usr/local/bin', '/run/current-system/sw/bin']

/** Number of bubblewrap's status descriptor in the child; bubblewrap closes it before it starts the program. */
export const STATUS_FD = 3

/**
 * bubblewrap's words in front of the program's. As uid 0 that may make namespaces none for users is made, so all owners stay
 * who they are; otherwise only the own uid and gid are mapped (user_namespaces(7)). Pure.
 */
export function namespaceOptions(cwd: string, userNamespace: boolean): string[] {
  return [
    ...(userNamespace ? ['--unshare-user'] : []),
    '--unshare-pid',
    '--die-with-parent',
    ...['--dev-bind', '/', '/', '--proc', '/proc'],
    ...['--json-status-fd', String(STATUS_FD), '--chdir', cwd],
    '--',
  ]
}

/** One program's namespace: how it is started, which tree that is, what its end means. */
export class HostNamespace {
  #status: BwrapStatus | undefined
  #tree: NamespaceTree | undefined

  private constructor(
    readonly file: string,
    readonly args: readonly string[],
    private readonly link: string | null,
  ) {}

  /** Judges the program as a plain start would, so that bubblewrap has nothing to refuse. Starts nothing. */
  static async prepare(request: NamespaceRequest): Promise<HostNamespace | NotStarted> {
    const refused = judgeWords(request) ?? judgeProgram(request.file) ?? missingLoader(request.file)
    if (refused !== null) return refused
    if (process.platform !== 'linux') return notStarted('sandbox-failed', 'pid namespaces are a thing of Linux')
    const bwrap = request.bwrap ?? findProgram('bwrap', SYSTEM_FOLDERS)
    if (typeof bwrap !== 'string') {
      const text = `a namespace of its own is made by bubblewrap: ${bwrap.message}; install it, or reap by group`
      return notStarted('sandbox-failed', text)
    }
    const link = isAnotherName(request) ? await linkAs(request.file, basename(request.argv0 ?? '')) : null
    const options = namespaceOptions(request.cwd, !mayMakeNamespaces())
    const args = [...options, link ?? request.file, ...request.args]
    if (args.length <= BWRAP_WORDS_MAX) return new HostNamespace(bwrap, args, link)
    return notStarted('argument-list-too-long', `bubblewrap takes ${BWRAP_WORDS_MAX} words and is given ${args.length}`)
  }

  readonly tree = (pid: number): NamespaceTree => {
    this.#tree = new NamespaceTree(pid)
    return this.#tree
  }

  started(supervised: Supervised): void {
    const pipe = supervised.pipes.get(STATUS_FD)
    if (pipe === undefined) throw new Error('a launcher without a status descriptor')
    this.#status = new BwrapStatus(pipe, (init, namespace) => void this.#tree?.tell(init, namespace))
  }

  /** What we caused comes first; a status that bubblewrap did not pass on is its own. */
  async ending({ cause, exit, stderr }: Ended): Promise<Ending> {
    await this.#status?.drained()
    if (cause.kind !== 'by-itself') return cause
    const status = this.#status?.exitCode ?? null
    if (status !== null) return plainEnd(status)
    if (exit?.signal) return { kind: 'signalled', signal: exit.signal, core: null }
    return launcherEnd(stderr, 'the namespace ended before its program, without a word')
  }

  close(supervised: Supervised | null): void {
    supervised?.pipes.get(STATUS_FD)?.destroy()
    if (this.link !== null) rmSync(join(this.link, '..'), { recursive: true, force: true })
  }
}

/** Inside, a missing loader would look like a program that ended with 1. */
function missingLoader(file: string): NotStarted | null {
  const loader = loaderOf(file)
  if (loader === null || existsSync(loader)) return null
  return notStarted('interpreter-missing', `${file} needs ${loader}, which is not there`, { path: loader })
}

/** The kernel gives a script its path whatever its argv[0] says, so its name is left alone. */
function isAnotherName({ file, argv0 = file }: NamespaceRequest): boolean {
  const name = basename(argv0)
  return name !== basename(file) && !['', '.', '..'].includes(name) && !isScript(file)
}

/** bubblewrap 0.8 names a program by its path alone; one that goes by its name (busybox) is given a path of that name. */
async function linkAs(file: string, name: string): Promise<string> {
  const folder = (await sharedFolder([])).fresh('as')
  mkdirSync(folder, { mode: 0o700 })
  const link = join(folder, name)
  symlinkSync(file, link)
  return link
}
