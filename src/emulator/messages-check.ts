/**
 * The body of `POST {base}/messages` as the endpoint takes it: required keys, roles that alternate, results right behind
 * their calls. Pure; written against the API's own rules, and strict where the API joins messages of one role.
 *
 * @see https://docs.anthropic.com/en/api/messages
 */
import { isJsonObject, type Json, type JsonObject } from '../json.js'
import {
  checkChosen,
  checkOnce,
  checkRange,
  readBody,
  readFilled,
  readList,
  readName,
  readObject,
  readOptionalList,
  readSwitch,
} from './body-check.js'
import {
  ASSISTANT_BLOCKS,
  blocksOf,
  checkCacheMark,
  type Draft,
  readTextBlock,
  USER_BLOCKS,
} from './messages-blocks.js'
import { Illegal, type PlayedRequest, type ReadRequest, readWith } from './request.js'

const KEYS: ReadonlySet<string> = new Set(
  `betas cache_control container context_management diagnostics inference_geo max_tokens messages metadata model
   output_config output_format service_tier speed stop_sequences stream system temperature thinking tool_choice tools top_k
   top_p user_profile_id workspace_id`.split(/\s+/),
)

/** Reads and checks one body. */
export function readMessagesRequest(body: unknown): ReadRequest {
  return readWith(read, body)
}

function read(value: unknown): PlayedRequest {
  const body = readBody(value, KEYS, () => 'Extra inputs are not permitted')
  const model = readFilled(body.model, 'model')
  checkMaxTokens(body)
  checkRange(body.temperature, 'temperature', 1)
  checkRange(body.top_p, 'top_p', 1)
  const stream = readSwitch(body.stream, 'stream')
  const draft: Draft = { texts: [], calls: [], results: [], open: [], cacheMarks: 0 }
  const tools = readTools(body, draft)
  if ((body.system ?? null) !== null) readSystem(body.system, draft)
  readMessages(body.messages, draft)
  if (draft.calls.length > 0 && tools.length === 0)
    throw new Illegal('tools', 'Requests which include `tool_use` or `tool_result` blocks must define tools')
  const { texts, calls, results } = draft
  return { model, tools, stream, usageAsked: true, texts, calls, results }
}

function checkMaxTokens({ max_tokens: bound, thinking }: JsonObject): void {
  if (bound === undefined) throw new Illegal('max_tokens', 'Field required')
  if (!Number.isInteger(bound) || (bound as number) < 1)
    throw new Illegal('max_tokens', `a whole number of 1 or more is needed, not ${JSON.stringify(bound)}`)
  const budget = isJsonObject(thinking) && thinking.type === 'enabled' ? thinking.budget_tokens : undefined
  if (typeof budget === 'number' && budget >= (bound as number))
    throw new Illegal('max_tokens', '`max_tokens` must be greater than `thinking.budget_tokens`')
}

function readTools({ tools, tool_choice: choice }: JsonObject, draft: Draft): readonly string[] {
  const names = readOptionalList(tools, 'tools').map((one, index) => {
    const at = `tools.${index}`
    const tool = readObject(one, at)
    if ((tool.type ?? 'custom') !== 'custom') throw new Illegal(`${at}.type`, 'only custom tools are played')
    const schema = readObject(tool.input_schema, `${at}.input_schema`)
    if (schema.type !== 'object') throw new Illegal(`${at}.input_schema.type`, "Input should be 'object'")
    checkCacheMark(tool, at, draft)
    return readName(tool.name, `${at}.name`)
  })
  checkOnce(names, 'tools')
  if ((choice ?? null) !== null) checkChoice(readObject(choice, 'tool_choice'), names)
  return names
}

function checkChoice(choice: JsonObject, names: readonly string[]): void {
  if (choice.type === 'tool') checkChosen(choice.name, names)
  else if (choice.type !== 'auto' && choice.type !== 'any' && choice.type !== 'none')
    throw new Illegal('tool_choice.type', `${JSON.stringify(choice.type ?? null)} is no kind of choice`)
  if (names.length === 0)
    throw new Illegal('tool_choice', '`tool_choice` may only be specified while providing `tools`')
}

function readSystem(system: Json | undefined, draft: Draft): void {
  for (const [index, block] of blocksOf(system, 'system').entries()) {
    if (block.type !== 'text') throw new Illegal(`system.${index}.type`, "Input should be 'text'")
    readTextBlock(block, `system.${index}`, draft)
    checkCacheMark(block, `system.${index}`, draft)
  }
}

function readMessages(value: Json | undefined, draft: Draft): void {
  const messages = readList(value, 'messages').map((one, index) => readObject(one, `messages.${index}`))
  for (const [index, message] of messages.entries()) {
    const at = `messages.${index}`
    const wanted = index % 2 === 0 ? 'user' : 'assistant'
    if (message.role !== wanted) throw new Illegal(`${at}.role`, roleWords(message.role, index))
    readMessage(message, at, draft)
  }
  if (messages.at(-1)?.role === 'assistant') checkPrefill(messages.at(-1), `messages.${messages.length - 1}`, draft)
}

function roleWords(role: Json | undefined, index: number): string {
  if (role !== 'user' && role !== 'assistant') return `${JSON.stringify(role ?? null)} is no role`
  if (index === 0) return 'first message must use the "user" role'
  return `roles must alternate between "user" and "assistant", but found multiple "${role}" roles in a row`
}

function readMessage(message: JsonObject, at: string, draft: Draft): void {
  const readers = message.role === 'user' ? USER_BLOCKS : ASSISTANT_BLOCKS
  const callsBefore = draft.calls.length
  let resultsOver = false
  for (const [index, block] of blocksOf(message.content, `${at}.content`).entries()) {
    const where = `${at}.content.${index}`
    const type = readFilled(block.type, `${where}.type`)
    const reader = Object.hasOwn(readers, type) ? readers[type] : undefined
    if (!reader)
      throw new Illegal(
        `${where}.type`,
        `a message of the ${message.role === 'user' ? 'user' : 'assistant'} holds no ${type}`,
      )
    if (type === 'tool_result' && resultsOver)
      throw new Illegal(where, '`tool_result` blocks have to come before any other content')
    resultsOver ||= type !== 'tool_result'
    reader(block, where, draft)
    checkCacheMark(block, where, draft)
  }
  if (draft.open.length > 0) throw unanswered(draft.open, at)
  draft.open = draft.calls.slice(callsBefore).map(({ id }) => id)
}

/** The conversation may end with words for the model to go on from, and with nothing else of its own. */
function checkPrefill(message: JsonObject | undefined, at: string, { open }: Draft): void {
  if (open.length > 0) throw unanswered(open, at)
  const last = blocksOf(message?.content, `${at}.content`).at(-1)
  if (typeof last?.text === 'string' && /\s$/.test(last.text))
    throw new Illegal(at, 'final assistant content cannot end with trailing whitespace')
}

function unanswered(ids: readonly string[], at: string): Illegal {
  return new Illegal(
    at,
    `\`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${ids.join(', ')}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`,
  )
}
