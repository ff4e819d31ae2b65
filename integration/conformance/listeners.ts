/** Listeners on the host that a confined process must not reach. Each answers `reached` and counts. */
import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { chmodSync } from 'node:fs'
import { type AddressInfo, createServer, type ListenOptions, type Server } from 'node:net'
import { networkInterfaces } from 'node:os'

export interface Listeners {
  readonly tcp4Port: number
  /** Null where the host has no IPv6 loopback. */
  readonly tcp6Port: number | null
  readonly udp4Port: number
  readonly udp6Port: number | null
  /** An address of the host beside loopback and the port there; null where it has none. */
  readonly hostAddress: string | null
  readonly hostPort: number | null
  /** Path of each unix listener; null where its folder is not writable to us. */
  readonly unixSockets: Readonly<Record<string, string | null>>
  /** Name without the leading NUL; null outside Linux. */
  readonly abstractName: string | null
  /** How often each listener was reached since it was opened. */
  readonly counts: () => Readonly<Record<string, number>>
  readonly close: () => Promise<void>
}

type Closing = () => Promise<void>

/** Opens all of them. `unixPaths`: name → path of a socket to make; `abstractName`: without the leading NUL. */
export async function openListeners(
  unixPaths: Readonly<Record<string, string>>,
  abstractName: string,
): Promise<Listeners> {
  const reached = new Map<string, number>()
  const closings: Closing[] = []
  const stream = (name: string, options: ListenOptions) => listen(name, options, reached, closings)
  const datagrams = (name: string, type: 'udp4' | 'udp6', host: string) => bind(name, type, host, reached, closings)

  const hostAddress = addressOfHost()
  const unixSockets: Record<string, string | null> = {}
  for (const [name, path] of Object.entries(unixPaths)) {
    const server = await stream(`unix-${name}`, { path })
    // Anybody may connect: that the mode of the socket refuses must not be what holds.
    if (server !== null) chmodSync(path, 0o777)
    unixSockets[name] = server === null ? null : path
  }
  const abstract = process.platform === 'linux' ? await stream('abstract', { path: `\0${abstractName}` }) : null
  return {
    tcp4Port: portOf(await stream('tcp-4', { host: '127.0.0.1', port: 0 })) ?? 0,
    tcp6Port: portOf(await stream('tcp-6', { host: '::1', port: 0 })),
    udp4Port: (await datagrams('udp-4', 'udp4', '127.0.0.1')) ?? 0,
    udp6Port: await datagrams('udp-6', 'udp6', '::1'),
    hostAddress,
    hostPort: hostAddress === null ? null : portOf(await stream('tcp-host', { host: hostAddress, port: 0 })),
    unixSockets,
    abstractName: abstract === null ? null : abstractName,
    counts: () => Object.fromEntries(reached),
    close: async () => {
      await Promise.all(closings.map(close => close()))
    },
  }
}

function addressOfHost(): string | null {
  const all = Object.values(networkInterfaces()).flatMap(addresses => addresses ?? [])
  return all.find(({ family, internal }) => family === 'IPv4' && !internal)?.address ?? null
}

function portOf(server: Server | null): number | null {
  return server === null ? null : (server.address() as AddressInfo).port
}

function count(reached: Map<string, number>, name: string): void {
  reached.set(name, (reached.get(name) ?? 0) + 1)
}

/** Null when it cannot be had: no such address family, or a folder that is not ours. */
async function listen(
  name: string,
  options: ListenOptions,
  reached: Map<string, number>,
  closings: Closing[],
): Promise<Server | null> {
  const server = createServer(socket => {
    count(reached, name)
    socket.on('error', () => {})
    socket.end('reached')
  })
  server.listen(options)
  try {
    await once(server, 'listening')
  } catch {
    return null
  }
  server.unref()
  closings.push(() => new Promise(resolve => server.close(() => resolve())))
  return server
}

async function bind(
  name: string,
  type: 'udp4' | 'udp6',
  host: string,
  reached: Map<string, number>,
  closings: Closing[],
): Promise<number | null> {
  const socket: Socket = createSocket(type)
  socket.on('message', (_, from) => {
    count(reached, name)
    socket.send('reached', from.port, from.address)
  })
  try {
    socket.bind(0, host)
    await once(socket, 'listening')
  } catch {
    return null
  }
  socket.unref()
  closings.push(() => new Promise(resolve => socket.close(() => resolve())))
  return socket.address().port
}
