/** The environment of a launch with a network: how the programs inside find the proxy. Pure. */
import { type ProxyPlace, proxyEnv, TOKEN_STAND_IN } from '../network/proxy-env.js'
import { BRIDGE_PORT } from './bridge.js'
import type { Policy } from './types.js'

/** Where no launch has made a token: for plans that are read. */
const STAND_IN: ProxyPlace = { port: BRIDGE_PORT, token: TOKEN_STAND_IN }

/** `policy` with the proxy's variables in its environment; the same one without a network. What `--env` has set stays. */
export function networkEnv(policy: Policy, proxy: ProxyPlace = STAND_IN): Policy {
  const { network, env, envSet } = policy
  if (network === null) return policy
  const kept = envSet.map((name): [string, string] => [name, env[name] ?? ''])
  return { ...policy, env: { ...env, ...proxyEnv(proxy, network.hosts), ...Object.fromEntries(kept) } }
}

/** The port as the seatbelt planner takes it. */
export function proxyPort({ network }: Policy, { port }: ProxyPlace = STAND_IN): { readonly proxyPort?: number } {
  return network === null ? {} : { proxyPort: port }
}
