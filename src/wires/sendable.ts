/** What every wire says of a turn in the same way: which tools can be published, results as text, foreign items. Pure. */
import { CALL_ARGUMENTS_DEPTH_MAX } from '../bounds.js'
import { Refusal } from '../errors.js'
import { isJsonObject, type Json, type JsonObject, nestingOf, ownText, withExactText } from '../json.js'
import type { Item, WireName, WireTool } from './port.js'

/** What endpoints accept as a function's name. */
const SENDABLE_NAME = /^[a-zA-Z0-9_-]+$/

/** Keywords that no vendor takes at the root of a tool's schema (case F04); one such tool breaks every request. */
const NOT_AT_ROOT = ['oneOf', 'anyOf', 'allOf', 'enum', 'not', '$ref']

/** The keyword for which no vendor would take this root of a tool's schema, or null. */
export function keywordNotAtRoot(schema: JsonObject): string | null {
  return NOT_AT_ROOT.find(word => Object.hasOwn(schema, word)) ?? null
}

/**
 * The tool itself. Refuses `tool-name-unsendable` and `tool-schema-unsendable`: told before the first request and by
 * the tool's name, where the endpoint would answer 400 to every request of the run.
 */
export function sendableTool(tool: WireTool, wire: WireName): WireTool {
  if (!SENDABLE_NAME.test(tool.name)) {
    throw new Refusal(
      'tool-name-unsendable',
      { name: tool.name },
      `the tool name ${JSON.stringify(tool.name)} cannot be sent on ${wire}: use only letters, digits, - and _`,
    )
  }
  const { input_schema: schema } = tool
  const keyword = keywordNotAtRoot(schema) ?? undefined
  if (keyword === undefined && schema.type === 'object') return tool
  throw new Refusal(
    'tool-schema-unsendable',
    { name: tool.name, ...(keyword === undefined ? {} : { keyword }) },
    `the schema of the tool ${tool.name} cannot be sent: its root has to be an object${keyword === undefined ? '' : ` without ${keyword}`}; put it into a property of an object`,
  )
}

/**
 * A model can invent a name that the endpoint would refuse in every later turn; the call was answered with a failure
 * already, so its replay only has to be acceptable.
 */
export function replayableName(name: string): string {
  return SENDABLE_NAME.test(name) ? name : name.replace(/[^a-zA-Z0-9_-]/g, '_')
}

/** Always text: endpoints have refused results for looking like a schema (case F15). */
export function resultText(output: Json): string {
  return typeof output === 'string' ? output : JSON.stringify(output)
}

/** Where the wire knows no failed flag on a result, the text says it. */
export function flaggedResultText(output: Json, failed: boolean): string {
  return failed ? JSON.stringify({ ok: false, error: output }) : resultText(output)
}

/**
 * What is not understood, kept to be sent again. `text` is `payload` as it was written; absent: its encoding. Throws RangeError
 * over the bound of nesting: whatever walks the conversation later would leave the stack.
 */
export function opaqueItem(wire: WireName, payload: JsonObject, text: string = JSON.stringify(payload)): Item {
  if (nestingOf(text) > CALL_ARGUMENTS_DEPTH_MAX) throw new RangeError('an opaque item is nested too deeply')
  return { kind: 'opaque', wire, payload, ...ownText(payload, text) }
}

/** True for an item that is sent as it was written, since encoding its value again would not give that. */
export function hasOwnText(item: Item): boolean {
  return (item.kind === 'opaque' || item.kind === 'tool-call') && item.text !== undefined
}

/** The arguments as the model wrote them, for the wires that send them as a text. */
export function argumentsText(call: Extract<Item, { kind: 'tool-call' }>): string {
  return call.text ?? JSON.stringify(call.arguments)
}

/** `value`, to be written as `text` where that is known. */
export function spelled(value: Json, text: string | undefined): Json {
  return text === undefined || !isJsonObject(value) ? value : withExactText({ ...value }, text)
}

/** The payload of an opaque item of this wire; refuses `item-of-another-wire`. */
export function opaquePayload(item: Extract<Item, { kind: 'opaque' }>, wire: WireName): Json {
  if (item.wire === wire) return spelled(item.payload, item.text)
  throw new Refusal(
    'item-of-another-wire',
    { wire, from: item.wire },
    `this conversation holds an item of the wire ${item.wire}, which ${wire} cannot replay: continue it on ${item.wire}`,
  )
}
