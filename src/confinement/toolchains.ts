/**
 * `--toolchain`: installations of the operator's, wherever they are, read-only and on the PATH (contract §21). Each is shown at its own
 * place, because its scripts name it by that, and linked from `/toolchain/NAME`. Registry credentials that an installation holds are
 * hidden, and its caches are those of the boundary's own HOME.
 */
import { existsSync, readFileSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { sha256Of } from '../digest.js'
import { Refusal } from '../errors.js'
import { isWithin, join, land } from '../paths/resolve.js'
import { shown } from '../paths/walk.js'
import type { HostFacts, LandedRule, StagedToolchain } from './types.js'

interface Builtin {
  /** Looked for on the PATH; the first that is there tells where the installation is. */
  readonly programs: readonly string[]
  /** One of them is below every installation of its kind. */
  readonly proofs: readonly string[]
  /** Files of the workspace by which `auto` chooses it. */
  readonly markers: readonly string[]
  /** Files below the installation that can hold registry credentials. */
  readonly credentials: readonly string[]
  readonly env: Readonly<Record<string, string>>
}

export const TOOLCHAINS: Readonly<Record<string, Builtin>> = {
  node: {
    programs: ['node'],
    proofs: ['lib/node_modules', 'include/node', 'share/doc/node', 'share/nodejs', 'share/doc/nodejs'],
    markers: ['package.json'],
    credentials: ['etc/npmrc', '.npmrc', 'lib/node_modules/npm/npmrc', '.yarnrc'],
    env: {},
  },
  python: {
    programs: ['python3', 'python'],
    proofs: ['lib/python3', 'lib/python3.9', ...[10, 11, 12, 13, 14, 15, 16].map(minor => `lib/python3.${minor}`)],
    markers: ['pyproject.toml', 'requirements.txt', 'setup.py', 'setup.cfg'],
    credentials: ['pip.conf', 'etc/pip.conf', '.pypirc', '.condarc', 'condarc', 'etc/conda', 'uv.toml'],
    env: {},
  },
  rust: {
    programs: ['cargo', 'rustc'],
    proofs: ['lib/rustlib'],
    markers: ['Cargo.toml'],
    credentials: ['.cargo/credentials.toml', '.cargo/credentials', 'credentials.toml', 'credentials'],
    env: {},
  },
  go: {
    programs: ['go'],
    proofs: ['pkg/tool', 'src/runtime', 'pkg/include'],
    markers: ['go.mod'],
    credentials: [],
    // Else another version would be fetched, and without a network every command would fail.
    env: { GOTOOLCHAIN: 'local' },
  },
}

export interface FoundToolchains {
  readonly toolchains: readonly StagedToolchain[]
  readonly env: Readonly<Record<string, string>>
  /** Files that can hold credentials, to be hidden where something shows them. */
  readonly credentials: readonly string[]
}

/**
 * Finds each of `asked` on the PATH. `auto` stands for those that the workspace has a marker of and that are installed. Throws
 * `bad-arguments` for an unknown name and `unsupported-rule` for one that is not installed or is no installation of its own.
 */
export function findToolchains(
  asked: readonly string[],
  workspace: LandedRule,
  facts: Pick<HostFacts, 'pathFolders' | 'homes'>,
): FoundToolchains {
  const toolchains: StagedToolchain[] = []
  for (const name of [...new Set(asked.flatMap(name => (name === 'auto' ? Object.keys(TOOLCHAINS) : [name])))]) {
    const builtin = Object.hasOwn(TOOLCHAINS, name) ? TOOLCHAINS[name] : undefined
    if (builtin === undefined) throw unknownName(name)
    const isAuto = !asked.includes(name)
    if (isAuto && !builtin.markers.some(marker => existsSync(join(workspace.path, [marker])))) continue
    // What the workspace holds is the agent's: a link there could lead to anything.
    const pathFolders = facts.pathFolders.filter(folder => !isWithin(folder, workspace.path))
    const root = rootOf(name, builtin, { ...facts, pathFolders })
    const why = typeof root === 'string' ? root : unusable(root.path, workspace, facts)
    if (why !== null && isAuto) continue
    if (why !== null || typeof root === 'string') throw cannot(name, why ?? '')
    const source = `--toolchain ${isAuto ? 'auto' : name}`
    toolchains.push({ name, root: root.path, source, sha256: digest(name, root.path, builtin) })
  }
  const builtins = toolchains.flatMap(({ name }) => TOOLCHAINS[name] ?? [])
  return {
    toolchains,
    env: Object.assign({}, ...builtins.map(({ env }) => env)),
    credentials: toolchains.flatMap(({ name, root }) =>
      (TOOLCHAINS[name]?.credentials ?? []).map(path => `${root}/${path}`),
    ),
  }
}

/** Where the installation is, or why there is none. */
function rootOf(
  name: string,
  { programs, proofs }: Builtin,
  { pathFolders, homes }: Pick<HostFacts, 'pathFolders' | 'homes'>,
): { readonly path: string } | string {
  for (const folder of pathFolders) {
    const program = programs.map(each => join(folder, [each])).find(existsSync)
    if (program === undefined) continue
    const landing = land(program, { cwd: '/' })
    if (landing instanceof Refusal || !landing.exists || landing.type !== 'file') continue
    const { landed } = landing
    const manager = MANAGERS.find(({ isOne }) => isOne(program, landed))
    const root = manager === undefined ? rootAbove(landed) : manager.chosen(landed, homes)
    if (root === null) {
      return `${shown(program)} is of ${manager?.name ?? ''}, which has chosen no version that is installed: choose one, or put the folder of the real one first in PATH`
    }
    if (root !== undefined && proofs.some(proof => existsSync(join(root, [proof])))) return { path: root }
    return `${shown(program)} is no part of an installation of ${name} (a shim perhaps): put the folder of the real one first in PATH`
  }
  return `there is no ${programs.join(' or ')} in PATH`
}

function rootAbove(program: string): string | undefined {
  return basename(dirname(program)) === 'bin' ? dirname(dirname(program)) : undefined
}

/** Programs that start the real ones by settings of their own; what they would start is asked of those settings. */
interface Manager {
  readonly name: string
  readonly isOne: (program: string, landed: string) => boolean
  /** The folder of the version that is chosen for the user; null: none is. */
  readonly chosen: (landed: string, homes: readonly string[]) => string | null
}

const MANAGERS: readonly Manager[] = [
  {
    // rustup book, "Overrides".
    name: 'rustup',
    isOne: (program, landed) => basename(landed).startsWith('rustup') || dirname(program).endsWith('/.cargo/bin'),
    chosen: (_, homes) =>
      firstOf(
        homes.map(home => `${home}/.rustup`),
        'settings.toml',
        /^default_toolchain\s*=\s*"([A-Za-z0-9._-]+)"/m,
        'toolchains',
      ),
  },
  {
    // pyenv(1), "Choosing the Python version": the file for the whole user.
    name: 'pyenv',
    isOne: (_, landed) => landed.includes('/.pyenv/shims/'),
    chosen: landed => firstOf([dirname(dirname(landed))], 'version', /^([A-Za-z0-9._-]+)\s*$/m, 'versions'),
  },
]

/** The folder below `folder` that a settings file in one of `places` names, landed. */
function firstOf(places: readonly string[], file: string, name: RegExp, folder: string): string | null {
  for (const place of places) {
    try {
      const [, chosen] = name.exec(readFileSync(`${place}/${file}`, 'utf8')) ?? []
      const landing = chosen === undefined ? null : land(`${place}/${folder}/${chosen}`, { cwd: '/' })
      if (landing !== null && !(landing instanceof Refusal) && landing.exists) return landing.landed
    } catch {
      // Another one may have it.
    }
  }
  return null
}

/** Why a folder is too much to show, or null. */
function unusable(root: string, workspace: LandedRule, { homes }: Pick<HostFacts, 'homes'>): string | null {
  const held = [...homes, workspace.path].find(folder => isWithin(folder, root))
  if (root !== '/' && held === undefined) return null
  return `${shown(root)} would have to be shown, which is or holds ${held === undefined ? 'everything' : shown(held)}`
}

function digest(name: string, root: string, builtin: Builtin): string {
  return sha256Of(JSON.stringify({ name, root, ...builtin }))
}

function cannot(name: string, why: string): Refusal {
  const rule = `--toolchain ${name}`
  return new Refusal('unsupported-rule', { rule, why }, `${rule}: ${why}`)
}

function unknownName(name: string): Refusal {
  const text = `--toolchain ${JSON.stringify(name)}: write auto, or of ${Object.keys(TOOLCHAINS).join(', ')} what is needed`
  return new Refusal('bad-arguments', { argument: '--toolchain' }, text)
}
