/** A server that answers with exactly the bytes a test gives it, on loopback. */
import { type AddressInfo, createServer, type Socket } from 'node:net'

export interface RawServer {
  /** For a base URL. */
  readonly url: string
  readonly port: number
  readonly connections: number
  /** Whole requests as received: head and body. */
  readonly requests: readonly string[]
  close(): Promise<void>
}

/** `answer` is called once for each whole request on a connection. */
export async function rawServer(answer: (socket: Socket, request: string) => unknown): Promise<RawServer> {
  const sockets = new Set<Socket>()
  const requests: string[] = []
  let connections = 0
  const server = createServer({ noDelay: true }, socket => {
    connections += 1
    sockets.add(socket)
    let held = ''
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
    socket.on('data', chunk => {
      held += chunk.toString('latin1')
      const length = wholeLength(held)
      if (length === null) return
      requests.push(Buffer.from(held.slice(0, length), 'latin1').toString('utf8'))
      held = held.slice(length)
      void answer(socket, requests.at(-1) ?? '')
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/v1`,
    port,
    requests,
    get connections() {
      return connections
    },
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        for (const socket of sockets) socket.destroy()
      }),
  }
}

/** Length of the first request in `held`, or null while it is not whole. */
function wholeLength(held: string): number | null {
  const headEnd = held.indexOf('\r\n\r\n')
  if (headEnd === -1) return null
  const body = /\r\ncontent-length: *(\d+)/i.exec(held.slice(0, headEnd))?.[1] ?? '0'
  const length = headEnd + 4 + Number(body)
  return held.length >= length ? length : null
}

/** An HTTP answer whose body ends with the connection. */
export function httpAnswer(status: string, headers: Readonly<Record<string, string>>, body: string): string {
  const head = Object.entries({ connection: 'close', ...headers }).map(([name, value]) => `${name}: ${value}\r\n`)
  return `HTTP/1.1 ${status}\r\n${head.join('')}\r\n${body}`
}

/** An event stream answer whose body ends with the connection. */
export function streamAnswer(body: string): string {
  return httpAnswer('200 OK', { 'content-type': 'text/event-stream' }, body)
}
