/**
 * `--deep` on Linux: NFSv4 access control lists. The mode of a file that has one does not show who may write it, and whether it
 * has one is known only by the attribute that it carries (nfs4_acl(5), `system.nfs4_acl`), which NFS has on every file, and
 * a few filesystems of this machine on some. A list that is not known is told (HC004): it is not a list that grants nothing.
 */
import { type AclVerdict, parseNfs4Acl, type Trusted } from '../hooks/acl.js'
import { type Mount, mountOf } from '../paths/mounts.js'
import { presentMembers } from './context.js'
import type { Reported, Rule } from './rule.js'

/** Kinds of filesystem whose files have a mode, or a POSIX list that the mode is the mask of. */
const BY_MODE =
  /^(?:ext[234]|xfs|btrfs|f2fs|jfs|bcachefs|overlay|tmpfs|ramfs|devtmpfs|squashfs|erofs|iso9660|udf|vfat|exfat|proc|sysfs|rootfs)$/

/** Paths that are asked about, one call each: of the kinds where a list may be there are few. */
const PATHS_MAX = 200

export interface Nfs4Answers {
  readonly lists: ReadonlyMap<string, AclVerdict>
  /** By path, why its list is not known. */
  readonly unknown: ReadonlyMap<string, string>
}

export interface Nfs4Request {
  /** Of everything that was looked at, links left out. */
  readonly paths: readonly string[]
  readonly mounts: readonly Mount[]
  readonly trusted: Trusted
  readonly tools: {
    readonly find: (name: 'getfattr' | 'nfs4_getfacl') => string | null
    readonly run: (file: string, args: readonly string[]) => Promise<string>
  }
}

/** Never rejects: what got no answer is in `unknown`. */
export async function askNfs4({ paths, mounts, trusted, tools }: Nfs4Request): Promise<Nfs4Answers> {
  const lists = new Map<string, AclVerdict>()
  const unknown = new Map<string, string>()
  const run = async (
    name: 'getfattr' | 'nfs4_getfacl',
    words: readonly string[],
    path: string,
  ): Promise<string | null> => {
    const file = tools.find(name)
    if (file === null) unknown.set(path, `there is no ${name}`)
    else
      try {
        return await tools.run(file, [...words, path])
      } catch {
        unknown.set(path, `${name} failed`)
      }
    return null
  }
  const asked = paths.flatMap(path => {
    const type = mountOf(path, mounts)?.type
    return type === undefined || BY_MODE.test(type) ? [] : [{ path, type }]
  })
  for (const [at, { path, type }] of asked.entries()) {
    if (at >= PATHS_MAX) {
      unknown.set(path, `only ${PATHS_MAX} were asked about`)
      continue
    }
    const carries =
      type === 'nfs4' ? 'system.nfs4_acl' : await run('getfattr', ['--absolute-names', '-m', '.', '--'], path)
    if (carries === null || !carries.includes('system.nfs4_acl')) continue
    const list = await run('nfs4_getfacl', [], path)
    if (list !== null) lists.set(path, parseNfs4Acl(list, trusted))
  }
  return { lists, unknown }
}

/** `rule` is HC004, to which lists that are not known are added. */
export function unknownListsRule(rule: Rule, unknown: Nfs4Answers['unknown']): Rule {
  return {
    ...rule,
    hook: function* (hook, audit): Iterable<Reported> {
      yield* rule.hook?.(hook, audit) ?? []
      const told = new Set<string>()
      for (const { path, inspected } of presentMembers(hook)) {
        for (const { facts } of inspected.walk.steps) {
          const why = unknown.get(facts.path)
          if (why === undefined || told.has(facts.path)) continue
          told.add(facts.path)
          const message = `whether an NFSv4 access control list lets others write ${facts.path} is not known (${why}), and its mode does not show it`
          yield { path, step: facts.path, about: `nfs4 ${facts.path}`, message, fix: NFS4_FIX }
        }
      }
    },
  }
}

const NFS4_FIX = 'install attr and nfs4-acl-tools, or keep hooks on a local filesystem'
