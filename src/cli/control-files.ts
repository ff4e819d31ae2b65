/**
 * The files that decide what we or the host will run later: none of them may lie inside a write grant, because what
 * can change them decides the next run. The list is what the command line names plus our own folders.
 */
import { join, resolve } from 'node:path'
import type { ControlFile } from '../confinement/types.js'
import { Refusal } from '../errors.js'
import { land } from '../paths/resolve.js'
import type { Io } from './io.js'
import { baseFolder } from './own-folders.js'
import type { Given } from './parse.js'

/** Options whose value is a file that the run obeys. */
const OBEYED: Readonly<Record<string, string>> = {
  '--api-key-file': 'the API key file',
  '--oauth-token-file': 'the token file',
  '--prices': 'the rate card',
  '--instructions-file': "the operator's instructions",
  '--output-schema': 'the schema of the answer',
  '--outcome-file': 'the outcome record',
  '--log-file': "the operator's log",
  '--session-dir': 'the session folder',
  '--driver': 'the driver',
}

/** Those of them whose content is nobody's to read. */
const SECRET: ReadonlySet<string> = new Set(['--api-key-file', '--oauth-token-file', '--session-dir'])

/** Options, each any number of times, whose value is a folder of what the model is told to follow. */
export const FOLLOWED: Readonly<Record<string, string>> = {
  '--skills-dir': 'the skills',
  '--agents-dir': 'the agents',
  '--plugin-dir': 'the plugin',
  '--memory-dir': 'the memories',
}

export function controlFiles(given: Given, io: Pick<Io, 'env' | 'cwd' | 'installation'>): readonly ControlFile[] {
  const named = Object.entries(OBEYED).flatMap(([flag, what]) => {
    const path = given.one(flag)
    const secret = SECRET.has(flag) ? { isSecret: true as const } : {}
    return path === undefined ? [] : [{ path: resolve(io.cwd, path), what: `${what} (${flag})`, ...secret }]
  })
  const followed = Object.entries(FOLLOWED).flatMap(([flag, what]) =>
    given.all(flag).map(path => ({ path: resolve(io.cwd, path), what: `${what} (${flag})` })),
  )
  const { file, providers } = given.configuration
  const tokens = providers.flatMap(({ name, tokenFile: path }) =>
    path === undefined ? [] : [{ path, what: `the token file of provider ${name}`, isSecret: true as const }],
  )
  return [
    ...(file === null ? [] : [{ path: file, what: 'the configuration file' }]),
    ...tokens,
    { path: io.installation, what: 'this program' },
    { path: process.execPath, what: 'the Node that runs this program' },
    ...ownFolders(io.env),
    ...named,
    ...followed,
  ]
}

/** Configuration, state and cache folders. */
function ownFolders(env: NodeJS.ProcessEnv): ControlFile[] {
  const at = (variable: Parameters<typeof baseFolder>[1], name: string, what: string): ControlFile[] => {
    const base = baseFolder(env, variable)
    return base === null
      ? []
      : [{ path: below(base.path, base.below, name), what: `${what} (${base.from})`, isSecret: true }]
  }
  return [
    ...at('XDG_CONFIG_HOME', 'b10x', 'our configuration'),
    ...at('XDG_STATE_HOME', 'b10x-harness', 'our state folder'),
    ...at('XDG_CACHE_HOME', 'b10x-harness', 'our code cache').map(file => ({ ...file, holdsCaches: true as const })),
  ]
}

/** Our folder in which the cache folders of workspaces are; undefined without a home. */
export function cacheFolder(env: NodeJS.ProcessEnv): string | undefined {
  const base = baseFolder(env, 'XDG_CACHE_HOME')
  return base === null ? undefined : below(base.path, base.below, 'b10x-harness')
}

/**
 * A place in a folder that the environment names. Where that is no folder (`HOME=/dev/null`, of daemons) it is no home and
 * holds nothing; then the thing itself counts, because a folder put in its stead would be obeyed.
 */
function below(folder: string, ...names: readonly string[]): string {
  const landing = land(folder, { cwd: '/' })
  const isOther = !(landing instanceof Refusal) && landing.exists && landing.type !== 'folder'
  return isOther ? folder : join(folder, ...names)
}
