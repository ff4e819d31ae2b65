/** The script that a hook is, and what its text says: read and taken apart once, however many hooks run it. */
import type { ClosureMember } from '../hooks/closure.js'
import type { Family } from '../hooks/interpreters.js'
import { isUnseen } from '../paths/file-view.js'
import type { AuditContext, HookFacts } from './context.js'
import {
  blocksWithOne,
  commonToolsIn,
  foreignDialect,
  type ScriptFamily,
  type ScriptRemark,
  swallowedFailures,
} from './script-text.js'

export interface ScriptRemarks {
  readonly swallowed: readonly ScriptRemark[]
  readonly dialect: readonly ScriptRemark[]
  readonly one: ScriptRemark | null
}

const NONE: ScriptRemarks = { swallowed: [], dialect: [], one: null }

const FAMILIES: Readonly<Partial<Record<Family, ScriptFamily>>> = {
  shell: 'shell',
  node: 'node',
  bun: 'node',
  deno: 'node',
  python: 'python',
}

/** The file whose text is the hook's own code: the script argument, else a program with a first line. */
export function scriptOf({ closure }: HookFacts): ClosureMember | undefined {
  return (
    closure.members.find(({ role }) => role === 'argument') ??
    closure.members.find(({ role, inspected }) => role === 'program' && inspected.format?.kind === 'script')
  )
}

/** Null where the hook is no script, or its text cannot be read (which HC001 tells). */
function textBytes(hook: HookFacts, { body }: AuditContext): Uint8Array | null {
  const member = scriptOf(hook)
  const bytes = member === undefined ? null : body(member.inspected.walk)
  return bytes === null || isUnseen(bytes) ? null : bytes
}

const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('utf8')

const toolsKnown = new WeakMap<Uint8Array, readonly string[]>()

/** Programs that a shell script names without a path. Apart from the remarks, of which the start of a run asks none. */
export function toolsOf(hook: HookFacts, audit: AuditContext): readonly string[] {
  const bytes = textBytes(hook, audit)
  if (bytes === null) return []
  const tools = toolsKnown.get(bytes) ?? commonToolsIn(textOf(bytes))
  toolsKnown.set(bytes, tools)
  return tools
}

const remarksKnown = new WeakMap<Uint8Array, Map<ScriptFamily, ScriptRemarks>>()

export function remarksOf(hook: HookFacts, audit: AuditContext): ScriptRemarks {
  const bytes = textBytes(hook, audit)
  if (bytes === null) return NONE
  const family = FAMILIES[hook.closure.code?.family ?? 'tool'] ?? 'other'
  const byFamily = remarksKnown.get(bytes) ?? new Map<ScriptFamily, ScriptRemarks>()
  remarksKnown.set(bytes, byFamily)
  const before = byFamily.get(family)
  if (before !== undefined) return before
  const text = textOf(bytes)
  const remarks: ScriptRemarks = {
    swallowed: swallowedFailures(text, family),
    dialect: foreignDialect(text),
    one: blocksWithOne(text, family),
  }
  byFamily.set(family, remarks)
  return remarks
}
