/** What a socket, a parser of HTTP or a proxy said → a failure. Pure. */
import { ProxyRefused } from './connector.js'
import type { WireFailure } from './port.js'

/** What a person can do about it, by the code of the error. */
const ADVICE: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there; start the endpoint or give another base URL',
  ENOTFOUND: 'the name does not resolve; check the base URL',
  EAI_AGAIN: 'the name does not resolve now',
  ECONNRESET: 'the connection was lost',
  EPIPE: 'the connection was lost',
  ETIMEDOUT: 'nobody answered in time',
}

const TLS_ADVICE = ': the TLS connection failed; NODE_EXTRA_CA_CERTS names a further authority to trust'

/** The socket's own words are not shown: only codes, which cannot hold a credential. */
export function failureOfSocket(error: unknown, host: string): WireFailure {
  if (error instanceof ProxyRefused) {
    const message = `the proxy in front of ${host} answered ${error.status}; check the proxy variables`
    return { code: 'transport', retriable: error.status >= 500, message, status: error.status }
  }
  const raw = (error as { code?: unknown } | null)?.code
  const code = typeof raw === 'string' ? raw : 'unknown error'
  if (code.startsWith('HPE_')) {
    return {
      code: 'protocol',
      retriable: false,
      message: `${host} does not speak HTTP (${code}); check the base URL`,
    }
  }
  // OpenSSL's and Node's own words about the certificate or the handshake: another attempt meets the same.
  const tls = /CERT|SIGNATURE|^ERR_(TLS|SSL)_|^EPROTO$/.test(code)
  const advice = tls ? TLS_ADVICE : Object.hasOwn(ADVICE, code) ? `: ${ADVICE[code]}` : ''
  return { code: 'transport', retriable: !tls, message: `no answer from ${host} (${code})${advice}` }
}
