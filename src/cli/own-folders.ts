/**
 * Where our own folders are (XDG Base Directory Specification). Both who loads the code cache and who keeps it out of every
 * write grant read it here: two answers would leave one of the places unguarded. Imports nothing, for it is parsed on
 * every start.
 */

/** XDG variable → the folder below HOME that stands in for it. */
const FALLBACKS = {
  XDG_CONFIG_HOME: '.config',
  XDG_STATE_HOME: '.local/state',
  XDG_CACHE_HOME: '.cache',
} as const

export interface BaseFolder {
  /** The variable that named it. */
  readonly from: string
  /** Absolute: what the variable holds. */
  readonly path: string
  /** Below `path`, without slashes at its ends; empty where the XDG variable itself was set. */
  readonly below: string
}

/** The base folder for `variable`; a value that is not absolute is ignored, as the specification says. Null without a home. */
export function baseFolder(
  env: Readonly<Record<string, string | undefined>>,
  variable: keyof typeof FALLBACKS,
): BaseFolder | null {
  const set = env[variable]
  if (set?.startsWith('/')) return { from: variable, path: set, below: '' }
  const home = env.HOME
  return home?.startsWith('/') ? { from: 'HOME', path: home, below: FALLBACKS[variable] } : null
}
