/**
 * The content blocks of `POST {base}/messages`: which kinds a role may hold, ids, results right behind their calls,
 * cache marks. Pure.
 *
 * @see https://docs.anthropic.com/en/api/messages
 */
import { isJsonObject, type Json, type JsonObject } from '../json.js'
import { type Conversation, readFilled, readList, readName, readObject, readSwitch, readText } from './body-check.js'
import { sealFits } from './played.js'
import { Illegal } from './request.js'

export interface Draft extends Conversation {
  /** Calls of the message before, whose results have to come in this one. */
  open: string[]
  cacheMarks: number
}

/** Marks that one request may hold. */
const CACHE_MARKS_MAX = 4
const CALL_ID = /^[a-zA-Z0-9_-]+$/

/** The blocks of a message or of `system`: a string counts as one block of text. */
export function blocksOf(content: Json | undefined, at: string): readonly JsonObject[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  return readList(content, at).map((block, index) => readObject(block, `${at}.${index}`))
}

/** A mark is counted whatever it hangs on: a block, a system block or a tool. */
export function checkCacheMark(holder: JsonObject, at: string, draft: Draft): void {
  const mark = holder.cache_control
  if ((mark ?? null) === null) return
  const ttl = isJsonObject(mark) ? (mark.ttl ?? '5m') : null
  if (!isJsonObject(mark) || mark.type !== 'ephemeral' || (ttl !== '5m' && ttl !== '1h'))
    throw new Illegal(`${at}.cache_control`, 'type ephemeral is needed, with a ttl of 5m or 1h or none')
  if (holder.type === 'text' && holder.text === '')
    throw new Illegal(`${at}.cache_control`, 'cache_control cannot be set for empty text blocks')
  if (holder.type === 'thinking' || holder.type === 'redacted_thinking')
    throw new Illegal(`${at}.cache_control`, 'cache_control cannot be set for thinking blocks')
  draft.cacheMarks += 1
  if (draft.cacheMarks > CACHE_MARKS_MAX)
    throw new Illegal(null, `A maximum of ${CACHE_MARKS_MAX} blocks with cache_control may be provided. Found more.`)
}

type Reader = (block: JsonObject, at: string, draft: Draft) => void

/** What a user may say. Images and documents are taken and not looked into. */
export const USER_BLOCKS: Readonly<Record<string, Reader>> = {
  text: readTextBlock,
  tool_result: readResult,
  image: () => {},
  document: () => {},
  search_result: () => {},
}

/** What an assistant's message may hold when it comes back. */
export const ASSISTANT_BLOCKS: Readonly<Record<string, Reader>> = {
  text: readTextBlock,
  tool_use: readCall,
  thinking: checkThinking,
  redacted_thinking: (block, at) => void readFilled(block.data, `${at}.data`),
}

export function readTextBlock(block: JsonObject, at: string, draft: Draft): void {
  const text = readText(block.text, `${at}.text`)
  if (text === '') throw new Illegal(`${at}.text`, 'text content blocks must be non-empty')
  if (text.trim() === '') throw new Illegal(`${at}.text`, 'text content blocks must contain non-whitespace text')
  draft.texts.push(text)
}

function readCall(block: JsonObject, at: string, draft: Draft): void {
  const id = readFilled(block.id, `${at}.id`)
  if (!CALL_ID.test(id)) throw new Illegal(`${at}.id`, `String should match pattern '${CALL_ID.source}'`)
  if (draft.calls.some(call => call.id === id)) throw new Illegal(`${at}.id`, `\`tool_use\` ids must be unique: ${id}`)
  readObject(block.input, `${at}.input`)
  draft.calls.push({ id, name: readName(block.name, `${at}.name`) })
}

function readResult(block: JsonObject, at: string, draft: Draft): void {
  const callId = readFilled(block.tool_use_id, `${at}.tool_use_id`)
  if (draft.results.some(result => result.callId === callId)) throw new Illegal(at, `${callId} has two results`)
  if (!draft.open.includes(callId)) {
    throw new Illegal(
      at,
      `unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${callId}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`,
    )
  }
  draft.open = draft.open.filter(id => id !== callId)
  const text = resultText(block.content, `${at}.content`)
  draft.texts.push(text)
  draft.results.push({ callId, failed: readSwitch(block.is_error, `${at}.is_error`), text })
}

/** A result may be empty, a string, or blocks of which the text counts. */
function resultText(content: Json | undefined, at: string): string {
  if ((content ?? null) === null) return ''
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) throw new Illegal(at, 'a string or an array is needed')
  return (content as readonly Json[])
    .map((block, index) => {
      const { type, text } = readObject(block, `${at}.${index}`)
      return type === 'text' ? readText(text, `${at}.${index}.text`) : ''
    })
    .join('')
}

/** Sealed by the endpoint and taken back only as it was. */
function checkThinking(block: JsonObject, at: string): void {
  const text = readText(block.thinking, `${at}.thinking`)
  const seal = readFilled(block.signature, `${at}.signature`)
  if (!sealFits(seal, text)) throw new Illegal(`${at}.signature`, 'Invalid `signature` in `thinking` block')
}
