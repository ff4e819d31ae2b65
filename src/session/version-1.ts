/** Sessions of version 1 (contract §17): one pretty JSON document, `<id>.json`. Read, never written. Pure. */
import { isCount, isJsonObject, type JsonObject } from '../json.js'
import type { Item } from '../wires/port.js'
import { isSessionId } from './ids.js'
import { isTooDeep, parseLine, type ReadSession } from './read.js'
import { type HeaderLine, headerOf, itemOf, type SessionRecord } from './records.js'

const KEYS: ReadonlySet<string> = new Set([
  ...['version', 'id', 'wire', 'model', 'base_url', 'workspace', 'created_unix', 'updated_unix'],
  ...['turns', 'items', 'usage', 'cost_micro_usd', 'structured'],
])

/**
 * The same shape as of a version-2 file: the items, then one `turn` line that stands for all turns, with the cost of all and
 * without usage. Unknown keys are damage, as they were for who wrote it; so is anything else that is not whole.
 */
export function readVersion1(bytes: Buffer): ReadSession & { readonly updatedUnix?: number } {
  const document = isTooDeep(bytes, { start: 0, end: bytes.length }) ? undefined : parseLine(bytes)
  if (!isJsonObject(document)) return damage('no JSON document')
  const unknown = Object.keys(document).find(key => !KEYS.has(key))
  if (unknown !== undefined) return damage(`unknown key ${JSON.stringify(unknown)}`)
  if (document.version !== 1) return damage(`version is ${JSON.stringify(document.version) ?? 'absent'} and not 1`)
  const header = headerOf({ ...document, version: 2 })
  if (typeof header === 'string') return damage(header)
  const items = itemsOf(document)
  if (typeof items === 'string') return damage(items)
  const { turns, cost_micro_usd: cost = null, updated_unix: updatedUnix } = document
  if (!isCount(turns) || !(cost === null || isCount(cost)) || !isCount(updatedUnix) || !isSessionId(header.id))
    return damage('turns, cost_micro_usd or updated_unix is not what it should be')
  const turn = { kind: 'turn', turn: turns, model: header.model, usage: null, cost } as const
  const records: readonly SessionRecord[] = turns === 0 ? items : [...items, turn]
  return { kind: 'content', header: kept(header), records, keptBytes: bytes.length, torn: null, updatedUnix }
}

function kept({ version, id, wire, model, base_url, workspace, created_unix }: HeaderLine): HeaderLine {
  return { version, id, wire, model, base_url, workspace, created_unix }
}

function itemsOf({ items }: JsonObject): readonly Item[] | string {
  if (!Array.isArray(items)) return 'items is no list'
  const read: Item[] = []
  for (const [index, value] of items.entries()) {
    const item = itemOf(value)
    if (typeof item === 'string') return `items[${index}]: ${item}`
    read.push(item)
  }
  return read
}

function damage(why: string): ReadSession {
  return { kind: 'damage', line: 1, why }
}
