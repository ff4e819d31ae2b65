/**
 * A git configuration text as git reads it (git-config(1), "Syntax"), and which of its settings name a place or a program.
 * Lenient where git gives up: what stands behind a mistake is read too, because it may be mended before git looks. Pure.
 */
import { isPlainAlias } from './git-alias.js'

export interface GitSetting {
  /** Section and name in lower case, without the middle part: `diff.external`, `filter.clean`. */
  readonly key: string
  /** Without quotes, escapes and a trailing comment. Empty for a name without a value, which git reads as true. */
  readonly value: string
}

/** Settings in their order. Several headers may stand on one line, and comments are never continued. */
export function gitSettings(text: string): readonly GitSetting[] {
  const settings: GitSetting[] = []
  const rest = new Rest(text.replaceAll('\r\n', '\n').replace(/^\ufeff/, ''))
  let section = ''
  while (!rest.over) {
    const header = rest.take(/\[\s*([A-Za-z0-9.-]+)(?:\s+"(?:[^"\\\n]|\\[^\n])*")?\s*\]/y)
    if (header !== null) {
      // `[section.middle]` is the old way to write `[section "middle"]`.
      section = (header[1] ?? '').split('.', 1)[0]?.toLowerCase() ?? ''
      continue
    }
    const name = rest.take(/([A-Za-z][A-Za-z0-9-]*)[^\S\n]*/y)
    if (name === null) rest.take(/[#;][^\n]*|\s+|./sy)
    else settings.push({ key: `${section}.${name[1]?.toLowerCase() ?? ''}`, value: readValue(rest) })
  }
  return settings
}

/** What of a text has not been read yet. */
class Rest {
  #at = 0

  constructor(private readonly text: string) {}

  get over(): boolean {
    return this.#at >= this.text.length
  }

  /** What matches here, which is then behind us; null where nothing does. `pattern` is sticky. */
  take(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.#at
    const found = pattern.exec(this.text)
    if (found !== null) this.#at = pattern.lastIndex
    return found
  }
}

/**
 * From `=` to the end of the line, over lines that end in a backslash. Blanks go at both ends, but not what is quoted, nor what
 * only Unicode calls blank: `hooksPath = " "` names a folder (git-config(1), "Syntax").
 */
function readValue(rest: Rest): string {
  let value = ''
  let kept = 0
  let quoted = false
  if (rest.take(/=/y) === null) return value
  const next = (): string | undefined => rest.take(/[^\\"#;\n]+|\\?./sy)?.[0]
  for (let char = next(); char !== undefined; char = next()) {
    if (char === '\n') break
    // Blanks before any of these are kept, even before nothing: an empty pair of quotes, a line that goes on.
    if (char === '"' || char.startsWith('\\')) kept = value.length
    if (char === '"') quoted = !quoted
    else if (!quoted && (char === '#' || char === ';')) rest.take(/[^\n]*/y)
    else if (quoted || char.startsWith('\\')) {
      value += char.startsWith('\\') && char.length === 2 ? (UNESCAPED[char] ?? char.charAt(1)) : char
      kept = value.length
    } else {
      value += value === '' ? char.replace(/^[ \t\r]+/, '') : char
      const blanks = /[ \t\r]*$/.exec(char)?.[0].length ?? 0
      if (blanks < char.length) kept = value.length - blanks
    }
  }
  // As a string of C, which ends there.
  return value.slice(0, kept).split('\0', 1)[0] ?? ''
}

const UNESCAPED: Readonly<Record<string, string>> = { '\\\n': '', '\\n': '\n', '\\t': '\t', '\\b': '\b' }

export interface ConfigPlace {
  readonly key: 'core.hookspath' | 'include.path' | 'file' | 'command'
  readonly value: string
}

/** Settings whose value is a path that git reads settings or hooks from (git-config(1)). */
const FILES: ReadonlySet<string> = new Set(['core.attributesfile', 'init.templatedir'])

/**
 * Settings whose value git runs by itself (git-config(1), gitattributes(5), gitcredentials(7)). Aliases and tools that a
 * person calls by name are not among them.
 */
const COMMANDS: ReadonlySet<string> = new Set([
  ...['askpass', 'editor', 'fsmonitor', 'gitproxy', 'pager', 'sshcommand', 'alternaterefscommand'].map(
    name => `core.${name}`,
  ),
  ...['clean', 'process', 'smudge'].map(name => `filter.${name}`),
  ...['command', 'external', 'textconv'].map(name => `diff.${name}`),
  ...['program', 'defaultkeycommand'].map(name => `gpg.${name}`),
  ...['cmd', 'command'].map(name => `trailer.${name}`),
  'credential.helper',
  'gc.recentobjectshook',
  'hook.command',
  'interactive.difffilter',
  'merge.driver',
  'sequence.editor',
  'submodule.update',
  'uploadpack.packobjectshook',
])

/** Settings that git runs when a person calls what they belong to, or that let an address be a program (gitprotocol ext::). */
const CALLED: ReadonlySet<string> = new Set([
  ...['difftool', 'mergetool', 'browser', 'man', 'guitool'].flatMap(tool => [`${tool}.cmd`, `${tool}.path`]),
  ...['receivepack', 'uploadpack', 'vcs'].map(name => `remote.${name}`),
  ...['smtpserver', 'sendmailcmd', 'tocmd', 'cccmd', 'headercmd'].map(name => `sendemail.${name}`),
  ...['path', 'clean', 'smudge', 'standalonetransferagent'].map(name => `lfs.${name}`),
  'imap.tunnel',
  'instaweb.httpd',
  'protocol.allow',
  'svn.authorsprog',
  'tar.command',
])

function keyOf(key: string): ConfigPlace['key'] | null {
  if (key === 'core.hookspath') return key
  if (key === 'include.path' || key === 'includeif.path') return 'include.path'
  if (FILES.has(key)) return 'file'
  return COMMANDS.has(key) || key.startsWith('pager.') ? 'command' : null
}

/** The settings that name places, in their order: `core.hooksPath` and commands are relative to the working tree, includes to the file. */
export function configPlaces(text: string): readonly ConfigPlace[] {
  return gitSettings(text).flatMap(({ key, value }) => {
    const kind = keyOf(key)
    return kind === null || value === '' ? [] : [{ key: kind, value }]
  })
}

const BOOLEAN = /^(true|false|yes|no|on|off|0|1)$/i

/** By key: values with which git runs nothing. */
const HARMLESS: Readonly<Partial<Record<string, RegExp>>> = {
  __proto__: null as never,
  // Its own daemon, or none.
  'core.fsmonitor': BOOLEAN,
  // Copied from .gitmodules by `git submodule init`; a program begins with `!`.
  'submodule.update': /^(checkout|rebase|merge|none)$/,
}

/** Names of tools, which are looked up as files in a folder of git's scripts and sourced (git-mergetool--lib). */
const TOOLS: ReadonlySet<string> = new Set(['merge.tool', 'merge.guitool', 'diff.tool', 'diff.guitool'])

/**
 * The settings through which git runs a program or obeys another file, in their order: what a repository that nobody has
 * looked at must not have (confinement.md §4).
 */
export function executingPairs(text: string): readonly GitSetting[] {
  return gitSettings(text).filter(({ key, value }) => {
    if (value === '' || HARMLESS[key]?.test(value) === true) return false
    if (key.startsWith('pager.')) return !BOOLEAN.test(value)
    if (key.startsWith('alias.')) return !isPlainAlias(value)
    return keyOf(key) !== null || CALLED.has(key) || (TOOLS.has(key) && value.includes('/'))
  })
}
