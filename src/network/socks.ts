/** SOCKS 5 (RFC 1928) with user and password (RFC 1929): the command CONNECT, to a name or an address of either family. */
import type { Socket } from 'node:net'
import type { Front } from './front.js'
import type { Asked, Opened } from './reach.js'

const VERSION = 5
const USER_PASSWORD = 2
const NONE_FITS = 0xff
const CONNECT = 1

/** Replies of RFC 1928 §6. */
const REPLY = { done: 0, denied: 2, unreachable: 4, refused: 5, 'no-command': 7, 'no-address': 8 } as const

const FAILED: Readonly<Record<Extract<Opened, { kind: 'failed' }>['why'], keyof typeof REPLY>> = {
  unresolved: 'unreachable',
  unreachable: 'refused',
  'timed-out': 'unreachable',
}

/** Answers one connection whose first byte was 5, and hands it over to a tunnel where the rules let it. */
export async function serveSocks(socket: Socket, front: Front): Promise<void> {
  const taker = new Taker(socket)
  const { take } = taker
  const [, methods = 0] = await take(2)
  const offered = await take(methods)
  if (!offered.includes(USER_PASSWORD)) {
    front.denied('', null, 'bad-token')
    return refuse(socket, Uint8Array.of(VERSION, NONE_FITS))
  }
  socket.write(Uint8Array.of(VERSION, USER_PASSWORD))
  if (!front.knows(await credentials(take))) {
    front.denied('', null, 'bad-token')
    return refuse(socket, Uint8Array.of(1, 1))
  }
  socket.write(Uint8Array.of(1, 0))
  const [version, command, , type = 0] = await take(4)
  const asked = await place(take, type)
  if (version !== VERSION || asked === null) {
    front.denied('', null, 'bad-request')
    return refuse(socket, reply('no-address'))
  }
  if (command !== CONNECT) {
    front.denied(asked.host, Number(asked.port), 'unsupported')
    return refuse(socket, reply('no-command'))
  }
  front.settled(socket)
  const opened = await front.open(socket, asked)
  if (opened.kind === 'open') {
    socket.write(reply('done'))
    front.join(socket, opened.socket, taker.rest)
  } else refuse(socket, reply(opened.kind === 'denied' ? 'denied' : FAILED[opened.why]))
}

/** Nobody reads on, so an end from the other side would not be seen: it is closed with the answer. */
export function refuse(socket: Socket, bytes: Uint8Array): void {
  socket.end(bytes, () => socket.destroy())
}

type Take = (bytes: number) => Promise<Buffer>

/** `user:password`, as it stands in a header of HTTP. */
async function credentials(take: Take): Promise<string> {
  const [, userBytes = 0] = await take(2)
  const user = await take(userBytes)
  const [passwordBytes = 0] = await take(1)
  return `${user.toString('latin1')}:${(await take(passwordBytes)).toString('latin1')}`
}

/** Null: a kind of address that there is none of. A name that is no text stays one that no host has. */
async function place(take: Take, type: number): Promise<Asked | null> {
  const host = await ADDRESSES[type]?.(take)
  if (host === undefined) return null
  return { host, port: String((await take(2)).readUInt16BE()) }
}

const ADDRESSES: Readonly<Record<number, (take: Take) => Promise<string>>> = {
  1: async take => (await take(4)).join('.'),
  3: async take => (await take((await take(1))[0] ?? 0)).toString('utf8'),
  4: async take => {
    const bytes = await take(16)
    const groups = Array.from({ length: 8 }, (_, at) => bytes.readUInt16BE(at * 2).toString(16))
    return `[${groups.join(':')}]`
  },
}

/** The address that we dial from is nobody's business inside. */
function reply(code: keyof typeof REPLY): Uint8Array {
  return Uint8Array.of(VERSION, REPLY[code], 0, 1, 0, 0, 0, 0, 0, 0)
}

/** Thrown where the other side goes away or keeps us waiting; nothing is owed to it. */
export class SocketGone extends Error {
  override readonly name = 'SocketGone'
}

/**
 * Exactly as many bytes as are asked for, however they come. All that is there is taken out of the socket each time, because a
 * stream that holds too few says again and again that there are some; what is left over goes on.
 */
class Taker {
  #held: Buffer = Buffer.alloc(0)

  constructor(private readonly socket: Socket) {}

  readonly take: Take = async bytes => {
    while (this.#held.length < bytes) await this.#more()
    const taken = this.#held.subarray(0, bytes)
    this.#held = this.#held.subarray(bytes)
    return taken
  }

  async #more(): Promise<void> {
    const read = this.socket.read() as Buffer | null
    if (read !== null) this.#held = Buffer.concat([this.#held, read])
    else if (this.socket.readableEnded || this.socket.destroyed) throw new SocketGone()
    else await anyOf(this.socket, ['readable', 'end', 'close'])
  }

  get rest(): Buffer {
    return this.#held
  }
}

function anyOf(socket: Socket, events: readonly ('readable' | 'end' | 'close')[]): Promise<void> {
  return new Promise(resolve => {
    const then = (): void => {
      for (const name of events) socket.off(name, then)
      resolve()
    }
    for (const name of events) socket.once(name, then)
  })
}
