/**
 * A launch under a policy as people write them: 30 rules, a git repository with hooks and settings, 40 000 files. What the rules
 * cost the kernel is in the baseline, since it starts the same argv; what they cost us is the rest.
 */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { execa } from 'execa'
import { needs } from '../../../test/support/needs.js'
import { bareLaunch, barePlan, requestFor } from '../bare-launch.js'
import { openOurs, ourLaunch } from '../library.js'
import type { Bench, Row } from '../row.js'
import { interleave } from '../sampling.js'
import { fill } from '../scratch.js'

const FILES = 40_000
/** Of each kind: paths to read, paths to hide, protected files in the grants. */
const EACH = 10

export const policyRow: Row = {
  name: 'policy',
  about: `a launch under ${3 * EACH} rules in a git repository of ${FILES} files, against the same argv by hand and an empty place`,
  needs: () => needs('linux', 'bubblewrap', 'git'),
  async measure(bench) {
    const request = await realistic(bench, join(bench.scratch, 'project'), FILES)
    const small = await realistic(bench, join(bench.scratch, 'small'), EACH)
    const plan = await barePlan(request, ['true'], bench.scratch)
    const [boundary, smaller] = [await openOurs(request), await openOurs(small)]
    try {
      const times = await interleave(
        {
          ours: () => ourLaunch(boundary, ['true']),
          bare: () => bareLaunch(plan),
          small: () => ourLaunch(smaller, ['true']),
        },
        bench.rounds(40),
      )
      return [
        {
          name: `launch under ${3 * EACH} rules`,
          unit: 'ms',
          ours: times.ours,
          baseline: { name: 'same argv by hand', value: times.bare },
          target: { by: 'ratio', accept: 1.15 },
        },
        {
          name: `the same among ${FILES} files`,
          unit: 'ms',
          ours: times.ours,
          baseline: { name: `among ${EACH}`, value: times.small },
          target: { by: 'ratio', accept: 1.05 },
        },
      ]
    } finally {
      await boundary.close()
      await smaller.close()
    }
  },
}

async function realistic(bench: Bench, folder: string, files: number) {
  const beside = `${folder}-beside`
  await mkdir(join(folder, 'src'), { recursive: true })
  await fill(folder, files)
  await execa('git', ['init', '-q', folder], { env: bench.env })
  await writeFile(join(folder, '.git/hooks/pre-commit'), '#!/bin/sh\n')
  const numbers = Array.from({ length: EACH }, (_, at) => at)
  for (const at of numbers) {
    await mkdir(join(beside, `read-${at}`), { recursive: true })
    await mkdir(join(folder, `package-${at}/secret`), { recursive: true })
    await writeFile(join(folder, `package-${at}/.envrc`), '')
  }
  return requestFor(folder, {
    read: numbers.map(at => join(beside, `read-${at}`)),
    hide: numbers.map(at => join(folder, `package-${at}/secret`)),
    writeSubtrees: ['.'],
  })
}
