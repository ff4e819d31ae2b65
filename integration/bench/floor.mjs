/**
 * The least client that Node can be: a loop, one shell tool and a streaming parser, with nothing checked and nothing
 * confined. It is the baseline of every figure about turns: what costs more than this is ours to answer for.
 *
 *   node floor.mjs BASE_URL INPUT
 */
// `getBuiltinModule` because the ES import of node:http costs 26-30 ms on Node 22 and later.
const http = process.getBuiltinModule('node:http')
const { spawn } = process.getBuiltinModule('node:child_process')

const [baseUrl = '', text = ''] = process.argv.slice(2)
const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
const parameters = { type: 'object', properties: { command: { type: 'string' } }, required: ['command'] }
const tools = [{ type: 'function', name: 'shell', description: 'Run a shell command', parameters, strict: false }]
const input = [{ type: 'message', role: 'user', content: [{ type: 'input_text', text }] }]

/** Posts the conversation and hands every finished output item to `onItem` as it streams in. */
function turn(onItem) {
  const body = JSON.stringify({ model: 'm', input, tools, stream: true, store: false })
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
  return new Promise((resolve, reject) => {
    const request = http.request(`${baseUrl}/responses`, { method: 'POST', agent, headers }, response => {
      if (response.statusCode !== 200) return reject(new Error(`status ${response.statusCode}`))
      let held = ''
      response.setEncoding('utf8')
      response.on('data', chunk => {
        const events = (held + chunk).split('\n\n')
        held = events.pop() ?? ''
        for (const event of events) {
          const data = event.slice(event.indexOf('data: ') + 6)
          if (data === '[DONE]') continue
          const parsed = JSON.parse(data)
          if (parsed.type === 'response.output_text.delta') process.stdout.write(parsed.delta)
          if (parsed.type === 'response.output_item.done') onItem(parsed.item)
        }
      })
      response.on('end', resolve)
      response.on('error', reject)
    })
    request.on('error', reject)
    request.end(body)
  })
}

function shell(command) {
  return new Promise((resolve, reject) => {
    const child = spawn('/bin/sh', ['-c', command], { stdio: ['ignore', 'pipe', 'inherit'] })
    let output = ''
    child.stdout.setEncoding('utf8').on('data', chunk => {
      output += chunk
    })
    child.on('error', reject)
    child.on('close', () => resolve(output))
  })
}

for (let calls = [1]; calls.length > 0; ) {
  calls = []
  await turn(item => {
    input.push(item)
    if (item.type === 'function_call') calls.push(item)
  })
  for (const call of calls) {
    const output = await shell(JSON.parse(call.arguments).command)
    input.push({ type: 'function_call_output', call_id: call.call_id, output })
  }
}
agent.destroy()
