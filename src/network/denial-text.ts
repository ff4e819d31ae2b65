/** A denial in words: what was refused, why, and what works instead. Pure. */
import type { NetworkDenial, NetworkDenialWhy } from '../outcome.js'

const WHY: Readonly<Record<NetworkDenialWhy, (place: string, host: string) => string>> = {
  'host-not-allowed': (place, host) =>
    `${place} is named by no --allow-host: the operator can add --allow-host ${host}`,
  'port-not-allowed': place => `that port is named by no --allow-host: the operator can add --allow-host ${place}`,
  'address-not-allowed': place =>
    `${place} is a name for this machine or a private network: the operator can add --allow-host with that very address and port`,
  'bad-host': () => 'that is no host that can be looked up',
  'bad-request': () => 'that is no request to a proxy: use CONNECT, an absolute http:// URL, or SOCKS5',
  'bad-token': () => 'the password of the proxy is another one: use the proxy variables of the environment as they are',
  unsupported: () => 'the proxy knows CONNECT, plain HTTP, and the command CONNECT of SOCKS5, nothing else',
  'too-many-connections': () => 'too many connections are open at one time: use fewer',
}

/** `example.org:443`, or the host alone where no port could be read. */
export function placeText({ host, port }: Pick<NetworkDenial, 'host' | 'port'>): string {
  const bracketed = host.includes(':') && !host.startsWith('[') ? `[${host}]` : host
  return port === null ? bracketed : `${bracketed}:${port}`
}

/** One line, without control characters: the host is whatever a confined program has written. */
export function denialText(denial: Pick<NetworkDenial, 'host' | 'port' | 'why'>): string {
  const place = plain(placeText(denial))
  const said = WHY[denial.why](place, plain(denial.host))
  return said.includes(place) ? said : `${place === '' ? 'the request' : place}: ${said}`
}

function plain(text: string): string {
  return text.replace(/[^\u0021-\u007e]/g, '?')
}
