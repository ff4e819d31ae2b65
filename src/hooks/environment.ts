/**
 * The environment of a hook, built from nothing: exactly what hookcheck.md §5.1 lists, and the names that the operator
 * added. What steers the shells and interpreters of a user's session never reaches a program that judges the agent. Pure.
 */
import { refusedName, runsAsFunction } from './environment-names.js'

export interface EnvironmentRequest {
  /** Ours, as inherited: locale and time zone are taken from it, and what is named. */
  readonly inherited: Readonly<Record<string, string | undefined>>
  /** The scrubbed PATH. */
  readonly path: string
  /** Absolute. */
  readonly home: string
  /** Of the user database. */
  readonly user: string
  /** A private folder. */
  readonly tmpdir: string
  /** Names to pass on, of `env` in the file and `--hook-env`. One that is not set here is left out. */
  readonly names: readonly string[]
}

/** Constants that keep interpreters from reading what a working folder or a home holds, and from waiting for a person. */
const CONSTANTS: Readonly<Record<string, string>> = {
  SHELL: '/bin/sh',
  TERM: 'dumb',
  NO_COLOR: '1',
  PYTHONSAFEPATH: '1',
  PYTHONNOUSERSITE: '1',
  PYTHONDONTWRITEBYTECODE: '1',
  GIT_TERMINAL_PROMPT: '0',
  GIT_OPTIONAL_LOCKS: '0',
}

const LOCALE = /^[A-Za-z0-9_.@-]{1,64}$/
const LOCALE_NAMES = ['LANG', 'LC_ALL', 'LC_CTYPE'] as const

/** All but the three variables of one launch, see {@link launchVariables}. A name that may not be passed on is a bug of the caller. */
export function hookEnvironment(request: EnvironmentRequest): Readonly<Record<string, string>> {
  const { inherited, path, home, user, tmpdir, names } = request
  const forbidden = names.find(name => refusedName(name) !== null)
  if (forbidden !== undefined) throw new Error(`the variable ${forbidden} was let through to a hook`)
  const added = names.flatMap(name => {
    const value = inherited[name]
    return value === undefined || runsAsFunction(value) ? [] : [[name, value] as const]
  })
  return {
    // First: what is built wins over what is named.
    ...Object.fromEntries(added),
    ...CONSTANTS,
    ...locale(inherited),
    ...timeZone(inherited.TZ),
    PATH: path,
    HOME: home,
    USER: user,
    LOGNAME: user,
    TMPDIR: tmpdir,
  }
}

/** What tells one launch apart; the launch id is the cookie by which what it leaves behind is found. */
export function launchVariables(runId: string, launchId: string, point: string): Readonly<Record<string, string>> {
  return { HARNESS_RUN_ID: runId, HARNESS_LAUNCH_ID: launchId, HARNESS_HOOK_POINT: point }
}

/** Each as inherited where it looks like a locale, `C.UTF-8` where it does not; LANG always, so that text is UTF-8. */
function locale(inherited: EnvironmentRequest['inherited']): Record<string, string> {
  const found = LOCALE_NAMES.flatMap(name => {
    const value = inherited[name]
    return value === undefined || value === '' ? [] : [[name, LOCALE.test(value) ? value : 'C.UTF-8'] as const]
  })
  return { LANG: 'C.UTF-8', ...Object.fromEntries(found) }
}

/** No path but into the system's own table, and nothing that a parser could stumble over (sudo's test, sudoers(5), env_check). */
function timeZone(value: string | undefined): { readonly TZ?: string } {
  if (value === undefined || value === '' || value.length > 256) return {}
  const printable = /^[\x21-\x7e]+$/.test(value)
  const outside = value.startsWith('/') && !value.startsWith('/usr/share/zoneinfo/')
  return printable && !outside && !value.startsWith(':') && !value.includes('..') ? { TZ: value } : {}
}
