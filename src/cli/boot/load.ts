/**
 * Runs a bundle with V8's code cache: compiling a megabyte of JavaScript costs more than everything else a short
 * command does (decisions 14).
 *
 * A cache is code. It is used only from a folder that is ours alone (0700, owned by our uid, no link on the way to it) and
 * that lies outside the working folder: what confined processes once wrote there must not be obeyed because HOME or
 * XDG_CACHE_HOME now leads to it. It is keyed by version, V8 and the bundle's digest and stat; anything else runs
 * without it. V8 itself rejects a cache of another version or flag set.
 */
import { constants } from 'node:fs'
import { baseFolder } from '../own-folders.js'

declare const HARNESS_VERSION: string
/** Bundle → the first digits of its SHA-256. */
declare const HARNESS_BUNDLES: Readonly<Record<'main' | 'exec' | 'audit', string>>
declare const __dirname: string
declare const require: NodeJS.Require

type Fs = typeof import('node:fs')
type Path = typeof import('node:path')
type Vm = typeof import('node:vm')

export type Bundle = keyof typeof HARNESS_BUNDLES

/** How much of a bundle a run has used: `whole` has come through a launch, a model's turns or an audit; help texts and lists are `part`. */
export type Use = 'whole' | 'part'

/** Keeps the functions that have been compiled, unless a cache of as much use is there. */
export type SaveCache = (use: Use) => void

/** Starts the bundle's `start(program)`. */
export function loadBundle(bundle: Bundle, program: string): void {
  const fs: Fs = require('node:fs')
  const path: Path = require('node:path')
  const vm: Vm = require('node:vm')
  const filename = path.join(__dirname, `${bundle}.cjs`)
  // The build makes a bundle the text of a function, in ASCII: as it is read it is compiled, one byte a character and never copied.
  const source = fs.readFileSync(filename, 'latin1')
  const folder = cacheFolder(fs, path)
  const names = cacheNames(bundle, fs.statSync(filename))
  const known = folder === null ? null : readTrusted(fs, folder, names)
  const script = new vm.Script(source, { filename, ...(known === null ? {} : { cachedData: known.data }) })
  const module = { exports: {} as { start?: (program: string, saveCache: SaveCache, installation: string) => void } }
  script.runInThisContext()(module.exports, require, module, filename, __dirname)
  const has = known === null || script.cachedDataRejected === true ? null : known.use
  // Saved at the end of a run, when the functions that it needs have been compiled. What a help text needed is no cache for a launch.
  const saveCache: SaveCache = use => {
    if (folder === null || has === use || has === 'whole') return
    save(fs, { folder, file: path.join(folder, names[use]), bundle }, script.createCachedData())
  }
  module.exports.start?.(program, saveCache, __dirname)
}

/**
 * `$XDG_CACHE_HOME/b10x-harness` (absolute, else ignored) or `~/.cache/b10x-harness`; null without a home, and where the
 * place lies in the working folder. A home that does not exist is none: "/nonexistent" says so, and is not ours to make.
 */
function cacheFolder(fs: Fs, path: Path): string | null {
  const base = baseFolder(process.env, 'XDG_CACHE_HOME')
  if (base === null || (base.from === 'HOME' && !fs.existsSync(base.path))) return null
  const folder = path.join(base.path, base.below, 'b10x-harness')
  return isInWorkingFolder(folder) ? null : folder
}

/** By components; a place that is reached through a link is refused elsewhere. A working folder that is gone holds nothing. */
function isInWorkingFolder(folder: string): boolean {
  try {
    return `${folder}/`.startsWith(`${process.cwd()}/`.replace('//', '/'))
  } catch {
    return false
  }
}

function cacheNames(bundle: Bundle, { size, mtimeMs }: { size: number; mtimeMs: number }): Record<Use, string> {
  const stat = `${size.toString(36)}-${Math.trunc(mtimeMs).toString(36)}`
  const name = `${bundle}-${HARNESS_VERSION}-${process.versions.v8}-${HARNESS_BUNDLES[bundle]}-${stat}`
  return { whole: `${name}-whole.v8`, part: `${name}-part.v8` }
}

function isOurs(fs: Fs, folder: string): boolean {
  const stat = fs.lstatSync(folder)
  const isPrivate = stat.isDirectory() && stat.uid === process.getuid?.() && (stat.mode & 0o077) === 0
  return isPrivate && fs.realpathSync.native(folder) === folder
}

interface Known {
  readonly use: Use
  readonly data: Buffer
}

function readTrusted(fs: Fs, folder: string, names: Record<Use, string>): Known | null {
  for (const use of ['whole', 'part'] as const) {
    try {
      if (!isOurs(fs, folder)) return null
      const data = readOurs(fs, `${folder}/${names[use]}`)
      if (data !== null) return { use, data }
    } catch {
      // absent or foreign: run without
    }
  }
  return null
}

function readOurs(fs: Fs, file: string): Buffer | null {
  const fd = fs.openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW)
  try {
    const stat = fs.fstatSync(fd)
    const isTrusted = stat.isFile() && stat.uid === process.getuid?.() && (stat.mode & 0o022) === 0
    return isTrusted ? fs.readFileSync(fd) : null
  } finally {
    fs.closeSync(fd)
  }
}

interface Place {
  readonly folder: string
  readonly file: string
  readonly bundle: Bundle
}

/**
 * Makes `folder` and what is missing above it, one by one: Node's own recursive call never returns where a filesystem
 * answers ENOENT to making anything, as /proc does. Makes nothing behind a link.
 */
function makeFolder(fs: Fs, folder: string): void {
  const missing: string[] = []
  let at = folder
  for (; at !== '' && !fs.existsSync(at); at = at.slice(0, at.lastIndexOf('/'))) missing.push(at)
  if (at !== '' && fs.realpathSync.native(at) !== at) return
  for (const path of missing.reverse()) fs.mkdirSync(path, { mode: 0o700 })
}

/** Older caches of the same bundle go first: nothing else removes them. */
function save(fs: Fs, { folder, file, bundle }: Place, data: Buffer): void {
  try {
    makeFolder(fs, folder)
    if (!isOurs(fs, folder)) return
    for (const name of fs.readdirSync(folder))
      if (name.startsWith(`${bundle}-`) && name.endsWith('.v8')) fs.rmSync(`${folder}/${name}`)
    const temporary = `${file}.${process.pid}`
    fs.writeFileSync(temporary, data, { mode: 0o600, flag: 'wx' })
    fs.renameSync(temporary, file)
  } catch {
    // A cache that cannot be kept only costs time.
  }
}
