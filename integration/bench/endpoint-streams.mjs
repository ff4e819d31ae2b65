/**
 * One turn as the event stream of each wire, by the path it is asked under. `call` is {id, name, arguments}, or null for
 * a turn that says `text`; `thought` is how many bytes of stream with reasoning in it come first, about.
 */

/** Characters of one reasoning delta. */
const THOUGHT_CHARS = 1000

export const STREAMS = {
  '/responses': responses,
  '/messages': messages,
  '/chat/completions': chat,
}

function thoughts(bytes, frame) {
  if (bytes === 0) return ''
  const one = frame('thought '.repeat(THOUGHT_CHARS / 8))
  return one.repeat(Math.ceil(bytes / one.length))
}

function responses({ turn, call, text, thought }) {
  const item = call === null ? messageItem(turn, text) : callItem(call)
  const base = { id: `resp_${turn}`, object: 'response', created_at: 0, model: 'm', output: [] }
  const usage = {
    input_tokens: 100,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: 10,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 110,
  }
  const opening = [
    { type: 'response.created', response: { ...base, status: 'in_progress' } },
    { type: 'response.output_item.added', output_index: 0, item: opened(item) },
  ]
  const rest = [
    ...deltas(item),
    { type: 'response.output_item.done', output_index: 0, item },
    { type: 'response.completed', response: { ...base, status: 'completed', output: [item], usage } },
  ]
  const thinking = thoughts(thought, delta => {
    return typed({ type: 'response.reasoning_text.delta', item_id: 'rs', output_index: 1, content_index: 0, delta })
  })
  return `${opening.map(typed).join('')}${thinking}${rest.map(typed).join('')}data: [DONE]\n\n`
}

function typed(event) {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`
}

function callItem({ id, name, arguments: args }) {
  return {
    type: 'function_call',
    id: `fc_${id}`,
    call_id: `call_${id}`,
    name,
    arguments: JSON.stringify(args),
    status: 'completed',
  }
}

function messageItem(turn, text) {
  const content = [{ type: 'output_text', text, annotations: [] }]
  return { type: 'message', id: `msg_${turn}`, role: 'assistant', status: 'completed', content }
}

/** The events of one item between those that open it and those that close it. */
function deltas(item) {
  const at = { item_id: item.id, output_index: 0 }
  if (item.type === 'function_call') {
    return [
      { type: 'response.function_call_arguments.delta', ...at, delta: item.arguments },
      { type: 'response.function_call_arguments.done', ...at, arguments: item.arguments },
    ]
  }
  const [part] = item.content
  const inPart = { ...at, content_index: 0 }
  return [
    { type: 'response.content_part.added', ...inPart, part: { ...part, text: '' } },
    { type: 'response.output_text.delta', ...inPart, delta: part.text },
    { type: 'response.output_text.done', ...inPart, text: part.text },
    { type: 'response.content_part.done', ...inPart, part },
  ]
}

function opened(item) {
  const empty = item.type === 'function_call' ? { arguments: '' } : { content: [] }
  return { ...item, ...empty, status: 'in_progress' }
}

function messages({ turn, call, text, thought }) {
  const message = { id: `msg_${turn}`, type: 'message', role: 'assistant', model: 'm', content: [], stop_reason: null }
  const opening = { type: 'message_start', message: { ...message, usage: { input_tokens: 100, output_tokens: 1 } } }
  const thinking = thoughts(thought, words => {
    return typed({ type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: words } })
  })
  const [block, delta, reason] =
    call === null
      ? [{ type: 'text', text: '' }, { type: 'text_delta', text }, 'end_turn']
      : [
          { type: 'tool_use', id: `toolu_${call.id}`, name: call.name, input: {} },
          { type: 'input_json_delta', partial_json: JSON.stringify(call.arguments) },
          'tool_use',
        ]
  return [
    typed(opening),
    typed({ type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '', signature: '' } }),
    thinking,
    typed({ type: 'content_block_stop', index: 0 }),
    typed({ type: 'content_block_start', index: 1, content_block: block }),
    typed({ type: 'content_block_delta', index: 1, delta }),
    typed({ type: 'content_block_stop', index: 1 }),
    typed({
      type: 'message_delta',
      delta: { stop_reason: reason, stop_sequence: null },
      usage: { output_tokens: 10 },
    }),
    typed({ type: 'message_stop' }),
  ].join('')
}

function chat({ turn, call, text, thought }) {
  const chunk = (choices, more = {}) => {
    const head = { id: `chatcmpl-${turn}`, object: 'chat.completion.chunk', created: 0, model: 'm' }
    return `data: ${JSON.stringify({ ...head, choices, ...more })}\n\n`
  }
  const delta = (said, reason = null) => chunk([{ index: 0, delta: said, finish_reason: reason }])
  const said =
    call === null
      ? { content: text }
      : {
          tool_calls: [
            {
              index: 0,
              id: `call_${call.id}`,
              type: 'function',
              function: { name: call.name, arguments: JSON.stringify(call.arguments) },
            },
          ],
        }
  return [
    delta({ role: 'assistant', content: '' }),
    thoughts(thought, words => delta({ reasoning_content: words })),
    delta(said),
    delta({}, call === null ? 'stop' : 'tool_calls'),
    chunk([], { usage: { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 } }),
    'data: [DONE]\n\n',
  ].join('')
}
