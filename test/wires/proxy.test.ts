import t from 'tap'
import { isRefusal } from '../../src/errors.js'
import { proxyFor } from '../../src/wires/proxy.js'

const P = 'http://proxy.example:3128'
const Q = 'http://other.example:8080'

const cases: { name: string; url?: string; env: Record<string, string>; proxy: string | null }[] = [
  { name: 'no variables', env: {}, proxy: null },
  { name: 'upper case', env: { HTTPS_PROXY: P }, proxy: P },
  { name: 'lower case', env: { https_proxy: P }, proxy: P },
  { name: 'an empty lower case does not hide the upper', env: { HTTPS_PROXY: P, https_proxy: '' }, proxy: P },
  { name: 'an empty upper case does not hide the lower', env: { HTTPS_PROXY: '', https_proxy: P }, proxy: P },
  { name: 'both: the lower case', env: { HTTPS_PROXY: Q, https_proxy: P }, proxy: P },
  { name: 'a blank is empty', env: { HTTPS_PROXY: P, https_proxy: ' ' }, proxy: P },
  { name: 'all_proxy stands in', env: { ALL_PROXY: P }, proxy: P },
  { name: 'the scheme decides', env: { HTTP_PROXY: P }, proxy: null },
  { name: 'a plain endpoint', url: 'http://api.example/v1', env: { HTTP_PROXY: P, HTTPS_PROXY: Q }, proxy: P },
  { name: 'no scheme is http', env: { HTTPS_PROXY: 'proxy.example:3128' }, proxy: P },
  { name: 'exempt by name', env: { HTTPS_PROXY: P, NO_PROXY: 'x.test, api.example' }, proxy: null },
  { name: 'exempt by domain', env: { HTTPS_PROXY: P, no_proxy: '.example' }, proxy: null },
  { name: 'exempt by star', env: { HTTPS_PROXY: P, no_proxy: '*' }, proxy: null },
  { name: 'exempt by its port', env: { HTTPS_PROXY: P, no_proxy: 'api.example:443' }, proxy: null },
  { name: 'another port is not exempt', env: { HTTPS_PROXY: P, no_proxy: 'api.example:8443' }, proxy: P },
  { name: 'the end of a name is no domain', env: { HTTPS_PROXY: P, no_proxy: 'pi.example' }, proxy: P },
  ...[
    'http://127.0.0.1:1/v1',
    'http://127.8.9.1/',
    'http://localhost/v1',
    'https://a.localhost/',
    'http://[::1]:9/',
  ].map(url => ({
    name: `loopback ${url}`,
    url,
    env: { HTTP_PROXY: P, HTTPS_PROXY: P, ALL_PROXY: P },
    proxy: null,
  })),
  { name: 'a name that only looks local', url: 'http://127.example/', env: { HTTP_PROXY: P }, proxy: P },
]

for (const { name, url = 'https://api.example/v1', env, proxy } of cases) {
  t.test(name, async t => {
    t.equal(proxyFor(new URL(url), env)?.href ?? null, proxy === null ? null : `${proxy}/`)
  })
}

for (const value of ['socks5://h:1', 'http://:8', 'http://a b', 'http://u:%zz@h:1']) {
  t.test(`a proxy that cannot be used: ${value}`, async t => {
    try {
      proxyFor(new URL('https://api.example/v1'), { HTTPS_PROXY: `${value}` })
      t.fail('it was taken')
    } catch (error) {
      t.ok(isRefusal(error, 'bad-arguments'))
      t.match(error, { details: { argument: 'HTTPS_PROXY' } })
      t.notMatch(String(error), value, 'the value is not repeated')
    }
  })
}
