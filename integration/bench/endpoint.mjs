/**
 * A scripted model endpoint in a process of its own: it speaks the openai-responses wire, answers at once, and notes
 * what reached it and when. It shares no code with the project's emulator, so the two cannot share a fault.
 *
 * Two loopback ports, so that control never counts as a socket of a run; both are printed as one JSON line on stdout:
 *   model    POST …/responses   the next turn of the script
 *   control  PUT /              {"turns", "call": {"name", "arguments"}, "text"}: `turns` tool calls, then the text
 *            GET /              {"sockets", "requests": [{"at", "answered", "body"}]} since the last PUT
 * Times are milliseconds of one monotonic clock: `at` when the body was complete, `answered` when the reply was handed
 * over; the gap of a tool turn is the next `at` minus this `answered`.
 */
import { createServer } from 'node:http'
import { performance } from 'node:perf_hooks'

let script = { turns: 0, call: { name: '', arguments: {} }, text: '' }
let sockets = 0
let requests = []

const model = createServer((request, response) => {
  const chunks = []
  request.on('data', chunk => chunks.push(chunk))
  request.on('end', () => {
    const turn = requests.length
    const seen = { at: performance.now(), answered: 0, body: Buffer.concat(chunks) }
    requests.push(seen)
    if (request.method !== 'POST' || !request.url.endsWith('/responses')) {
      response.writeHead(404, { 'content-type': 'application/json' })
      response.end('{"error":{"message":"only POST …/responses is served"}}')
      return
    }
    const item = turn < script.turns ? callItem(turn) : messageItem(turn)
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
    response.end(stream(turn, item))
    seen.answered = performance.now()
  })
})
model.on('connection', socket => {
  sockets += 1
  socket.setNoDelay(true)
})
model.keepAliveTimeout = 60_000

function callItem(turn) {
  const args = JSON.stringify(script.call.arguments)
  const id = String(turn).padStart(6, '0')
  return {
    type: 'function_call',
    id: `fc_${id}`,
    call_id: `call_${id}`,
    name: script.call.name,
    arguments: args,
    status: 'completed',
  }
}

function messageItem(turn) {
  const content = [{ type: 'output_text', text: script.text, annotations: [] }]
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

function stream(turn, item) {
  const base = { id: `resp_${turn}`, object: 'response', created_at: 0, model: 'm', output: [] }
  const usage = {
    input_tokens: 100,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: 10,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 110,
  }
  const events = [
    { type: 'response.created', response: { ...base, status: 'in_progress' } },
    { type: 'response.output_item.added', output_index: 0, item: opened(item) },
    ...deltas(item),
    { type: 'response.output_item.done', output_index: 0, item },
    { type: 'response.completed', response: { ...base, status: 'completed', output: [item], usage } },
  ]
  const lines = events.map((event, sequence_number) => {
    return `event: ${event.type}\ndata: ${JSON.stringify({ ...event, sequence_number })}\n\n`
  })
  return `${lines.join('')}data: [DONE]\n\n`
}

const control = createServer((request, response) => {
  if (request.method === 'GET') {
    const seen = requests.map(({ at, answered, body }) => ({ at, answered, body: body.toString('utf8') }))
    response.end(JSON.stringify({ sockets, requests: seen }))
    return
  }
  const chunks = []
  request.on('data', chunk => chunks.push(chunk))
  request.on('end', () => {
    script = JSON.parse(Buffer.concat(chunks).toString('utf8'))
    sockets = 0
    requests = []
    response.end('{}')
  })
})

const listen = server => new Promise(resolve => server.listen(0, '127.0.0.1', () => resolve(server.address().port)))
const ports = { model: await listen(model), control: await listen(control) }
process.stdout.write(`${JSON.stringify(ports)}\n`)
// The bench holds our stdin: when it goes, by any means, so do we.
process.stdin.on('end', () => process.exit(0)).resume()
