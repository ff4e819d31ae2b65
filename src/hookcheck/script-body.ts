/** What the text of a script comes to: whether anything is left of it without comments, and how its lines end. */
import { SCRIPT_BYTES_MAX } from '../bounds.js'
import type { ClosureMember } from '../hooks/closure.js'
import { nameOf } from '../hooks/wrappers.js'
import { isUnseen } from '../paths/file-view.js'
import { type AuditContext, type HookFacts, presentMembers } from './context.js'

/** What runs as a program or is code of its own: the members whose text is looked at. */
export function scriptMembers(hook: HookFacts): readonly ClosureMember[] {
  return presentMembers(hook).filter(({ role, inspected }) => {
    const kind = inspected.format?.kind
    return (
      role === 'argument' || ((role === 'program' || role === 'interpreter') && kind !== 'elf' && kind !== 'mach-o')
    )
  })
}

/** Lines that do nothing but end well. */
const NOTHING =
  /^(?:exit(?:\s+0|\(0?\))?|:|true|pass|return(?:\s+0)?|process\.exit\(0?\)|sys\.exit\(0?\)|set\s+[-+]\w+(?:\s+pipefail)?|'use strict'|"use strict"|import\s+sys)\s*;?$/

/** Why a file does nothing, or null when it does something or that is not known here (HC001 tells what could not be read). */
export function vacuous({ facts, inspected }: ClosureMember, { body }: Pick<AuditContext, 'body'>): string | null {
  if (facts === null || facts.type !== 'file') return null
  if (facts.size === 0) return 'is empty'
  if (facts.size > SCRIPT_BYTES_MAX || inspected.unread !== null) return null
  const bytes = body(inspected.walk)
  if (isUnseen(bytes) || bytes.includes(0)) return null
  const lines = withoutComments(Buffer.from(bytes).toString('utf8'), commentsOf(inspected))
  if (lines.length === 0) return 'holds nothing but comments'
  return lines.every(line => NOTHING.test(line))
    ? `holds nothing but ${JSON.stringify(lines.join('; ').slice(0, 60))}`
    : null
}

/** `slashes` for the languages whose comments are those of C; `#` for all the others. */
function commentsOf({ format, walk }: ClosureMember['inspected']): 'hash' | 'slashes' {
  const line = format?.kind === 'script' ? `${nameOf(format.interpreter)} ${format.argument ?? ''}` : ''
  const byName = walk.end.kind === 'landed' && /\.(?:[cm]?[jt]sx?|php)$/.test(walk.end.facts.path)
  return byName || /\b(?:node|nodejs|bun|deno|php)\b/.test(line) ? 'slashes' : 'hash'
}

/** Line by line, and blocks by one pass: a pattern that may cross lines takes minutes for a file of empty ones. */
function withoutComments(text: string, comments: 'hash' | 'slashes'): readonly string[] {
  const mark = comments === 'slashes' ? '//' : '#'
  const plain = comments === 'slashes' ? withoutBlocks(text) : text
  return plain
    .replace(/^\ufeff/, '')
    .split('\n')
    .map(line => line.trim())
    .filter(line => line !== '' && !line.startsWith(mark) && !line.startsWith('#!'))
}

/** A block that is never closed is no comment. */
function withoutBlocks(text: string): string {
  const kept: string[] = []
  let at = 0
  for (;;) {
    const start = text.indexOf('/*', at)
    const end = start === -1 ? -1 : text.indexOf('*/', start + 2)
    if (end === -1) return kept.join('') + text.slice(at)
    kept.push(text.slice(at, start))
    at = end + 2
  }
}

/** Where a script has carriage returns at line ends: on its `#!` line, only further down in a script of a shell, or not where it matters. */
export function lineEnds(
  { inspected, facts }: ClosureMember,
  { body }: Pick<AuditContext, 'body'>,
): 'first' | 'later' | null {
  if (facts?.type !== 'file' || inspected.unread !== null) return null
  const bytes = body(inspected.walk)
  if (isUnseen(bytes)) return null
  const text = Buffer.from(bytes).toString('latin1')
  const isScript = text.startsWith('#!')
  if (isScript && /^[^\n]*\r\n/.test(text)) return 'first'
  const shell = isScript ? /^#!.*\b(?:ba|da|a|k|z|fi)?sh\b/.test(text) : inspected.walk.asWritten.endsWith('.sh')
  return shell && text.includes('\r\n') ? 'later' : null
}
