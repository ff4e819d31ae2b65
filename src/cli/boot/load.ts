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

/** Starts the bundle's `start(program)`. */
export function loadBundle(bundle: Bundle, program: string): void {
  const fs: Fs = require('node:fs')
  const path: Path = require('node:path')
  const vm: Vm = require('node:vm')
  const filename = path.join(__dirname, `${bundle}.cjs`)
  // The build sees to it that a bundle is ASCII: reading it as such keeps it one byte a character.
  const source = fs.readFileSync(filename, 'latin1')
  const folder = cacheFolder(fs, path)
  const file = folder === null ? null : path.join(folder, cacheName(bundle, fs.statSync(filename)))
  const cachedData = file === null ? undefined : readTrusted(fs, folder, file)
  const script = new vm.Script(`(function (exports, require, module, __filename, __dirname) {${source}\n})`, {
    filename,
    ...(cachedData === undefined ? {} : { cachedData }),
  })
  const module = { exports: {} as { start?: (program: string, saveCache: () => void, installation: string) => void } }
  script.runInThisContext()(module.exports, require, module, filename, __dirname)
  const stale = cachedData === undefined || script.cachedDataRejected === true
  // Saved at the end of the first run, when the functions that a run needs have been compiled.
  const saveCache = (): void => {
    if (stale && folder !== null && file !== null) save(fs, { folder, file, bundle }, script.createCachedData())
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

function cacheName(bundle: Bundle, { size, mtimeMs }: { size: number; mtimeMs: number }): string {
  const stat = `${size.toString(36)}-${Math.trunc(mtimeMs).toString(36)}`
  return `${bundle}-${HARNESS_VERSION}-${process.versions.v8}-${HARNESS_BUNDLES[bundle]}-${stat}.v8`
}

function isOurs(fs: Fs, folder: string): boolean {
  const stat = fs.lstatSync(folder)
  const isPrivate = stat.isDirectory() && stat.uid === process.getuid?.() && (stat.mode & 0o077) === 0
  return isPrivate && fs.realpathSync.native(folder) === folder
}

function readTrusted(fs: Fs, folder: string | null, file: string): Buffer | undefined {
  try {
    if (folder === null || !isOurs(fs, folder)) return undefined
    const fd = fs.openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW)
    try {
      const stat = fs.fstatSync(fd)
      return stat.isFile() && stat.uid === process.getuid?.() && (stat.mode & 0o022) === 0
        ? fs.readFileSync(fd)
        : undefined
    } finally {
      fs.closeSync(fd)
    }
  } catch {
    return undefined // absent or foreign: run without
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
