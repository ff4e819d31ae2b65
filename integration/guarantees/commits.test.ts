/** `--grant git-commit` in every kind of repository: what people do there all day works, and the host sees it. */
import { spawnSync } from 'node:child_process'
import { lchownSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { needs } from '../../test/support/needs.js'
import { needsPrivilege, openScene, PRIVILEGES, type Scene } from '../conformance/scene.js'
import { attemptOptions } from '../conformance/suite.js'
import { bundleDriver, startSupervisor } from '../conformance/supervisor.js'

t.setTimeout(300_000)

interface Kind {
  readonly name: string
  /** On the host, in an empty folder. */
  readonly prepare: string
  /** The workspace below that folder, and where in it git is used. */
  readonly workspace: string
  readonly at?: string
  readonly grants?: readonly string[]
}

const REPOSITORY = 'git init -q -b main repo && cd repo && echo a > a && git add a && git commit -qm one'
const SUBMODULE = `${REPOSITORY} && git -c protocol.file.allow=always submodule add -q "$PWD" sub && git commit -qm sub`

const KINDS: readonly Kind[] = [
  { name: 'a repository', prepare: REPOSITORY, workspace: 'repo' },
  { name: 'a repository of which no working tree may be written', prepare: REPOSITORY, workspace: 'repo', grants: [] },
  {
    name: 'a repository with other working trees',
    prepare: `${REPOSITORY} && git worktree add -q ../wt`,
    workspace: 'repo',
  },
  { name: 'B18: a linked working tree', prepare: `${REPOSITORY} && git worktree add -q ../wt`, workspace: 'wt' },
  {
    name: 'a linked working tree in the workspace',
    prepare: `${REPOSITORY} && git worktree add -q wt`,
    workspace: 'repo',
    at: 'wt',
  },
  { name: 'a submodule', prepare: SUBMODULE, workspace: 'repo', at: 'sub' },
  { name: 'a submodule as the workspace', prepare: SUBMODULE, workspace: 'repo/sub' },
  {
    name: 'a nested repository',
    prepare: `mkdir top && cd top && git init -q && mkdir deep && cd deep && ${REPOSITORY}`,
    workspace: 'top',
    at: 'deep/repo',
  },
  {
    name: 'packed refs and a clone that shares objects',
    prepare: `${REPOSITORY} && git gc -q && git tag v0 && git pack-refs --all`,
    workspace: 'repo',
  },
]

/** Settings are not opened: `branch -d` says that it cannot write them, and goes on. */
const EVERYTHING = `set -e
echo b > b; git add b; git commit -qm two; echo c >> b; git stash -q; git stash pop -q; git commit -qam three
git branch x; git tag v1; git tag -a -m t v2; git checkout -q -b topic HEAD~1; echo t > t; git add t; git commit -qm topic
git rebase -q x; git checkout -q x; git merge -q --no-ff -m merged topic; git branch -q -d topic 2> /dev/null
git cherry-pick -x v1 > /dev/null 2>&1 || git cherry-pick --skip; git commit -q --amend -m amended
git reset -q --hard HEAD~1; git revert --no-edit HEAD > /dev/null; git reflog expire --expire=now --all; git gc -q
git worktree add -q tree -b tree; cd tree; echo w > w; git add w; git commit -qm inside; cd ..; git worktree remove tree
git fsck --no-dangling; git status --porcelain; git log -1 --format=tformat:done`

/** What of that is written in other places of the git folder: objects, refs, logs, index, stash, the folder of a rebase, packs. */
const ONE_OF_EACH = `set -e
echo b > b; git add b; git commit -qm two; echo c >> b; git stash -q; git stash pop -q; git commit -qam three; git tag -a -m t v2
git checkout -q -b topic HEAD~1; echo t > t; git add t; git commit -qm topic; git rebase -q v2; git pack-refs --all; git repack -adq
git status --porcelain; git log -1 --format=tformat:done`

const NOTHING_WRITTEN =
  'set -e; git commit -q --allow-empty -m two; git tag v1; git branch x; git log -1 --format=tformat:done'

const PUSHED = `${REPOSITORY} && git clone -q --bare . remote.git && git remote add here "$PWD/remote.git"`
const PUSH =
  'set -e; git commit -q --allow-empty -m two; git push -q here main; git -C remote.git log -1 --format=tformat:done main'

/** Everything in every kind of repository as one user, and as the others in the kinds whose git folder lies elsewhere or is plain. */
function scriptOf({ name, grants }: Kind, privilege: string): string {
  if (grants !== undefined) return NOTHING_WRITTEN
  return privilege === 'user' || name === 'a repository' || name.startsWith('B18') ? EVERYTHING : ONE_OF_EACH
}

const allFor = (privilege: string): readonly (Kind & { readonly script: string })[] => [
  ...KINDS.map(kind => ({ ...kind, script: scriptOf(kind, privilege) })),
  { name: 'a bare repository in the workspace', prepare: PUSHED, workspace: 'repo', script: PUSH },
]

const WHO = Object.fromEntries(
  ['AUTHOR', 'COMMITTER'].flatMap(role => [
    [`GIT_${role}_NAME`, 'sample'],
    [`GIT_${role}_EMAIL`, 'sample@example.invalid'],
  ]),
)

function onHost(cwd: string, script: string, { owner }: Scene): string {
  const identity = process.getuid?.() === 0 ? owner : {}
  const env = { ...WHO, PATH: process.env.PATH ?? '', HOME: cwd, GIT_CONFIG_NOSYSTEM: '1', GIT_TEMPLATE_DIR: '' }
  const { status, stdout, stderr } = spawnSync('sh', ['-c', script], { cwd, env, encoding: 'utf8', ...identity })
  if (status !== 0) throw new Error(`${script}: ${stderr}`)
  return stdout
}

const lacking = needs('linux', 'bubblewrap', 'git', 'perl')

for (const privilege of PRIVILEGES) {
  t.test(`commits are made, ${privilege}`, { skip: lacking || needsPrivilege(privilege) }, async t => {
    const scene = await openScene(privilege, await bundleDriver())
    t.teardown(() => scene.close())
    const all = allFor(privilege)
    const calls = all.map(({ prepare, workspace, at = '', script, grants = ['.'] }, index) => {
      const folder = join(scene.base, `kind-${index}`)
      mkdirSync(folder)
      lchownSync(folder, scene.owner.uid, scene.owner.gid)
      onHost(folder, prepare, scene)
      return {
        argv: ['sh', '-c', `cd "./${at}"; ${script}`],
        options: attemptOptions(scene, {
          ...{ workspace: join(folder, workspace), read: [], writeSubtrees: grants, env: WHO },
          ...{ grants: ['git-commit'], verified: true },
        }),
      }
    })
    const supervisor = startSupervisor(scene, { backend: 'library', calls })
    const response = await supervisor.done
    t.equal(response?.results.length, all.length, supervisor.complaint())
    for (const [index, { name, workspace, at = '' }] of all.entries()) {
      const result = response?.results[index]
      t.match(result, { ending: 'exited', status: 0, stdout: /done\n$/ }, `${name}: works ${result?.stderr}`)
      t.strictSame(result?.tampered, [], `${name}: and nothing is told`)
      const log = onHost(
        join(scene.base, `kind-${index}`, workspace, at),
        'git log --oneline --all && git fsck --no-dangling',
        scene,
      )
      t.match(log, / (two|merged)\n/, `${name}: the host sees the commits`)
      const owners = new Set(
        readdirSync(join(scene.base, `kind-${index}`), { recursive: true, withFileTypes: true }).map(
          entry => entry.name,
        ),
      )
      t.notOk(
        [...owners].some(file => file.includes('.planted-')),
        `${name}: nothing was moved`,
      )
    }
  })
}
