/**
 * Findings that the operator takes the responsibility for: entries of `hookcheck-allow.json` beside the hooks file, and
 * `--ignore`. Each has a reason, which the report tells; an entry that is over, matches nothing or names what cannot be
 * ignored is a finding itself (hookcheck.md §9). Pure.
 */
import { dirname, join } from 'node:path'
import { kindOf, type Placed, readStrictJson } from '../hooks/strict-json.js'
import type { Finding } from './audit.js'
import type { SuppressedFinding } from './report.js'
import type { Rule } from './rule.js'

export interface AllowEntry {
  /** 1-based position in its file; the position among the options for `--ignore`. */
  readonly index: number
  readonly rule: string
  /** Name or 1-based position of the hook; null: every one. */
  readonly hook: string | number | null
  /** The file or folder it is about; null: any. */
  readonly path: string | null
  readonly reason: string
  /** The last day it holds, `YYYY-MM-DD`, UTC; null: no end. */
  readonly until: string | null
  /** Where it stands: the path of the file, or `--ignore`. */
  readonly by: string
}

export interface ParsedAllow {
  readonly entries: readonly AllowEntry[]
  /** One sentence each; what is wrong with an entry takes the others nothing away. */
  readonly problems: readonly string[]
}

const DEPTH_MAX = 3

export function allowPathOf(hooksPath: string): string {
  return join(dirname(hooksPath), 'hookcheck-allow.json')
}

/** Reads the content of an allow file: `{"version": 1, "entries": [{rule, hook?, path?, reason, until?}]}`. */
export function parseAllow(bytes: Uint8Array, path: string): ParsedAllow {
  const { root, defects } = readStrictJson(bytes, DEPTH_MAX)
  const [defect] = defects
  if (defect !== undefined || root?.kind !== 'object')
    return { entries: [], problems: [`${path}: ${defect?.message ?? 'it is no object'}: none of its entries holds`] }
  const value = (name: string): Placed | undefined => root.members.find(member => member.name === name)?.value
  const unknown = root.members.find(({ name }) => name !== 'version' && name !== 'entries')
  const [version, list] = [value('version'), value('entries')]
  if (unknown !== undefined || version?.kind !== 'number' || version.value !== 1 || list?.kind !== 'array') {
    const why =
      unknown === undefined
        ? '"version": 1 and a list "entries" are needed'
        : `unknown key ${JSON.stringify(unknown.name)}`
    return { entries: [], problems: [`${path}: ${why}: none of its entries holds`] }
  }
  const entries: AllowEntry[] = []
  const problems: string[] = []
  for (const [at, item] of list.items.entries()) {
    const entry = readEntry(item, at + 1, path)
    if (typeof entry === 'string') problems.push(`${path}: entry ${at + 1} ${entry}: it does not hold`)
    else entries.push(entry)
  }
  return { entries, problems }
}

const KEYS = ['rule', 'hook', 'path', 'reason', 'until']

function readEntry(item: Placed, index: number, by: string): AllowEntry | string {
  if (item.kind !== 'object') return `is ${kindOf(item)}, not an object`
  const unknown = item.members.find(({ name }) => !KEYS.includes(name))
  if (unknown !== undefined) return `has the unknown key ${JSON.stringify(unknown.name)}`
  const value = (name: string): Placed | undefined => item.members.find(member => member.name === name)?.value
  const text = (name: string): string | null => {
    const found = value(name)
    return found?.kind === 'string' && found.value.trim() !== '' ? found.value : null
  }
  const [rule, reason, until, hook] = [text('rule'), text('reason'), text('until'), value('hook')]
  if (rule === null) return 'names no rule'
  if (reason === null) return 'has no reason'
  if (value('until') !== undefined && (until === null || !isDay(until)))
    return 'has an "until" that is no day (YYYY-MM-DD)'
  if (hook !== undefined && hook.kind !== 'string' && hook.kind !== 'number')
    return 'has a "hook" that is neither a name nor a position'
  return { index, rule, hook: hook?.value ?? null, path: text('path'), reason, until, by }
}

function isDay(text: string): boolean {
  return /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(`${text}T00:00:00Z`))
}

export interface Suppressing {
  readonly entries: readonly AllowEntry[]
  readonly rules: readonly Rule[]
  /** By position: name and whether it is a gate. */
  readonly hooks: ReadonlyMap<number, { readonly name: string | null; readonly gate: boolean }>
  /** UTC, `YYYY-MM-DD`. */
  readonly today: string
}

export interface Suppressed {
  readonly findings: readonly Finding[]
  readonly suppressed: readonly SuppressedFinding[]
  /** What is wrong with the entries, for HC806: one sentence each. */
  readonly problems: readonly string[]
}

/** Takes the findings that an entry names away. */
export function suppress(findings: readonly Finding[], { entries, rules, hooks, today }: Suppressing): Suppressed {
  const byId = new Map(rules.map(rule => [rule.id as string, rule]))
  const problems: string[] = []
  const used = new Set<AllowEntry>()
  const refused = new Set<AllowEntry>()
  const valid = entries.filter(entry => {
    const why = whyInvalid(entry, byId.get(entry.rule), today)
    if (why !== null) problems.push(`${entry.by}: entry ${entry.index} (${entry.rule}) ${why}: it does not hold`)
    return why === null
  })
  const left: Finding[] = []
  const suppressed: SuppressedFinding[] = []
  for (const finding of findings) {
    const entry = valid.find(each => matches(each, finding, hooks))
    if (entry === undefined) left.push(finding)
    else if (isLasting(finding, byId.get(finding.rule), hooks)) {
      refused.add(entry)
      left.push(finding)
    } else {
      used.add(entry)
      suppressed.push({ ...finding, reason: entry.reason, by: entry.by })
    }
  }
  for (const entry of valid) {
    if (refused.has(entry))
      problems.push(`${entry.by}: entry ${entry.index} (${entry.rule}): this finding cannot be ignored at a gate`)
    else if (!used.has(entry))
      problems.push(`${entry.by}: entry ${entry.index} (${entry.rule}) matches nothing: remove it`)
  }
  return { findings: left, suppressed, problems }
}

function whyInvalid({ until }: AllowEntry, rule: Rule | undefined, today: string): string | null {
  if (rule === undefined) return 'names no rule that was evaluated'
  if (rule.lasting === 'always') return 'names a rule that cannot be ignored'
  return until !== null && until < today ? `was for the time until ${until}` : null
}

function matches({ rule, hook, path }: AllowEntry, finding: Finding, hooks: Suppressing['hooks']): boolean {
  if (rule !== finding.rule) return false
  if (hook !== null && hook !== finding.hook && hook !== (hooks.get(finding.hook ?? 0)?.name ?? null)) return false
  return path === null || path === finding.path || path === finding.step
}

function isLasting({ hook }: Finding, rule: Rule | undefined, hooks: Suppressing['hooks']): boolean {
  return rule?.lasting === 'always' || (rule?.lasting === 'gates' && (hook === null || hooks.get(hook)?.gate === true))
}
