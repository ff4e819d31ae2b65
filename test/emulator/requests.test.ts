/** What each wire's endpoint takes and refuses. Each case changes one thing of a body that passes. */
import t from 'tap'
import { readChatRequest } from '../../src/emulator/chat-check.js'
import { readMessagesRequest } from '../../src/emulator/messages-check.js'
import type { ReadRequest } from '../../src/emulator/request.js'
import { readResponsesRequest } from '../../src/emulator/responses-check.js'
import type { Json, JsonObject } from '../../src/json.js'

interface Case {
  readonly name: string
  readonly body: Json
  /** Absent: the body is taken. */
  readonly why?: RegExp
}

interface Wire {
  readonly read: (body: unknown) => ReadRequest
  readonly base: JsonObject
  /** What the base is read as. */
  readonly as: object
  readonly cases: readonly Case[]
}

function responses(): Wire {
  const call: JsonObject = { type: 'function_call', call_id: 'c1', name: 'run', arguments: '{}' }
  const result: JsonObject = { type: 'function_call_output', call_id: 'c1', output: 'ok' }
  const user: JsonObject = { role: 'user', content: [{ type: 'input_text', text: 'go' }] }
  const tool: JsonObject = { type: 'function', name: 'run', parameters: {} }
  const base: JsonObject = {
    model: 'm',
    stream: true,
    instructions: 'Be brief.',
    tools: [tool],
    input: [{ type: 'message', role: 'developer', content: 'Now.' }, user, call, result],
  }
  const input = (...items: Json[]): Json => ({ ...base, input: items })
  return {
    read: readResponsesRequest,
    base,
    as: {
      model: 'm',
      tools: ['run'],
      texts: ['Be brief.', 'Now.', 'go', 'ok'],
      calls: [{ id: 'c1', name: 'run' }],
      results: [{ callId: 'c1', failed: false, text: 'ok' }],
      stream: true,
      usageAsked: true,
    },
    cases: [
      { name: 'a text alone', body: { model: 'm', input: 'go' } },
      { name: 'no stream', body: { ...base, stream: false } },
      {
        name: 'a result in parts',
        body: input(user, call, { ...result, output: [{ type: 'input_text', text: 'x' }] }),
      },
      { name: 'an image', body: input({ role: 'user', content: [{ type: 'input_image', image_url: 'data:,' }] }) },
      {
        name: 'a refusal that comes back',
        body: input(user, { role: 'assistant', content: [{ type: 'refusal', refusal: 'no' }] }, user),
      },
      { name: 'reasoning that is stored', body: input(user, { type: 'reasoning', id: 'rs' }) },
      { name: 'an item of the endpoint', body: input(user, { type: 'web_search_call', id: 'w' }) },
      { name: 'no object', body: [], why: /no JSON object/ },
      { name: 'an unknown key', body: { ...base, messages: [] }, why: /Unknown parameter: 'messages'/ },
      { name: 'no model', body: { ...base, model: '' }, why: /^model/ },
      { name: 'a stream of another kind', body: { ...base, stream: 'yes' }, why: /^stream/ },
      { name: 'no input', body: { ...base, input: [] }, why: /^input/ },
      { name: 'what would have to be stored', body: { ...base, previous_response_id: 'r' }, why: /whole conversation/ },
      { name: 'no room', body: { ...base, max_output_tokens: 0 }, why: /^max_output_tokens/ },
      { name: 'too hot', body: { ...base, temperature: 2.5 }, why: /^temperature/ },
      { name: 'a call without a result', body: input(user, call), why: /No tool output found for function call c1/ },
      { name: 'a result without a call', body: input(user, result), why: /No tool call found .* c1/ },
      { name: 'a result before its call', body: input(user, result, call), why: /No tool call found/ },
      { name: 'two results', body: input(user, call, result, result), why: /c1 has two results/ },
      { name: 'two calls of one id', body: input(user, call, call, result), why: /c1 is used twice/ },
      { name: 'a role that is none', body: input({ role: 'tool', content: 'x' }), why: /"tool" is no role/ },
      {
        name: 'the wrong part',
        body: input({ role: 'assistant', content: [{ type: 'input_text', text: '' }] }),
        why: /output_text/,
      },
      { name: 'a result that is no text', body: input(call, { ...result, output: {} }), why: /output: a string/ },
      {
        name: 'arguments that are no text',
        body: input({ ...call, arguments: {} }, result),
        why: /arguments: a string/,
      },
      { name: 'a call name that is none', body: input({ ...call, name: 'a.b' }, result), why: /name/ },
      { name: 'an empty id', body: input({ ...call, call_id: '' }), why: /call_id/ },
      {
        name: 'reasoning by reference, not stored',
        body: { ...base, store: false, input: [user, { type: 'reasoning', id: 'rs' }] },
        why: /encrypted_content/,
      },
      { name: 'a tool name', body: { ...base, tools: [{ ...tool, name: 'a b' }] }, why: /tools\[0\]/ },
      {
        name: 'a tool without a schema',
        body: { ...base, tools: [{ type: 'function', name: 'a' }] },
        why: /parameters/,
      },
      { name: 'a tool of the endpoint', body: { ...base, tools: [{ type: 'web_search' }] }, why: /only functions/ },
      { name: 'a tool twice', body: { ...base, tools: [tool, tool] }, why: /run is published twice/ },
      {
        name: 'a choice of nothing',
        body: { ...base, tool_choice: { type: 'function', name: 'answer' } },
        why: /"answer" is not among the tools/,
      },
      { name: 'a choice that is no word for one', body: { ...base, tool_choice: 'any' }, why: /"any" is not among/ },
    ],
  }
}

function chat(): Wire {
  const call: JsonObject = { id: 'c1', type: 'function', function: { name: 'run', arguments: '{}' } }
  const user: JsonObject = { role: 'user', content: 'go' }
  const calling: JsonObject = { role: 'assistant', content: null, tool_calls: [call] }
  const result: JsonObject = { role: 'tool', tool_call_id: 'c1', content: '{"ok":false,"error":"no"}' }
  const tool: JsonObject = { type: 'function', function: { name: 'run', parameters: { type: 'object' } } }
  const base: JsonObject = {
    model: 'm',
    stream: true,
    stream_options: { include_usage: true },
    tools: [tool],
    messages: [{ role: 'system', content: 'Be brief.' }, user, calling, result],
  }
  const messages = (...list: Json[]): Json => ({ ...base, messages: list })
  return {
    read: readChatRequest,
    base,
    as: {
      model: 'm',
      tools: ['run'],
      texts: ['Be brief.', 'go', '{"ok":false,"error":"no"}'],
      calls: [{ id: 'c1', name: 'run' }],
      results: [{ callId: 'c1', failed: true, text: '{"ok":false,"error":"no"}' }],
      stream: true,
      usageAsked: true,
    },
    cases: [
      { name: 'the least', body: { model: 'm', messages: [user] } },
      {
        name: 'parts',
        body: messages({
          role: 'user',
          content: [
            { type: 'text', text: 'x' },
            { type: 'image_url', image_url: {} },
          ],
        }),
      },
      { name: 'words beside calls', body: messages(user, { ...calling, content: 'I run it.' }, result, user) },
      { name: 'no object', body: null, why: /no JSON object/ },
      { name: 'an unknown key', body: { ...base, input: 'x' }, why: /Unrecognized request argument supplied: input/ },
      { name: 'no model', body: { messages: [user] }, why: /^model/ },
      { name: 'no messages', body: messages(), why: /^messages: a non-empty array/ },
      { name: 'no message', body: messages('go'), why: /messages\[0\]: an object/ },
      {
        name: 'stream options without a stream',
        body: { ...base, stream: false },
        why: /only allowed when 'stream' is enabled/,
      },
      { name: 'no room', body: { ...base, max_tokens: -1 }, why: /^max_tokens/ },
      { name: 'two choices', body: { ...base, n: 2 }, why: /^n: / },
      {
        name: 'an empty list of tools',
        body: { model: 'm', messages: [user], tools: [] },
        why: /^tools: a non-empty array/,
      },
      {
        name: 'a choice without tools',
        body: { model: 'm', messages: [user], tool_choice: 'auto' },
        why: /only allowed when 'tools'/,
      },
      {
        name: 'a choice of nothing',
        body: { ...base, tool_choice: { type: 'function', function: { name: 'x' } } },
        why: /"x" is not among/,
      },
      { name: 'a choice that is no word for one', body: { ...base, tool_choice: 'any' }, why: /"any" is not among/ },
      { name: 'a tool twice', body: { ...base, tools: [tool, tool] }, why: /run is published twice/ },
      {
        name: 'a tool name',
        body: { ...base, tools: [{ type: 'function', function: { name: 'a.b' } }] },
        why: /tools\[0\]\.function\.name/,
      },
      { name: 'a role that is none', body: messages({ role: 'robot', content: 'x' }), why: /"robot" is no role/ },
      { name: 'nothing said', body: messages({ role: 'assistant', content: null }), why: /content/ },
      { name: 'a call without a result', body: messages(user, calling), why: /did not have response messages: c1/ },
      {
        name: 'a result that comes late',
        body: messages(user, calling, user, result),
        why: /did not have response messages: c1/,
      },
      {
        name: 'a result without a call',
        body: messages(user, result),
        why: /must be a response to a preceding message/,
      },
      { name: 'two results', body: messages(user, calling, result, result), why: /c1 has two results/ },
      {
        name: 'two calls of one id',
        body: messages(user, { ...calling, tool_calls: [call, call] }, result),
        why: /c1 is used twice/,
      },
      {
        name: 'the id of an earlier call',
        body: messages(user, calling, result, calling, result),
        why: /c1 is used twice/,
      },
      {
        name: 'arguments that are no text',
        body: messages(user, { ...calling, tool_calls: [{ ...call, function: { name: 'run', arguments: {} } }] }),
        why: /arguments: a string/,
      },
    ],
  }
}

function messages(): Wire {
  const user: JsonObject = { role: 'user', content: 'go' }
  const use: JsonObject = { type: 'tool_use', id: 'c1', name: 'run', input: {} }
  const calling: JsonObject = { role: 'assistant', content: [{ type: 'text', text: 'I run it.' }, use] }
  const back: JsonObject = {
    type: 'tool_result',
    tool_use_id: 'c1',
    is_error: true,
    content: [{ type: 'text', text: 'no' }],
  }
  const result: JsonObject = { role: 'user', content: [back] }
  const tool: JsonObject = { name: 'run', input_schema: { type: 'object' } }
  const mark: JsonObject = { cache_control: { type: 'ephemeral' } }
  const marked: JsonObject = { type: 'text', text: 'x', ...mark }
  const seal = Buffer.from('emulated 1: hm').toString('base64')
  const base: JsonObject = {
    model: 'm',
    max_tokens: 100,
    stream: true,
    system: [{ type: 'text', text: 'Be brief.', ...mark }],
    tools: [tool],
    messages: [user, calling, result],
  }
  const list = (...all: Json[]): Json => ({ ...base, messages: all })
  const says = (...content: Json[]): JsonObject => ({ role: 'assistant', content })
  const thinks = (thinking: string): JsonObject => says({ type: 'thinking', thinking, signature: seal })
  return {
    read: readMessagesRequest,
    base,
    as: {
      model: 'm',
      tools: ['run'],
      texts: ['Be brief.', 'go', 'I run it.', 'no'],
      calls: [{ id: 'c1', name: 'run' }],
      results: [{ callId: 'c1', failed: true, text: 'no' }],
      stream: true,
      usageAsked: true,
    },
    cases: [
      { name: 'the least', body: { model: 'm', max_tokens: 1, messages: [user] } },
      { name: 'thinking as it went out', body: list(user, thinks('hm'), user) },
      {
        name: 'thinking of elsewhere',
        body: list(user, says({ type: 'thinking', thinking: 'x', signature: 'Zm9yZWlnbg==' }), user),
      },
      { name: 'words to go on from', body: list(user, says({ type: 'text', text: 'It is' })) },
      {
        name: 'four marks',
        body: { ...base, tools: [{ ...tool, ...mark }], messages: [{ role: 'user', content: [marked, marked] }] },
      },
      {
        name: 'words behind the results',
        body: list(user, calling, { role: 'user', content: [back, { type: 'text', text: 'and?' }] }),
      },
      { name: 'no object', body: 'x', why: /no JSON object/ },
      { name: 'an unknown key', body: { ...base, store: true }, why: /^store: Extra inputs are not permitted/ },
      { name: 'no bound', body: { model: 'm', messages: [user] }, why: /^max_tokens: Field required/ },
      { name: 'no room', body: { ...base, max_tokens: 0 }, why: /^max_tokens/ },
      {
        name: 'more thinking than room',
        body: { ...base, thinking: { type: 'enabled', budget_tokens: 100 } },
        why: /thinking\.budget_tokens/,
      },
      { name: 'too hot', body: { ...base, temperature: 1.5 }, why: /^temperature/ },
      {
        name: 'a system message among the messages',
        body: list({ role: 'system', content: 'x' }),
        why: /"system" is no role/,
      },
      {
        name: 'the assistant first',
        body: list(says({ type: 'text', text: 'x' })),
        why: /first message must use the "user" role/,
      },
      { name: 'one role twice', body: list(user, user), why: /roles must alternate .* multiple "user"/ },
      { name: 'an empty text', body: list({ role: 'user', content: '' }), why: /must be non-empty/ },
      {
        name: 'a text of white space',
        body: list(user, says({ type: 'text', text: '\n' }), user),
        why: /must contain non-whitespace/,
      },
      { name: 'no content', body: list({ role: 'user', content: [] }), why: /messages\.0\.content: a non-empty array/ },
      { name: 'a call by the user', body: list({ role: 'user', content: [use] }), why: /holds no tool_use/ },
      {
        name: 'a block that is none',
        body: list({ role: 'user', content: [{ type: 'toString' }] }),
        why: /holds no toString/,
      },
      {
        name: 'a call without a result',
        body: list(user, calling, user),
        why: /ids were found without `tool_result` blocks immediately after: c1/,
      },
      { name: 'a call at the end', body: list(user, calling), why: /immediately after: c1/ },
      { name: 'a result without a call', body: list(result), why: /unexpected `tool_use_id`/ },
      {
        name: 'two results',
        body: list(user, calling, { role: 'user', content: [back, back] }),
        why: /c1 has two results/,
      },
      {
        name: 'results behind other words',
        body: list(user, calling, { role: 'user', content: [{ type: 'text', text: 'x' }, back] }),
        why: /before any other content/,
      },
      { name: 'two calls of one id', body: list(user, says(use, use), result), why: /must be unique: c1/ },
      { name: 'an id that is none', body: list(user, says({ ...use, id: 'a b' })), why: /should match pattern/ },
      {
        name: 'arguments that are no object',
        body: list(user, says({ ...use, input: '{}' })),
        why: /input: an object/,
      },
      {
        name: 'results without tools',
        body: { model: 'm', max_tokens: 1, messages: [user, calling, result] },
        why: /must define tools/,
      },
      {
        name: 'a schema of no object',
        body: { ...base, tools: [{ name: 'run', input_schema: {} }] },
        why: /Input should be 'object'/,
      },
      { name: 'a tool twice', body: { ...base, tools: [tool, tool] }, why: /run is published twice/ },
      {
        name: 'a choice of nothing',
        body: { ...base, tool_choice: { type: 'tool', name: 'x' } },
        why: /"x" is not among/,
      },
      { name: 'a choice of no kind', body: { ...base, tool_choice: { type: 'function' } }, why: /no kind of choice/ },
      {
        name: 'five marks',
        body: list({ role: 'user', content: [marked, marked, marked, marked] }),
        why: /maximum of 4 blocks/,
      },
      {
        name: 'a mark of no kind',
        body: { ...base, system: [{ ...marked, cache_control: { type: 'forever' } }] },
        why: /type ephemeral/,
      },
      {
        name: 'a mark on thinking',
        body: list(user, says({ type: 'thinking', thinking: 'hm', signature: seal, ...mark }), user),
        why: /cannot be set for thinking/,
      },
      { name: 'thinking that was changed', body: list(user, thinks('hmm'), user), why: /Invalid `signature`/ },
      {
        name: 'a prefix that ends in space',
        body: list(user, says({ type: 'text', text: 'It is ' })),
        why: /trailing whitespace/,
      },
    ],
  }
}

for (const [wire, { read, base, as, cases }] of Object.entries({
  responses: responses(),
  chat: chat(),
  messages: messages(),
})) {
  t.test(`${wire}: a legal body is read`, async t => t.strictSame(read(base), { kind: 'request', request: as }))
  for (const { name, body, why } of cases) {
    t.test(`${wire}: ${why ? 'illegal' : 'legal'}: ${name}`, async t => {
      const answer = read(body)
      if (answer.kind === 'request') t.equal(why, undefined, 'it was taken')
      else t.match(answer.why, why ?? /nothing/)
    })
  }
}
