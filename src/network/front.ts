/** What the two protocols of the proxy need of what stands behind them. */
import type { Socket } from 'node:net'
import type { NetworkDenialWhy } from '../outcome.js'
import type { Asked, Opened } from './reach.js'

export interface Front {
  /** `user:password`, of this launch. Takes as long for every wrong one. */
  knows(credentials: string): boolean
  /** Asks the rules and dials; a denial is recorded. Given up where `inside` goes away. */
  open(inside: Socket, asked: Asked): Promise<Opened>
  denied(host: string, port: number | null, why: NetworkDenialWhy): void
  /** The head of a request is there: from now on the connection is bound by its idleness alone. */
  settled(inside: Socket): void
  /** A further request may come on this connection. */
  expects(inside: Socket): void
  /** `first` came from inside behind the request, and goes out first. */
  join(inside: Socket, outside: Socket, first: Buffer): void
}
