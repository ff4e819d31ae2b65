/** `hookcheck FILE` against the start of Node itself, and over a thousand hooks. */
import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { projectRoot } from '../../../test/support/root.js'
import { needsCli } from '../client.js'
import { type Command, peakMib, run, wallOf } from '../process.js'
import type { Bench, Row } from '../row.js'
import { interleave } from '../sampling.js'

const HOOKCHECK = join(projectRoot, 'dist/bin/hookcheck.cjs')
const HOOKS = 1_000
const SCRIPT = '#!/bin/sh\nset -e\ndocument=$(cat)\ntest -n "$document"\n'

export const hookcheckRow: Row = {
  name: 'hookcheck',
  about: `hookcheck of a file with two hooks against node -e 0, and of one with ${HOOKS} scripts`,
  needs: needsCli,
  async measure(bench) {
    const { workspace, two, many } = await scene(bench)
    const audit = (file: string): Command => ({
      argv: [process.execPath, HOOKCHECK, '--workspace', workspace, '--fail-on', 'never', file],
      env: bench.env,
      cwd: workspace,
    })
    await refuseEmpty(audit(many))
    const start = { argv: [process.execPath, '-e', '0'], env: bench.env }
    const few = await interleave({ ours: wallOf(audit(two)), baseline: wallOf(start) }, bench.rounds(30))
    const memory = await interleave(
      { ours: () => peakMib(audit(two), bench.scratch), baseline: () => peakMib(start, bench.scratch) },
      bench.rounds(3),
    )
    const thousand = await interleave({ ours: wallOf(audit(many)), baseline: wallOf(start) }, bench.rounds(7))
    return [
      {
        name: 'hookcheck FILE',
        unit: 'ms',
        ours: few.ours,
        baseline: { name: 'node -e 0', value: few.baseline },
        target: { by: 'ratio', accept: 2, proud: 1.6 },
      },
      {
        name: 'hookcheck FILE, peak memory',
        unit: 'MiB',
        ours: memory.ours,
        baseline: { name: 'node -e 0', value: memory.baseline },
        target: { by: 'ratio', accept: 1.5, proud: 1.35 },
      },
      {
        name: `hookcheck of ${HOOKS} hooks`,
        unit: 'ms',
        ours: thousand.ours,
        target: { by: 'figure', accept: 1_500, proud: 750 },
      },
    ]
  },
}

/** What was audited has to be what is told: a file that is refused is fast. */
async function refuseEmpty(command: Command): Promise<void> {
  const { stdout, stderr } = await run(command)
  if (!stdout.includes(`\n${HOOKS} hooks, `))
    throw new Error(`hookcheck did not audit ${HOOKS} hooks: ${stderr}${stdout.slice(-200)}`)
}

async function scene({
  scratch,
}: Bench): Promise<{ readonly workspace: string; readonly two: string; readonly many: string }> {
  const folder = join(scratch, 'operator')
  const workspace = join(scratch, 'audited')
  await mkdir(folder, { recursive: true })
  await mkdir(workspace, { recursive: true })
  const hooks = await Promise.all(
    Array.from({ length: HOOKS }, async (_, at) => {
      const path = join(folder, `h${at}.sh`)
      await writeFile(path, SCRIPT)
      await chmod(path, 0o755)
      return { on: 'before-call', name: `h-${at}`, command: [path] }
    }),
  )
  const put = async (name: string, list: readonly object[]): Promise<string> => {
    const path = join(folder, name)
    await writeFile(path, JSON.stringify({ version: 1, hooks: list }))
    return path
  }
  return { workspace, two: await put('two.json', hooks.slice(0, 2)), many: await put('many.json', hooks) }
}
