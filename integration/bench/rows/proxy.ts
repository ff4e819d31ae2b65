/** What the proxy of `--allow-host` adds to a request on loopback: as a whole URL, and inside a tunnel that stands. */
import { createServer, get, type IncomingMessage, type RequestOptions, request } from 'node:http'
import { type AddressInfo, connect, createServer as createTcp, type Server, type Socket } from 'node:net'
import { performance } from 'node:perf_hooks'
import { readAllowRules } from '../../../src/network/allow-rules.js'
import { AllowListProxy } from '../../../src/network/proxy.js'
import type { Bench, Found, Row } from '../row.js'
import { interleave } from '../sampling.js'

/** Requests a sample, one after the other. */
const REQUESTS = 50

const TOKEN = 'f'.repeat(48)
const AUTHORIZATION = `Basic ${Buffer.from(`harness:${TOKEN}`).toString('base64')}`

export const proxy: Row = {
  name: 'proxy',
  about: 'a request through the proxy of an allow-list against the same one sent directly',
  needs: () => false,
  measure: async bench => [await wholeUrl(bench), await tunnelled(bench)],
}

/** A proxy that opens `origin`; both are closed when `measure` is done. */
async function through<Value>(
  bench: Bench,
  origin: Server,
  measure: (port: number, proxyPort: number) => Promise<Value>,
): Promise<Value> {
  const port = await listening(origin)
  const opened = new AllowListProxy({
    rules: readAllowRules([`127.0.0.1:${port}`]),
    token: TOKEN,
    seams: { resolve: () => Promise.resolve([]), ownAddresses: () => [] },
    onDenied: ({ why }) => bench.progress(`denied: ${why}`),
  })
  try {
    return await measure(port, await opened.listen())
  } finally {
    await opened.close('at-once')
    origin.close()
  }
}

function wholeUrl(bench: Bench): Promise<Found> {
  const origin = createServer((_incoming, response) => response.end('answer'))
  return through(bench, origin, async (port, proxyPort) => {
    const direct = { port, host: '127.0.0.1', path: '/', agent: false } as const
    const path = `http://127.0.0.1:${port}/`
    const proxied = { ...direct, port: proxyPort, path, headers: { 'proxy-authorization': AUTHORIZATION } }
    const { ours, bare } = await interleave(
      { ours: () => each(() => answered(proxied)), bare: () => each(() => answered(direct)) },
      bench.rounds(20),
    )
    return seen('a request by its whole URL', ours, bare)
  })
}

/** What TLS is sent through, on a connection that is kept. */
function tunnelled(bench: Bench): Promise<Found> {
  const echo = createTcp(socket => socket.setNoDelay(true).pipe(socket))
  return through(bench, echo, async (port, proxyPort) => {
    const [tunnel, plain] = [await tunnelTo(port, proxyPort), await connected(port)]
    const { ours, bare } = await interleave(
      { ours: () => each(() => echoed(tunnel)), bare: () => each(() => echoed(plain)) },
      bench.rounds(20),
    )
    for (const socket of [tunnel, plain]) socket.destroy()
    return seen('bytes there and back in a tunnel', ours, bare)
  })
}

function seen(name: string, ours: number, bare: number): Found {
  return {
    name: `proxy: ${name}`,
    unit: 'ms',
    ours,
    baseline: { name: 'sent directly', value: bare },
    target: { by: 'difference', accept: 1 },
  }
}

async function listening(server: Server): Promise<number> {
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port
}

/** Milliseconds a call. */
async function each(call: () => Promise<void>): Promise<number> {
  const start = performance.now()
  for (let done = 0; done < REQUESTS; done += 1) await call()
  return (performance.now() - start) / REQUESTS
}

async function answered(options: RequestOptions): Promise<void> {
  const incoming = await new Promise<IncomingMessage>((resolve, reject) => get(options, resolve).once('error', reject))
  if (incoming.statusCode !== 200) throw new Error(`the proxy answered ${incoming.statusCode}`)
  await new Promise(resolve => incoming.resume().once('end', resolve))
}

async function echoed(socket: Socket): Promise<void> {
  socket.write('ping')
  await new Promise(resolve => socket.once('data', resolve))
}

async function connected(port: number): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  await new Promise(resolve => socket.once('connect', resolve))
  return socket
}

function tunnelTo(port: number, proxyPort: number): Promise<Socket> {
  const asked = request({
    port: proxyPort,
    host: '127.0.0.1',
    method: 'CONNECT',
    path: `127.0.0.1:${port}`,
    headers: { 'proxy-authorization': AUTHORIZATION },
  })
  return new Promise((resolve, reject) => {
    asked
      .once('connect', (_answer, socket: Socket) => resolve(socket))
      .once('error', reject)
      .end()
  })
}
