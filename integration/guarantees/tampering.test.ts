/** What a command makes in the place of a protected name that did not exist: it cannot be covered, so it has to be reported. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { needs } from '../../test/support/needs.js'
import { needsPrivilege, openScene, PRIVILEGES } from '../conformance/scene.js'
import { attemptOptions } from '../conformance/suite.js'
import { bundleDriver, startSupervisor } from '../conformance/supervisor.js'

t.setTimeout(60_000)

const cases: { name: string; script: string; tampered: readonly string[] }[] = [
  { name: 'nothing protected touched', script: 'echo x > made.txt', tampered: [] },
  { name: 'a protected folder made', script: 'mkdir .idea && echo x > .idea/workspace.xml', tampered: ['.idea'] },
  { name: 'a start-up file made', script: 'echo x > .bashrc', tampered: ['.bashrc'] },
  { name: 'a protected link made', script: 'ln -s /tmp .codex', tampered: ['.codex'] },
]

const lacking = needs('linux', 'bubblewrap', 'git', 'perl')

for (const privilege of PRIVILEGES) {
  const skip = lacking || needsPrivilege(privilege)
  t.test(`what appears is reported, ${privilege}`, { skip }, async t => {
    for (const { name, script, tampered } of cases) {
      const scene = await openScene(privilege, await bundleDriver())
      try {
        const calls = [{ argv: ['sh', '-c', script], options: attemptOptions(scene) }]
        const response = await startSupervisor(scene, { backend: 'library', calls }).done
        const result = response?.results[0]
        t.match(result, { ending: 'exited', status: 0 }, name)
        const said = result?.tampered ?? []
        t.same(
          tampered.filter(path => !said.some(line => line.includes(join(scene.workspace, path)))),
          [],
          `${name}: reported`,
        )
        t.equal(said.length > 0, tampered.length > 0, `${name}: and nothing else is`)
        t.ok(
          tampered.every(path => existsSync(join(scene.workspace, path)) || path === '.codex'),
          'nothing is deleted',
        )
      } finally {
        await scene.close()
      }
    }
  })
}
