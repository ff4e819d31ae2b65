/**
 * The sockets of one endpoint: which agent keeps them alive, and how a proxy is passed. It knows nothing of turns.
 *
 * `node:http` is taken with `process.getBuiltinModule`: on Node 22 and later its ES import costs as much as a whole
 * start of Node.
 */
import type { Agent, ClientRequest, RequestOptions } from 'node:http'
import type { Duplex } from 'node:stream'
import { CONNECT_MS } from '../bounds.js'

export interface Connector {
  /** A request that is not sent yet. Headers are exactly `headers`, beside `host` and the framing of the body. */
  request(url: URL, headers: Readonly<Record<string, string>>): ClientRequest
  /** Closes every socket, in use or kept alive. */
  close(): void
}

/** A proxy that answered CONNECT with anything but 200. */
export class ProxyRefused extends Error {
  override readonly name = 'ProxyRefused'

  constructor(readonly status: number) {
    super(`the proxy answered ${status}`)
  }
}

/** Redirects are not followed: node:http has none. One socket serves turn after turn. */
export function openConnector(base: URL, proxy: URL | null): Connector {
  const http = process.getBuiltinModule('node:http')
  if (base.protocol === 'http:') {
    const agent = new http.Agent({ keepAlive: true })
    return {
      request: (url, headers) =>
        http.request({ ...(proxy ? viaProxy(proxy, url, headers) : direct(url, headers)), agent }),
      close: () => agent.destroy(),
    }
  }
  const https = process.getBuiltinModule('node:https')
  const agent = proxy ? tunnelAgent(proxy) : new https.Agent({ keepAlive: true })
  return {
    request: (url, headers) => https.request({ ...direct(url, headers), agent }),
    close: () => agent.destroy(),
  }
}

function direct(url: URL, headers: Readonly<Record<string, string>>): RequestOptions {
  return {
    protocol: url.protocol,
    // Node wants an IPv6 address without the brackets of the URL.
    hostname: url.hostname.replace(/^\[|\]$/g, ''),
    ...(url.port === '' ? {} : { port: url.port }),
    path: `${url.pathname}${url.search}`,
    method: 'POST',
    headers: { ...headers },
  }
}

/** RFC 9112 §3.2.2: a request to a proxy names the whole URL. */
function viaProxy(proxy: URL, url: URL, headers: Readonly<Record<string, string>>): RequestOptions {
  return {
    ...direct(proxy, { ...headers, host: url.host, ...proxyAuthorization(proxy) }),
    path: url.href,
  }
}

/** RFC 9110 §9.3.6: CONNECT, then TLS with the endpoint itself through the tunnel. */
function tunnelAgent(proxy: URL): Agent {
  const http = process.getBuiltinModule('node:http')
  const https = process.getBuiltinModule('node:https')
  const tls = process.getBuiltinModule('node:tls')
  type Connected = (error: Error | null, socket: Duplex) => void

  class TunnelAgent extends https.Agent {
    /** Tunnels that are not there yet; they are no sockets of the agent, so it would leave them behind. */
    readonly #pending = new Set<ClientRequest>()

    override destroy(): void {
      for (const connect of this.#pending) connect.destroy()
      super.destroy()
    }

    override createConnection(options: RequestOptions & { servername?: string }, callback?: Connected): undefined {
      const refuse = (error: Error): void => callback?.(error, undefined as never)
      const authority = `${options.host}:${options.port}`
      const connect = (proxy.protocol === 'https:' ? https : http).request({
        ...direct(proxy, { host: authority, ...proxyAuthorization(proxy) }),
        agent: false,
        method: 'CONNECT',
        path: authority,
      })
      this.#pending.add(connect)
      connect.once('close', () => this.#pending.delete(connect))
      connect.setTimeout(CONNECT_MS, () => connect.destroy(Object.assign(new Error('timeout'), { code: 'ETIMEDOUT' })))
      connect.once('error', refuse)
      connect.once('connect', (response, socket) => {
        socket.setTimeout(0)
        if (response.statusCode === 200) {
          const { servername = options.host ?? '' } = options
          callback?.(null, tls.connect({ socket, servername, ALPNProtocols: ['http/1.1'] }))
          return
        }
        socket.destroy()
        refuse(new ProxyRefused(response.statusCode ?? 0))
      })
      connect.end()
    }
  }
  return new TunnelAgent({ keepAlive: true })
}

function proxyAuthorization(proxy: URL): Record<string, string> {
  if (proxy.username === '' && proxy.password === '') return {}
  const pair = `${decodeURIComponent(proxy.username)}:${decodeURIComponent(proxy.password)}`
  return { 'proxy-authorization': `Basic ${Buffer.from(pair).toString('base64')}` }
}
