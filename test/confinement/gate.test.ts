/** Launches with a network, for real: names resolve by a table of the test's own to servers on loopback, which a rule has to name. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { NETWORK_LISTENER_MS } from '../../src/bounds.js'
import { type Boundary, openBoundary } from '../../src/confinement/boundary.js'
import { explainPolicy } from '../../src/confinement/explain.js'
import { launchFolderRules } from '../../src/confinement/folder-rules.js'
import { readHostFacts } from '../../src/confinement/host-facts.js'
import { launch } from '../../src/confinement/launch.js'
import { planLaunch } from '../../src/confinement/launch-plan.js'
import type { RunRequest } from '../../src/confinement/launch-requests.js'
import { landPolicy } from '../../src/confinement/policy.js'
import type { HostFacts, PolicyRequest } from '../../src/confinement/types.js'
import { Refusal } from '../../src/errors.js'
import type { HarnessEvent } from '../../src/events.js'
import type { Outcome } from '../../src/outcome.js'
import { checkLaunchFolders } from '../../src/paths/launch-folders.js'
import { renderCaptured } from '../../src/supervise/bounded-output.js'
import { type Clock, systemClock } from '../../src/supervise/deadline.js'
import { closeInherited } from '../../src/supervise/descriptors.js'
import { DEBIAN, policy, request } from '../support/confinement-fakes.js'
import { needs } from '../support/needs.js'
import { scratch } from '../support/scratch.js'

closeInherited()
const confined = { skip: needs('bubblewrap') }

async function origin(t: Test): Promise<number> {
  const server = createServer((incoming, response) =>
    response.end(`origin ${incoming.url} for ${incoming.headers.host}\n`),
  )
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  return (server.address() as AddressInfo).port
}

interface Opened {
  readonly boundary: Boundary
  readonly events: HarnessEvent[]
  run(
    argv: readonly string[],
    more?: Partial<RunRequest>,
  ): Promise<Outcome & { readonly said: string; readonly complained: string }>
}

async function open(t: Test, parts: Partial<PolicyRequest>, facts: Partial<HostFacts> = {}): Promise<Opened> {
  const events: HarnessEvent[] = []
  const boundary = await openBoundary({
    confine: 'bubblewrap',
    request: request(scratch(t), parts),
    facts: { ...(await readHostFacts()), ...facts },
    runId: 'a'.repeat(16),
    probe: 'launch',
    onEvent: event => events.push(event),
    network: { resolve: async name => (name.endsWith('.test') ? ['127.0.0.1'] : []) },
  })
  if (boundary instanceof Refusal) throw boundary
  t.teardown(() => boundary.close())
  return {
    boundary,
    events,
    async run(argv, more = {}) {
      const outcome = await boundary.run({ argv, purpose: 'exec', ...more })
      if (outcome instanceof Refusal) throw outcome
      return { ...outcome, said: renderCaptured(outcome.stdout).text, complained: renderCaptured(outcome.stderr).text }
    },
  }
}

/** A client that needs nothing but the shown Node: one request through the proxy of the environment, or past it. */
const CLIENT = `
const http = require('node:http')
const [url, how] = process.argv.slice(1)
const proxy = new URL(process.env.HTTP_PROXY)
const auth = 'Basic ' + Buffer.from(decodeURIComponent(proxy.username + ':' + proxy.password)).toString('base64')
const options = how === 'direct' ? new URL(url) : { host: proxy.hostname, port: proxy.port, path: url, headers: { 'proxy-authorization': auth } }
http.get(options, answer => { process.stdout.write(answer.statusCode + ' '); answer.pipe(process.stdout) }).on('error', e => console.log(e.code))
`
const node = process.execPath
const get = (url: string, how = 'proxied'): string[] => [node, '-e', CLIENT, url, how]

t.test(
  'B05: names are looked up outside: no resolver is needed inside, whatever /etc/resolv.conf is here',
  confined,
  async t => {
    const port = await origin(t)
    const { run, events } = await open(t, { allowHosts: [`good.test:${port}`, `127.0.0.1:${port}`] })
    t.match(await run(get(`http://good.test:${port}/a`)), {
      said: `200 origin /a for good.test:${port}\n`,
      ending: { status: 0 },
    })
    t.match(await run(get(`http://127.0.0.1:${port}/b`)), { said: /^200 origin \/b/ })
    const denied = await run(get(`http://evil.test:${port}/c`))
    t.match(denied, {
      said: new RegExp(`^403 harness: evil.test:${port} is named by no --allow-host: the operator can add`),
    })
    t.strictSame(denied.network_denied, [{ host: 'evil.test', port, why: 'host-not-allowed', times: 1 }])
    t.match(
      events.filter(({ kind }) => kind === 'network-denied'),
      [{ launch_id: `${'a'.repeat(16)}-3`, host: 'evil.test', port }],
    )
    t.match(await run(['sh', '-c', 'test -e /etc/resolv.conf || echo none']), { said: 'none\n' })
  },
)

t.test('past the proxy there is nothing: the namespace is as closed as without a network', confined, async t => {
  const port = await origin(t)
  const { run, boundary } = await open(t, { allowHosts: [`127.0.0.1:${port}`] })
  t.match(await run(get(`http://127.0.0.1:${port}/`, 'direct')), { said: 'ECONNREFUSED\n' })
  t.match(await run(get('http://192.0.2.1/', 'direct')), { said: 'ENETUNREACH\n' })
  t.match(await run(['sh', '-c', 'tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d " "']), { said: 'lo\n' })
  t.notOk(boundary.confinement.applied.includes('no-network'))
  t.match(
    boundary.confinement.gaps.filter(({ guarantee }) => guarantee === 'no-network'),
    [
      {
        why: `--allow-host: 127.0.0.1:${port} can be reached through a proxy of ours, and nobody else; what is sent there is not looked into`,
      },
    ],
  )
})

t.test('the command finds no trace of the bridge, and its own servers work', confined, async t => {
  const { run } = await open(t, { allowHosts: ['good.test'] })
  t.match(await run(['sh', '-c', 'ls /proc/self/fd']), { said: '0\n1\n2\n3\n' })
  t.match(await run(['sh', '-c', 'for p in /proc/[0-9]*; do readlink $p/exe; done | grep -c node']), { said: '0\n' })
  const own = `const h=require('node:http');const s=h.createServer((q,r)=>r.end('own')).listen(0,'127.0.0.1',()=>h.get({port:s.address().port,host:'127.0.0.1'},a=>a.pipe(process.stdout).on('error',()=>0)&&a.on('end',()=>s.close())))`
  t.match(await run([node, '-e', own]), { said: 'own' })
})

t.test('status, signals, deadlines and ends are those of any launch', confined, async t => {
  const { run } = await open(t, { allowHosts: ['good.test'] })
  t.match(await run(['sh', '-c', 'exit 7']), { ending: { kind: 'exited', status: 7 } })
  t.match(await run(['sh', '-c', 'kill -TERM $$']), { ending: { kind: 'signalled', signal: 'SIGTERM' } })
  t.match(await run(['sleep', '60'], { wallMs: 1_500, graceMs: 100 }), { ending: { kind: 'timed-out' } })
  const trapped = await run(['sh', '-c', 'trap "echo told; exit 0" TERM; sleep 60 & wait'], {
    wallMs: 1_500,
    graceMs: 5_000,
  })
  t.match(trapped, { ending: { kind: 'timed-out' }, said: 'told\n' })
  for (const delay of [0, 20, 60, 120]) {
    const stop = new AbortController()
    setTimeout(() => stop.abort('caller'), delay)
    t.match(
      await run(['sleep', '60'], { signal: stop.signal, graceMs: 0 }),
      { ending: { kind: 'cancelled', by: 'caller' } },
      `after ${delay} ms`,
    )
  }
})

t.test(
  'what opens the listener is under no limit, and counted nowhere',
  { skip: needs('bubblewrap', 'cgroup-v1-pids') },
  async t => {
    const { run } = await open(t, { allowHosts: ['good.test'], limits: { pids: 3, memory: 8 * 1024 * 1024 } })
    const ended = await run(['true'])
    t.match(ended, { ending: { kind: 'exited', status: 0 } })
    t.ok(
      ended.peak_memory_bytes === null || ended.peak_memory_bytes <= 8 * 1024 * 1024,
      `peak ${ended.peak_memory_bytes}`,
    )
    const forks = await run(['sh', '-c', 'sleep 1 & sleep 1 & sleep 1 & sleep 1 & wait'])
    t.match(forks, { ending: { kind: 'bound', name: 'pids' } }, 'and the command is under all of them')
  },
)

t.test('several at one time, each with a token and a way of its own', confined, async t => {
  const port = await origin(t)
  const { run } = await open(t, { allowHosts: [`127.0.0.1:${port}`] })
  const all = await Promise.all(
    [1, 2, 3].map(at =>
      run(['sh', '-c', `echo $HTTP_PROXY; exec "$@"`, 'sh', ...get(`http://127.0.0.1:${port}/${at}`)]),
    ),
  )
  for (const [at, { said }] of all.entries()) t.match(said, new RegExp(`\n200 origin /${at + 1} `))
  t.equal(new Set(all.map(({ said }) => said.split('\n')[0])).size, 3)
})

t.test('the token stands in no argument list, no event and no explanation', confined, async t => {
  const { run, events } = await open(t, { allowHosts: ['good.test'] })
  const lists: string[] = []
  const looking = setInterval(() => {
    for (const pid of readdirSync('/proc').filter(name => /^\d+$/.test(name))) {
      try {
        lists.push(readFileSync(`/proc/${pid}/cmdline`, 'latin1'))
      } catch {
        // Gone meanwhile.
      }
    }
  }, 40)
  const { said, ...outcome } = await run(['sh', '-c', 'sleep 0.3; echo $HTTP_PROXY'])
  clearInterval(looking)
  const token = /harness:([0-9a-f]{48})@127\.0\.0\.1:61080/.exec(said)?.[1] ?? ''
  t.match(token, /^[0-9a-f]{48}$/)
  t.ok(
    lists.some(list => list.includes('/run/harness/limit')),
    'the launcher was looked at',
  )
  t.notOk(lists.some(list => list.includes(token)))
  t.notOk(JSON.stringify([events, outcome.confinement]).includes(token))
})

t.test('P118: both cases of every variable, with one value; what --env sets stays', confined, async t => {
  const { run } = await open(t, {
    allowHosts: ['good.test', '127.0.0.1:3000'],
    env: { HTTP_PROXY: 'mine', NODE_OPTIONS: '--require /nowhere.js' },
  })
  const { said } = await run(['env'])
  const env = Object.fromEntries(
    said
      .trimEnd()
      .split('\n')
      .map(line => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  )
  t.equal(env.HTTP_PROXY, 'mine')
  t.match(env.http_proxy, /^http:\/\/harness:[0-9a-f]{48}@127\.0\.0\.1:61080$/)
  for (const name of [
    'HTTPS_PROXY',
    'ALL_PROXY',
    'NO_PROXY',
    'NPM_CONFIG_PROXY',
    'NPM_CONFIG_HTTPS_PROXY',
    'NPM_CONFIG_NOPROXY',
  ]) {
    t.ok(env[name], name)
    t.equal(env[name.toLowerCase()], env[name], name)
  }
  t.match(env.ALL_PROXY, /^socks5h:/)
  t.equal(env.CARGO_HTTP_PROXY, env.http_proxy)
  t.equal(env.NODE_USE_ENV_PROXY, '1')
  t.equal(env.NO_PROXY, 'localhost,::1', 'an address of loopback that is named is the host’s')
})

t.test('where the listener cannot be opened nothing runs, and the fix is named', confined, async t => {
  const { boundary } = await open(t, { allowHosts: ['good.test'] }, { node: '/usr/bin/false' })
  const refused = await boundary.run({ argv: ['true'], purpose: 'exec' })
  t.match(refused, { code: 'boundary-unavailable', details: { probe: 'the way to the network', fix: /--read FOLDER/ } })
  const silent = await open(t, { allowHosts: ['good.test'] }, { node: '/usr/bin/true' })
  const mute = await silent.boundary.run({ argv: ['true'], purpose: 'exec' })
  t.match(mute, { code: 'boundary-unavailable', details: { text: /^network: the listener inside was not handed out/ } })
})

t.test('a probe tries the listener, whatever was proved without one', confined, async t => {
  const plain = await openBoundary({
    confine: 'bubblewrap',
    request: request(scratch(t)),
    facts: await readHostFacts(),
    runId: 'b'.repeat(16),
    probe: 'now',
    onEvent: () => undefined,
  })
  if (plain instanceof Refusal) throw plain
  await plain.close()
  const facts = { ...(await readHostFacts()), node: '/usr/bin/false' }
  const networked = await openBoundary({
    confine: 'bubblewrap',
    request: request(scratch(t), { allowHosts: ['good.test'] }),
    facts,
    runId: 'c'.repeat(16),
    probe: 'now',
    onEvent: () => undefined,
  })
  t.match(networked, { code: 'boundary-unavailable', details: { probe: 'the way to the network' } })
})

t.test('planned: the Node that runs us, the fed program, stand-ins for what a launch makes', async t => {
  const networked = policy({
    network: { hosts: [{ kind: 'name', host: 'good.test', ports: [443], source: '--allow-host good.test:443' }] },
  })
  const plan = planLaunch({
    boundary: 'bubblewrap',
    policy: networked,
    facts: { ...DEBIAN, systemRoots: (await readHostFacts()).systemRoots },
    command: ['true'],
  })
  if (plan instanceof Refusal) throw plan
  const words = plan.args.join(' ')
  t.match(words, / --symlink \/usr\/bin\/node \/run\/harness\/node /, 'where it is shown it stays at its place')
  t.match(words, / --unshare-net /)
  t.notMatch(words, /resolv\.conf/)
  t.match(
    plan.files.map(({ path }) => path),
    ['/etc/passwd', '/etc/group', '/run/harness/bridge'],
  )
  const { text, json } = explainPolicy(plan, networked)
  t.match(
    text,
    /network\n {2}good\.test:443 {2}\(--allow-host good\.test:443\)\n {2}through a proxy of ours, which looks names up/,
  )
  t.match(text, /HTTPS_PROXY=http:\/\/harness:TOKEN@127\.0\.0\.1:61080\n/)
  t.match(json, {
    policy: { network: [{ kind: 'name', host: 'good.test', ports: [443], text: 'good.test:443' }] },
    environment: { https_proxy: /TOKEN/ },
  })
  const elsewhere = planLaunch({
    boundary: 'bubblewrap',
    policy: networked,
    facts: { ...DEBIAN, systemRoots: (await readHostFacts()).systemRoots, node: '/home/user/.nvm/node' },
    command: ['true'],
  })
  t.match(
    elsewhere instanceof Refusal ? '' : elsewhere.args.join(' '),
    / --ro-bind \/home\/user\/\.nvm\/node \/run\/harness\/node /,
  )
  for (const boundary of ['landlock', 'container'] as const) {
    t.match(
      planLaunch({ boundary, policy: networked, facts: DEBIAN, command: ['true'] }),
      { code: 'unsupported-rule', details: { rule: '--allow-host' } },
      boundary,
    )
  }
  t.equal(
    landPolicy(request(scratch(t), { allowHosts: [] }), await readHostFacts()).network,
    null,
    'an empty list opens nothing',
  )
  t.throws(() => landPolicy(request(scratch(t), { allowHosts: ['https://x.test'] }), DEBIAN), {
    code: 'unsupported-rule',
  })
})

t.test('who launches by himself has to serve the listener by himself', confined, async t => {
  const facts = await readHostFacts()
  const asked = request(scratch(t), { allowHosts: ['good.test'] })
  const landed = landPolicy(asked, facts)
  const plan = planLaunch({ boundary: 'bubblewrap', policy: landed, facts, command: ['true'] })
  const rules = launchFolderRules(landed, asked, facts)
  if (plan instanceof Refusal || rules instanceof Refusal) throw plan
  const folders = checkLaunchFolders({ cwd: '.', grants: [], cache: null, privateParent: tmpdir() }, rules)
  if (folders instanceof Refusal) throw folders
  const options = { stdin: null, stdout: 'capture', stderr: 'capture', signal: new AbortController().signal } as const
  await t.rejects(launch(plan, folders, { ...options, wallMs: 5_000, graceMs: 0, launchId: 'own-1' }), TypeError)
  const file = join(asked.workspace, 'node')
  writeFileSync(file, '#!/bin/sh\nexec sleep 60\n', { mode: 0o755 })
  const stuck = planLaunch({
    boundary: 'bubblewrap',
    policy: landed,
    facts: { ...facts, node: file },
    command: ['true'],
  })
  if (stuck instanceof Refusal) throw stuck
  const clock: Clock = {
    now: () => systemClock.now(),
    wall: () => systemClock.wall(),
    after: (ms, then) => systemClock.after(ms === NETWORK_LISTENER_MS ? 200 : ms, then),
  }
  const again = checkLaunchFolders({ cwd: '.', grants: [], cache: null, privateParent: tmpdir() }, rules)
  if (again instanceof Refusal) throw again
  const more = { wallMs: 30_000, graceMs: 0, launchId: 'own-2', clock, onListener: () => t.fail('handed out') }
  const { ending } = await launch(stuck, again, { ...options, ...more })
  t.match(ending, { kind: 'not-started', code: 'sandbox-failed', message: /^network: .* not handed out within 20 s$/ })
})

/** Stands for sandbox-exec, without a profile. */
const STAND_IN = '#!/bin/sh\nwhile [ "$1" != -- ]; do shift 2; done\nshift 2\nexec /bin/sh "$@"\n'

t.test('seatbelt: a port of the host’s loopback, in the profile and in the environment', async t => {
  const at = scratch(t)
  const file = join(at, 'sandbox-exec')
  writeFileSync(file, STAND_IN, { mode: 0o755 })
  const facts: HostFacts = { ...(await readHostFacts()), platform: 'darwin', sandboxExec: file, bwrap: null }
  mkdirSync(join(at, 'w'))
  const port = await origin(t)
  const asked = request(join(at, 'w'), { allowHosts: [`127.0.0.1:${port}`] })
  const place = { port: 41_234, token: 'token' }
  const plan = planLaunch({
    boundary: 'seatbelt',
    policy: landPolicy(asked, facts),
    facts,
    command: ['/bin/sh'],
    proxy: place,
  })
  if (plan instanceof Refusal) throw plan
  t.match(plan.seatbelt?.text, /\(allow network-outbound \(remote ip "localhost:41234"\)\)/)
  t.equal(plan.env.https_proxy, 'http://harness:token@127.0.0.1:41234')
  t.notMatch(plan.args.join(' '), /token/, 'an environment is its owner’s alone, an argument list everybody’s')
  const boundary = await openBoundary({
    confine: 'seatbelt',
    request: asked,
    facts,
    runId: 'd'.repeat(16),
    probe: 'launch',
    onEvent: () => undefined,
  })
  if (boundary instanceof Refusal) throw boundary
  t.teardown(() => boundary.close())
  const argv = ['/bin/sh', '-c', 'echo $HTTP_PROXY; exec "$@"', 'sh', ...get(`http://127.0.0.1:${port}/s`)]
  const outcome = await boundary.run({ argv, purpose: 'exec' })
  if (outcome instanceof Refusal) throw outcome
  const [proxy = '', answer] = renderCaptured(outcome.stdout).text.split('\n')
  t.match(answer, /^200 origin \/s /)
  await t.rejects(fetch(`http://127.0.0.1:${new URL(proxy).port}/`), 'closed with the launch')
})
