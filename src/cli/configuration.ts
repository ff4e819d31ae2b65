/**
 * Where the configuration file is, and whether there is one: one lstat(2) of every start. What reads it is loaded only
 * where it is there.
 */
import { lstatSync } from 'node:fs'
import { join } from 'node:path'
import { errnoOf, Refusal } from '../errors.js'
import type { CommandName } from './flags.js'
import type { Io } from './io.js'
import { baseFolder } from './own-folders.js'
import type { Typed } from './parse.js'

/** `$XDG_CONFIG_HOME/b10x/harness.toml` or `~/.config/b10x/harness.toml`; null without a home. */
export function configurationPath(env: NodeJS.ProcessEnv): string | null {
  const base = baseFolder(env, 'XDG_CONFIG_HOME')
  if (base === null) return null
  return join(base.path, base.below, 'b10x', 'harness.toml')
}

/** False only where nothing is at `path`: a dangling link is something, and what cannot be seen is left to who reads. */
export function isThere(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined
  } catch (error) {
    const errno = errnoOf(error)
    if (errno === undefined) throw error
    return errno !== 'ENOTDIR'
  }
}

/** What was typed, with what the configuration file says below it. Throws for a file that is wrong, and an unknown `-p`. */
export async function configured<Words extends Typed>(
  command: CommandName,
  typed: Words,
  io: Pick<Io, 'env' | 'cwd'>,
): Promise<Words> {
  const path = configurationPath(io.env)
  if (path !== null && isThere(path)) {
    const { applyConfiguration } = await import('./apply-configuration.js')
    return { ...typed, given: applyConfiguration({ command, given: typed.given, cwd: io.cwd, path }) }
  }
  const [name] = typed.given.all('--profile')
  if (name === undefined) return typed
  throw noFile(name, path)
}

function noFile(name: string, path: string | null): Refusal {
  const where =
    path === null
      ? 'there is no configuration file: HOME and XDG_CONFIG_HOME are not set'
      : `there is no configuration file ${path}: make one with harness profiles init`
  return new Refusal('profile-unknown', { name, known: [] }, `-p ${name}: ${where}`)
}
