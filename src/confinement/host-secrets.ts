/**
 * What a policy hides without being asked wherever a read rule would show it: the secrets of every home folder, those of the machine,
 * and our own folders. Unknown names stay in sight: a list of names is no proof, and the record says so.
 */
import { type Dirent, readdirSync } from 'node:fs'
import { errnoOf, Refusal } from '../errors.js'
import { compileGlob, type GlobMatch } from '../paths/glob.js'
import { join, land } from '../paths/resolve.js'
import { HOST_SECRETS, MOVED_BASES, SECRET_NAMES } from './secret-names.js'
import type { ControlFile, HostFacts } from './types.js'

export interface SecretPlace {
  readonly path: string
  readonly source: string
}

const REGISTRY = 'default: registry credentials'

/** What is shown, as far as secrets are concerned. */
export type IsShown = (path: string) => boolean

/**
 * By home folder, by place, by variable and of ours; they need not exist. Nothing is looked at where `isShown` answers no, because a
 * policy that shows only the system's folders asks for a few places and not for hundreds.
 */
export function secretPlaces(
  { homes, credentials, controlFiles, pointed }: SecretSources,
  isShown: IsShown,
): readonly SecretPlace[] {
  const folders = new Folders()
  const ours = controlFiles.filter(({ isSecret }) => isSecret === true)
  const below = (base: string, names: readonly string[]): readonly (readonly [path: string, name: string])[] =>
    isShown(base) ? names.flatMap(name => folders.named(base, name).map(path => [path, name] as const)) : []
  return [
    ...credentials.map(path => ({ path, source: REGISTRY })),
    ...homes.flatMap(home =>
      below(home, SECRET_NAMES).map(([path, name]) => ({ path, source: `default: secret list (~/${name})` })),
    ),
    ...pointed.flatMap(({ variable, path }) => {
      if (variable === null) return [{ path, source: REGISTRY }]
      const base = MOVED_BASES[variable]
      const source = `default: secret list ($${variable}`
      if (base === undefined) return [{ path, source: `${source})` }]
      const names = SECRET_NAMES.filter(name => name.startsWith(`${base}/`)).map(name => name.slice(base.length + 1))
      return below(path, names).map(([place, name]) => ({ path: place, source: `${source}/${name})` }))
    }),
    ...HOST_SECRETS.flatMap(place => (isShown(literalPart(place)) ? folders.named('/', place.slice(1)) : [])).map(
      path => ({ path, source: 'default: secret list of the host' }),
    ),
    ...ours.map(({ path, what }) => ({ path, source: `default: ${what}` })),
  ]
}

export interface SecretSources {
  readonly homes: readonly string[]
  /** Files of installations that can hold registry credentials. */
  readonly credentials: readonly string[]
  readonly controlFiles: readonly ControlFile[]
  /** Places that the environment of the operator names: see `pointedPlaces`. */
  readonly pointed: HostFacts['pointedPlaces']
}

/** The folder that is certain to hold what a pattern names. */
function literalPart(pattern: string): string {
  const at = pattern.indexOf('*')
  return at < 0 ? pattern : pattern.slice(0, pattern.lastIndexOf('/', at)) || '/'
}

/** Names in folders, each listed once. */
class Folders {
  readonly #known = new Map<string, readonly string[] | null>()

  /**
   * What `pattern` names below `base`; a plain name where at least the first folder of it is there, so that what appears in it later is
   * known. What cannot be listed is asked for by every plain name.
   */
  named(base: string, pattern: string): readonly string[] {
    const [first = '', ...rest] = pattern.split('/')
    const names = this.#list(base)
    if (!pattern.includes('*')) return names === null || names.includes(first) ? [join(base, [first, ...rest])] : []
    const found = first.includes('*') ? (names ?? []).filter(matcherOf(first)) : [first]
    const paths = found.map(name => join(base, [name]))
    return rest.length === 0 ? paths : paths.flatMap(path => this.named(path, rest.join('/')))
  }

  #list(folder: string): readonly string[] | null {
    const known = this.#known.get(folder)
    if (known !== undefined) return known
    const names = listed(folder)
    this.#known.set(folder, names)
    return names
  }
}

const matchers = new Map<string, GlobMatch>()

function matcherOf(pattern: string): GlobMatch {
  const matcher = matchers.get(pattern) ?? compileGlob(pattern)
  matchers.set(pattern, matcher)
  return matcher
}

/** Null: it is there and cannot be listed. */
function listed(folder: string): string[] | null {
  try {
    return readdirSync(folder)
  } catch (error) {
    return errnoOf(error) === 'ENOENT' || errnoOf(error) === 'ENOTDIR' ? [] : null
  }
}

/** Folders of the top that the boundary has of its own, or that are views of the kernel and no files. */
const NOT_OF_THE_HOST: ReadonlySet<string> = new Set(['proc', 'dev', 'sys', 'run', 'tmp', 'toolchain'])

export interface HostTree {
  /** What `--read-host` shows, outermost first: the entries of the filesystem's top, and of /home each folder by itself. */
  readonly paths: readonly string[]
  /** What is not shown although it was asked for, and why. */
  readonly unlisted: readonly string[]
}

/** Throws where the top itself cannot be listed. `privateHome`: the place that our own home folder has inside. */
export function hostTree(privateHome: string): HostTree {
  const unlisted: string[] = []
  const top = readdirSync('/', { withFileTypes: true }).filter(({ name }) => !NOT_OF_THE_HOST.has(name))
  const paths = top.flatMap(entry => {
    const path = `/${entry.name}`
    if (path !== '/home') return isShowable(entry) ? [path] : []
    const landing = land(path, { cwd: '/' })
    if (landing instanceof Refusal || !landing.exists || landing.landed !== path) return []
    return homesIn(path, privateHome, unlisted)
  })
  return { paths: paths.sort(), unlisted }
}

/** A link of the top leads to what is shown by itself, and a programs' folder is linked by the boundary. */
function isShowable(entry: Dirent): boolean {
  return entry.isDirectory() || entry.isFile()
}

function homesIn(folder: string, privateHome: string, unlisted: string[]): string[] {
  try {
    const names = readdirSync(folder, { withFileTypes: true }).filter(isShowable)
    const paths = names.map(({ name }) => `${folder}/${name}`)
    if (paths.includes(privateHome))
      unlisted.push(`${privateHome} of the host: the private home folder is in its place`)
    return paths.filter(path => path !== privateHome)
  } catch {
    unlisted.push(`${folder} cannot be listed`)
    return []
  }
}
