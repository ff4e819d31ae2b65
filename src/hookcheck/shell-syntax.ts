/**
 * HC205: a shell where none is needed, and shell syntax where none will read it. What stands in an argv is handed over as it
 * is written; a variable that hooks do not get is empty in a shell, or whatever follows `:-`, and both readings are told.
 */
import { nameOf } from '../hooks/wrappers.js'
import type { AuditContext, HookFacts } from './context.js'
import type { Reported } from './rule.js'

/** What makes a shell of a word: the program, its option that takes text, in which bundles of letters. */
const CMD = /^\/[ck]$/i

export function* shellWords(hook: HookFacts, audit: AuditContext): Iterable<Reported> {
  const { spec, closure } = hook
  const place = spec.places.get('command') ?? spec.place
  const { argv, code } = closure
  const name = nameOf(argv[0] ?? '')
  const texts = textsOf(argv, hook)
  for (const text of texts) {
    const unset = unsetNames(text, hook, audit)
    const message = `${name} is given text to run: ${JSON.stringify(text.slice(0, 200))}`
    const readings = unset
      .map(({ written, becomes }) => `${written} is not set for hooks and becomes ${becomes}`)
      .join('; ')
    if (unset.length === 0) yield { place, about: 'shell', message }
    else yield { place, about: 'shell', severity: 'error', message: `${message}; ${readings}` }
  }
  if (/^(?:cmd|cmd\.exe)$/i.test(name) && argv.some(word => CMD.test(word)))
    yield { place, about: 'shell', message: `${name} is given text to run` }
  const launcher = launcherOf(
    spec.command,
    closure.lookUps.map(({ wrapper }) => wrapper),
  )
  if (launcher !== null) yield { place, about: launcher, message: `${launcher} puts a command line together` }
  for (const [at, word] of spec.command.entries()) {
    if (texts.includes(word) || (code?.inline === true && at === spec.command.length - 1)) continue
    const what = unexpanded(word)
    if (what === null) continue
    const literal = `word ${at + 1}, ${JSON.stringify(word.slice(0, 200))}, holds ${what}, which nothing expands: it is handed over as it is`
    yield { place, about: `word ${at + 1}`, message: `${literal}${otherReading(word, hook, audit)}` }
  }
}

/** The words that a shell is given as its program. */
function textsOf(argv: readonly string[], { closure: { code } }: HookFacts): readonly string[] {
  if (code === null || !code.inline || (code.family !== 'shell' && code.family !== 'pwsh')) return []
  const at = argv.findIndex(
    (word, index) => index > 0 && /^-(?:-command|[a-zA-Z]*c|Command|EncodedCommand)$/.test(word),
  )
  const text = at < 0 ? undefined : argv[at + 1]
  return text === undefined ? [] : [text]
}

function launcherOf(command: readonly string[], wrappers: readonly string[]): string | null {
  const name = nameOf(command[0] ?? '')
  if (name === 'env' && command.some(word => /^-[iv0]*S|^--split-string/.test(word))) return 'env -S'
  if (wrappers.includes('xargs') || name === 'xargs') return 'xargs'
  if (name === 'find' && command.some(word => /^-(?:exec|execdir|ok|okdir)$/.test(word))) return 'find -exec'
  return name === 'ssh' && command.length > 2 ? 'ssh' : null
}

const OPERATORS: ReadonlySet<string> = new Set(['|', '||', '&&', ';', '&', '>', '>>', '<', '<<', '2>', '2>&1', '|&'])

function unexpanded(word: string): string | null {
  if (word.startsWith('~/')) return '"~/"'
  if (OPERATORS.has(word)) return `the operator ${word}`
  if (/\$\{\w{1,80}[^}]{0,200}\}/.test(word) || /^\$\w|\/\$\w|\$[A-Z_]{2,}/.test(word)) return 'a variable'
  if (/\$\(|`[^`]*`/.test(word)) return 'a command substitution'
  return /^\*[./]|\/\*(?:$|[./])/.test(word) ? 'a file pattern' : null
}

/** What a shell would have made of a word with a variable, so that both readings are told (case E24). */
function otherReading(word: string, hook: HookFacts, audit: AuditContext): string {
  const unset = unsetNames(word, hook, audit)
  if (unset.length === 0) return ''
  const expanded = unset.reduce((text, { written, value }) => text.replaceAll(written, value), word)
  const relative = expanded.startsWith('/') ? '' : `, which would be looked up in ${hook.cwd}`
  return `; a shell without the variable would run ${JSON.stringify(expanded)}${relative}`
}

interface UnsetName {
  readonly written: string
  readonly value: string
  readonly becomes: string
}

/** Variables and templates of `text` that hooks do not get and the text does not set. */
function unsetNames(text: string, { spec }: HookFacts, { environment }: AuditContext): readonly UnsetName[] {
  const set = new Set([...Object.keys(environment), ...spec.env, 'PATH', 'PWD', 'IFS', 'UID', 'RANDOM', 'HOSTNAME'])
  for (const [, name = ''] of text.matchAll(/(?:^|[\s;&|(])(?:export\s+|local\s+|read\s+(?:-r\s+)?)?([A-Za-z_]\w*)=/g))
    set.add(name)
  const loops = [...text.matchAll(/\b(?:for|read(?:\s+-r)?)\s+([A-Za-z_]\w*)/g)]
  for (const [, name = ''] of loops) set.add(name)
  const found = new Map<string, UnsetName>()
  for (const [written, braced, fallback, bare] of text.matchAll(
    /\$\{([A-Za-z_]\w{0,80})(?::?-([^}]{0,200}))?[^}]{0,200}\}|\$([A-Za-z_]\w*)/g,
  )) {
    const name = braced ?? bare ?? ''
    if (set.has(name)) continue
    const value = fallback ?? ''
    found.set(written, { written, value, becomes: value === '' ? 'empty' : JSON.stringify(value) })
  }
  for (const [written] of text.matchAll(/\{\{[^}]{0,200}\}\}/g))
    found.set(written, { written, value: written, becomes: 'itself' })
  return [...found.values()]
}
