/**
 * The variables by which programs find the proxy, and what is left out of it. Pure.
 *
 * Both cases of each, with the same value: programs differ in which they read, and for some an empty one hides the other (P118).
 */
import type { AllowedHost } from './allow-rules.js'

/** The name that goes with the token; it means nothing. */
export const PROXY_USER = 'harness'

export interface ProxyPlace {
  /** On 127.0.0.1, as the confined program sees it. */
  readonly port: number
  /** Of one launch. */
  readonly token: string
}

/** What stands for the token where nothing is started. */
export const TOKEN_STAND_IN = 'TOKEN'

/**
 * `ALL_PROXY` is for what is neither http nor https: SOCKS with names looked up by the proxy (`socks5h`), as curl has it.
 * Own names for single programs: npm (config(7)), cargo (`http.proxy`), Node from version 24 on (`NODE_USE_ENV_PROXY`); git, pip,
 * Go and curl read the common ones.
 */
export function proxyEnv({ port, token }: ProxyPlace, rules: readonly AllowedHost[]): Readonly<Record<string, string>> {
  const place = `${PROXY_USER}:${token}@127.0.0.1:${port}`
  const [http, socks, none] = [`http://${place}`, `socks5h://${place}`, direct(rules)]
  return {
    ...bothCases('HTTP_PROXY', http),
    ...bothCases('HTTPS_PROXY', http),
    ...bothCases('ALL_PROXY', socks),
    ...bothCases('NO_PROXY', none),
    ...bothCases('NPM_CONFIG_PROXY', http),
    ...bothCases('NPM_CONFIG_HTTPS_PROXY', http),
    ...bothCases('NPM_CONFIG_NOPROXY', none),
    CARGO_HTTP_PROXY: http,
    NODE_USE_ENV_PROXY: '1',
  }
}

function bothCases(name: string, value: string): Readonly<Record<string, string>> {
  return { [name]: value, [name.toLowerCase()]: value }
}

/** Own servers are reached directly; a loopback address that a rule names is meant as the host's, so it goes through the proxy. */
function direct(rules: readonly AllowedHost[]): string {
  const named = new Set(rules.map(({ host }) => host))
  return ['localhost', '127.0.0.1', '::1'].filter(name => !named.has(name)).join(',')
}
