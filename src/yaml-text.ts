/**
 * YAML text → the library's document, at a cost that any text stays within. The library composes by recursion and goes on after
 * what is wrong: brackets alone run out of stack (where that meets an expression which is compiled there, V8 ends the process),
 * and each of a million errors is an object with a stack of calls. So depth is looked for before anything is composed, and
 * composing ends at the first errors. Pure, but for two variables that are set aside meanwhile.
 */
import { Composer, type CST, type Document, isScalar, LineCounter, type Node, Parser, visit } from 'yaml'
import { YAML_DEPTH_MAX, YAML_ERRORS_MAX } from './bounds.js'

export interface YamlFault {
  /** 0-based, in the text. */
  readonly offset: number
  /** As the library names it, e.g. `BAD_INDENT`. */
  readonly code: string
  readonly message: string
  readonly warning: boolean
}

export interface YamlText {
  readonly lines: LineCounter
  /** Null: it was not composed to its end. */
  readonly document: Document.Parsed | null
  /** By offset; of very many the first ones. With errors among them the document is not to be used. */
  readonly faults: readonly YamlFault[]
  /** Where it is nested deeper than {@link YAML_DEPTH_MAX}; there are no other faults then. */
  readonly tooDeepAt: number | null
}

export interface YamlOptions {
  /** `failsafe`: every scalar is text. */
  readonly schema: 'failsafe' | 'core'
  /** What stands behind the first document. */
  readonly further: 'a fault' | 'left out'
}

/** Keys that stand twice are the caller's: the library compares each with each. */
export function parseYaml(text: string, options: YamlOptions): YamlText {
  const { env } = process
  const kept = PRINTING.map(name => [name, env[name]] as const)
  for (const name of PRINTING) delete env[name]
  try {
    return parsed(text, options)
  } finally {
    for (const [name, value] of kept) if (value !== undefined) env[name] = value
  }
}

/** Variables that make the library print what it reads, on stdout, where records go. */
const PRINTING = ['LOG_TOKENS', 'LOG_STREAM'] as const

function parsed(text: string, { schema, further }: YamlOptions): YamlText {
  const lines = new LineCounter()
  const faults: YamlFault[] = []
  const composer = new Composer({ schema, uniqueKeys: false, logLevel: further === 'a fault' ? 'error' : 'silent' })
  Object.defineProperty(composer, 'onError', { value: collector(faults) })
  const found: Document.Parsed[] = []
  try {
    for (const document of composer.compose(shallow(new Parser(lines.addNewLine).parse(text)), true, text.length)) {
      found.push(document)
      if (found.length > 1 || further === 'left out') break
    }
  } catch (error) {
    if (error instanceof TooDeep) return { lines, document: null, faults: [], tooDeepAt: error.offset }
    if (error !== ENOUGH) throw error
    return { lines, document: null, faults: faults.sort(byOffset), tooDeepAt: null }
  }
  const [document = null, next] = found
  const exhausted = faults.find(({ code }) => code === 'RESOURCE_EXHAUSTION')
  if (exhausted !== undefined) return { lines, document: null, faults: [], tooDeepAt: exhausted.offset }
  if (next !== undefined) faults.push({ ...SECOND, offset: next.range[0] })
  // What the composer did not tell its handler but wrote down itself.
  for (const { pos, code, message } of document?.errors ?? [])
    faults.push({ offset: pos[0], code, message, warning: false })
  return { lines, document, faults: faults.sort(byOffset), tooDeepAt: null }
}

const SECOND = { code: 'MULTIPLE_DOCS', message: 'Source contains multiple documents', warning: false }

const ENOUGH = new Error('enough faults')

class TooDeep extends Error {
  constructor(readonly offset: number) {
    super('too deep')
  }
}

function byOffset(a: YamlFault, b: YamlFault): number {
  return a.offset - b.offset
}

type Source = number | readonly number[] | { readonly offset: number }

/** The composer's handler of errors: its own makes an object with a stack of each. */
function collector(faults: YamlFault[]) {
  return (source: Source, code: string, message: string, warning = false): void => {
    const offset = typeof source === 'number' ? source : 'offset' in source ? source.offset : (source[0] ?? 0)
    // The composer catches what is thrown in a collection, and tells it as a fault of the collection.
    if (faults.length < YAML_ERRORS_MAX) faults.push({ offset, code, message, warning })
    if (faults.length >= YAML_ERRORS_MAX) throw ENOUGH
  }
}

/** The tokens, up to the first errors among them; deep ones throw. */
function* shallow(tokens: Iterable<CST.Token>): Generator<CST.Token> {
  let errors = 0
  for (const token of tokens) {
    const tooDeepAt = deepPart(token)
    if (tooDeepAt !== null) throw new TooDeep(tooDeepAt)
    yield token
    if (token.type === 'error') errors += 1
    if (errors >= YAML_ERRORS_MAX) return
  }
}

/** Without recursion, level by level: where it is too deep, or null. */
function deepPart(token: CST.Token): number | null {
  let level: CST.Token[] = [token]
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > YAML_DEPTH_MAX) return level[0]?.offset ?? 0
    level = level.flatMap(partsOf)
  }
  return null
}

function partsOf(token: CST.Token): CST.Token[] {
  if (token.type === 'document') return token.value === undefined ? [] : [token.value]
  if (!('items' in token)) return []
  const parts: CST.Token[] = []
  for (const { key, value } of token.items as readonly CST.CollectionItem[]) {
    if (key != null && 'items' in key) parts.push(key)
    if (value !== undefined && 'items' in value) parts.push(value)
  }
  return parts
}

export interface RepeatedKey {
  readonly name: string
  /** 0-based, in the text. */
  readonly offset: number
}

/** Keys that stand in one map before, wherever the map is, in the order of the text. */
export function repeatedKeys(root: Node | null): readonly RepeatedKey[] {
  const found: RepeatedKey[] = []
  if (root === null) return found
  visit(root, {
    Map: (_, map) => {
      const seen = new Set<string>()
      for (const { key } of map.items) {
        if (!isScalar(key)) continue
        const name = String(key.value)
        if (seen.has(name)) found.push({ name, offset: key.range?.[0] ?? 0 })
        seen.add(name)
      }
    },
  })
  return found.sort((a, b) => a.offset - b.offset)
}
