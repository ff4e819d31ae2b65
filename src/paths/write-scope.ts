/**
 * Write scope (contract §9): ordered `GLOB=SCOPE` rules over workspace-relative paths, for `file.write` and `file.edit`.
 * Pure. Several layers (a run's and a workflow step's) are all asked, so a further layer can only narrow.
 */
import { Refusal } from '../errors.js'
import { compileGlob, type GlobMatch } from './glob.js'
import { shown } from './walk.js'

export type Scope = 'allowed' | 'partial-only' | 'denied'
export type WriteOperation = 'file.write' | 'file.edit'

export interface ScopeRule {
  /** As declared, `GLOB=SCOPE`. */
  readonly text: string
  readonly glob: string
  readonly scope: Scope
  readonly matches: GlobMatch
}

/** Rules in order; the first match decides; no match is unrestricted. Empty: no restriction by this layer. */
export type WriteScope = readonly ScopeRule[]

const SCOPES: readonly string[] = ['allowed', 'partial-only', 'denied'] satisfies readonly Scope[]

/** Parses one declaration, split at its last `=`. Throws `bad-arguments`. */
export function parseWriteScope(text: string): ScopeRule {
  const at = text.lastIndexOf('=')
  const glob = text.slice(0, Math.max(at, 0))
  const scope = text.slice(at + 1)
  if (glob === '' || !isScope(scope)) {
    const says = `write scope ${shown(text)} is not GLOB=SCOPE with a scope of ${SCOPES.join(', ')}, e.g. "docs/**=allowed"`
    throw new Refusal('bad-arguments', { argument: '--write-scope' }, says)
  }
  return { text, glob, scope, matches: compileGlob(glob) }
}

function isScope(text: string): text is Scope {
  return SCOPES.includes(text)
}

/**
 * For a warning: what rules of `texts` no path is ever matched by, and why, a line each. Such a denial denies nothing. Paths are
 * judged in their normal form ({@link normalizeRelative}); a glob is taken as it is written. Throws as {@link parseWriteScope}.
 */
export function vainRules(texts: readonly string[]): readonly string[] {
  return texts.flatMap(text => {
    const { glob } = parseWriteScope(text)
    if (!glob.split('/').some(name => name === '' || name === '.' || name === '..')) return []
    const meant = normalizeRelative(glob).replace(/^(?:\.\.\/)+/, '')
    const works = meant === '' || meant === '..' ? '**' : glob.endsWith('/') ? `${meant}/**` : meant
    return `the write scope rule ${shown(text)} matches no path, because paths are relative to the workspace and without ".", ".." and empty names: write ${shown(works)} in its place`
  })
}

/** `.` and empty components dropped, `..` resolved by spelling, leading `..` kept. The empty string is the folder itself. */
export function normalizeRelative(path: string): string {
  const names: string[] = []
  for (const name of path.split('/')) {
    if (name === '' || name === '.') continue
    if (name === '..' && names.length > 0 && names[names.length - 1] !== '..') names.pop()
    else names.push(name)
  }
  return names.join('/')
}

/** Null when every layer lets `operation` touch the workspace-relative `path`; else the first refusal (`write-scope`). */
export function scopeRefusal(layers: readonly WriteScope[], path: string, operation: WriteOperation): Refusal | null {
  for (const layer of layers) {
    const refused = layerRefusal(layer, path, operation)
    if (refused !== null) return refused
  }
  return null
}

function layerRefusal(layer: WriteScope, path: string, operation: WriteOperation): Refusal | null {
  const [first] = layer
  if (first === undefined) return null
  if (path.startsWith('/')) {
    const text = `${shown(path)} is absolute, and a write scope holds for paths relative to the workspace: use one`
    return new Refusal('write-scope', { path, rule: first.text, scope: first.scope }, text)
  }
  const relative = normalizeRelative(path)
  const rule = layer.find(({ matches }) => matches(relative))
  const advice = rule === undefined ? null : ADVICE[rule.scope][operation]
  if (rule === undefined || advice === null) return null
  const text = `${shown(path)} is ${rule.scope} by the write scope rule ${shown(rule.text)}: ${advice}`
  return new Refusal('write-scope', { path, rule: rule.text, scope: rule.scope }, text)
}

/** What to do instead, where a scope refuses an operation. */
const ADVICE: Readonly<Record<Scope, Readonly<Record<WriteOperation, string | null>>>> = {
  allowed: { 'file.write': null, 'file.edit': null },
  'partial-only': { 'file.write': 'change parts of it with file_edit instead', 'file.edit': null },
  denied: {
    'file.write': 'leave it as it is and write elsewhere',
    'file.edit': 'leave it as it is and write elsewhere',
  },
}
