/**
 * `--allow-host` with the programs that people use it for, each for real against servers of the test on loopback, which a rule
 * names by their address. They trust an authority of the test's own: nothing on the way opens what is encrypted.
 */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { createServer as createHttp, type RequestListener } from 'node:http'
import { createServer as createHttps } from 'node:https'
import { type AddressInfo, connect } from 'node:net'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { NetworkDenial } from '../../src/outcome.js'
import { type Need, needs } from '../../test/support/needs.js'
import { eventsOf, harness, type Scratch, scratch } from '../support/harness.js'
import { scripted, toScripted } from '../support/scripted.js'

interface Site {
  readonly ws: Scratch
  readonly http: number
  readonly https: number
  /** Of the authority, in the workspace. */
  readonly ca: string
  readonly asked: string[]
  /** What is served, by path; a text may name `HTTP` and `HTTPS` for the two places. */
  readonly files: Map<string, Buffer | string>
}

async function site(t: Test): Promise<Site> {
  const ws = scratch({ 'plain.txt': 'x\n' })
  t.teardown(ws.remove)
  const { ca, key, cert } = authority(ws.path)
  const asked: string[] = []
  const files: Site['files'] = new Map([['/hello', 'hello\n']])
  let places = { HTTP: '', HTTPS: '' }
  const answer: RequestListener = (request, response) => {
    const path = decodeURIComponent((request.url ?? '').replace(/\?.*$/, ''))
    asked.push(path)
    const found = files.get(path)
    if (found === undefined) return void response.writeHead(404).end('nothing here\n')
    if (path.endsWith('/')) response.setHeader('content-type', 'text/html')
    response.end(typeof found === 'string' ? found.replace(/\bHTTPS?\b/g, name => places[name as 'HTTP']) : found)
  }
  const listening = async (server: ReturnType<typeof createHttp>): Promise<number> => {
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    t.teardown(() => {
      server.closeAllConnections()
      server.close()
    })
    return (server.address() as AddressInfo).port
  }
  const http = await listening(createHttp(answer))
  const https = await listening(createHttps({ key, cert }, answer))
  places = { HTTP: `http://127.0.0.1:${http}`, HTTPS: `https://127.0.0.1:${https}` }
  return { ws, http, https, ca, asked, files }
}

/** A certificate for 127.0.0.1 under an authority that nobody knows yet; npm takes an address behind a proxy for `localhost`. */
function authority(folder: string): { readonly ca: string; readonly key: Buffer; readonly cert: Buffer } {
  const at = (name: string): string => join(folder, name)
  const openssl = (...args: string[]): void => void execFileSync('openssl', args, { stdio: 'ignore' })
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
  openssl('req', '-x509', ...key, '-keyout', at('ca.key'), '-out', at('ca.pem'), '-subj', '/CN=test authority')
  const own = [
    '-CA',
    at('ca.pem'),
    '-CAkey',
    at('ca.key'),
    '-subj',
    '/CN=127.0.0.1',
    '-addext',
    'subjectAltName=IP:127.0.0.1,DNS:localhost',
  ]
  openssl('req', '-x509', ...key, '-keyout', at('key.pem'), '-out', at('cert.pem'), ...own)
  return { ca: at('ca.pem'), key: readFileSync(at('key.pem')), cert: readFileSync(at('cert.pem')) }
}

interface Ran {
  readonly status: number | undefined
  readonly stdout: string
  readonly stderr: string
  readonly denied: readonly NetworkDenial[]
}

let launches = 0

/** `harness exec` with both places open. */
async function inside(
  { ws, http, https }: Site,
  argv: readonly string[],
  options: readonly string[] = [],
): Promise<Ran> {
  const outcome = ['--outcome-file', join(dirname(ws.path), `outcome-${http}-${++launches}.json`)]
  const hosts = ['--allow-host', `127.0.0.1:${http}`, '--allow-host', `127.0.0.1:${https}`]
  const ran = await harness(['exec', ...hosts, ...outcome, ...options, '--', ...argv], {
    cwd: ws.path,
    timeout: 120_000,
  })
  const { network_denied: denied = [] } = JSON.parse(readFileSync(outcome[1] ?? '', 'utf8')) as {
    network_denied?: NetworkDenial[]
  }
  return { ...ran, denied }
}

async function until<Value>(look: () => Value | undefined): Promise<Value> {
  for (let at = 0; at < 600; at++) {
    const found = existing(look)
    if (found !== undefined) return found
    await sleep(50)
  }
  throw new Error('it did not come')
}

function existing<Value>(look: () => Value): Value | undefined {
  try {
    return look()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** Empty where the process has gone. */
function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

function all(...names: readonly Need[]): { readonly skip: false | string } {
  return { skip: needs('bubblewrap', 'openssl', ...names) }
}

t.test('curl: both protocols, SOCKS, and what is denied', all('curl'), async t => {
  const s = await site(t)
  const [http, https] = [`http://127.0.0.1:${s.http}`, `https://127.0.0.1:${s.https}`]
  const script = `curl -sS ${http}/hello && curl -sS --cacert ca.pem ${https}/hello && curl -sS -x "$ALL_PROXY" ${http}/hello`
  t.match(await inside(s, ['sh', '-c', script]), { status: 0, stdout: 'hello\nhello\nhello\n', denied: [] })
  t.match(
    await inside(s, ['curl', '-sS', `${https}/hello`]),
    { status: 60, denied: [] },
    'nobody vouches for it but the authority',
  )
  const denied = await inside(s, [
    'sh',
    '-c',
    `curl -sS http://example.invalid/ ; curl -sS https://example.invalid/ ; curl -sSL http://127.0.0.1:1/`,
  ])
  t.match(
    denied.stdout,
    /^harness: example\.invalid:80 is named by no --allow-host: the operator can add --allow-host example\.invalid\nharness: that port/,
  )
  t.match(denied.stderr, /harness: network denied: example\.invalid:443 is named by no --allow-host/)
  t.strictSame(
    denied.denied.map(({ host, port, why }) => `${host}:${port} ${why}`),
    ['example.invalid:80 host-not-allowed', 'example.invalid:443 host-not-allowed', '127.0.0.1:1 port-not-allowed'],
  )
})

t.test('git: a clone over https', all('git'), async t => {
  const s = await site(t)
  const git = (...args: string[]): void =>
    void execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@t', ...args], {
      cwd: s.ws.path,
      stdio: 'ignore',
    })
  git('init', '-q', '-b', 'main', 'origin')
  s.ws.write('origin/file.txt', 'cloned\n')
  git('-C', 'origin', 'add', '.')
  git('-C', 'origin', 'commit', '-q', '-m', 'one')
  git('clone', '-q', '--bare', 'origin', 'served.git')
  git('-C', 'served.git', 'repack', '-adq')
  git('-C', 'served.git', 'update-server-info')
  for (const name of execFileSync('find', ['.', '-type', 'f'], { cwd: s.ws.path, encoding: 'utf8' }).split('\n')) {
    if (name.startsWith('./served.git/')) s.files.set(name.slice(1), readFileSync(join(s.ws.path, name)))
  }
  const clone = `git -c http.sslCAInfo=ca.pem clone -q https://127.0.0.1:${s.https}/served.git /tmp/clone && cat /tmp/clone/file.txt`
  t.match(await inside(s, ['sh', '-c', clone]), { status: 0, stdout: 'cloned\n', denied: [] })
  const other = await inside(s, ['git', 'clone', '-q', 'https://example.invalid/x.git', '/tmp/clone'])
  t.match(other, { status: 128, denied: [{ host: 'example.invalid', port: 443 }] })
})

/** A folder as `npm pack` and `cargo package` have it: one folder in a tar.gz. */
function packed(ws: Scratch, folder: string, files: Readonly<Record<string, string>>): Buffer {
  for (const [name, text] of Object.entries(files)) ws.write(join('packed', folder, name), text)
  execFileSync('tar', ['-C', join(ws.path, 'packed'), '-czf', join(ws.path, 'packed.tgz'), folder])
  return readFileSync(join(ws.path, 'packed.tgz'))
}

t.test('npm: an install from a registry', all('npm'), async t => {
  const s = await site(t)
  const manifest = { name: 'left-of-pad', version: '1.0.0', main: 'index.js' }
  const tarball = packed(s.ws, 'package', {
    'package.json': JSON.stringify(manifest),
    'index.js': 'module.exports = "installed"\n',
  })
  const integrity = `sha512-${createHash('sha512').update(tarball).digest('base64')}`
  for (const place of ['HTTP', 'HTTPS']) {
    const dist = { tarball: `${place}/${place.toLowerCase()}.tgz`, integrity }
    s.files.set(
      `/${place.toLowerCase()}/left-of-pad`,
      JSON.stringify({
        name: manifest.name,
        'dist-tags': { latest: '1.0.0' },
        versions: { '1.0.0': { ...manifest, dist } },
      }),
    )
    s.files.set(`/${place.toLowerCase()}.tgz`, tarball)
  }
  for (const registry of [`http://127.0.0.1:${s.http}/http/`, `https://127.0.0.1:${s.https}/https/`]) {
    const install = `mkdir /tmp/p && cd /tmp/p && npm install --no-audit --no-fund --fetch-retries 0 --cafile ${s.ca} --registry ${registry} left-of-pad >&2 && node -p 'require("left-of-pad")'`
    const ran = await inside(s, ['sh', '-c', install])
    t.match(ran, { status: 0, stdout: 'installed\n', denied: [] }, `${registry}: ${ran.stderr}`)
  }
})

t.test('pip: a download from an index', all('pip'), async t => {
  const s = await site(t)
  const wheel = join(s.ws.path, 'demo_wheel-1.0-py3-none-any.whl')
  const zip = `import zipfile,sys
z = zipfile.ZipFile(sys.argv[1], 'w')
z.writestr('demo_wheel.py', 'x = 1')
z.writestr('demo_wheel-1.0.dist-info/METADATA', 'Metadata-Version: 2.1\\nName: demo-wheel\\nVersion: 1.0\\n')
z.writestr('demo_wheel-1.0.dist-info/WHEEL', 'Wheel-Version: 1.0\\nGenerator: t\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')
z.writestr('demo_wheel-1.0.dist-info/RECORD', '')`
  execFileSync('/usr/bin/python3', ['-c', zip, wheel])
  s.files.set(
    '/simple/demo-wheel/',
    '<a href="/wheels/demo_wheel-1.0-py3-none-any.whl">demo_wheel-1.0-py3-none-any.whl</a>',
  )
  s.files.set('/wheels/demo_wheel-1.0-py3-none-any.whl', readFileSync(wheel))
  const pip = [
    '/usr/bin/python3',
    '-m',
    'pip',
    'download',
    '--disable-pip-version-check',
    '--no-deps',
    '--cert',
    s.ca,
    '-d',
    '/tmp/d',
  ]
  const ran = await inside(s, [...pip, '--index-url', `https://127.0.0.1:${s.https}/simple/`, 'demo-wheel'])
  t.match(ran, { status: 0, stdout: /Saved \/tmp\/d\/demo_wheel-1\.0/, denied: [] }, ran.stderr)
})

t.test('cargo: a fetch from a sparse registry', all('cargo'), async t => {
  const s = await site(t)
  // The program itself behind rustup, whose own folders are not shown.
  const found = execFileSync('sh', ['-c', 'rustup which cargo 2>/dev/null || command -v cargo'], {
    encoding: 'utf8',
  }).trim()
  const bin = dirname(realpathSync(found))
  const crate = packed(s.ws, 'tiny-1.0.0', {
    'Cargo.toml': '[package]\nname = "tiny"\nversion = "1.0.0"\nedition = "2021"\n',
    'src/lib.rs': '',
  })
  const cksum = createHash('sha256').update(crate).digest('hex')
  s.files.set('/index/config.json', '{"dl": "HTTPS/crates/{crate}"}')
  s.files.set(
    '/index/ti/ny/tiny',
    `${JSON.stringify({ name: 'tiny', vers: '1.0.0', deps: [], cksum, features: {}, yanked: false })}\n`,
  )
  s.files.set('/crates/tiny', crate)
  s.ws.write(
    'app/Cargo.toml',
    '[package]\nname = "app"\nversion = "0.1.0"\nedition = "2021"\n[dependencies]\ntiny = { version = "1", registry = "own" }\n',
  )
  s.ws.write('app/src/main.rs', 'fn main() {}\n')
  s.ws.write('app/.cargo/config.toml', `[registries.own]\nindex = "sparse+https://127.0.0.1:${s.https}/index/"\n`)
  const fetch = `cp -r app /tmp/app && cd /tmp/app && CARGO_HOME=/tmp/cargo CARGO_HTTP_CAINFO=${s.ca} PATH=${bin}:$PATH cargo fetch >&2 && ls /tmp/cargo/registry/src/*`
  const ran = await inside(s, ['sh', '-c', fetch], ['--read', dirname(bin)])
  t.match(ran, { status: 0, stdout: /tiny-1\.0\.0/, denied: [] }, ran.stderr)
})

t.test('node: fetch goes through the proxy where this Node reads its variables', all(), async t => {
  const s = await site(t)
  const program = `fetch('http://127.0.0.1:${s.http}/hello').then(a => a.text()).then(text => process.stdout.write(text), error => console.log(error.cause.code))`
  const ran = await inside(s, ['node', '-e', program], ['--read', dirname(realpathSync(process.execPath))])
  const reads = Number(process.versions.node.split('.')[0]) >= 24
  t.match(ran, { status: 0, stdout: reads ? 'hello\n' : 'ECONNREFUSED\n', denied: [] }, ran.stderr)
})

t.test(
  'a listener and a token are of one launch: neither is the host’s, and nobody inside holds the listener',
  all('curl'),
  async t => {
    const s = await site(t)
    const waits = `echo "$HTTP_PROXY" >out/first; while [ ! -e out/go ]; do sleep 0.05; done; curl -sS http://127.0.0.1:${s.http}/hello`
    mkdirSync(join(s.ws.path, 'out'))
    const first = inside(s, ['sh', '-c', waits], ['--process-write-subtree', 'out'])
    const proxy = await until(() => /^http:\S+(?=\n)/.exec(readFileSync(join(s.ws.path, 'out/first'), 'utf8'))?.[0])
    t.teardown(() => s.ws.write('out/go', ''))
    const { port, password } = new URL(proxy)
    t.match(password, /^[0-9a-f]{48}$/)
    const refused = await new Promise(resolve =>
      connect(Number(port), '127.0.0.1').once('connect', resolve).once('error', resolve),
    )
    t.match(refused, { code: 'ECONNREFUSED' }, 'on the loopback of the host nobody listens there')
    const lists = readdirSync('/proc')
      .filter(name => /^\d+$/.test(name))
      .map(pid => textOf(`/proc/${pid}/cmdline`))
    t.notOk(
      lists.some(words => words.includes(password)),
      'no argument list holds the token',
    )
    const ask = `curl -sS -o /dev/null -w '%{http_code} ' -x ${proxy} http://127.0.0.1:${s.http}/hello`
    const second = await inside(s, ['sh', '-c', `${ask}; ls -l /proc/[0-9]*/fd | grep -c 'socket:'`])
    t.match(
      second,
      { status: 1, stdout: '407 0\n', denied: [{ why: 'bad-token' }] },
      'another launch has another token',
    )
    s.ws.write('out/go', '')
    t.match(await first, { status: 0, stdout: 'hello\n', denied: [] })
  },
)

t.test('a run tells what was denied: in the record, to the model, and in the operator’s log', all('curl'), async t => {
  const s = await site(t)
  const call = { name: 'run', arguments: { argv: ['curl', '-sS', 'https://example.invalid/secret'] }, id: 'c1' }
  const endpoint = await scripted(t, [
    { reply: { calls: [call] } },
    {
      expect: {
        results: [
          { call: 'c1', contains: 'hint: the proxy refused this: example.invalid:443 is named by no --allow-host' },
        ],
      },
      reply: { text: 'done' },
    },
  ])
  mkdirSync(join(s.ws.path, 'sub'))
  const log = join(dirname(s.ws.path), `operator-${s.http}.log`)
  const ran = await harness(
    [
      'run',
      ...toScripted(endpoint),
      '--workspace',
      s.ws.path,
      '--input',
      'go',
      '--no-session',
      '--json',
      '--yes',
    ].concat([
      '--confine',
      'auto',
      '--allow-program',
      'curl',
      '--allow-host',
      `127.0.0.1:${s.http}`,
      '--log-file',
      log,
    ]),
    { timeout: 120_000 },
  )
  t.equal(ran.status, 0, ran.stderr)
  const events = eventsOf(ran.stdout)
  t.match(
    events.filter(({ kind }) => kind === 'network-denied'),
    [{ call_id: 'c1', host: 'example.invalid', port: 443, why: 'host-not-allowed' }],
  )
  t.match(
    events.filter(({ kind }) => kind === 'confinement-hint'),
    [{ call_id: 'c1', rule: 'network' }],
  )
  const [started] = events.filter(event => event.kind === 'started')
  t.match(started?.confinement.gaps, [
    { guarantee: 'no-network', why: /--allow-host: 127\.0\.0\.1:\d+ can be reached/ },
  ])
  const lines = readFileSync(log, 'utf8')
  t.match(
    lines,
    /"launch_id":"[0-9a-f]{16}-\d+","host":"example\.invalid","port":443,"why":"host-not-allowed","msg":"network denied"/,
  )
  t.notMatch(`${lines}${ran.stdout}`, /harness:[0-9a-f]{48}@/, 'no token anywhere')
  t.equal(statSync(log).mode & 0o777, 0o600)
})

t.test('refused before anything starts', all(), async t => {
  const ws = scratch()
  t.teardown(ws.remove)
  const cases: readonly [words: readonly string[], status: number, says: RegExp][] = [
    [
      ['exec', '--allow-host', 'https://x.test/', '--', 'true'],
      125,
      /refused \[unsupported-rule\] --allow-host https:\/\/x\.test\/: it is a URL; write NAME or NAME:PORT/,
    ],
    [['exec', '--allow-host', 'localhost:80', '--', 'true'], 125, /write 127\.0\.0\.1:PORT/],
    [['exec', '--allow-host', '*', '--', 'true'], 125, /write \*\.example\.org/],
    [
      ['exec', '--confine', 'landlock', '--allow-host', 'x.test', '--', 'true'],
      125,
      /refused \[unsupported-rule\] --allow-host cannot be held by the boundary landlock/,
    ],
    [
      ['run', '--provider', 'demo', '--input', 'x', '--no-session', '--allow-host', 'x.test'],
      1,
      /--allow-host needs a boundary: add --confine auto/,
    ],
  ]
  for (const [words, status, says] of cases) {
    const ran = await harness(words, { cwd: ws.path })
    t.equal(ran.status, status, `${words.join(' ')}: ${ran.stderr}`)
    t.match(ran.stderr, says)
  }
  const explained = await harness(['explain', '--allow-host', 'x.test', '--json', '--', 'true'], { cwd: ws.path })
  t.match(JSON.parse(explained.stdout), { policy: { network: [{ text: 'x.test' }] } })
})
