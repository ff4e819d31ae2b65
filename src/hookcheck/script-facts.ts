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
  /** Programs that a shell script names without a path. */
  readonly tools: readonly string[]
}

const NONE: ScriptRemarks = { swallowed: [], dialect: [], one: null, tools: [] }

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

const known = new WeakMap<Uint8Array, Map<ScriptFamily, ScriptRemarks>>()

/** Nothing where the hook is no script, or its text cannot be read (which HC001 tells). */
export function remarksOf(hook: HookFacts, { body }: AuditContext): ScriptRemarks {
  const member = scriptOf(hook)
  const bytes = member === undefined ? null : body(member.inspected.walk)
  if (bytes === null || isUnseen(bytes)) return NONE
  const family = FAMILIES[hook.closure.code?.family ?? 'tool'] ?? 'other'
  const byFamily = known.get(bytes) ?? new Map<ScriptFamily, ScriptRemarks>()
  known.set(bytes, byFamily)
  const before = byFamily.get(family)
  if (before !== undefined) return before
  const text = Buffer.from(bytes).toString('utf8')
  const remarks: ScriptRemarks = {
    swallowed: swallowedFailures(text, family),
    dialect: foreignDialect(text),
    one: blocksWithOne(text, family),
    tools: commonToolsIn(text),
  }
  byFamily.set(family, remarks)
  return remarks
}
