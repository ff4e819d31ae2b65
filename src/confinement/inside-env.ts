/** The environment inside the boundary: built from nothing, so that nothing of ours is in it (decisions 35). */
import { Refusal } from '../errors.js'
import { isWithin } from '../paths/resolve.js'
import type { Policy } from './types.js'

/** HOME inside. */
export const HOME_INSIDE = '/home/agent'
/** The user's name inside. */
export const USER_INSIDE = 'agent'
/** Search path inside after what the host's own PATH contributes: the system's folders in the usual order. */
export const PATH_INSIDE = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

/**
 * The environment of a launcher's own process. It needs nothing of ours: a confined command can read the launcher's
 * first environment through `/proc/1/environ`, whatever is cleared later.
 */
export const LAUNCHER_ENV: Readonly<Record<string, string>> = { LANG: 'C', PATH: PATH_INSIDE }

export interface InsideEnvRequest {
  /** `--env`: wins over every default. */
  readonly extra: Readonly<Record<string, string>>
  /** Defaults that this policy adds. */
  readonly more: Readonly<Record<string, string>>
  /** Folders of the host's PATH, landed. */
  readonly pathFolders: readonly string[]
  /** Places whose content is shown inside; a PATH entry outside of them would name nothing. */
  readonly visible: readonly string[]
  /** The workspace and the write grants: their programs are never found by bare name. */
  readonly notSearched: readonly string[]
}

/** The complete environment; throws `bad-arguments` for a name or value that no environment can hold (environ(7)). */
export function insideEnv({
  extra,
  more,
  pathFolders,
  visible,
  notSearched,
}: InsideEnvRequest): Record<string, string> {
  for (const [name, value] of Object.entries(extra)) checkVariable(name, value)
  const kept = pathFolders.filter(
    folder =>
      !folder.includes(':') &&
      visible.some(root => isWithin(folder, root)) &&
      !notSearched.some(root => isWithin(folder, root)),
  )
  return {
    HOME: HOME_INSIDE,
    LANG: 'C.UTF-8',
    LOGNAME: USER_INSIDE,
    NO_COLOR: '1',
    PATH: [...new Set([...kept, ...PATH_INSIDE.split(':')])].join(':'),
    SHELL: '/bin/sh',
    TERM: 'dumb',
    TMPDIR: '/tmp',
    USER: USER_INSIDE,
    ...more,
    ...extra,
  }
}

/**
 * The environment of a launch with a terminal of its own: `term` is the name by which programs know what it can do (term(7)),
 * and colours are welcome (decisions 35). What `--env` has set stays.
 */
export function terminalEnv(
  { env, envSet }: Pick<Policy, 'env' | 'envSet'>,
  term: string,
): Readonly<Record<string, string>> {
  const defaults: [string, string][] = Object.entries(env).filter(([name]) => name !== 'NO_COLOR')
  const kept = envSet.map((name): [string, string] => [name, env[name] ?? ''])
  return Object.fromEntries([...defaults, ['TERM', term], ...kept])
}

function checkVariable(name: string, value: string): void {
  const argument = `--env ${name}`
  if (name === '' || /[=\0]/.test(name)) {
    throw new Refusal('bad-arguments', { argument }, `${JSON.stringify(name)} cannot be the name of a variable`)
  }
  if (value.includes('\0')) {
    throw new Refusal('bad-arguments', { argument }, `the value of ${name} holds a NUL byte: no variable can`)
  }
}
