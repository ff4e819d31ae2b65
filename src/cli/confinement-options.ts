/** Confinement flags → what was asked for: a boundary choice and a policy request. Pure but for relative paths. */
import { resolve } from 'node:path'
import type { ConfineChoice, ControlFile, PolicyRequest } from '../confinement/types.js'
import { Refusal } from '../errors.js'
import { absoluteHide, onlyOfShells } from '../paths/hide-glob.js'
import { cacheFolder, controlFiles } from './control-files.js'
import type { CommandName } from './flags.js'
import type { Io } from './io.js'
import { parseLimits } from './limits.js'
import type { Given } from './parse.js'

const CHOICES: readonly ConfineChoice[] = [
  'off',
  'native',
  'auto',
  'bubblewrap',
  'bubblewrap-hostproc',
  'landlock',
  'seatbelt',
  'container',
]

/** Commands whose work is to launch: `off` is refused there and `auto` is the default (decisions 1). */
const LAUNCHES: ReadonlySet<CommandName> = new Set(['exec', 'explain', 'doctor'])

export function confineChoice(command: CommandName, given: Given): ConfineChoice {
  const word = given.one('--confine') ?? (given.has('--substrate-embedded') ? 'native' : undefined)
  const choice = word ?? (LAUNCHES.has(command) ? 'auto' : 'off')
  const known = CHOICES.find(name => name === choice)
  if (known === undefined) {
    const advised = CHOICES.filter(name => name !== 'off' || !LAUNCHES.has(command))
    throw new Refusal(
      'boundary-unknown',
      { name: choice, known: advised },
      `--confine ${choice}: write one of ${advised.join(', ')}`,
    )
  }
  if (known === 'off' && LAUNCHES.has(command)) {
    throw new Refusal('confinement-off', {}, `${command} starts nothing outside a boundary: leave --confine off out`)
  }
  return known
}

/** `--env NAME=VALUE` → a record. */
export function parseEnv(given: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    given.map(entry => {
      const match = /^([A-Za-z_][A-Za-z0-9_]*)=(.*)$/s.exec(entry)
      if (match !== null) return [match[1] ?? '', match[2] ?? '']
      throw new Refusal('bad-arguments', { argument: '--env' }, `--env ${entry}: write NAME=VALUE`)
    }),
  )
}

/** `--toolchain auto|NAME,…`: an empty name refuses as unknown where the names are looked up. */
function namesOf(words: string | undefined): readonly string[] {
  return words === undefined ? [] : words.split(',').map(word => word.trim())
}

function hidePlace(cwd: string, word: string): string {
  const why = onlyOfShells(word)
  if (why === null) return absoluteHide(cwd, word)
  throw new Refusal('bad-arguments', { argument: '--hide' }, `--hide ${word}: ${why}`)
}

export interface RequestSeams {
  readonly cwd: string
  readonly env: Io['env']
  readonly controlFiles: readonly ControlFile[]
  /** Null: the words after the options are the operator's own command. */
  readonly programs: readonly string[] | null
}

/** The request of this command line, with the files that it and our own folders say must not be changed. */
export function requestOf(
  given: Given,
  io: Pick<Io, 'cwd' | 'env' | 'installation'>,
  programs: RequestSeams['programs'],
): PolicyRequest {
  return policyRequest(given, { cwd: io.cwd, env: io.env, controlFiles: controlFiles(given, io), programs })
}

export function policyRequest(given: Given, { cwd, env, controlFiles, programs }: RequestSeams): PolicyRequest {
  const cgroupRoot = given.one('--cgroup-root')
  const caches = cacheFolder(env)
  const driver = given.one('--driver')
  const absolute = (paths: readonly string[]): string[] => paths.map(path => (path === '' ? path : resolve(cwd, path)))
  return {
    workspace: resolve(cwd, given.one('--workspace') ?? '.'),
    read: absolute(given.all('--read')),
    writeSubtrees: given.all('--process-write-subtree'),
    hide: given.all('--hide').map(path => hidePlace(cwd, path)),
    unprotect: given.all('--unprotect'),
    programs,
    env: parseEnv(given.all('--env')),
    limits: parseLimits(given.all('--limit')),
    controlFiles,
    allowHosts: given.all('--allow-host'),
    allowSockets: absolute(given.all('--allow-socket')),
    readHost: given.has('--read-host'),
    cache: given.has('--cache'),
    grants: given.all('--grant'),
    protectStrict: given.has('--protect-strict'),
    ...(caches === undefined ? {} : { cacheFolder: caches }),
    ...(driver === undefined ? {} : { driver: resolve(cwd, driver) }),
    toolchain: namesOf(given.one('--toolchain')),
    nesting: given.has('--allow-nesting'),
    ...(cgroupRoot === undefined ? {} : { cgroupRoot: resolve(cwd, cgroupRoot) }),
    ...containerUid(given),
  }
}

/** Greatest number of a user: the one above means "none" to the kernel (setuid(2)). */
const UID_MAX = 4_294_967_294

/** `--container-uid N`: a user that is not root, in the boundary `container` alone. */
function containerUid(given: Given): Pick<PolicyRequest, 'containerUid'> {
  const word = given.one('--container-uid')
  if (word === undefined) return {}
  const told = given.told('--container-uid')
  if (given.one('--confine') !== 'container') {
    const text = `${told} ${word}: only --confine container runs commands as another user; add that, or leave it out`
    throw new Refusal('bad-arguments', { argument: '--container-uid' }, text)
  }
  const uid = /^\d{1,10}$/.test(word) ? Number(word) : 0
  if (uid >= 1 && uid <= UID_MAX) return { containerUid: uid }
  const text = `${told} ${word}: write the number of a user, 1 to ${UID_MAX}`
  throw new Refusal('bad-arguments', { argument: '--container-uid' }, text)
}
