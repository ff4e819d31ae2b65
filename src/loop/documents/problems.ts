/** What can be wrong with a document, as data: where, what, why, and what mends it. Pure. */
import { Refusal } from '../../errors.js'
import type { WarningCode } from '../../events.js'
import { shown } from '../../paths/walk.js'

/** Each is a warning of this name; under `--strict-documents` all but `document-withheld` refuse. */
export type ProblemCode = Extract<
  WarningCode,
  | 'document-key-ignored'
  | 'document-refused'
  | 'document-recovered'
  | 'document-shadowed'
  | 'document-withheld'
  | 'plugin-unqualified'
>

export interface DocumentProblem {
  readonly code: ProblemCode
  /** As the operator spelled the folder, with the names below it. */
  readonly file: string
  /** 1-based line of the file; null: the file as a whole. */
  readonly line: number | null
  /** What and why, without the place. */
  readonly reason: string
  /** What works instead; '' where nothing has to be mended. */
  readonly fix: string
}

/** Why a document, or a part of it, cannot be read; the reader who knows the file makes a problem of it. */
export interface Defect {
  readonly line: number | null
  readonly reason: string
  readonly fix: string
}

export function defect(line: number | null, reason: string, fix: string): Defect {
  return { line, reason, fix }
}

export function isDefect(value: unknown): value is Defect {
  return typeof value === 'object' && value !== null && 'reason' in value && 'fix' in value
}

/** One line for a person: `"skills/a/SKILL.md" line 3: why: what works`. */
export function problemText({ file, line, reason, fix }: Omit<DocumentProblem, 'code'>): string {
  return `${shown(file)}${line === null ? '' : ` line ${line}`}: ${reason}${fix === '' ? '' : `: ${fix}`}`
}

/** The refusal of the whole run for one document. */
export function badDocument(problem: Omit<DocumentProblem, 'code'>): Refusal<'bad-document'> {
  const { file, line } = problem
  return new Refusal(
    'bad-document',
    { file, ...(line === null ? {} : { place: `line ${line}` }) },
    problemText(problem),
  )
}

/** Bidirectional controls (they show a text in another order than it is read) and control characters. */
const HIDDEN = /[\u202a-\u202e\u2066-\u2069\p{Cc}]/u
const HIDDEN_BUT_LAYOUT = /[\u202a-\u202e\u2066-\u2069]|(?![\n\t])\p{Cc}/u

/** The first character that hides what a text says, as `U+202E`; null: none. `layout`: newline and tab are allowed. */
export function hiddenCharacter(text: string, allowed: 'nothing' | 'layout'): string | null {
  const found = (allowed === 'layout' ? HIDDEN_BUT_LAYOUT : HIDDEN).exec(text)?.[0]
  return found === undefined ? null : `U+${(found.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`
}

/** White space of any kind and length as one space: how a text stands in a list of one line each. */
export function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
}
