/** The proxy of one launch as its boundary needs it: opened before the plan, because the plan names its port and token. */
import type { Server } from 'node:net'
import type { Denied } from '../network/denials.js'
import type { AllowListProxy } from '../network/proxy.js'
import type { ProxyPlace } from '../network/proxy-env.js'
import type { ReachSeams } from '../network/reach.js'
import type { BoundaryName, Ending, NetworkDenial } from '../outcome.js'
import { randomHex } from '../random.js'
import { BRIDGE_PORT } from './bridge.js'
import { readOwnAddresses } from './host-facts.js'
import type { Policy } from './types.js'

/** How a name is looked up and which addresses are this machine's. Absent parts: as this machine does. */
export type NetworkSeams = Partial<ReachSeams>

/** Boundaries whose launches open the listener themselves, in a network namespace of their own. */
const OPENS_INSIDE: ReadonlySet<BoundaryName> = new Set(['bubblewrap', 'bubblewrap-hostproc'])

const TOKEN_BYTES = 24

/** Endings after which what the command has sent is still passed on. */
const BY_ITSELF: ReadonlySet<Ending['kind']> = new Set(['exited', 'signalled'])

export class Gate {
  #tell: (denied: Denied) => void = () => undefined

  private constructor(
    readonly place: ProxyPlace,
    private readonly proxy: AllowListProxy,
  ) {}

  /** Loaded for those who have a network alone. */
  static async open(
    boundary: BoundaryName,
    { hosts }: NonNullable<Policy['network']>,
    seams: NetworkSeams = {},
  ): Promise<Gate> {
    const [{ AllowListProxy }, { resolveHere }] = await Promise.all([
      import('../network/proxy.js'),
      import('../network/resolver.js'),
    ])
    const token = randomHex(TOKEN_BYTES)
    const proxy = new AllowListProxy({
      rules: hosts,
      token,
      seams: { resolve: resolveHere, ownAddresses: readOwnAddresses, ...seams },
      onDenied: denied => gate.#tell(denied),
    })
    const gate = new Gate({ port: OPENS_INSIDE.has(boundary) ? BRIDGE_PORT : await proxy.listen(), token }, proxy)
    return gate
  }

  /** Who hears of the first denial of each kind. */
  tells(tell: (denied: Denied) => void): void {
    this.#tell = tell
  }

  /** Takes the listener that a launch has opened inside. */
  serve(listener: Server): void {
    this.proxy.serve(listener)
  }

  /** Ends every connection; answers what was denied. */
  async close(ending?: Ending): Promise<readonly NetworkDenial[]> {
    await this.proxy.close(ending !== undefined && BY_ITSELF.has(ending.kind) ? 'drain' : 'at-once')
    return this.proxy.denials
  }
}
