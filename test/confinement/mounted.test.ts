/** What is mounted inside against what was judged: the kernel's tables as text, and launches whose folders move while they start. */
import { chmodSync, chownSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { openBoundary } from '../../src/confinement/boundary.js'
import { readHostFacts } from '../../src/confinement/host-facts.js'
import { misplaced } from '../../src/confinement/mounted.js'
import type { Mount, MountKind } from '../../src/confinement/types.js'
import { Refusal } from '../../src/errors.js'
import type { Outcome } from '../../src/outcome.js'
import { parseMountinfo } from '../../src/paths/mounts.js'
import { renderCaptured } from '../../src/supervise/bounded-output.js'
import { closeInherited } from '../../src/supervise/descriptors.js'
import { NOBODY } from '../support/children.js'
import { request } from '../support/confinement-fakes.js'
import { needs } from '../support/needs.js'
import { scratch } from '../support/scratch.js'

closeInherited()

const OUTSIDE = `\
20 1 8:1 / / rw - ext4 /dev/sda1 rw
21 20 8:2 /@home /home rw - btrfs /dev/sda2 rw
22 21 8:3 / /home/a\\040b rw - ext4 /dev/sdb1 rw
23 20 0:50 / /nfs rw - nfs4 host:/export rw
24 20 0:51 / /top rw - nfs host:/ rw
25 20 0:6 / /dev rw - devtmpfs dev rw
26 20 0:6 /null /ws/hidden ro - devtmpfs dev rw`

t.test('each rule has its mount, at its own place of its own filesystem', async t => {
  const cases: [name: string, kind: MountKind, path: string, inside: string[], holds: boolean][] = [
    ['a read', 'read', '/ws', ['8:1 /ws /ws ro'], true],
    ['a read that can be written', 'read', '/ws', ['8:1 /ws /ws rw'], false],
    ['a grant', 'write', '/ws/g', ['8:1 /ws/g /ws/g rw'], true],
    ['a grant on top of what shows it', 'write', '/ws', ['8:1 /ws /ws ro', '8:1 /ws /ws rw'], true],
    ['only shown, not granted', 'write', '/ws/g', ['8:1 /ws/g /ws/g ro'], false],
    ['a grant of another folder', 'write', '/ws/g', ['8:1 /out /ws/g rw'], false],
    ['of the same name on another filesystem', 'write', '/ws/g', ['8:9 /ws/g /ws/g rw'], false],
    ['moved since', 'write', '/ws/g', ['8:1 /ws/real_g /ws/g rw'], false],
    ['removed since', 'write', '/ws/g', ['8:1 /ws/g//deleted /ws/g rw'], false],
    ['mounted elsewhere', 'write', '/ws/g', ['8:1 /ws/g /ws/other rw'], false],
    ['mounted nowhere', 'write', '/ws/g', [], false],
    ['a subvolume', 'write', '/home/x', ['8:2 /@home/x /home/x rw'], true],
    ['the top of a filesystem, with a blank', 'write', '/home/a b', ['8:3 / /home/a\\040b rw'], true],
    ['below it', 'read', '/home/a b/c', ['8:3 /c /home/a\\040b/c ro'], true],
    ['an ancestor', 'self', '/ws/v', ['8:1 /ws/v /ws/v rw'], true],
    ['another ancestor', 'self', '/ws/v', ['8:1 /out /ws/v rw'], false],
    ['a protected file', 'protect', '/ws/.mcp.json', ['8:1 /ws/.mcp.json /ws/.mcp.json ro'], true],
    ['one left writable', 'protect', '/ws/.mcp.json', ['8:1 /ws/.mcp.json /ws/.mcp.json rw'], false],
    ['a cover', 'hide-folder', '/ws/s', ['0:99 / /ws/s ro'], true],
    ['a cover over a bind', 'hide-file', '/ws/s', ['8:1 /ws/s /ws/s ro', '0:6 /null /ws/s ro'], true],
    ['no cover', 'hide-folder', '/ws/s', ['8:1 /ws/s /ws/s ro'], false],
    [
      'a cover over the same cover, which a sandbox around us has made',
      'hide-file',
      '/ws/hidden',
      ['0:6 /null /ws/hidden ro'],
      true,
    ],
    ['a cover gone elsewhere', 'hide-folder', '/ws/s', ['0:99 / /ws/t ro'], false],
  ]
  const check = (kind: MountKind, path: string, inside: readonly string[]): string | null => {
    const lines = inside.map((mount, at) => {
      const [device, root, point, options] = mount.split(' ')
      return `${at + 90} 89 ${device} ${root} ${point} ${options} - ext4 /dev/x rw`
    })
    const mounts: Mount[] = [{ kind, path, holdsOpened: false }]
    return misplaced(mounts, { outside: parseMountinfo(OUTSIDE), inside: parseMountinfo(lines.join('\n')) })
  }
  for (const [name, kind, path, inside, holds] of cases) t.equal(check(kind, path, inside), holds ? null : path, name)
  t.equal(misplaced([{ kind: 'read', path: '/ws', holdsOpened: false }], { outside: [], inside: [] }), '/ws')
})

t.test('NFS tells the folder with the server', async t => {
  const inside = (source: string, point: string) =>
    parseMountinfo(`90 89 0:5${point === '/top/a' ? 1 : 0} / ${point} rw - nfs4 ${source} rw`)
  const holds = (path: string, source: string) =>
    misplaced([{ kind: 'write', path, holdsOpened: false }], {
      outside: parseMountinfo(OUTSIDE),
      inside: inside(source, path),
    }) === null
  t.ok(holds('/nfs/ws', 'host:/export/ws'))
  t.notOk(holds('/nfs/ws', 'host:/export/home'))
  t.ok(holds('/top/a', 'host:/a'))
})

/** What `argv` came to under a launcher that runs `before` as whoever starts bubblewrap, right before it. */
async function launched(
  parts: Parameters<typeof request>[1] & { readonly workspace: string },
  before: string,
  argv: readonly string[],
): Promise<{ readonly ending: Outcome['ending'] | string; readonly out: string; readonly err: string }> {
  const facts = await readHostFacts()
  const launcher = join(dirname(parts.workspace), 'launcher')
  writeFileSync(launcher, `#!/bin/sh\nPATH=/usr/bin:/bin\n${before}\nexec ${facts.bwrap?.path} "$@"\n`)
  chmodSync(launcher, 0o755)
  const boundary = await openBoundary({
    confine: 'native',
    request: request(parts.workspace, parts),
    facts: { ...facts, bwrap: { path: launcher } },
    runId: '00112233aabbccdd',
    onEvent: () => undefined,
    probe: 'launch',
  })
  if (boundary instanceof Refusal) throw boundary
  const outcome = await boundary.run({ argv, purpose: 'exec' })
  await boundary.close()
  if (outcome instanceof Refusal) return { ending: outcome.code, out: '', err: outcome.message }
  const [out, err] = [outcome.stdout, outcome.stderr].map(bytes => renderCaptured(bytes).text)
  return { ending: outcome.ending, out: out ?? '', err: err ?? '' }
}

/** A folder with a workspace, and a folder outside of it that looks alike; both of `uid`. */
function scene(t: Parameters<typeof scratch>[0], uid: number | null) {
  const base = scratch(t)
  for (const folder of ['ws/a/g/.git', 'ws/a/g/v/.git', 'ws/s', 'out/g/.git', 'out/g/v/.git', 'out/s'])
    mkdirSync(join(base, folder), { recursive: true })
  for (const side of ['ws/a', 'out']) writeFileSync(join(base, side, 'g/known'), side)
  writeFileSync(join(base, 'out/secret'), 'secret')
  writeFileSync(join(base, 'ws/s/secret'), 'secret')
  const all = readdirSync(base, { recursive: true }).map(String)
  if (uid !== null) for (const path of ['', ...all]) chownSync(join(base, path), uid, uid)
  return { base, out: join(base, 'out') }
}

/** `back` puts things right again while the sandbox is being built, so that the paths look as they were judged. */
const MOVES: readonly {
  readonly name: string
  readonly workspace: string
  readonly parts: Parameters<typeof request>[1]
  readonly move: string
  readonly back: string
}[] = [
  {
    name: 'the grant is a link to elsewhere',
    workspace: 'ws',
    parts: { writeSubtrees: ['a/g'] },
    move: 'mv ws/a/g ws/a/real; ln -s ../../out/g ws/a/g',
    back: 'rm ws/a/g; mv ws/a/real ws/a/g',
  },
  {
    name: 'a folder above the grant is a link to elsewhere',
    workspace: 'ws',
    parts: { writeSubtrees: ['a/g'] },
    move: 'mv ws/a ws/real; ln -s ../out ws/a',
    back: 'rm ws/a; mv ws/real ws/a',
  },
  {
    name: 'the workspace is a link to elsewhere',
    workspace: 'ws/a/g',
    parts: { writeSubtrees: [] },
    move: 'mv ws/a/g ws/a/real; ln -s ../../out/g ws/a/g',
    back: 'rm ws/a/g; mv ws/a/real ws/a/g',
  },
  {
    name: 'the workspace with a grant in it is a link to elsewhere',
    workspace: 'ws/a/g',
    parts: { writeSubtrees: ['v'] },
    move: 'mv ws/a/g ws/a/real; ln -s ../../out/g ws/a/g',
    back: 'rm ws/a/g; mv ws/a/real ws/a/g',
  },
  {
    name: 'a folder above something protected is a link to elsewhere',
    workspace: 'ws',
    parts: { writeSubtrees: ['.'] },
    move: 'mv ws/a/g/v ws/a/g/real; ln -s ../../../out/g/v ws/a/g/v',
    back: 'rm ws/a/g/v; mv ws/a/g/real ws/a/g/v',
  },
]

const SCRIPT = 'echo ran; cat known secret; for f in . a/g v; do echo x > $f/planted; done'

for (const uid of [null, NOBODY]) {
  const who = uid === null ? 'as we are' : 'as an ordinary user'
  const ask = uid === null ? needs('linux', 'bubblewrap') : needs('linux', 'bubblewrap', 'root')
  t.test(`a folder that moves while a launch starts, ${who}`, { skip: ask }, async t => {
    for (const { name, workspace, parts, move, back } of MOVES) {
      const run = async (before: string) => {
        const { base, out } = scene(t, uid)
        const asked = { ...parts, workspace: join(base, workspace) }
        const ran = await launched(asked, `cd ${base}; ${before}`, ['sh', '-c', SCRIPT])
        t.notMatch(ran.out + ran.err, /^secret|^out/m, `${name}: nothing outside is read`)
        const files = readdirSync(out, { recursive: true }).map(String)
        t.notOk(
          files.some(path => path.endsWith('planted')),
          `${name}: nothing outside is written`,
        )
        return ran
      }
      const still = await run('')
      t.match(still, { ending: { kind: 'exited' }, out: /^ran/ }, `${name}: it runs where nothing moves`)
      const moved = await run(move)
      t.notMatch(moved.out, 'ran', `${name}: the command was not let go`)
      // bubblewrap resolves its sources first, while the move stands; the rest of the start takes longer than the pause.
      await run(`${move}; (sleep 0.004; ${back}) > /dev/null 2>&1 &`)
    }
  })
}

t.test('a launch whose folder moved says so', { skip: needs('linux', 'bubblewrap') }, async t => {
  const { base } = scene(t, null)
  const workspace = join(base, 'ws/a/g')
  const move = `cd ${base}; mv ws/a/g ws/a/real; ln -s ../../out/g ws/a/g`
  const { ending } = await launched({ workspace }, move, ['true'])
  t.match(ending, {
    kind: 'not-started',
    code: 'changed-while-checked',
    path: workspace,
    message: /not what was judged/,
  })
})

t.test('names that the table of mounts writes in another way', { skip: needs('linux', 'bubblewrap') }, async t => {
  const workspace = join(scratch(t), 'a b\tc\n#\\040é')
  mkdirSync(join(workspace, 'g'), { recursive: true })
  const { ending } = await launched({ workspace, writeSubtrees: ['g'] }, '', ['touch', 'g/made'])
  t.match(ending, { kind: 'exited', status: 0 })
  t.same(readdirSync(join(workspace, 'g')), ['made'])
})
