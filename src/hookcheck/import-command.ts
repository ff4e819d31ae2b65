/**
 * The command of an imported hook → argv. A line that is only words becomes them; what only a shell can run becomes a
 * wrapper script for the operator to read, write and own; what lies in the project, which the agent writes, becomes a
 * copy of it elsewhere. Until the operator has put that file there, the hook fails, and a gate that fails refuses. Pure.
 */
import { basename, join } from 'node:path'
import type { Json, JsonObject } from '../json.js'
import { type ShellWord, splitShellLine } from './shell-line.js'

/**
 * `left-out`: nothing in the result stands for it. `by-hand`: it refuses until the operator has done what the note says.
 * `changed`: it means something else here, as the note says.
 */
export interface ImportNote {
  readonly kind: 'left-out' | 'by-hand' | 'changed'
  /** e.g. `PreToolUse[1].hooks[2]`, positions 1-based; empty: the file as a whole. */
  readonly where: string
  readonly text: string
  /** Text of a file that the operator is to write. */
  readonly file?: { readonly path: string; readonly text: string }
}

/** Where things are on the machine of the operator. */
export interface ImportPlaces {
  /** Folder of the plugin that the file belongs to; null: the file belongs to none. */
  readonly pluginRoot: string | null
  readonly home: string | null
  /** Folder where programs of the operator's are to be put: outside of every workspace. */
  readonly programs: string
  /** Of the imported file, for the text of a wrapper. */
  readonly file: string
}

interface Naming extends ImportPlaces {
  readonly event: string
  /** Names that are taken. */
  readonly names: ReadonlySet<string>
}

export interface ImportedCommand {
  readonly name: string
  readonly argv: readonly string[]
  readonly notes: readonly Omit<ImportNote, 'where'>[]
}

const NAME_CHARS_MAX = 48
const SCRIPT = /\.(?:sh|bash|zsh|py|js|cjs|mjs|ts|rb|pl|php)$/
/** Stands for the project's folder while a line is taken apart. No path holds a NUL. */
const PROJECT = '\0project'

/** Null: the entry names no command. */
export function commandOf({ command, args }: JsonObject, naming: Naming): ImportedCommand | null {
  if (typeof command !== 'string' || command.trim() === '') return null
  if (args !== undefined) return direct(command, args, naming)
  const line = splitShellLine(command, variable => valueOfVariable(variable, naming))
  if (line.kind === 'shell') return wrapper(command, line.why, naming)
  return fromWords(line.words, naming)
}

function valueOfVariable(variable: string, { pluginRoot, home }: ImportPlaces): string | null {
  switch (variable) {
    case 'CLAUDE_PLUGIN_ROOT':
      return pluginRoot
    case 'HOME':
      return home
    case 'CLAUDE_PROJECT_DIR':
      return PROJECT
    default:
      return null
  }
}

/** The form with `args`: no shell there either; only the placeholders are written out. */
function direct(command: string, args: Json, naming: Naming): ImportedCommand {
  const list = Array.isArray(args) ? args : []
  const words = [command, ...list].map(word =>
    placeholders(typeof word === 'string' ? word : JSON.stringify(word), naming),
  )
  return fromWords(words, naming)
}

function placeholders(text: string, naming: Naming): ShellWord {
  const variables: string[] = []
  const written = text.replace(/\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g, (whole, variable: string) => {
    const value = valueOfVariable(variable, naming)
    if (value !== null) variables.push(variable)
    return value ?? whole
  })
  return { text: written, variables, fallback: null, unquoted: false }
}

function fromWords(words: readonly ShellWord[], naming: Naming): ImportedCommand {
  const name = freeName(baseName(words), naming)
  const notes: Omit<ImportNote, 'where'>[] = []
  const argv = words.map((word, at) => {
    const outside = outsideOfProject(word, at, naming)
    if (outside !== null) notes.push(outside.note)
    return outside?.path ?? word.text
  })
  const rooted = words.filter(({ variables }) => variables.includes('CLAUDE_PLUGIN_ROOT'))
  if (rooted.length > 0) notes.push({ kind: 'changed', text: rootText(rooted, naming) })
  for (const { fallback } of words) {
    if (fallback === null) continue
    const text = `without the variable a shell would have taken ${JSON.stringify(fallback)}, a place in the project, which the agent writes: the fall-back is gone`
    notes.push({ kind: 'changed', text })
  }
  return { name, argv, notes }
}

function rootText(words: readonly ShellWord[], { pluginRoot }: ImportPlaces): string {
  const split = words.some(({ unquoted }) => unquoted) && /\s/.test(pluginRoot ?? '')
  const said = `\${CLAUDE_PLUGIN_ROOT} is written out as ${pluginRoot}: it does not follow the plugin when that moves`
  return split ? `${said}; unquoted, a shell would have split it at its spaces; here it is one word` : said
}

/** A program or script in the project, and the path where a copy of the operator's is to stand instead. */
function outsideOfProject(
  { text }: ShellWord,
  at: number,
  { programs }: ImportPlaces,
): { readonly path: string; readonly note: Omit<ImportNote, 'where'> } | null {
  const inProject = text.includes(PROJECT)
  const relative =
    !text.startsWith('/') && !text.startsWith('-') && text.includes('/') && (at === 0 || SCRIPT.test(text))
  if (!inProject && !relative) return null
  const shown = text.replaceAll(PROJECT, '<project>').replace(/^(?!<project>)/, relative ? '<project>/' : '')
  if (!inProject || text.startsWith(`${PROJECT}/`)) {
    const path = join(programs, basename(text))
    const why = 'the project is what the agent writes, and a hook from there would be its own'
    return { path, note: { kind: 'by-hand', text: `read ${shown} and copy it to ${path}: ${why}` } }
  }
  const why = `${JSON.stringify(shown)} names the project, which is not known before a run: the document on stdin names it`
  return { path: text.replaceAll(PROJECT, '.'), note: { kind: 'by-hand', text: why } }
}

/** A script with the line in it, for the operator to write. */
function wrapper(line: string, why: string, naming: Naming): ImportedCommand {
  const name = freeName(slug(/([\w-]+)\.(?:sh|py|js|cjs|mjs|ts)\b/.exec(line)?.[1] ?? naming.event), naming)
  const path = join(naming.programs, `${name}.sh`)
  const text = `only a shell can run it: ${why}. Read it, write it to ${path} (mode 0755, yours or root's), and mend what the notes above say`
  return { name, argv: [path], notes: [{ kind: 'by-hand', text, file: { path, text: wrapperText(line, naming) } }] }
}

function wrapperText(line: string, { event, file, pluginRoot }: Naming): string {
  const shell = /\[\[|<<<|<\(|&>|pipefail|\bsource\b/.test(line) ? '/bin/bash' : '/bin/sh'
  const root =
    pluginRoot === null || !line.includes('CLAUDE_PLUGIN_ROOT') ? [] : [`CLAUDE_PLUGIN_ROOT=${quoted(pluginRoot)}`]
  const project = line.includes('CLAUDE_PROJECT_DIR')
    ? ['# CLAUDE_PROJECT_DIR is not set here: the document on stdin names the workspace.']
    : []
  const from = `# ${event} of ${file.replaceAll('\n', ' ')}`
  return `${[`#!${shell}`, from, ...project, ...root, line.trimEnd()].join('\n')}\n`
}

/** As one word of a POSIX shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}

/** The script that is run names the hook better than its interpreter does. */
function baseName(words: readonly ShellWord[]): string {
  const script = words.find(({ text }) => SCRIPT.test(text)) ?? words[0]
  return slug(basename(script?.text ?? '').replace(SCRIPT, ''))
}

function slug(text: string): string {
  const plain = text
    .replace(/([a-z])([A-Z])/g, '$1-$2')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
  return plain === '' ? 'hook' : plain
}

function freeName(wanted: string, { names }: Naming): string {
  for (let count = 1; ; count++) {
    const end = count === 1 ? '' : `-${count}`
    const name = `${wanted.slice(0, NAME_CHARS_MAX - end.length).replace(/-+$/, '')}${end}`
    if (!names.has(name)) return name
  }
}
