/**
 * Files that an interpreter runs or loads before the code it was given, without being told to: by family and options. What
 * the environment of hooks turns off (hookcheck.md §5.1: no user packages of Python, no start-up variables) is left out here.
 */
import type { Family, NamedCode } from './interpreters.js'
import { nameOf } from './wrappers.js'

export interface StartUpContext {
  /** HOME as the hook gets it; null: none. */
  readonly home: string | null
  readonly cwd: string
}

/** Absolute paths, existing or not, in the order they are read. Empty: it reads none, or its options turn them off. */
export function startUpFiles(program: string, code: NamedCode | null, context: StartUpContext): readonly string[] {
  const name = nameOf(program)
  const { home, cwd } = context
  const asked: Asked = {
    name,
    options: code?.options ?? [],
    atHome: (...names) => (home === null ? [] : names.map(file => `${home}/${file}`)),
    atCwd: (...names) => names.map(file => `${cwd === '/' ? '' : cwd}/${file}`),
  }
  if (code !== null) return READERS[code.family]?.(asked) ?? []
  return name === 'git' ? asked.atHome('.gitconfig', '.config/git/config') : []
}

interface Asked {
  readonly name: string
  readonly options: readonly string[]
  readonly atHome: (...names: readonly string[]) => readonly string[]
  readonly atCwd: (...names: readonly string[]) => readonly string[]
}

const READERS: Readonly<Partial<Record<Family, (asked: Asked) => readonly string[]>>> = {
  shell: shellFiles,
  // -E has Python look past PYTHONNOUSERSITE; -I and -s turn the user's packages off by themselves.
  python: ({ options, atHome }) => {
    const has = (letters: string): boolean => options.some(option => new RegExp(`^-[a-zA-Z]*[${letters}]`).test(option))
    return has('E') && !has('Is') ? atHome('.local/lib') : []
  },
  bun: ({ atCwd, atHome }) => [...atCwd('bunfig.toml', '.env'), ...atHome('.bunfig.toml')],
  pwsh: ({ options, atHome }) =>
    options.some(option => /^-nop(?:rofile)?$/i.test(option))
      ? []
      : atHome('.config/powershell/profile.ps1', '.config/powershell/Microsoft.PowerShell_profile.ps1'),
  r: ({ options, atHome, atCwd }) =>
    options.some(option => option === '--vanilla' || option === '--no-init-file')
      ? []
      : [...atCwd('.Rprofile', '.Renviron'), ...atHome('.Rprofile', '.Renviron')],
  php: ({ options }) => (options.includes('-n') ? [] : ['/etc/php.ini', '/usr/local/etc/php/php.ini']),
}

function shellFiles({ name, options, atHome }: Asked): readonly string[] {
  const short = (letter: string): boolean => options.some(option => new RegExp(`^-[a-zA-Z]*${letter}`).test(option))
  const login = short('l') || options.includes('--login')
  const interactive = short('i')
  if (/^-?zsh/.test(name)) {
    if (short('f') || options.includes('--no-rcs')) return []
    const more = [...(login ? ['.zprofile', '.zlogin'] : []), ...(interactive ? ['.zshrc'] : [])]
    return ['/etc/zshenv', '/etc/zsh/zshenv', ...atHome('.zshenv', ...more)]
  }
  if (/^-?fish/.test(name))
    return options.includes('--no-config') || short('N') ? [] : atHome('.config/fish/config.fish')
  if (/^-?t?csh/.test(name)) return short('f') ? [] : ['/etc/csh.cshrc', ...atHome('.tcshrc', '.cshrc')]
  const profile = login ? ['/etc/profile', ...atHome('.bash_profile', '.bash_login', '.profile')] : []
  return [...profile, ...(interactive ? atHome('.bashrc', '.kshrc', '.shinit') : [])]
}
