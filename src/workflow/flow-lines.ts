/**
 * The lines of a flow's journal: what is written as the walk goes, and what is believed when it is read. `at` is the key of a
 * section, of an attempt of one or of a step: ids and attempts in turn, `root.1.review.2.test`. Pure.
 */
import { FLOW_DEPTH_MAX } from '../bounds.js'
import { isCount, isJsonObject, type JsonObject } from '../json.js'
import { isSessionId } from '../session/ids.js'
import { WIRE_NAMES, type WireName } from '../wires/port.js'
import type { Flow } from './document.js'

export interface FlowHeader {
  readonly version: 1
  readonly flow_id: string
  /** The flow as it is walked, for telling what has changed. */
  readonly flow: Flow
  /** Of `flow`. */
  readonly digest: string
  /** `--max-attempts`; null: not given. */
  readonly max_attempts: number | null
  readonly input: string
  /** Landed. */
  readonly workspace: string
  readonly wire: WireName
  /** Seconds since 1970. */
  readonly created_unix: number
}

export type FlowLine =
  | { readonly kind: 'began'; readonly at: string }
  /** What an answer of an open step has cost: the line that ends the step has the sum, and a step that is killed has no such line. */
  | { readonly kind: 'spent'; readonly at: string; readonly cost: number }
  /** A step that is over: it is never run again in this attempt. */
  | {
      readonly kind: 'ended'
      readonly at: string
      readonly failed: boolean
      readonly note: string | null
      readonly gives: JsonObject
      /** Items of its section's session that count now. */
      readonly items: number
      /** Micro-USD; null: not priced. */
      readonly cost: number | null
    }
  /** A step that was stopped, and what it had cost: it is begun anew. */
  | { readonly kind: 'cut'; readonly at: string; readonly cost: number | null }
  | { readonly kind: 'skipped'; readonly at: string }
  /** An attempt that failed with another left. */
  | { readonly kind: 'retreat'; readonly at: string; readonly why: string }
  | { readonly kind: 'left'; readonly at: string; readonly failed: boolean; readonly gave: JsonObject }
  /** The last line of a walk that has told the operator what waits for him. */
  | { readonly kind: 'paused'; readonly at: string }
  | { readonly kind: 'resumed'; readonly resumed_unix: number }
  | { readonly kind: 'stopped'; readonly why: string }
  | { readonly kind: 'finished'; readonly clean: boolean }

type Check = (value: unknown) => boolean

const isText: Check = value => typeof value === 'string'
const isFlag: Check = value => typeof value === 'boolean'
const orNull =
  (holds: Check): Check =>
  value =>
    value === null || holds(value)

const SHAPES: Readonly<Record<FlowLine['kind'], Readonly<Record<string, Check>>>> = {
  began: { at: isText },
  spent: { at: isText, cost: isCount },
  ended: {
    at: isText,
    failed: isFlag,
    note: orNull(isText),
    gives: isJsonObject,
    items: isCount,
    cost: orNull(isCount),
  },
  cut: { at: isText, cost: orNull(isCount) },
  skipped: { at: isText },
  retreat: { at: isText, why: isText },
  left: { at: isText, failed: isFlag, gave: isJsonObject },
  paused: { at: isText },
  resumed: { resumed_unix: isCount },
  stopped: { why: isText },
  finished: { clean: isFlag },
}

/** As far as it is looked into: for what has changed. */
function isNode(value: unknown, depth: number): boolean {
  if (!isJsonObject(value) || typeof value.id !== 'string' || depth > FLOW_DEPTH_MAX) return false
  return value.kind !== 'group' || (Array.isArray(value.nodes) && value.nodes.every(node => isNode(node, depth + 1)))
}

const HEADER: Readonly<Record<string, Check>> = {
  version: value => value === 1,
  flow_id: value => typeof value === 'string' && isSessionId(value),
  flow: value => isJsonObject(value) && isText(value.id) && isNode(value.root, 0),
  digest: isText,
  max_attempts: orNull(isCount),
  input: isText,
  workspace: isText,
  wire: value => WIRE_NAMES.some(name => name === value),
  created_unix: isCount,
}

/** The header in a parsed first line, or what is wrong with it. */
export function flowHeaderOf(value: unknown): FlowHeader | string {
  const wrong = wrongKey(value, HEADER)
  return wrong === null ? (value as FlowHeader) : wrong
}

/** The line in a parsed value, or what is wrong with it. */
export function flowLineOf(value: unknown): FlowLine | string {
  const kind = isJsonObject(value) ? value.kind : undefined
  const shape = typeof kind === 'string' && Object.hasOwn(SHAPES, kind) ? SHAPES[kind as FlowLine['kind']] : undefined
  if (shape === undefined) return `no known kind of line: ${JSON.stringify(kind) ?? 'absent'}`
  const wrong = wrongKey(value, shape)
  return wrong === null ? (value as FlowLine) : wrong
}

function wrongKey(value: unknown, shape: Readonly<Record<string, Check>>): string | null {
  if (!isJsonObject(value)) return 'no JSON object'
  const wrong = Object.keys(shape).find(
    key => shape[key]?.(Object.hasOwn(value, key) ? value[key] : undefined) !== true,
  )
  return wrong === undefined ? null : `${JSON.stringify(wrong)} is absent or not what it should be`
}
