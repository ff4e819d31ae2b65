/**
 * `--deep`: what only the system's own tools tell of a hook's files: capabilities of programs (getcap), and access control
 * lists. On Linux a list is asked where the mode shows a group that may write, because the mode shows the mask of the list
 * and no more (getfacl), and NFSv4 lists are asked apart (`nfs4-lists.ts`); on macOS modes show nothing of it, so every step is
 * asked (ls -lde). Who runs the tools is given.
 */
import { type AclVerdict, parseMacAcl, parsePosixAcl } from '../hooks/acl.js'
import { GROUP_WRITE } from '../hooks/trust.js'
import type { Audit } from './audit.js'
import { presentMembers } from './context.js'
import { askNfs4 } from './nfs4-lists.js'
import type { Skipped } from './report.js'
import type { Reported, Rule } from './rule.js'

export interface SystemTools {
  readonly platform: NodeJS.Platform
  /** Absolute path of a tool of the system; null: there is none. */
  readonly find: (name: 'getcap' | 'getfacl' | 'getfattr' | 'ls' | 'nfs4_getfacl') => string | null
  /** Runs it to its end, bounded; answers its stdout, rejects where it fails. */
  readonly run: (file: string, args: readonly string[]) => Promise<string>
}

export interface SystemAnswers {
  /** By path; what is not in it has no list that was read. */
  readonly lists: ReadonlyMap<string, AclVerdict>
  /** Text of the capabilities by path. */
  readonly capabilities: ReadonlyMap<string, string>
  /** By path, why the NFSv4 list that it may have is not known. */
  readonly unknownLists: ReadonlyMap<string, string>
  /** What could not be asked. */
  readonly skipped: readonly Skipped[]
}

/** Paths of one call: the kernel bounds the words of a program. */
const PATHS_A_CALL = 200

/** Asks about everything that `audit` looked at. Never rejects: what got no answer is in `skipped`. */
export async function askSystem({ context, hooks }: Audit, tools: SystemTools): Promise<SystemAnswers> {
  const lists = new Map<string, AclVerdict>()
  const capabilities = new Map<string, string>()
  const skipped: Skipped[] = []
  if (context === null) return { lists, capabilities, unknownLists: new Map(), skipped }
  const { uid, userName } = context.ids
  const trusted = new Set(['0', 'root', String(uid), ...(userName === null ? [] : [userName])])
  const onLinux = tools.platform === 'linux'
  const ask = async (rule: Skipped['rule'], name: Parameters<SystemTools['find']>[0], asked: Asked): Promise<void> => {
    if (asked.paths.length === 0) return
    const file = tools.find(name)
    if (file === null) {
      skipped.push({ rule, reason: `${asked.what} not looked at: there is no ${name}` })
      return
    }
    for (let at = 0; at < asked.paths.length; at += PATHS_A_CALL) {
      const paths = asked.paths.slice(at, at + PATHS_A_CALL)
      try {
        asked.take(await tools.run(file, [...asked.options, ...paths]), paths)
      } catch {
        skipped.push({ rule, reason: `${asked.what} not looked at: ${name} failed` })
        return
      }
    }
  }
  const steps = [...new Map([...context.steps()].map(({ facts }) => [facts.path, facts])).values()]
  await ask('HC308', onLinux ? 'getfacl' : 'ls', {
    what: 'access control lists were',
    options: onLinux ? ['--absolute-names', '--numeric', '--'] : ['-lde'],
    paths: steps
      .filter(({ mode, type }) => type !== 'link' && (!onLinux || (mode & GROUP_WRITE) !== 0))
      .map(({ path }) => path),
    take: (text, paths) => {
      for (const [path, list] of onLinux ? posixLists(text, paths) : macLists(text, paths))
        lists.set(path, onLinux ? parsePosixAcl(list, trusted) : parseMacAcl(list, trusted))
    },
  })
  if (!onLinux) return { lists, capabilities, unknownLists: new Map(), skipped }
  const nfs4 = await askNfs4({
    paths: steps.filter(({ type }) => type !== 'link').map(({ path }) => path),
    mounts: context.writeSet.mounts,
    trusted,
    tools,
  })
  for (const [path, list] of nfs4.lists) lists.set(path, list)
  const programs = hooks.flatMap(hook =>
    presentMembers(hook).filter(({ inspected }) => inspected.format?.kind === 'elf'),
  )
  await ask('HC309', 'getcap', {
    what: 'file capabilities were',
    options: [],
    paths: [...new Set(programs.map(({ path }) => path))],
    take: (text, paths) => {
      for (const line of text.split('\n')) {
        const path = paths.find(each => line.startsWith(`${each} `))
        if (path !== undefined) capabilities.set(path, line.slice(path.length).replace(/^[ =]+/, ''))
      }
    },
  })
  return { lists, capabilities, unknownLists: nfs4.unknown, skipped }
}

interface Asked {
  readonly what: string
  readonly options: readonly string[]
  readonly paths: readonly string[]
  readonly take: (text: string, paths: readonly string[]) => void
}

/** One block a path, in the order they were asked, because getfacl escapes what it names them by. */
function posixLists(text: string, paths: readonly string[]): readonly (readonly [path: string, list: string])[] {
  const blocks = text.split(/^# file: /m).slice(1)
  if (blocks.length !== paths.length) throw new Error(`getfacl told of ${blocks.length} of ${paths.length} files`)
  return paths.map((path, at) => [path, blocks[at] ?? ''])
}

/** A line of the file, and below it one for each entry. */
function macLists(text: string, paths: readonly string[]): ReadonlyMap<string, string> {
  const lists = new Map<string, string>()
  let here: string | undefined
  for (const line of text.split('\n')) {
    if (/^\s+\d+:\s/.test(line)) {
      if (here !== undefined) lists.set(here, `${lists.get(here) ?? ''}${line}\n`)
    } else here = paths.filter(path => line.endsWith(` ${path}`)).sort((a, b) => b.length - a.length)[0]
  }
  return lists
}

/** `rule` is HC309, to which capabilities are added. */
export function capabilitiesRule(rule: Rule, capabilities: SystemAnswers['capabilities']): Rule {
  return {
    ...rule,
    hook: function* (hook, audit): Iterable<Reported> {
      yield* rule.hook?.(hook, audit) ?? []
      for (const { path, role } of presentMembers(hook)) {
        const held = capabilities.get(path)
        if (held === undefined) continue
        const message = `the ${role} ${path} has file capabilities: ${held}`
        yield { path, about: `capabilities ${path}`, message, fix: 'setcap -r, or start it through a plain program' }
      }
    },
  }
}
