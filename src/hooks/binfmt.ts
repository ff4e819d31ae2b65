/**
 * Handlers that the kernel has for further executable formats (Linux Documentation/admin-guide/binfmt-misc.rst): a file
 * that is no program by itself may be one here, started through the handler's interpreter.
 */
import { type FileView, isUnseen, withOpened } from '../paths/file-view.js'
import { nameOf } from './wrappers.js'

export interface BinfmtHandler {
  readonly name: string
  readonly interpreter: string
  /** `F`: opened when it was registered. `C`: runs with the credentials of the binary. */
  readonly flags: string
  /** Hex. Null: told by `extension`. */
  readonly magic: { readonly offset: number; readonly bytes: string; readonly mask: string | null } | null
  /** Without the dot; null: told by `magic`. */
  readonly extension: string | null
}

const FOLDER = '/proc/sys/fs/binfmt_misc'

/** The enabled handlers; empty where there are none or the table cannot be read: then a file that needs one is judged as none. */
export function readHandlers(view: FileView): readonly BinfmtHandler[] {
  const names = view.list(FOLDER)
  if (isUnseen(names) || !names.includes('status')) return []
  return names.flatMap(name => {
    if (name === 'status' || name === 'register') return []
    const bytes = withOpened(view, `${FOLDER}/${name}`, file => file.read(0, 4096))
    const handler = isUnseen(bytes) ? null : parseHandler(name, Buffer.from(bytes).toString('latin1'))
    return handler === null ? [] : [handler]
  })
}

/** One file of the folder; null for a disabled handler and for what does not have the form. */
export function parseHandler(name: string, text: string): BinfmtHandler | null {
  const value = (key: string): string | null => new RegExp(`^${key} (.*)$`, 'm').exec(text)?.[1]?.trim() ?? null
  const interpreter = value('interpreter')
  if (!text.startsWith('enabled') || interpreter === null) return null
  const [bytes, extension] = [value('magic'), value('extension')]
  const flags = /^flags: ?(.*)$/m.exec(text)?.[1]?.trim() ?? ''
  const magic = bytes === null ? null : { offset: Number(value('offset') ?? 0), bytes, mask: value('mask') }
  return { name, interpreter, flags, magic, extension: extension?.replace(/^\./, '') ?? null }
}

/** The handler that the kernel would take for a file of this name and beginning, or null. */
export function handlerOf(handlers: readonly BinfmtHandler[], path: string, first: Uint8Array): BinfmtHandler | null {
  const name = nameOf(path)
  const matches = ({ magic, extension }: BinfmtHandler): boolean => {
    if (magic === null) return extension !== null && name.endsWith(`.${extension}`)
    const wanted = Buffer.from(magic.bytes, 'hex')
    const mask = magic.mask === null ? null : Buffer.from(magic.mask, 'hex')
    return wanted.every((byte, at) => {
      const keep = mask?.[at] ?? 0xff
      return ((first[magic.offset + at] ?? -1) & keep) === (byte & keep) && first[magic.offset + at] !== undefined
    })
  }
  return handlers.find(matches) ?? null
}
