/** Workflows, ours and the one that users copy: GitHub's own parser knows every key, and ShellCheck every script. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { needs } from '../../test/support/needs.js'
import { projectRoot } from '../../test/support/root.js'
import { shellProblems, stepsOf, workflowProblems } from '../support/workflows.js'

const folder = join(projectRoot, '.github', 'workflows')
const files = [
  ...readdirSync(folder).map(name => join(folder, name)),
  join(projectRoot, 'integration', 'deploy', 'github-actions.yml'),
].filter(existsSync)

t.test('GitHub’s parser has nothing to say, and it does where something is wrong', async t => {
  for (const file of files) t.same(await workflowProblems(file, readFileSync(file, 'utf8')), [], file)
  const wrong =
    'on: push\njobs:\n  a:\n    runs-on: ubuntu-24.04\n    steps:\n      - run: echo ${{ nobody.knows }}\n        bogus: 1\n'
  const said = await workflowProblems('wrong.yml', wrong)
  t.match(said.join('\n'), /nobody/)
  t.match(said.join('\n'), /bogus/)
})

t.test('scripts: ShellCheck has nothing to say', { skip: needs('shellcheck') }, async t => {
  for (const file of files)
    for (const { at, run, shell } of stepsOf(readFileSync(file, 'utf8')))
      if (run !== undefined) {
        // What stands between the braces is put there before a shell reads it.
        const script = run.replace(/\$\{\{.*?\}\}/g, 'VALUE')
        t.equal(await shellProblems(script, shell === 'sh' ? 'sh' : 'bash'), '', `${file}: ${at}`)
      }
  t.match(await shellProblems('echo $1\n'), /SC2086/)
})
