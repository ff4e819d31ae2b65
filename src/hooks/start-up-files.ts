/**
 * Files that an interpreter runs or loads before the code it was given, without being told to: by family and options. What
 * the environment of hooks turns off (hookcheck.md §5.1: no user packages of Python, no start-up variables) is left out here.
 */
import type { NamedCode } from './interpreters.js'
import { nameOf } from './wrappers.js'

export interface StartUpContext {
  /** HOME as the hook gets it; null: none. */
  readonly home: string | null
  readonly cwd: string
}

/** Absolute paths, existing or not, in the order they are read. Empty: it reads none, or its options turn them off. */
export function startUpFiles(
  program: string,
  code: NamedCode | null,
  { home, cwd }: StartUpContext,
): readonly string[] {
  const name = nameOf(program)
  const options = code?.options ?? []
  const has = (...wanted: readonly string[]): boolean => options.some(option => wanted.includes(option))
  const atHome = (...names: readonly string[]): readonly string[] =>
    home === null ? [] : names.map(file => `${home}/${file}`)
  switch (code?.family) {
    case 'shell':
      return shellFiles(name, options, atHome)
    case 'python':
      // -E has Python look past PYTHONNOUSERSITE; -I and -s turn the user's packages off by themselves.
      return options.some(option => /^-[a-zA-Z]*E/.test(option)) &&
        !options.some(option => /^-[a-zA-Z]*[Is]/.test(option))
        ? atHome('.local/lib')
        : []
    case 'bun':
      return [`${cwd}/bunfig.toml`, `${cwd}/.env`, ...atHome('.bunfig.toml')]
    case 'pwsh':
      return options.some(option => /^-nop(?:rofile)?$/i.test(option))
        ? []
        : atHome('.config/powershell/profile.ps1', '.config/powershell/Microsoft.PowerShell_profile.ps1')
    case 'r':
      return has('--vanilla', '--no-init-file')
        ? []
        : [`${cwd}/.Rprofile`, `${cwd}/.Renviron`, ...atHome('.Rprofile', '.Renviron')]
    case 'ruby':
      return []
    default:
      return name === 'git' ? atHome('.gitconfig', '.config/git/config') : []
  }
}

function shellFiles(
  name: string,
  options: readonly string[],
  atHome: (...names: readonly string[]) => readonly string[],
): readonly string[] {
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
