/**
 * An evaluator for the subset of the seatbelt profile language that we emit: it says what a profile says, not what macOS
 * does. Reader for comments, strings, `#"…"` patterns, symbols and lists; then rules in their order, the last match decides,
 * except that a denial which names the operation is not undone by a later wildcard. What it does not know, it refuses.
 */

type Datum = string | { readonly text: string } | { readonly pattern: string } | readonly Datum[]

/** What is asked: an operation, and whatever filters can look at. */
export interface Question {
  readonly operation: string
  /** Real path of what the operation is on. */
  readonly path?: string
  /** Absent: REGULAR-FILE. */
  readonly vnodeType?: 'REGULAR-FILE' | 'DIRECTORY' | 'SYMLINK' | 'CHARACTER-DEVICE'
  /** A mach service, a sysctl, a name of POSIX IPC, a domain of preferences. */
  readonly name?: string
  /** `host:port` of an address. */
  readonly remote?: string
  /** Extension that the kernel has issued for it. */
  readonly extension?: string
  /** Absent: a process outside. */
  readonly sameSandbox?: boolean
}

export interface Rule {
  readonly action: 'allow' | 'deny'
  readonly operations: readonly string[]
  readonly filters: readonly Datum[]
}

export interface ParsedProfile {
  readonly rules: readonly Rule[]
  readonly parameters: Readonly<Record<string, string>>
}

/** Throws for anything that is not in the subset, for a parameter that is not given and for one that no rule uses. */
export function parseProfile(text: string, parameters: Readonly<Record<string, string>>): ParsedProfile {
  const [version, ...forms] = read(text)
  if (JSON.stringify(version) !== '["version","1"]') throw new Error('a profile begins with (version 1)')
  const rules = forms.map(toRule)
  const used = new Set(rules.flatMap(({ filters }) => filters.flatMap(parametersIn)))
  for (const name of used) if (parameters[name] === undefined) throw new Error(`the parameter ${name} is not given`)
  for (const name of Object.keys(parameters)) if (!used.has(name)) throw new Error(`no rule uses the parameter ${name}`)
  return { rules, parameters }
}

/** May it be done? */
export function allows({ rules, parameters }: ParsedProfile, question: Question): boolean {
  let allowed = false
  let deniedByName = false
  for (const { action, operations, filters } of rules) {
    const named = operations.includes(question.operation)
    const matched = named || operations.some(pattern => covers(pattern, question.operation))
    const here = filters.length === 0 || filters.some(filter => holds(filter, question, parameters))
    if (!matched || !here) continue
    if (action === 'deny') {
      allowed = false
      deniedByName ||= named
    } else if (named || !deniedByName) {
      allowed = true
      deniedByName = false
    }
  }
  return allowed
}

function covers(pattern: string, operation: string): boolean {
  if (pattern === 'default') return true
  return pattern.endsWith('*') && operation.startsWith(pattern.slice(0, -1))
}

type Holds = (words: readonly Datum[], question: Question, parameters: ParsedProfile['parameters']) => boolean

const FILTERS: Readonly<Record<string, Holds>> = {
  literal: ([value], { path }, parameters) => path !== undefined && path === textOf(value, parameters),
  subpath: ([value], { path }, parameters) => {
    const folder = textOf(value, parameters)
    return path !== undefined && (path === folder || path.startsWith(`${folder}/`))
  },
  regex: ([value], { path }) => path !== undefined && patternOf(value).test(path),
  'vnode-type': ([value], { path, vnodeType = 'REGULAR-FILE' }) => path !== undefined && value === vnodeType,
  extension: ([value], { extension }, parameters) => extension === textOf(value, parameters),
  target: ([value], { sameSandbox = false }) => value === 'same-sandbox' && sameSandbox,
  'global-name': ([value], { name }, parameters) => name === textOf(value, parameters),
  'local-name': ([value], { name }, parameters) => name === textOf(value, parameters),
  'preference-domain': ([value], { name }, parameters) => name === textOf(value, parameters),
  'sysctl-name': ([value], { name }, parameters) => name === textOf(value, parameters),
  'sysctl-name-prefix': ([value], { name }, parameters) => name?.startsWith(textOf(value, parameters)) ?? false,
  'ipc-posix-name': ([value], { name }, parameters) => name === textOf(value, parameters),
  'ipc-posix-name-prefix': ([value], { name }, parameters) => name?.startsWith(textOf(value, parameters)) ?? false,
  'ipc-posix-name-regex': ([value], { name }) => name !== undefined && patternOf(value).test(name),
  remote: ([family, value], { remote }, parameters) => family === 'ip' && remote === textOf(value, parameters),
  'require-all': (words, question, parameters) => words.every(word => holds(word, question, parameters)),
  'require-any': (words, question, parameters) => words.some(word => holds(word, question, parameters)),
}

function holds(filter: Datum, question: Question, parameters: ParsedProfile['parameters']): boolean {
  const [name, words] = partsOf(filter)
  const known = FILTERS[name]
  if (known === undefined) throw new Error(`unknown filter ${name}`)
  return known(words, question, parameters)
}

function partsOf(form: Datum): readonly [name: string, words: readonly Datum[]] {
  if (!Array.isArray(form)) throw new Error(`a list is needed: ${JSON.stringify(form)}`)
  const [name, ...words] = form as readonly Datum[]
  if (typeof name !== 'string') throw new Error(`a list begins with a symbol: ${JSON.stringify(form)}`)
  return [name, words]
}

function textOf(value: Datum | undefined, parameters: ParsedProfile['parameters']): string {
  if (typeof value === 'object' && 'text' in value) return value.text
  const [name, [key]] = partsOf(value ?? [])
  if (name !== 'param' || typeof key !== 'object' || !('text' in key))
    throw new Error(`no value: ${JSON.stringify(value)}`)
  const found = parameters[key.text]
  if (found === undefined) throw new Error(`the parameter ${key.text} is not given`)
  return found
}

function patternOf(value: Datum | undefined): RegExp {
  if (typeof value === 'object' && 'pattern' in value) return new RegExp(value.pattern)
  throw new Error(`no pattern: ${JSON.stringify(value)}`)
}

function parametersIn(form: Datum): string[] {
  if (!Array.isArray(form)) return []
  const [name, key] = form as readonly Datum[]
  if (name === 'param' && typeof key === 'object' && 'text' in key) return [key.text]
  return (form as readonly Datum[]).flatMap(parametersIn)
}

function toRule(form: Datum): Rule {
  const [action, words] = partsOf(form)
  if (action !== 'allow' && action !== 'deny') throw new Error(`no rule: ${JSON.stringify(form)}`)
  const operations = words.filter((word): word is string => typeof word === 'string')
  const filters = words.slice(operations.length)
  if (operations.length === 0) throw new Error(`a rule without an operation: ${JSON.stringify(form)}`)
  for (const filter of filters) checkFilter(filter)
  return { action, operations, filters }
}

function checkFilter(filter: Datum): void {
  const [name, words] = partsOf(filter)
  if (FILTERS[name] === undefined) throw new Error(`unknown filter ${name}`)
  if (name.startsWith('require-')) for (const word of words) checkFilter(word)
}

const TOKEN = /\s+|;[^\n]*|(#"(?:[^"\\]|\\.)*")|("(?:[^"\\]|\\.)*")|([()])|([^\s;"()#]+)/gy

/** All data of a text. Throws where it is none. */
function read(text: string): Datum[] {
  const open: Datum[][] = [[]]
  TOKEN.lastIndex = 0
  while (TOKEN.lastIndex < text.length) {
    const at = TOKEN.lastIndex
    const match = TOKEN.exec(text)
    if (match === null) throw new Error(`no datum at ${text.slice(at, at + 20)}`)
    const [, pattern, string, bracket, symbol] = match
    const top = open.at(-1)
    if (top === undefined) throw new Error('a bracket too many')
    if (pattern !== undefined) top.push({ pattern: pattern.slice(2, -1) })
    else if (string !== undefined) top.push({ text: string.slice(1, -1).replace(/\\(.)/gs, '$1') })
    else if (symbol !== undefined) top.push(symbol)
    else if (bracket === '(') open.push([])
    else if (bracket === ')') {
      open.pop()
      const around = open.at(-1)
      if (around === undefined) throw new Error('a bracket too many')
      around.push(top)
    }
  }
  const [all, ...unclosed] = open
  if (all === undefined || unclosed.length > 0) throw new Error('a bracket is not closed')
  return all
}
