/**
 * What the flags beside folders open, tried for real: as the user the tests run as and, as root, in the workspace of an ordinary
 * user, whose uid launches then have.
 */

import { createHash } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type Boundary, openBoundary } from '../../src/confinement/boundary.js'
import { cachePlace } from '../../src/confinement/cache-folder.js'
import { readHostFacts } from '../../src/confinement/host-facts.js'
import { landPolicy } from '../../src/confinement/policy.js'
import type { ControlFile, HostFacts, PolicyRequest } from '../../src/confinement/types.js'
import { Refusal } from '../../src/errors.js'
import { renderCaptured } from '../../src/supervise/bounded-output.js'
import { closeInherited } from '../../src/supervise/descriptors.js'
import { hintsFor } from '../../src/tools/hints.js'
import { NOBODY } from '../support/children.js'
import { DEBIAN, request } from '../support/confinement-fakes.js'
import { needs } from '../support/needs.js'
import { scratch } from '../support/scratch.js'

const skip = needs('linux', 'bubblewrap')
closeInherited()

const isRoot = process.getuid?.() === 0
const own = process.getuid?.() ?? 0
/** Owners of the workspace: a launch of root has the owner's uid. */
const OWNERS = isRoot ? [own, NOBODY] : [own]
const ORDINARY = isRoot ? NOBODY : own

/** A folder with a workspace `ws` in it that `owner` has. */
function placeFor(t: Test, owner: number): { readonly base: string; readonly ws: string } {
  const base = scratch(t)
  const ws = join(base, 'ws')
  mkdirSync(ws)
  if (isRoot) chownSync(ws, owner, owner)
  return { base, ws }
}

async function opened(ws: string, parts: Partial<PolicyRequest>): Promise<Boundary | Refusal> {
  return openBoundary({
    confine: 'bubblewrap',
    request: request(ws, parts),
    facts: await readHostFacts(),
    runId: '00112233aabbccdd',
    onEvent: () => {},
    probe: 'launch',
  })
}

interface Ran {
  readonly status: number | null
  readonly out: string
  readonly err: string
}

async function ran(boundary: Boundary, script: string, ...args: readonly string[]): Promise<Ran> {
  const argv = ['/bin/sh', '-c', script, 'sh', ...args]
  const outcome = await boundary.run({ argv, purpose: 'tool', signal: new AbortController().signal })
  if (outcome instanceof Refusal) throw outcome
  const { ending } = outcome
  return {
    status: ending.kind === 'exited' ? ending.status : null,
    out: renderCaptured(outcome.stdout).text,
    err: renderCaptured(outcome.stderr).text + (ending.kind === 'exited' ? '' : JSON.stringify(ending)),
  }
}

/** Runs `script` under a policy; throws what was refused. */
async function inside(ws: string, parts: Partial<PolicyRequest>, script: string, ...args: string[]): Promise<Ran> {
  const boundary = await opened(ws, parts)
  if (boundary instanceof Refusal) throw boundary
  try {
    return await ran(boundary, script, ...args)
  } finally {
    await boundary.close()
  }
}

const NEST =
  'bwrap --unshare-all --ro-bind /usr /usr --symlink usr/bin /bin --symlink usr/lib /lib --symlink usr/lib64 /lib64 --proc /proc --dev /dev -- sh -c "echo nested"'

t.test('B25: a sandbox inside starts with --allow-nesting and not without', { skip }, async t => {
  const { ws } = placeFor(t, ORDINARY)
  t.match(await inside(ws, {}, NEST), { status: 1, out: '' })
  t.match(await inside(ws, { nesting: true }, NEST), { status: 0, out: 'nested\n' })
})

t.test('what nests holds no more than it is given', { skip }, async t => {
  const { ws } = placeFor(t, ORDINARY)
  writeFileSync(join(ws, 'file'), 'as it was')
  const script = `unshare -Urm sh -c '
    echo entered as $(id -u)
    mount -o remount,bind,rw "$1" && echo remounted
    umount /tmp && echo uncovered
    mount -t proc none /proc && echo new proc
    echo changed > file; echo core > /proc/sys/kernel/core_pattern; ls /proc/1/root/etc/shadow' sh "$1"; id -u`
  const { out } = await inside(ws, { nesting: true }, script, ws)
  t.equal(out, `entered as 0\n${ORDINARY}\n`)
})

t.test('uid 0 cannot nest and is told', { skip: needs('linux', 'bubblewrap', 'root') }, async t => {
  const { ws } = placeFor(t, 0)
  await t.rejects(inside(ws, { nesting: true }, 'true'), {
    code: 'unsupported-rule',
    details: { rule: '--allow-nesting' },
  })
})

t.test('nesting is a gap', { skip }, async t => {
  const { ws } = placeFor(t, ORDINARY)
  const boundary = await opened(ws, { nesting: true })
  if (boundary instanceof Refusal) throw boundary
  t.notOk(boundary.confinement.applied.includes('no-user-namespaces'))
  t.match(boundary.confinement.gaps.find(({ guarantee }) => guarantee === 'no-user-namespaces')?.why, /--allow-nesting/)
})

/** Connects to each socket and prints what it says, or the error. */
const CONNECT = `for path in "$@"; do python3 -I -c '
import socket, sys
try:
    s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); print(s.recv(9).decode())
except OSError as error: print(type(error).__name__)' "$path"; done`

async function listening(t: Test, path: string): Promise<string> {
  const server = createServer(client => client.end('reached'))
  await new Promise<void>(done => server.listen(path, done))
  chmodSync(path, 0o777)
  t.teardown(() => server.close())
  return path
}

t.test(
  'B23: a socket that is named is reached, and no other',
  { skip: needs('linux', 'bubblewrap', 'python3') },
  async t => {
    for (const owner of OWNERS) {
      const { base, ws } = placeFor(t, owner)
      for (const folder of ['run', 'lib']) mkdirSync(join(base, folder))
      symlinkSync('run', join(base, 'link'))
      const [named, other] = [await listening(t, join(ws, 'named')), await listening(t, join(ws, 'other'))]
      const [outside, beside] = [
        await listening(t, join(base, 'run/named')),
        await listening(t, join(base, 'run/other')),
      ]
      const spelled = join(base, 'link/named')
      const lib = await listening(t, join(base, 'lib/s'))
      for (const writeSubtrees of [[], ['.']]) {
        const parts = { writeSubtrees, read: [join(base, 'lib')], allowSockets: [named, spelled] }
        const { out } = await inside(ws, parts, CONNECT, named, other, outside, spelled, beside, lib)
        t.same(out.trim().split('\n'), [
          'reached',
          'ConnectionRefusedError',
          'reached',
          'reached',
          'FileNotFoundError',
          'ConnectionRefusedError',
        ])
      }
    }
  },
)

t.test('--allow-socket refuses what is no socket, and a hidden one', { skip }, async t => {
  const { base, ws } = placeFor(t, own)
  const path = await listening(t, join(base, 's'))
  writeFileSync(join(base, 'file'), '')
  const cases: [parts: Partial<PolicyRequest>, code: string][] = [
    [{ allowSockets: [join(base, 'file')] }, 'unsupported-rule'],
    [{ allowSockets: [base] }, 'unsupported-rule'],
    [{ allowSockets: [join(base, 'absent')] }, 'missing'],
    [{ allowSockets: [path], hide: [path] }, 'hidden'],
    [{ allowSockets: [path], hide: [base] }, 'hidden'],
  ]
  for (const [parts, code] of cases) t.equal(((await opened(ws, parts)) as Refusal).code, code, JSON.stringify(parts))
})

t.test('the record says what a socket means', { skip }, async t => {
  const { base, ws } = placeFor(t, own)
  const engine = await listening(t, join(base, 'docker.sock'))
  const plain = await listening(t, join(base, 'plain.sock'))
  const boundary = await opened(ws, { allowSockets: [engine, plain] })
  if (boundary instanceof Refusal) throw boundary
  const { applied, gaps } = boundary.confinement
  const about = (path: string) => gaps.filter(({ why }) => why.includes(path))
  t.match(about(engine)[0]?.why, /container engine starts containers/)
  t.same(
    about(plain).map(({ guarantee }) => guarantee),
    ['no-network'],
  )
  for (const name of ['no-network', 'no-write-outside', 'reads-limited', 'tree-ends'] as const)
    t.notOk(applied.includes(name), `${name} is not claimed`)
})

/** A cache request of `ws` below `base`. */
function cached(base: string): Partial<PolicyRequest> {
  return { cache: true, cacheFolder: join(base, 'xdg', 'b10x-harness') }
}

t.test('B20: a cache outlives the launch, for one workspace, and the package managers are told', { skip }, async t => {
  const { base, ws } = placeFor(t, own)
  const other = join(base, 'other')
  mkdirSync(other)
  const write =
    'echo kept > "$npm_config_cache"; echo "$CARGO_HOME $GOCACHE $GOMODCACHE $PIP_CACHE_DIR $UV_CACHE_DIR $npm_config_cache"'
  const { out } = await inside(ws, cached(base), write)
  t.same(
    out.trim().split(' '),
    ['cargo', 'go-build', 'go-mod', 'pip', 'uv', 'npm'].map(name => `/home/agent/.cache/${name}`),
  )
  const read = 'cat ~/.cache/npm; ls -A ~/.cache; touch ~/.cache/../beside'
  t.match(await inside(ws, cached(base), read), { status: 0, out: 'kept\nnpm\n' })
  t.match(await inside(other, cached(base), read), { status: 0, out: '' })
  t.match(await inside(ws, {}, read), { out: '' })
  const named = await inside(ws, { ...cached(base), env: { GOCACHE: '/tmp/go' } }, 'echo $GOCACHE $UV_CACHE_DIR')
  t.equal(named.out, '/tmp/go /home/agent/.cache/uv\n', '--env stands above')
  const folders = [join(base, 'xdg'), join(base, 'xdg/b10x-harness'), cachePlace(request(ws, cached(base)))?.path ?? '']
  for (const folder of folders) t.equal(statSync(folder).mode & 0o7777, 0o700, folder)
  t.same(readdirSync(ws), [], 'nothing in the workspace')
})

t.test('a cache folder that others could change is refused', { skip }, async t => {
  const { base, ws } = placeFor(t, own)
  const at = (name: string): string => join(base, name, 'b10x-harness')
  const folder = (name: string): string => {
    mkdirSync(at(name), { recursive: true, mode: 0o700 })
    return cachePlace(request(ws, { cache: true, cacheFolder: at(name) }))?.path ?? ''
  }
  mkdirSync(join(base, 'elsewhere'), { mode: 0o700 })
  const cases: Record<string, () => void> = {
    'open-base': () => chmodSync(join(folder('open-base'), '..'), 0o750),
    'open-folder': () => mkdirSync(folder('open-folder'), { mode: 0o755 }),
    'link-folder': () => symlinkSync(join(base, 'elsewhere'), folder('link-folder')),
    'link-base': () => {
      mkdirSync(join(base, 'link-base'))
      symlinkSync(join(base, 'elsewhere'), at('link-base'))
    },
    'plain-file': () => writeFileSync(folder('plain-file'), ''),
    ...(isRoot ? { foreign: () => chownSync(join(folder('foreign'), '..'), NOBODY, NOBODY) } : {}),
  }
  for (const [name, make] of Object.entries(cases)) {
    make()
    const refused = await opened(ws, { cache: true, cacheFolder: at(name) })
    t.match(refused, { code: 'unsupported-rule', details: { rule: '--cache' } }, name)
  }
  t.match(await opened(ws, { cache: true }), { code: 'unsupported-rule' }, 'nowhere to be')
  t.match(await opened(ws, cached(ws)), { code: 'unsupported-rule' }, 'in the workspace')
  if (isRoot)
    t.match(await opened(placeFor(t, NOBODY).ws, cached(base)), { code: 'unsupported-rule' }, 'of another user')
})

t.test('a cache is a write place', { skip }, async t => {
  const { base, ws } = placeFor(t, own)
  const parts = cached(base)
  const place = cachePlace(request(ws, parts))?.path ?? ''
  const control = (path: string, more: Partial<ControlFile> = {}) => ({
    ...parts,
    controlFiles: [{ path, what: 'x', ...more }],
  })
  const fails = async (asked: Partial<PolicyRequest>): Promise<string> => {
    const boundary = await opened(ws, asked)
    if (boundary instanceof Refusal) return boundary.code
    const outcome = await boundary.run({ argv: ['true'], purpose: 'tool' })
    return outcome instanceof Refusal ? outcome.code : outcome.ending.kind
  }
  t.equal(await fails(parts), 'exited')
  t.equal(await fails(control(join(place, 'hooks.json'))), 'control-file-inside', 'a control file in it')
  t.equal(await fails(control(join(base, 'xdg/b10x-harness'))), 'control-file-inside', 'a control folder around it')
  t.equal(await fails(control(join(base, 'xdg/b10x-harness'), { holdsCaches: true })), 'exited', 'but for our own')
  t.equal(await fails({ ...parts, hide: [place] }), 'hidden')
})

t.test('a cache that is swapped between launches is not written', { skip }, async t => {
  const { base, ws } = placeFor(t, own)
  const boundary = await opened(ws, cached(base))
  if (boundary instanceof Refusal) throw boundary
  t.match(await ran(boundary, 'echo > ~/.cache/first'), { status: 0 })
  const place = boundary.policy.cache?.path ?? ''
  renameSync(place, `${place}-moved`)
  mkdirSync(join(base, 'elsewhere'))
  symlinkSync(join(base, 'elsewhere'), place)
  await t.rejects(ran(boundary, 'echo > ~/.cache/second'), { code: 'outside-roots' })
  t.same(readdirSync(join(base, 'elsewhere')), [])
})

t.test(
  '--read-host shows the host but for its secrets, and what the boundary has of its own stays',
  { skip },
  async t => {
    for (const owner of OWNERS) {
      const { base, ws } = placeFor(t, owner)
      const session = join(base, 'sessions')
      const parts = {
        readHost: true,
        controlFiles: [{ path: session, what: 'the session folder', isSecret: true as const }],
      }
      const script = `
      ls -d /etc/passwd /var /usr /home/agent
      ls -A /tmp /run; echo; ls /sys /proc/self/root/sys 2>/dev/null
      for file in /etc/shadow /etc/shadow- /etc/gshadow; do test -e $file && cat $file; done
      cat /root/.npmrc /root/.bash_history; ls /var/backups /root/.local/state/b10x-harness
      touch /etc/made /var/made ~/made && echo written`
      const { out } = await inside(ws, parts, script)
      const own = base.split('/')[1] === 'tmp' ? [base.split('/')[2] ?? ''] : []
      t.same(
        out.split('\n').filter(line => line !== ''),
        [...['/etc/passwd', '/home/agent', '/usr', '/var'], ...['/run:', 'harness', '/tmp:', ...own]],
      )
    }
  },
)

t.test('--read-host: in every home the secrets are covered, and what is hidden is not shown', { skip }, async t => {
  const { base, ws } = placeFor(t, own)
  const home = join(base, 'home')
  for (const name of ['.ssh', '.config/gcloud', 'notes']) mkdirSync(join(home, name), { recursive: true })
  for (const name of ['.ssh/id', '.netrc', '.config/gcloud/x', 'notes/n']) writeFileSync(join(home, name), 'secret')
  const facts = { ...(await readHostFacts()), homes: [home] }
  const paths = (parts: Partial<PolicyRequest>) => landPolicy(request(ws, { readHost: true, ...parts }), facts)
  const covered = paths({ read: [home] }).hides.map(({ path }) => path)
  for (const name of ['.ssh', '.config/gcloud', '.netrc']) t.ok(covered.includes(join(home, name)), name)
  if (isRoot) t.ok(covered.includes('/etc/shadow'))
  const hidden = paths({ hide: ['/var', '/etc/ssl', '/home'] })
  const shown = hidden.reads.map(({ path }) => path)
  t.notOk(
    shown.some(path => path === '/var' || path.startsWith('/home/')),
    'hidden whole: not read at all',
  )
  t.ok(shown.includes('/etc'))
  t.ok(hidden.hides.some(({ path, source }) => path === '/etc/ssl' && source === '--hide /etc/ssl'))
  t.match(hidden.reservations.find(({ guarantee }) => guarantee === 'reads-limited')?.why, /--read-host/)
})

t.test('--read of a folder above covers the secrets of the host too', { skip: needs('linux', 'root') }, async t => {
  const { ws } = placeFor(t, own)
  const { hides } = landPolicy(request(ws, { read: ['/etc'] }), await readHostFacts())
  t.ok(hides.some(({ path }) => path === '/etc/shadow'))
  const named = landPolicy(request(ws, { read: ['/etc', '/etc/shadow'] }), await readHostFacts())
  t.notOk(
    named.hides.some(({ path }) => path === '/etc/shadow'),
    'unless it is named itself',
  )
})

t.test('our own secrets are covered where a read rule shows them, also when they come later', { skip }, async t => {
  const { base, ws } = placeFor(t, own)
  const session = join(base, 'lib', 'sessions')
  mkdirSync(join(base, 'lib'))
  const controlFiles = [{ path: session, what: 'the session folder', isSecret: true as const }]
  const boundary = await opened(ws, { read: [join(base, 'lib')], controlFiles })
  if (boundary instanceof Refusal) throw boundary
  t.match(await ran(boundary, 'ls "$1"', join(base, 'lib')), { status: 0, out: '' })
  mkdirSync(session)
  writeFileSync(join(session, 's.jsonl'), 'said')
  const after = await ran(boundary, 'cat "$1"/*; echo', session)
  t.notMatch(after.out, /said/)
  await boundary.close()
})

t.test('what programs say when they are refused is explained by the rule that refused it', { skip }, async t => {
  const { ws } = placeFor(t, ORDINARY)
  for (const folder of ['out/deep/.git', 'keys']) mkdirSync(join(ws, folder), { recursive: true, mode: 0o777 })
  for (const name of ['out/deep/.git/config', 'keys/k', 'lib.js']) writeFileSync(join(ws, name), '')
  if (isRoot) for (const folder of ['out', 'out/deep']) chownSync(join(ws, folder), NOBODY, NOBODY)
  const boundary = await opened(ws, { writeSubtrees: ['out'], hide: [join(ws, 'keys'), join(ws, 'lib.js')] })
  if (boundary instanceof Refusal) throw boundary
  const attempts: [script: string, rule: string][] = [
    ['cat keys/k', 'hidden'],
    ['cat lib.js', 'hidden'],
    ['ls keys', 'hidden'],
    ['echo > out/deep/.git/config', 'protected'],
    ['mv out/deep out/moved', 'protected'],
    ['echo > new', 'write'],
    [NEST, 'nested-sandbox'],
    ['unshare -U true', 'nested-sandbox'],
    ['mknod out/null c 1 3; echo > /dev/made', 'devices'],
    ['head -c 300m /dev/zero > ~/big', 'cache'],
  ]
  for (const [script, rule] of attempts) {
    const { out, err } = await ran(boundary, script)
    const hints = hintsFor(`${out}\n${err}`, { writes: ['out'], network: 'none', cwd: ws, landed: boundary.policy })
    t.ok(
      hints.some(hint => hint.rule === rule),
      `${script}: ${err} ${JSON.stringify(hints)}`,
    )
  }
  await boundary.close()
})

/** An installation of each kind below a home folder, with programs that say where they are. */
function installations(t: Test): { readonly home: string; readonly ws: string; readonly facts: HostFacts } {
  const { base, ws } = placeFor(t, own)
  const home = join(base, 'home')
  const program = (path: string): void => {
    mkdirSync(join(home, path, '..'), { recursive: true })
    writeFileSync(join(home, path), '#!/bin/sh\necho "$0"\n', { mode: 0o755 })
  }
  for (const path of ['.nvm/v1/bin/node', 'sdk/go1/bin/go', '.rustup/toolchains/stable/bin/cargo', '.cargo/bin/rustup'])
    program(path)
  program('.pyenv/shims/python3')
  for (const folder of [
    '.nvm/v1/lib/node_modules',
    '.nvm/v1/etc',
    'sdk/go1/src/runtime',
    '.rustup/toolchains/stable/lib/rustlib',
    'bin',
  ])
    mkdirSync(join(home, folder), { recursive: true })
  symlinkSync('rustup', join(home, '.cargo/bin/cargo'))
  symlinkSync('../.nvm/v1/bin/node', join(home, 'bin/node'))
  writeFileSync(join(home, '.rustup/settings.toml'), 'version = "12"\ndefault_toolchain = "stable"\n')
  writeFileSync(join(home, '.nvm/v1/etc/npmrc'), '//registry/:_authToken=secret')
  writeFileSync(join(home, '.cargo/credentials.toml'), 'secret')
  const pathFolders = [
    ...['bin', 'sdk/go1/bin', '.cargo/bin', '.pyenv/shims'].map(name => join(home, name)),
    '/usr/bin',
  ]
  return { home, ws, facts: { ...DEBIAN, home, homes: [home], pathFolders } }
}

t.test('--toolchain finds the installations of a home folder and shows nothing else of it', { skip }, async t => {
  const { home, ws, facts } = installations(t)
  const real = { ...(await readHostFacts()), homes: [home], pathFolders: facts.pathFolders }
  const boundary = await openBoundary({
    confine: 'bubblewrap',
    request: request(ws, { toolchain: ['node', 'rust', 'go'] }),
    facts: real,
    runId: '00112233aabbccdd',
    onEvent: () => {},
    probe: 'launch',
  })
  if (boundary instanceof Refusal) throw boundary
  const { out } = await ran(
    boundary,
    'node; go; cargo; /toolchain/node/bin/node; ls /toolchain; ls -A "$1"; cat "$1/.nvm/v1/etc/npmrc"; ls "$1/.cargo"; echo $GOTOOLCHAIN; touch "$1/sdk/go1/x"',
    home,
  )
  t.same(out.trim().split('\n'), [
    join(home, '.nvm/v1/bin/node'),
    join(home, 'sdk/go1/bin/go'),
    join(home, '.rustup/toolchains/stable/bin/cargo'),
    '/toolchain/node/bin/node',
    ...['go', 'node', 'rust'],
    ...['.nvm', '.rustup', 'sdk'],
    'local',
  ])
  const named = await boundary.run({ argv: ['/toolchain/go/bin/go'], purpose: 'tool' })
  t.match(named, { ending: { kind: 'exited', status: 0 } }, 'also as the program of a launch')
  t.match(boundary.policy.toolchains, [{ name: 'node', root: join(home, '.nvm/v1'), sha256: /^[0-9a-f]{64}$/ }, {}, {}])
  await boundary.close()
})

t.test('--toolchain auto takes what the workspace has files of; what is no installation refuses', async t => {
  const { ws, home, facts } = installations(t)
  const names = (toolchain: string[]) =>
    landPolicy(request(ws, { toolchain }), facts).toolchains.map(({ name }) => name)
  t.same(names(['auto']), [])
  writeFileSync(join(ws, 'go.mod'), '')
  writeFileSync(join(ws, 'setup.py'), '')
  t.same(names(['auto']), ['go'], 'a python of which no version is chosen is passed over')
  t.same(names(['auto', 'node']), ['node', 'go'])
  const refused = (toolchain: string[], over: Partial<HostFacts> = {}): unknown => {
    try {
      return landPolicy(request(ws, { toolchain }), { ...facts, ...over })
    } catch (error) {
      return error
    }
  }
  t.match(refused(['python']), { code: 'unsupported-rule', message: /pyenv, which has chosen no version/ })
  t.match(refused(['go'], { pathFolders: ['/usr/share'] }), { code: 'unsupported-rule', message: /no go in PATH/ })
  t.match(refused(['perl']), { code: 'bad-arguments', message: /node, python, rust, go/ })
  t.match(refused(['']), { code: 'bad-arguments' })
  rmSync(join(home, '.rustup/settings.toml'))
  t.match(refused(['rust']), { code: 'unsupported-rule', message: /rustup, which has chosen no version/ })
  for (const folder of ['bin', 'lib/python3.12'])
    mkdirSync(join(home, '.pyenv/versions/3.12.1', folder), { recursive: true })
  writeFileSync(join(home, '.pyenv/version'), '3.12.1\n')
  t.same(names(['python']), ['python'])
  writeFileSync(join(home, 'bin/go'), '#!/bin/sh\n', { mode: 0o755 })
  mkdirSync(join(home, 'src/runtime'), { recursive: true })
  t.match(refused(['go']), { code: 'unsupported-rule', message: /is or holds/ }, 'never a whole home folder')
})

t.test('what is opened by a spelling over links is found by it', { skip }, async t => {
  const { base, ws } = placeFor(t, own)
  for (const folder of ['data/deep', 'chain']) mkdirSync(join(base, folder), { recursive: true })
  writeFileSync(join(base, 'data/x'), 'x')
  writeFileSync(join(base, 'data/deep/y'), 'y')
  symlinkSync('../data', join(base, 'chain/one'))
  symlinkSync('chain/one', join(base, 'two'))
  symlinkSync(ws, join(base, 'work'))
  const spelled = (...names: string[]) => names.map(name => join(base, name))
  const boundary = await opened(join(base, 'work'), {
    read: [...spelled('data', 'two', 'chain/one/deep', 'two/deep'), '/bin/sh', '/etc/localtime'],
  })
  if (boundary instanceof Refusal) throw boundary
  t.match(
    boundary.policy.links.map(({ path }) => path.slice(base.length + 1)),
    ['chain/one/deep', 'two', 'work'],
    'the system has its own links, and one link serves all that is behind it',
  )
  const { out, err } = await ran(
    boundary,
    'cd "$1"; cat data/x two/x two/deep/y chain/one/deep/y; cd work; pwd -P',
    base,
  )
  t.equal(out, `xxyy${ws}\n`, err)
  await boundary.close()
})

t.test('--driver is one file by its content', { skip }, async t => {
  const { base, ws } = placeFor(t, own)
  const driver = join(base, 'driver.sh')
  writeFileSync(driver, '#!/bin/sh\necho "driven $1"\n', { mode: 0o755 })
  const boundary = await opened(ws, { driver })
  if (boundary instanceof Refusal) throw boundary
  const sha256 = createHash('sha256').update('#!/bin/sh\necho "driven $1"\n').digest('hex')
  t.match(boundary.policy.staged, [{ path: driver, inside: '/toolchain/driver', sha256 }])
  t.match(await ran(boundary, '/toolchain/driver here; echo x > /toolchain/driver; ls "$1" 2>/dev/null', driver), {
    out: 'driven here\n',
  })
  const outcome = await boundary.run({ argv: ['/toolchain/driver', 'first'], purpose: 'tool' })
  if (outcome instanceof Refusal) throw outcome
  t.equal(renderCaptured(outcome.stdout).text, 'driven first\n', 'as the program of a launch')
  writeFileSync(driver, '#!/bin/sh\necho "other"\n')
  t.match(await boundary.run({ argv: ['true'], purpose: 'tool' }), { code: 'changed-while-checked' })
  await boundary.close()
  writeFileSync(join(ws, 'd'), '')
  const cases: [parts: Partial<PolicyRequest>, code: string][] = [
    [{ driver: base }, 'not-a-file'],
    [{ driver: join(base, 'none') }, 'missing'],
    [{ driver: join(ws, 'd'), writeSubtrees: ['.'] }, 'control-file-inside'],
    [{ driver, hide: [driver] }, 'hidden'],
    [{ driver, read: ['/toolchain'] }, 'missing'],
  ]
  for (const [parts, code] of cases) t.equal(((await opened(ws, parts)) as Refusal).code, code, JSON.stringify(parts))
})

t.test('B08: nothing new is in the workspace, inside, outside, or after a kill', { skip }, async t => {
  const { base, ws } = placeFor(t, own)
  for (const name of ['kept', 'k.pem']) writeFileSync(join(ws, name), '')
  const parts = {
    ...cached(base),
    writeSubtrees: ['.'],
    readHost: true,
    hide: [join(ws, 'absent'), join(ws, '*.pem'), join(ws, '.env*')],
  }
  const boundary = await opened(ws, parts)
  if (boundary instanceof Refusal) throw boundary
  t.match(await ran(boundary, 'ls -A'), { out: 'k.pem\nkept\n' })
  const stop = new AbortController()
  const running = boundary.run({ argv: ['sleep', '60'], purpose: 'tool', signal: stop.signal, graceMs: 0 })
  await new Promise(done => setTimeout(done, 300))
  t.same(readdirSync(ws).sort(), ['k.pem', 'kept'], 'while it runs')
  stop.abort('caller')
  await running
  t.same(readdirSync(ws).sort(), ['k.pem', 'kept'], 'after it was killed')
  await boundary.close()
})

t.test('B16: the devices are the boundary’s own whatever is shown around them', { skip }, async t => {
  const { ws } = placeFor(t, own)
  for (const parts of [
    { readHost: true, writeSubtrees: ['.'] },
    { read: ['/usr'], nesting: false },
  ]) {
    const { out } = await inside(
      ws,
      parts,
      'echo x > /dev/null && head -c1 /dev/zero | wc -c; ls /dev | grep -c -e sda -e vda -e kmsg',
    )
    t.equal(out, '1\n0\n')
  }
  t.match(await opened(ws, { read: ['/dev'] }), { code: 'special-filesystem' })
})
