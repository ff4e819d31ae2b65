/** What a launch was denied, each kind once with its count: a program can be denied any number of times, a record has to stay readable. */
import { NETWORK_DENIALS_TOLD_MAX, NETWORK_DENIED_HOST_CHARS_MAX } from '../bounds.js'
import type { NetworkDenial, NetworkDenialWhy } from '../outcome.js'

export type Denied = Omit<NetworkDenial, 'times'>

export class Denials {
  readonly #told = new Map<string, { readonly denied: Denied; times: number }>()

  /** @param onDenied told the first of each kind, as long as there is room for further kinds. */
  constructor(private readonly onDenied: (denied: Denied) => void) {}

  /** `host` is as far as it could be read; its text is the confined program's own. */
  add(host: string, port: number | null, why: NetworkDenialWhy): void {
    const denied = { host: host.slice(0, NETWORK_DENIED_HOST_CHARS_MAX), port, why }
    const key = JSON.stringify(denied)
    const known = this.#told.get(key)
    if (known !== undefined) known.times++
    else if (this.#told.size < NETWORK_DENIALS_TOLD_MAX) {
      this.#told.set(key, { denied, times: 1 })
      this.onDenied(denied)
    }
  }

  /** In the order in which they came first. */
  all(): readonly NetworkDenial[] {
    return [...this.#told.values()].map(({ denied, times }) => ({ ...denied, times }))
  }
}
