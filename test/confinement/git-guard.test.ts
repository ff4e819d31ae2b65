/** What the settings of a repository make git run, wherever git takes a relative value from. */
import { join } from 'node:path'
import t from 'tap'
import { placesNamedBy } from '../../src/confinement/git-guard.js'

const NOBODY = { homes: [], gitSettings: [] }

t.test('a relative hooks path is taken from the worktree and from the git folder', async t => {
  const dir = t.testdir({
    'bare.git': { HEAD: 'ref: refs/heads/m\n', config: '[core]\n\thooksPath = ../hooks\n', objects: {}, refs: {} },
  })
  const gitDir = join(dir, 'bare.git')
  const repository = { kind: 'folder', pointsBack: true, gitDir, commonDir: gitDir } as const
  const named = placesNamedBy({ ...repository, worktree: gitDir }, NOBODY)
  t.ok(named.includes(join(dir, 'hooks')), 'bare: what a push starts runs in the git folder')
  const both = placesNamedBy({ ...repository, worktree: join(dir, 'tree', 'deep') }, NOBODY)
  for (const place of [join(dir, 'hooks'), join(dir, 'tree', 'hooks')]) t.ok(both.includes(place), place)
})
