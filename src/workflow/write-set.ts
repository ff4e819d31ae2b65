/**
 * What a node of a flow can write, and whether two of them can meet (decisions 48). A scope is a second layer under the run's:
 * it only narrows. One that allows something denies what it does not name; one that only denies leaves the rest as it was.
 */
import { globsMeet } from '../paths/glob.js'
import { normalizeRelative, parseWriteScope, type ScopeRule, type WriteScope } from '../paths/write-scope.js'
import type { Node } from './document.js'
import type { Step } from './step.js'

export type WriteSet =
  | { readonly kind: 'nothing' }
  /** The whole grant of the run: it meets everything that writes. */
  | { readonly kind: 'all' }
  | { readonly kind: 'globs'; readonly globs: readonly string[] }

const NOTHING: WriteSet = { kind: 'nothing' }
const ALL: WriteSet = { kind: 'all' }
const EVERYTHING = '**'

/** The layer of a step's scope for the file tools; empty: no further restriction. */
export function scopeLayer(scope: readonly string[]): WriteScope {
  const rules = reached(scope.map(parseWriteScope))
  const allows = rules.some(({ scope: word }) => word !== 'denied')
  return allows && !rules.some(isTotal) ? [...rules, parseWriteScope(`${EVERYTHING}=denied`)] : rules
}

/** Rules behind one that names every path are never asked. */
function reached(rules: readonly ScopeRule[]): readonly ScopeRule[] {
  const total = rules.findIndex(isTotal)
  return total < 0 ? rules : rules.slice(0, total + 1)
}

function isTotal({ glob }: ScopeRule): boolean {
  return glob === EVERYTHING
}

export function scopeWrites(scope: readonly string[]): WriteSet {
  const rules = scopeLayer(scope)
  const globs = rules.flatMap(({ glob, scope: word }) => (word === 'denied' ? [] : [glob]))
  if (globs.includes(EVERYTHING)) return ALL
  if (globs.length > 0) return { kind: 'globs', globs }
  return rules.some(isTotal) ? NOTHING : ALL
}

function stepWrites(step: Step): WriteSet {
  return step.kind === 'operator' ? NOTHING : scopeWrites(step.scope)
}

/** Of a section: the union over its steps. */
export function writesOf(node: Node): WriteSet {
  return node.kind === 'group' ? node.nodes.map(writesOf).reduce(union, NOTHING) : stepWrites(node)
}

function union(one: WriteSet, other: WriteSet): WriteSet {
  if (one.kind === 'all' || other.kind === 'all') return ALL
  if (one.kind === 'nothing') return other
  return other.kind === 'nothing' ? one : { kind: 'globs', globs: [...new Set([...one.globs, ...other.globs])] }
}

export function setsMeet(one: WriteSet, other: WriteSet): boolean {
  if (one.kind === 'nothing' || other.kind === 'nothing') return false
  if (one.kind === 'all' || other.kind === 'all') return true
  return one.globs.some(a => other.globs.some(b => globsMeet(a, b)))
}

/**
 * The folders that processes of a step may write, of those that the run grants to them (both relative to the workspace, `.` is
 * all of it). A mount holds a whole folder, so a glob counts where it is `FOLDER/**`, and a folder is given only where no rule
 * before it denies a part of it.
 */
export function processFolders(scope: readonly string[], granted: readonly string[]): readonly string[] {
  const rules = scopeLayer(scope)
  if (rules.length === 0) return granted
  const whole = rules.flatMap(({ glob, scope: word }, at) => {
    const folder = glob === EVERYTHING ? '.' : /^([^*]+)\/\*\*$/.exec(glob)?.[1]
    return word === 'denied' || folder === undefined || !isPlain(folder) ? [] : [{ folder, before: rules.slice(0, at) }]
  })
  const allows = rules.some(({ scope: word }) => word !== 'denied')
  const candidates = allows || rules.some(isTotal) ? whole : [{ folder: '.', before: rules }]
  const folders = candidates.flatMap(({ folder, before }) =>
    granted.flatMap(grant => {
      const both = inner(folder, grant)
      const held = both !== null && !before.some(rule => rule.scope === 'denied' && globsMeet(rule.glob, below(both)))
      return held ? [both] : []
    }),
  )
  return [...new Set(folders)].filter((one, _, all) => !all.some(other => other !== one && inner(one, other) === one))
}

/** As a rule has to spell it to match anything, and inside of the workspace. */
function isPlain(folder: string): boolean {
  return folder === '.' || (normalizeRelative(folder) === folder && !/^(?:\/|\.\.(?:\/|$))/.test(folder))
}

function below(folder: string): string {
  return folder === '.' ? EVERYTHING : `${folder}/${EVERYTHING}`
}

/** The one of two folders that lies in the other; null: neither does. */
function inner(one: string, other: string): string | null {
  if (other === '.' || one === other || one.startsWith(`${other}/`)) return one
  return one === '.' || other.startsWith(`${one}/`) ? other : null
}
