/**
 * Which proxy a request goes through, by the environment. Pure.
 *
 * An empty variable says nothing: it does not hide the same name in the other case (case P118). Loopback is never
 * proxied, whatever the variables say: a local endpoint is not reachable from elsewhere.
 */
import { Refusal } from '../errors.js'

type Env = Readonly<Record<string, string | undefined>>

/** The proxy for `url`, or null for a direct connection. Refuses `bad-arguments` by the variable's name, never its value. */
export function proxyFor(url: URL, env: Env): URL | null {
  if (isLoopback(url.hostname)) return null
  const found = firstSet(env, url.protocol === 'https:' ? 'https_proxy' : 'http_proxy') ?? firstSet(env, 'all_proxy')
  if (found === null || isExempt(url, firstSet(env, 'no_proxy')?.value ?? '')) return null
  return parseProxy(found.name, found.value)
}

/** The lower-case spelling first, as curl has it. */
function firstSet(env: Env, lower: string): { readonly name: string; readonly value: string } | null {
  for (const name of [lower, lower.toUpperCase()]) {
    const value = env[name]?.trim()
    if (value) return { name, value }
  }
  return null
}

function parseProxy(name: string, value: string): URL {
  const spelled = value.includes('://') ? value : `http://${value}`
  const url = URL.canParse(spelled) ? new URL(spelled) : null
  const decodable = url !== null && /^(?:[^%]|%[0-9a-f]{2})*$/i.test(url.username + url.password)
  if (decodable && (url.protocol === 'http:' || url.protocol === 'https:')) return url
  throw new Refusal(
    'bad-arguments',
    { argument: name },
    `the variable ${name} names no proxy that can be used: give http://HOST:PORT or https://HOST:PORT, or unset it`,
  )
}

export function isLoopback(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, '').toLowerCase()
  return host === 'localhost' || host.endsWith('.localhost') || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host)
}

/** `NO_PROXY`: names separated by commas or spaces, each also for its subdomains, with an optional port; `*` is all. */
function isExempt(url: URL, noProxy: string): boolean {
  const host = url.hostname.toLowerCase()
  const port = url.port || (url.protocol === 'https:' ? '443' : '80')
  return noProxy
    .toLowerCase()
    .split(/[\s,]+/)
    .filter(entry => entry !== '')
    .some(entry => {
      const [, name = '', entryPort] = /^(.*?)(?::(\d+))?$/.exec(entry.replace(/^\*?\./, '')) ?? []
      if (entryPort !== undefined && entryPort !== port) return false
      return name === '*' || host === name || host.endsWith(`.${name}`)
    })
}
