/** TLS as operators have it: an authority of their own, and a proxy in front; and sockets that servers close early. */
import { execFileSync, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer, type Server } from 'node:https'
import { type AddressInfo, connect, createServer as createTcp, type Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { openModel } from '../../src/wires/transport.js'
import { finished } from '../support/children.js'
import { needs } from '../support/needs.js'
import { rawServer } from '../support/raw-server.js'
import { runTurn } from '../support/turns.js'
import { WIRE_SAMPLES } from '../support/wire-samples.js'

const [sample] = WIRE_SAMPLES.filter(({ wire }) => wire === 'openai-chat')
const ANSWER = sample?.frames.join('') ?? ''

/** A key and a certificate for localhost that nobody trusts yet. */
function selfSigned(folder: string): { readonly key: string; readonly cert: string } {
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,DNS:endpoint.example']
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
  execFileSync('openssl', ['req', '-x509', ...curve, '-days', '2', '-keyout', key, '-out', cert, ...subject], {
    stdio: 'ignore',
  })
  return { key, cert }
}

interface Endpoint {
  readonly port: number
  readonly connections: () => number
}

async function endpoint(
  t: { teardown(undo: () => unknown): void },
  files: ReturnType<typeof selfSigned>,
): Promise<Endpoint> {
  let connections = 0
  const answer = (request: IncomingMessage, response: ServerResponse): void => {
    request.resume()
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(ANSWER)
  }
  const server: Server = createServer({ key: readFileSync(files.key), cert: readFileSync(files.cert) }, answer)
  server.on('secureConnection', () => {
    connections += 1
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    return new Promise(resolve => server.close(resolve))
  })
  return { port: (server.address() as AddressInfo).port, connections: () => connections }
}

/** A proxy that tunnels every CONNECT to `port`, whatever name is asked for. */
async function tunnel(
  t: { teardown(undo: () => unknown): void },
  port: number,
): Promise<{ url: string; asked: string[] }> {
  const asked: string[] = []
  const sockets = new Set<Socket>()
  const server = createTcp(client => {
    sockets.add(client)
    client.on('error', () => {})
    client.once('data', head => {
      asked.push(head.toString('latin1').split('\r\n')[0] ?? '')
      const upstream = connect(port, '127.0.0.1')
      sockets.add(upstream)
      upstream.on('error', () => client.destroy())
      upstream.once('connect', () => {
        client.write('HTTP/1.1 200 Connection established\r\n\r\n')
        client.pipe(upstream).pipe(client)
      })
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    return new Promise(resolve => server.close(resolve))
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked }
}

/** Two turns in a process of its own, because Node reads its authorities when it starts; prints their kinds or codes. */
const TWO_TURNS = `
const { openModel } = await import(process.env.TRANSPORT)
const model = openModel({ wire: 'openai-chat', baseUrl: process.env.BASE, credential: { kind: 'none' }, sessionId: 's' })
const request = { model: 'm', instruction: 'i', items: [], tools: [], toolChoice: { kind: 'auto' } }
for (let turn = 0; turn < 2; turn++) {
  const outcome = await model.turn(request, { signal: new AbortController().signal, onEvent() {} })
  console.log(outcome.kind === 'turn' ? 'turn' : JSON.stringify(outcome.failure))
}
model.close()
`

async function twoTurns(env: Readonly<Record<string, string>>): Promise<string> {
  const transport = new URL('../../src/wires/transport.js', import.meta.url).href
  const argv = ['--input-type=module', '-e', TWO_TURNS]
  const child = spawn(process.execPath, argv, { env: { PATH: process.env.PATH, TRANSPORT: transport, ...env } })
  const { stdout, stderr } = await finished(child)
  return stdout + stderr
}

t.test('an authority of the operator, directly and through a proxy', { skip: needs('openssl') }, async t => {
  const files = selfSigned(t.testdir())
  const { port, connections } = await endpoint(t, files)
  const base = `https://localhost:${port}/v1`

  const unknown = await twoTurns({ BASE: base })
  t.match(unknown, /"code":"transport","retriable":false/, 'another attempt meets the same certificate')
  t.match(unknown, /NODE_EXTRA_CA_CERTS names a further authority/)
  t.equal(connections(), 0)

  t.equal(await twoTurns({ BASE: base, NODE_EXTRA_CA_CERTS: files.cert }), 'turn\nturn\n')
  t.equal(connections(), 1, 'one socket for both turns')

  const proxy = await tunnel(t, port)
  const through = (base: string): Promise<string> =>
    twoTurns({ BASE: base, HTTPS_PROXY: proxy.url, NODE_EXTRA_CA_CERTS: files.cert })
  t.equal(await through('https://endpoint.example:8443/v1'), 'turn\nturn\n')
  t.same(proxy.asked, ['CONNECT endpoint.example:8443 HTTP/1.1'], 'one tunnel for both turns')
  t.match(
    await through('https://other.example/v1'),
    /ERR_TLS_CERT_ALTNAME_INVALID/,
    'the name of the endpoint is checked',
  )
})

t.test('a socket that the server closed between two turns is not used again', async t => {
  const server = await rawServer(async socket => {
    const body = `${Buffer.byteLength(ANSWER).toString(16)}\r\n${ANSWER}\r\n0\r\n\r\n`
    socket.write(`HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n${body}`)
    await pause(20)
    socket.end()
  })
  const model = openModel({
    wire: 'openai-chat',
    baseUrl: server.url,
    credential: { kind: 'none' },
    sessionId: 's',
    env: {},
  })
  t.teardown(() => {
    model.close()
    return server.close()
  })
  for (let turn = 1; turn <= 3; turn++) {
    t.equal((await runTurn(model)).outcome.kind, 'turn')
    await pause(60)
  }
  t.equal(server.connections, 3)
})
