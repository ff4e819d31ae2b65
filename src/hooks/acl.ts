/**
 * Access control lists as text of the system's own tools, parsed: who may write by a list where the mode does not say so.
 * On Linux the group bits of the mode are the mask of a POSIX list (acl(5), "Correspondence between ACL entries and file
 * permission bits"), so the mode already shows every effective entry and the text only explains; on macOS and NFSv4 the
 * mode shows nothing. Whoever has a runner gets the text; nothing is run here.
 */

export interface AclVerdict {
  /** Principals other than us and root that may write, as the tool names them. Empty: none. */
  readonly writers: readonly string[]
  /** `mask-only`: the group bits of the mode are a mask that no entry makes use of. */
  readonly groupBits: 'mask-only' | 'as-shown'
  /** Principals to which files made in this folder later will be writable. Empty: none. */
  readonly inherited: readonly string[]
}

/** Whose entries are of no concern: names and numbers of us and of root. */
export type Trusted = ReadonlySet<string>

/** Output of `getfacl --omit-header --absolute-names --numeric PATH` or without `--numeric`. */
export function parsePosixAcl(text: string, trusted: Trusted): AclVerdict {
  const entries = text.split('\n').flatMap(line => {
    const [tag, name, rights] = (line.split('#')[0] ?? '')
      .trim()
      .replace(/^default:/, 'default ')
      .split(':')
    return tag === undefined || name === undefined || rights === undefined ? [] : [{ tag, name, rights }]
  })
  const named = (prefix: string) =>
    entries.filter(({ tag, name }) => name !== '' && (tag === `${prefix}user` || tag === `${prefix}group`))
  const writes = ({ rights }: { readonly rights: string }): boolean => rights.includes('w')
  const maskOf = (prefix: string) => entries.find(({ tag }) => tag === `${prefix}mask`)
  const strangers = (prefix: string): string[] => {
    const mask = maskOf(prefix)
    if (mask !== undefined && !writes(mask)) return []
    return named(prefix)
      .filter(entry => writes(entry) && !(entry.tag.endsWith('user') && trusted.has(entry.name)))
      .map(({ tag, name }) => `${tag.replace('default ', '')} ${name}`)
  }
  const owningGroup = entries.find(({ tag, name }) => tag === 'group' && name === '')
  const maskWrites = maskOf('') !== undefined && owningGroup !== undefined && !writes(owningGroup)
  const writers = strangers('')
  return {
    writers,
    groupBits: maskWrites && writers.length === 0 ? 'mask-only' : 'as-shown',
    inherited: strangers('default '),
  }
}

/** Rights of an entry in a list of macOS that let its principal change the file or what its names mean (chmod(1)). */
const CHANGING: ReadonlySet<string> = new Set([
  'write',
  'append',
  'delete',
  'delete_child',
  'add_file',
  'add_subdirectory',
  'chown',
  'writesecurity',
])

/** Output of `ls -lde PATH` on macOS: ` 0: user:name allow write,append` below the line of the file. */
export function parseMacAcl(text: string, trusted: Trusted): AclVerdict {
  const entries = [...text.matchAll(/^\s+\d+:\s+(\S+?)( inherited)?\s+allow\s+(\S+)/gm)].flatMap(match => {
    const [, principal = '', , rights = ''] = match
    const list = rights.split(',')
    return trusted.has(principal.replace(/^user:/, '')) || !list.some(right => CHANGING.has(right))
      ? []
      : [{ principal, list }]
  })
  const inheritance = (list: readonly string[], word: string): boolean => list.includes(word)
  return {
    writers: entries.filter(({ list }) => !inheritance(list, 'only_inherit')).map(({ principal }) => principal),
    groupBits: 'as-shown',
    inherited: entries
      .filter(({ list }) => inheritance(list, 'file_inherit') || inheritance(list, 'directory_inherit'))
      .map(({ principal }) => principal),
  }
}

/** Output of `nfs4_getfacl PATH`: `A:fdg:principal:rwaDx`. Owner and group classes of the mode are left to the mode. */
export function parseNfs4Acl(text: string, trusted: Trusted): AclVerdict {
  const entries = text.split('\n').flatMap(line => {
    const [type, flags = '', principal = '', rights = ''] = line.trim().split(':')
    const changing = /[waDdCo]/.test(rights)
    const own = principal === 'OWNER@' || trusted.has(principal) || trusted.has(principal.split('@')[0] ?? '')
    return type === 'A' && changing && !own ? [{ principal, flags }] : []
  })
  return {
    writers: entries.filter(({ flags }) => !flags.includes('i')).map(({ principal }) => principal),
    groupBits: 'as-shown',
    inherited: entries.filter(({ flags }) => /[fd]/.test(flags)).map(({ principal }) => principal),
  }
}
