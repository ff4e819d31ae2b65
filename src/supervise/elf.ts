/**
 * What an ELF file asks the kernel and the loader to load with it: its dynamic loader (PT_INTERP) and the folders in which
 * libraries are looked up first (DT_RPATH, DT_RUNPATH). Both widths and both orders (elf(5)). Pure over a reader of ranges.
 */

export interface ElfLoading {
  /** Absolute as written in the file; null: it is statically linked. */
  readonly loader: string | null
  /** RPATH and RUNPATH, split at colons, `$ORIGIN` not yet replaced. */
  readonly libraryFolders: readonly string[]
}

/** Bytes from `offset`, fewer at the end of the file; null when they cannot be read. */
export type ReadRange = (offset: number, bytes: number) => Uint8Array | null

const PT_LOAD = 1
const PT_DYNAMIC = 2
const PT_INTERP = 3
const DT_STRTAB = 5
const DT_RPATH = 15
const DT_RUNPATH = 29
/** A path in the file, PATH_MAX and more; and tables whose size comes from the file itself. */
const TEXT_BYTES_MAX = 64 * 1024
const TABLE_BYTES_MAX = 1024 * 1024

interface Segment {
  readonly type: number
  readonly offset: number
  readonly address: number
  readonly bytes: number
}

interface Shape {
  readonly wide: boolean
  readonly little: boolean
}

/** Null for what is no ELF file or one whose tables cannot be read: then what it loads is not known. */
export function readElf(read: ReadRange): ElfLoading | null {
  const header = bufferOf(read(0, 64))
  if (header === null || header.length < 52 || header.readUInt32BE(0) !== 0x7f454c46) return null
  const shape: Shape = { wide: header[4] === 2, little: header[5] === 1 }
  const segments = segmentsOf(header, shape, read)
  if (segments === null) return null
  const asked = segments.find(({ type }) => type === PT_INTERP)
  const loader = asked === undefined ? null : textAt(asked.offset, Math.min(asked.bytes, TEXT_BYTES_MAX), read)
  if (asked !== undefined && loader === null) return null
  const dynamic = segments.find(({ type }) => type === PT_DYNAMIC)
  const libraryFolders = dynamic === undefined ? [] : foldersOf(dynamic, segments, shape, read)
  return libraryFolders === null ? null : { loader, libraryFolders }
}

function bufferOf(bytes: Uint8Array | null): Buffer | null {
  return bytes === null ? null : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

/** A field of `width` bytes; null beyond the end. */
function field(from: Buffer, at: number, width: 2 | 4 | 8, { little }: Shape): number | null {
  if (at + width > from.length) return null
  if (width === 2) return little ? from.readUInt16LE(at) : from.readUInt16BE(at)
  if (width === 4) return little ? from.readUInt32LE(at) : from.readUInt32BE(at)
  return Number(little ? from.readBigUInt64LE(at) : from.readBigUInt64BE(at))
}

function segmentsOf(header: Buffer, shape: Shape, read: ReadRange): readonly Segment[] | null {
  const word = shape.wide ? 8 : 4
  const table = field(header, shape.wide ? 32 : 28, word, shape)
  const size = field(header, shape.wide ? 54 : 42, 2, shape)
  const count = field(header, shape.wide ? 56 : 44, 2, shape)
  if (table === null || size === null || count === null || size * count > TABLE_BYTES_MAX) return null
  const bytes = bufferOf(read(table, size * count))
  if (bytes === null || bytes.length < size * count) return null
  const places = shape.wide ? { offset: 8, address: 16, bytes: 32 } : { offset: 4, address: 8, bytes: 16 }
  const segments: Segment[] = []
  for (let at = 0; at < size * count; at += size) {
    const value = (place: number, width: 4 | 8) => field(bytes, at + place, width, shape)
    const [type, offset] = [value(0, 4), value(places.offset, word)]
    const [address, length] = [value(places.address, word), value(places.bytes, word)]
    if (type === null || offset === null || address === null || length === null) return null
    segments.push({ type, offset, address, bytes: length })
  }
  return segments
}

function foldersOf(
  dynamic: Segment,
  segments: readonly Segment[],
  shape: Shape,
  read: ReadRange,
): readonly string[] | null {
  const word = shape.wide ? 8 : 4
  const bytes = bufferOf(read(dynamic.offset, Math.min(dynamic.bytes, TABLE_BYTES_MAX)))
  if (bytes === null) return null
  const entries: { readonly tag: number; readonly value: number }[] = []
  for (let at = 0; at + 2 * word <= bytes.length; at += 2 * word) {
    const [tag, value] = [field(bytes, at, word, shape), field(bytes, at + word, word, shape)]
    if (tag === null || value === null || tag === 0) break
    entries.push({ tag, value })
  }
  const wanted = entries.filter(({ tag }) => tag === DT_RPATH || tag === DT_RUNPATH)
  if (wanted.length === 0) return []
  const strings = entries.find(({ tag }) => tag === DT_STRTAB)
  const base = strings === undefined ? null : offsetOf(strings.value, segments)
  if (base === null) return null
  const texts = wanted.map(({ value }) => textAt(base + value, TEXT_BYTES_MAX, read))
  return texts.includes(null) ? null : texts.flatMap(text => (text ?? '').split(':')).filter(text => text !== '')
}

/** Where an address of the running program lies in the file. */
function offsetOf(address: number, segments: readonly Segment[]): number | null {
  const loaded = segments.find(
    segment => segment.type === PT_LOAD && address >= segment.address && address < segment.address + segment.bytes,
  )
  return loaded === undefined ? null : loaded.offset + address - loaded.address
}

function textAt(offset: number, bytesMax: number, read: ReadRange): string | null {
  const bytes = bufferOf(read(offset, bytesMax))
  if (bytes === null) return null
  const end = bytes.indexOf(0)
  return end < 0 ? null : bytes.toString('utf8', 0, end)
}
