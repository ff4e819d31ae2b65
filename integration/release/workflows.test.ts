/**
 * The workflows hold what a stranger would look for: pins, permissions, bounds. That they are well formed is told by GitHub's
 * parser, in integration/deploy/workflows.test.ts.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { projectRoot } from '../../test/support/root.js'

interface Step {
  readonly uses?: string
  readonly run?: string
  readonly with?: Readonly<Record<string, unknown>>
}

interface Job {
  readonly 'timeout-minutes'?: number
  readonly environment?: string
  readonly permissions?: Readonly<Record<string, string>>
  readonly steps: readonly Step[]
}

interface Workflow {
  readonly on: Readonly<Record<string, unknown>>
  readonly permissions: unknown
  readonly concurrency: unknown
  readonly jobs: Readonly<Record<string, Job>>
}

const folder = join(projectRoot, '.github', 'workflows')
const files = readdirSync(folder).map(name => {
  const text = readFileSync(join(folder, name), 'utf8')
  return { name, text, workflow: parse(text) as Workflow }
})

t.test('every action is pinned to a commit, its version beside it', async t => {
  for (const { name, text } of files) {
    const uses = text.split('\n').filter(line => /\buses:/.test(line))
    t.ok(uses.length > 0, name)
    for (const line of uses) t.match(line, /uses: [\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/, `${name}: ${line.trim()}`)
  }
})

t.test('one action is one commit in every workflow', async t => {
  const pins = new Map<string, Set<string>>()
  for (const [, action = '', pin = ''] of files.flatMap(({ text }) => [...text.matchAll(/uses: ([\w./-]+)@(.+)$/gm)]))
    pins.set(action, (pins.get(action) ?? new Set()).add(pin))
  for (const [action, seen] of pins) t.equal(seen.size, 1, action)
})

t.test('a job has what it needs and no more', async t => {
  for (const { name, text, workflow } of files) {
    t.same(workflow.permissions, { contents: 'read' }, `${name}: permissions`)
    t.ok(workflow.concurrency, `${name}: concurrency`)
    t.notOk('pull_request_target' in workflow.on, name)
    t.notMatch(text, /\bsecrets\./, `${name}: no secret is kept`)
    for (const [id, job] of Object.entries(workflow.jobs)) {
      t.ok((job['timeout-minutes'] ?? 0) > 0, `${name} ${id}: is bounded`)
      const tries = job.steps.some(({ run }) => /\.ci\/run|npm (test|run)/.test(run ?? ''))
      if (tries) t.equal(job.permissions, undefined, `${name} ${id}: what runs tests may only read`)
      for (const step of job.steps.filter(({ uses }) => uses?.startsWith('actions/checkout@')))
        t.equal(step.with?.['persist-credentials'], false, `${name} ${id}: no token stays in the checkout`)
      if (job.steps.some(({ run }) => /npm publish(?!.*--dry-run)|--push\b/.test(run ?? '')))
        t.equal(job.environment, 'release', `${name} ${id}: publishing is behind the environment's rules`)
    }
  }
})

t.test('every system runs the same script', async t => {
  const ci = files.find(({ name }) => name === 'ci.yml')?.workflow.jobs ?? {}
  for (const id of ['machines', 'systems'])
    t.ok(
      ci[id]?.steps.some(({ run }) => run === 'sh .ci/run'),
      id,
    )
})

t.test('what they run is there', async t => {
  const { scripts } = JSON.parse(readFileSync(join(projectRoot, 'package.json'), 'utf8')) as { scripts: object }
  for (const { name, text } of files) {
    for (const [, script = ''] of text.matchAll(/npm run (?:--silent )?([\w:]+)/g))
      t.ok(script in scripts, `${name}: ${script}`)
    for (const [, path = ''] of text.matchAll(/(?:node|sh) ((?:integration|\.ci)\/\S+)/g))
      t.ok(existsSync(join(projectRoot, path)), `${name}: ${path}`)
  }
})
