/**
 * A scripted model endpoint in a process of its own: it speaks each wire under its path, answers at once, and notes
 * what reached it and when. It shares no code with the project's emulator, so the two cannot share a fault.
 *
 * Two loopback ports, so that control never counts as a socket of a run; both are printed as one JSON line on stdout:
 *   model    POST …/responses, …/messages, …/chat/completions   the next turn of the script
 *   control  PUT /              {"turns", "call": {"name", "arguments"}, "text", "thought"?}: `turns` tool calls, then
 *                               the text; before each of them about `thought` bytes of stream with reasoning in it
 *            GET /              {"sockets", "requests": [{"at", "answered", "body"}]} since the last PUT
 * Times are milliseconds of one monotonic clock: `at` when the body was complete, `answered` when the reply was handed
 * over; the gap of a tool turn is the next `at` minus this `answered`.
 */
import { createServer } from 'node:http'
import { performance } from 'node:perf_hooks'
import { STREAMS } from './endpoint-streams.mjs'

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
    const wire = Object.keys(STREAMS).find(path => request.url.endsWith(path))
    if (request.method !== 'POST' || wire === undefined) {
      response.writeHead(404, { 'content-type': 'application/json' })
      response.end('{"error":{"message":"no such endpoint"}}')
      return
    }
    const call = turn < script.turns ? { ...script.call, id: String(turn).padStart(6, '0') } : null
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
    response.end(STREAMS[wire]({ turn, call, text: script.text, thought: script.thought ?? 0 }))
    seen.answered = performance.now()
  })
})
model.on('connection', socket => {
  sockets += 1
  socket.setNoDelay(true)
})
model.keepAliveTimeout = 60_000

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
