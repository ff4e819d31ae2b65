/**
 * A filesystem as data, for what no test may do to the machine it runs on: foreign owners, sticky folders, other mounts,
 * failing calls. Written against the answers of lstat(2), open(2) and access(2), apart from `realFiles`.
 */
import { createHash } from 'node:crypto'
import type { FileView, OpenedFile, PathFacts, Unseen } from '../../src/paths/file-view.js'
import type { Mount } from '../../src/paths/mounts.js'

/** Absent keys: a plain file of root, 0644 (0755 for a folder, 0777 for a link), with one link and a number of its own. */
export interface FakeNode {
  readonly type?: PathFacts['type']
  readonly uid?: number
  readonly gid?: number
  readonly mode?: number
  readonly nlink?: number
  readonly dev?: string
  readonly ino?: string
  /** Of a link. */
  readonly target?: string
  readonly content?: string | Uint8Array
  /** What lstat(2) answers instead. */
  readonly errno?: string
  /** What open(2) answers instead. */
  readonly openErrno?: string
  /** On a mount with noexec. */
  readonly noexec?: true
}

export interface FakeFiles extends FileView {
  /** Changes or adds an entry from now on. */
  put(path: string, node: FakeNode): void
  /** Number of calls so far, of all kinds. */
  calls(): number
}

export interface FakeOptions {
  readonly mounts?: readonly Mount[] | null
  /** The call that fails, counted from 1, and how. */
  readonly failing?: { readonly call: number; readonly errno: string }
}

/** Folders above what is listed are there by themselves. */
export function fakeFiles(tree: Readonly<Record<string, FakeNode>>, options: FakeOptions = {}): FakeFiles {
  const nodes = new Map<string, FakeNode>()
  const inodes = new Map<string, string>()
  let calls = 0
  const put = (path: string, node: FakeNode): void => {
    for (let at = path.lastIndexOf('/'); at > 0; at = path.lastIndexOf('/', at - 1)) {
      const folder = path.slice(0, at)
      if (!nodes.has(folder)) nodes.set(folder, { type: 'folder' })
    }
    nodes.set(path, node)
    inodes.set(path, node.ino ?? inodes.get(path) ?? String(100 + inodes.size))
  }
  nodes.set('/', { type: 'folder' })
  for (const [path, node] of Object.entries(tree)) put(path, node)
  const answer = <Answer>(ask: () => Answer): Answer | Unseen => {
    calls++
    return options.failing?.call === calls ? { errno: options.failing.errno } : ask()
  }
  const factsOf = (path: string): PathFacts | Unseen => {
    const node = nodes.get(path)
    if (node === undefined) return { errno: 'ENOENT' }
    if (node.errno !== undefined) return { errno: node.errno }
    const type = node.type ?? (node.target === undefined ? 'file' : 'link')
    if (!inodes.has(path)) inodes.set(path, String(100 + inodes.size))
    return {
      path,
      type,
      dev: node.dev ?? '1',
      ino: node.ino ?? inodes.get(path) ?? '0',
      uid: node.uid ?? 0,
      gid: node.gid ?? 0,
      mode: node.mode ?? (type === 'folder' ? 0o755 : type === 'link' ? 0o777 : 0o644),
      nlink: node.nlink ?? 1,
      size: contentOf(node).length,
      mtimeNs: '1',
      ctimeNs: String(createHash('sha256').update(contentOf(node)).digest().readUInt32BE(0)),
    }
  }
  const isFacts = (facts: PathFacts | Unseen): facts is PathFacts => 'path' in facts
  const opened = (path: string): OpenedFile | Unseen => {
    const facts = factsOf(path)
    const node = nodes.get(path) ?? {}
    if (!isFacts(facts)) return facts
    if (facts.type === 'link') return { errno: 'ELOOP' }
    if (node.openErrno !== undefined) return { errno: node.openErrno }
    const content = contentOf(node)
    return {
      facts,
      read: (offset, bytesMax) => answer(() => content.subarray(offset, offset + bytesMax)),
      sha256: () => answer(() => createHash('sha256').update(content).digest('hex')),
      close: () => {},
    }
  }
  return {
    put,
    calls: () => calls,
    lstat: path => answer(() => factsOf(path)),
    readlink: path => answer(() => nodes.get(path)?.target ?? { errno: 'EINVAL' }),
    open: path => answer(() => opened(path)),
    list: path =>
      answer(() => {
        const prefix = path === '/' ? '/' : `${path}/`
        if (!nodes.has(path)) return { errno: 'ENOENT' }
        const below = [...nodes.keys()].filter(key => key !== '/' && key.startsWith(prefix))
        return [...new Set(below.map(key => key.slice(prefix.length).split('/')[0] ?? ''))].sort()
      }),
    mayExecute: path =>
      answer(() => {
        const facts = factsOf(path)
        if (!isFacts(facts)) return facts
        return (facts.mode & 0o111) !== 0 && nodes.get(path)?.noexec !== true ? true : { errno: 'EACCES' }
      }),
    mounts: () => answer(() => (options.mounts === undefined ? ROOT_MOUNT : options.mounts)),
  }
}

function contentOf({ content = '' }: FakeNode): Uint8Array {
  return typeof content === 'string' ? Buffer.from(content) : content
}

const ROOT_MOUNT: readonly Mount[] = [{ id: '1', device: '8:1', root: '/', point: '/', readOnly: false, type: 'ext4' }]

/** A mount of the table. */
export function mount(point: string, root: string, more: Partial<Mount> = {}): Mount {
  return { id: point, device: '8:1', root, point, readOnly: false, type: 'ext4', ...more }
}

/** The smallest 64-bit ELF file of this machine's kind that asks for `loader`, with a RUNPATH where one is given. */
export function elf(loader: string | null, runpath: string | null = null, machine = 62): Uint8Array {
  const strings = Buffer.from(`\0${runpath ?? ''}\0`)
  const segments = [
    { type: 1, offset: 0, address: 0, bytes: 0x1000 },
    ...(loader === null ? [] : [{ type: 3, offset: 0x300, address: 0x300, bytes: loader.length + 1 }]),
    ...(runpath === null ? [] : [{ type: 2, offset: 0x400, address: 0x400, bytes: 48 }]),
  ]
  const file = Buffer.alloc(0x600)
  file.write('\x7fELF\x02\x01\x01', 0, 'latin1')
  file.writeUInt16LE(2, 16)
  file.writeUInt16LE(machine, 18)
  file.writeBigUInt64LE(64n, 32)
  file.writeUInt16LE(56, 54)
  file.writeUInt16LE(segments.length, 56)
  for (const [at, { type, offset, address, bytes }] of segments.entries()) {
    const start = 64 + 56 * at
    file.writeUInt32LE(type, start)
    file.writeBigUInt64LE(BigInt(offset), start + 8)
    file.writeBigUInt64LE(BigInt(address), start + 16)
    file.writeBigUInt64LE(BigInt(bytes), start + 32)
  }
  if (loader !== null) file.write(`${loader}\0`, 0x300)
  if (runpath !== null) {
    for (const [at, [tag, value]] of [
      [5n, 0x500n],
      [29n, 1n],
      [0n, 0n],
    ].entries()) {
      file.writeBigUInt64LE(tag ?? 0n, 0x400 + 16 * at)
      file.writeBigUInt64LE(value ?? 0n, 0x408 + 16 * at)
    }
    strings.copy(file, 0x500)
  }
  return file
}
