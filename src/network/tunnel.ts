/** Two sockets as one: bytes go both ways at the pace of the slower side, and an end in one direction leaves the other open. */
import type { Socket } from 'node:net'

export interface Tunnel {
  /** Resolves when all that came from inside is on its way outside, or nothing more can be. */
  readonly delivered: Promise<void>
}

/** Both sockets were opened with `allowHalfOpen`. Neither is touched by anybody else from here on. `idleMs` without a byte cuts it. */
export function tunnel(inside: Socket, outside: Socket, idleMs: number): Tunnel {
  const cut = (): void => {
    inside.destroy()
    outside.destroy()
  }
  for (const [one, other] of [
    [inside, outside],
    [outside, inside],
  ] as const) {
    one.on('error', cut).on('timeout', cut).setTimeout(idleMs)
    // One that came to its end in both directions leaves the other to write what it still holds.
    one.on('close', () => {
      if (!(one.readableEnded && one.writableFinished)) other.destroy()
    })
    one.pipe(other)
  }
  const delivered = new Promise<void>(resolve => {
    outside.once('finish', resolve).once('close', resolve)
  })
  return { delivered }
}
