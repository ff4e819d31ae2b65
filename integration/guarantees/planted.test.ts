/** By every route that is known a command tries to make git on the host run something, and somebody uses git there afterwards. */
import { spawnSync } from 'node:child_process'
import { chmodSync, cpSync, existsSync, lchownSync, lstatSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { scanTree } from '../../src/confinement/tree-scan.js'
import { protectedNames } from '../../src/paths/protected-names.js'
import { needs } from '../../test/support/needs.js'
import { needsPrivilege, openScene, PRIVILEGES, type Scene } from '../conformance/scene.js'
import { attemptOptions } from '../conformance/suite.js'
import { bundleDriver, startSupervisor } from '../conformance/supervisor.js'
import { PREAMBLE, ROUTES, type Route } from './git-routes.js'

t.setTimeout(300_000)

/** One workspace of its own for one route. */
interface Place {
  readonly route: Route
  readonly folder: string
  readonly ws: string
  readonly evil: string
  readonly canary: string
  readonly home: string
}

/** The git folder of a repository with one commit, made once: a copy costs less than three processes for each route. */
function makeTemplate(base: string): string {
  const folder = join(base, 'template')
  mkdirSync(folder)
  writeFileSync(join(folder, 'own'), 'own\n')
  const env = { ...WHO, PATH: process.env.PATH ?? '', HOME: folder, GIT_CONFIG_NOSYSTEM: '1', GIT_TEMPLATE_DIR: '' }
  const script = 'git init -q -b main && mkdir .git/hooks .git/info && git add own && git commit -qm one'
  const { status, stderr } = spawnSync('sh', ['-c', script], { cwd: folder, env, encoding: 'utf8' })
  if (status !== 0) throw new Error(stderr)
  return folder
}

function makePlace({ base, owner }: Scene, template: string, route: Route, at: number): Place {
  const folder = join(base, `route-${at}`)
  const [ws, home, canary] = [join(folder, 'ws'), join(folder, 'home'), join(folder, 'canary')]
  mkdirSync(ws, { recursive: true })
  mkdirSync(home)
  const place = { route, folder, ws, home, canary, evil: join(ws, 'evil') }
  writeFileSync(place.evil, `#!/bin/sh\n[ -d '${folder}' ] && touch '${canary}' 2>/dev/null\n[ $# -gt 0 ] || cat\n`)
  chmodSync(place.evil, 0o755)
  if (!route.plain) cpSync(template, ws, { recursive: true })
  for (const path of [
    folder,
    ...readdirSync(folder, { recursive: true, encoding: 'utf8' }).map(name => join(folder, name)),
  ])
    lchownSync(path, owner.uid, owner.gid)
  if (route.prepare === undefined) return place
  const { status, stderr } = onHost(place, route.prepare, owner)
  if (status !== 0) throw new Error(`${route.name}: ${stderr}`)
  return place
}

const WHO: Readonly<Record<string, string>> = Object.fromEntries(
  ['AUTHOR', 'COMMITTER'].flatMap(role => [
    [`GIT_${role}_NAME`, 'sample'],
    [`GIT_${role}_EMAIL`, 'sample@example.invalid'],
  ]),
)

function environment({ ws, evil, home }: Place): Record<string, string> {
  // Without samples of hooks, which would be copied two hundred times.
  return { WS: ws, EVIL: evil, HOSTHOME: home, GIT_CONFIG_NOSYSTEM: '1', GIT_TEMPLATE_DIR: '', ...WHO }
}

/** As the owner of the workspace, with a home folder of his own. */
function onHost(place: Place, script: string, owner: Scene['owner']): { status: number | null; stderr: string } {
  const env = {
    ...environment(place),
    PATH: process.env.PATH ?? '',
    HOME: place.home,
    GIT_EDITOR: 'true',
    PAGER: 'cat',
  }
  const identity = process.getuid?.() === 0 ? { uid: owner.uid, gid: owner.gid } : {}
  const ran = spawnSync('sh', ['-c', `${PREAMBLE}\n${script}`], {
    cwd: place.ws,
    env,
    encoding: 'utf8',
    input: '',
    timeout: 20_000,
    ...identity,
  })
  return { status: ran.status, stderr: ran.stderr }
}

function commandOf({ route }: Place): readonly string[] {
  return ['sh', '-c', `${PREAMBLE}\n${route.inside}\nexit 0`]
}

const lacking = needs('linux', 'bubblewrap', 'git', 'perl')
const chosen = ROUTES.filter(({ name }) => name.includes(process.env.ROUTE ?? ''))

t.test('without a boundary every route reaches the canary', { skip: lacking }, async t => {
  const scene = await openScene('user', await bundleDriver())
  t.teardown(() => scene.close())
  const template = makeTemplate(scene.base)
  for (const [at, route] of chosen.entries()) {
    const place = makePlace(scene, template, route, at)
    onHost(place, `cd "./${route.at ?? ''}"; ${route.inside}`, scene.owner)
    const { stderr } = onHost(place, route.afterwards, scene.owner)
    t.ok(existsSync(place.canary), `${route.name} ${existsSync(place.canary) ? '' : stderr}`)
  }
})

for (const privilege of PRIVILEGES) {
  t.test(
    `nothing that was planted runs on the host, ${privilege}`,
    { skip: lacking || needsPrivilege(privilege) },
    async t => {
      const scene = await openScene(privilege, await bundleDriver())
      t.teardown(() => scene.close())
      const template = makeTemplate(scene.base)
      const places = chosen.map((route, at) => makePlace(scene, template, route, at))
      const calls = places.map(place => ({
        argv: commandOf(place),
        options: attemptOptions(scene, {
          workspace: join(place.ws, place.route.at ?? ''),
          read: [],
          env: environment(place),
          grants: place.route.grants ?? [],
          verified: true,
        }),
      }))
      const supervisor = startSupervisor(scene, { backend: 'library', calls })
      const response = await supervisor.done
      t.equal(response?.results.length, places.length, supervisor.complaint())
      for (const [at, place] of places.entries()) {
        const { route, canary } = place
        const result = response?.results[at]
        const told = (result?.tampered ?? []).join('\n')
        t.equal(result?.ending, 'exited', `${route.name}: ran (${result?.code}: ${result?.stderr})`)
        if (route.told === null) t.notMatch(told, /^moved aside|^git would/m, `${route.name}: nothing to be moved`)
        else t.match(told, route.told, `${route.name}: told`)
        for (const [, path = ''] of told.matchAll(/^moved aside: \S+ to (\S+):/gm)) {
          // As text it is another one where its name is no UTF-8.
          if (path.includes('\ufffd')) continue
          t.ok(
            lstatSync(path.replaceAll('\\n', '\n'), { throwIfNoEntry: false }),
            `${route.name}: what was moved is there`,
          )
        }
        const { stderr } = onHost(place, route.afterwards, scene.owner)
        t.notOk(existsSync(canary), `${route.name}: the canary is alive (${stderr.slice(0, 200)})`)
      }
    },
  )
}

/** Names in a folder that is granted: every kind of them, at the top and deep down. */
const NAMES = `git init -q .; mkdir -p a/b .vscode .GIT; git init -q a/b/c; touch .envrc a/b/.Envrc .bashrc a/.mcp.json
ln -s /etc .codex; git init -q --bare bare; mkdir -p "$(printf 'a/\\377')"; touch "$(printf 'a/\\377/.envrc')"`

for (const privilege of PRIVILEGES) {
  t.test(
    `D03: under --protect-strict no protected name is left, ${privilege}`,
    { skip: lacking || needsPrivilege(privilege) },
    async t => {
      const scene = await openScene(privilege, await bundleDriver())
      t.teardown(() => scene.close())
      const route: Route = { name: 'strict', plain: true, inside: NAMES, afterwards: '', told: null }
      const place = makePlace(scene, '', route, 0)
      const options = attemptOptions(scene, { workspace: place.ws, read: [], protectStrict: true, verified: true })
      const call = { argv: commandOf(place), options }
      const response = await startSupervisor(scene, { backend: 'library', calls: [call, { ...call, argv: ['true'] }] })
        .done
      const [first, second] = response?.results ?? []
      t.match(first, { ending: 'exited', status: 0 }, first?.stderr ?? '')
      t.ok(first?.applied?.includes('nothing-planted'), 'which the record says is held')
      const found = scanTree(place.ws, protectedNames(), { bareRepositories: 'entered' })
      t.strictSame([found.found, found.unnameable], [[], []], first?.tampered?.join('\n') ?? '')
      t.strictSame(second?.tampered, [], 'and the next launch has nothing to tell')
    },
  )
}
