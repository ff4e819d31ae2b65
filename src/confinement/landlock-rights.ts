/**
 * The rights that Landlock knows, by the version of its interface that brought each, and the sets that a policy comes to.
 * Pure data.
 *
 * @see Linux Documentation/userspace-api/landlock.rst, include/uapi/linux/landlock.h
 */

interface Right {
  readonly bit: number
  /** Lowest version that has it. */
  readonly since: number
  /** A rule over a file may hold it; the others are of folders. */
  readonly file?: true
}

const RIGHTS = {
  execute: { bit: 0, since: 1, file: true },
  write_file: { bit: 1, since: 1, file: true },
  read_file: { bit: 2, since: 1, file: true },
  read_dir: { bit: 3, since: 1 },
  remove_dir: { bit: 4, since: 1 },
  remove_file: { bit: 5, since: 1 },
  make_char: { bit: 6, since: 1 },
  make_dir: { bit: 7, since: 1 },
  make_reg: { bit: 8, since: 1 },
  make_sock: { bit: 9, since: 1 },
  make_fifo: { bit: 10, since: 1 },
  make_block: { bit: 11, since: 1 },
  make_sym: { bit: 12, since: 1 },
  refer: { bit: 13, since: 2 },
  truncate: { bit: 14, since: 3, file: true },
  ioctl_dev: { bit: 15, since: 5, file: true },
} as const satisfies Readonly<Record<string, Right>>

export type RightName = keyof typeof RIGHTS

const NAMES = Object.keys(RIGHTS) as RightName[]

/** Version that holds TCP by port, and the one that holds signals and abstract unix sockets. */
export const TCP_SINCE = 4
export const SCOPES_SINCE = 6
/** Below it a file may be emptied that may only be read; the system-call filter closes the ways to that. */
export const TRUNCATE_SINCE = 3

/** What each kind of rule opens; a rule over a file holds what of it is a file's. */
export const RIGHT_SETS = {
  read: ['execute', 'read_file', 'read_dir'],
  list: ['read_dir'],
  write: [
    'write_file',
    'remove_dir',
    'remove_file',
    'make_dir',
    'make_reg',
    'make_fifo',
    'make_sym',
    'refer',
    'truncate',
  ],
  device: ['write_file', 'read_file', 'ioctl_dev'],
  /** A stream of the command, opened again by its name under /dev. */
  input: ['read_file'],
  output: ['write_file'],
} as const satisfies Readonly<Record<string, readonly RightName[]>>

export type RightSet = keyof typeof RIGHT_SETS

/** The names of `sets` together that version `abi` has, in the order of their bits. */
export function rightNames(sets: readonly RightSet[], abi: number, of: 'folder' | 'file'): readonly RightName[] {
  const asked = new Set<RightName>(sets.flatMap(set => RIGHT_SETS[set]))
  return NAMES.filter(name => asked.has(name) && RIGHTS[name].since <= abi && (of === 'folder' || isOfFile(name)))
}

function isOfFile(name: RightName): boolean {
  const right: Right = RIGHTS[name]
  return right.file === true
}

/** Every right of `abi`: what is not opened by a rule is denied. */
export function handledRights(abi: number): readonly RightName[] {
  return NAMES.filter(name => RIGHTS[name].since <= abi)
}

export function rightBits(names: readonly RightName[]): number {
  return names.reduce((bits, name) => bits | (1 << RIGHTS[name].bit), 0)
}

/** struct landlock_ruleset_attr: rights over files, over TCP (bind and connect), and the two scopes; only what `abi` has. */
export function rulesetAttr(abi: number): { readonly bytes: Uint8Array; readonly text: string } {
  const tcp = abi >= TCP_SINCE ? 0b11 : 0
  const scopes = abi >= SCOPES_SINCE ? 0b11 : 0
  const bytes = Buffer.alloc(scopes > 0 ? 24 : tcp > 0 ? 16 : 8)
  bytes.writeBigUInt64LE(BigInt(rightBits(handledRights(abi))))
  if (tcp > 0) bytes.writeBigUInt64LE(BigInt(tcp), 8)
  if (scopes > 0) bytes.writeBigUInt64LE(BigInt(scopes), 16)
  const fields = [
    `fs: ${handledRights(abi).join('|')}`,
    ...(tcp > 0 ? ['net: bind_tcp|connect_tcp'] : []),
    ...(scopes > 0 ? ['scoped: abstract_unix_socket|signal'] : []),
  ]
  return { bytes, text: `{${fields.join(', ')}}` }
}
