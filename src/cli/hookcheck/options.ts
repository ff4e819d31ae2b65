/** Words of the command line → what an audit is to do and how its end is judged. Throws `bad-arguments`. Pure but for samples. */

import { resolve } from 'node:path'
import { HOOK_SAMPLE_BYTES_MAX } from '../../bounds.js'
import { Refusal } from '../../errors.js'
import type { Profile } from '../../hookcheck/context.js'
import type { Sample } from '../../hookcheck/probe-run.js'
import type { Threshold } from '../../hookcheck/report.js'
import type { AllowEntry } from '../../hookcheck/suppressions.js'
import { isJsonObject, parsedOrNull } from '../../json.js'
import { parseLimit } from '../limits.js'
import type { Given } from '../parse.js'
import { readInput } from './read-input.js'

export type Format = 'text' | 'json' | 'sarif' | 'github' | 'junit'

export function formatOf(given: Given): Format {
  return (given.one('--format') ?? 'text') as Format
}

export function profileOf(given: Given): Profile {
  if (given.has('--report-only')) return 'report'
  return given.has('--strict') ? 'strict' : 'default'
}

export function thresholdOf(given: Given): Threshold {
  const most = given.one('--max-warnings')
  if (most !== undefined && !/^\d{1,9}$/.test(most))
    throw bad('--max-warnings', `${JSON.stringify(most)} is no number of warnings`)
  const failOn = given.has('--report-only') ? 'never' : ((given.one('--fail-on') ?? 'error') as Threshold['failOn'])
  return { failOn, maxWarnings: most === undefined || given.has('--report-only') ? null : Number(most) }
}

/** `HC305`, or the beginning of a group: `HC3`. */
export function selectedRules(given: Given, known: readonly string[]): readonly string[] {
  for (const name of given.all('--rule')) {
    if (!known.some(id => id.startsWith(name)) || !/^HC\d{1,3}$/.test(name))
      throw bad('--rule', `${JSON.stringify(name)} is no rule: see hookcheck --list-rules`)
  }
  return given.all('--rule')
}

/** `--ignore RULE=REASON` as entries of an allow file. `lasting`: rules that nothing takes away. */
export function ignored(
  given: Given,
  known: ReadonlyMap<string, { readonly lasting?: string }>,
): readonly AllowEntry[] {
  return given.all('--ignore').map((word, at) => {
    const [, rule = '', reason = ''] = /^(HC\d{3})=(.*)$/s.exec(word) ?? []
    if (rule === '' || reason.trim() === '')
      throw bad('--ignore', `${JSON.stringify(word)}: write RULE=REASON, for example HC203="a shim we own"`)
    const found = known.get(rule)
    if (found === undefined) throw bad('--ignore', `${rule} is no rule: see hookcheck --list-rules`)
    if (found.lasting === 'always') throw bad('--ignore', `${rule} cannot be ignored: mend what it names`)
    return { index: at + 1, rule, hook: null, path: null, reason, until: null, by: '--ignore' }
  })
}

/** `60s`, `500ms`, `2m`; a number alone is in ms. */
export function probeBudget(given: Given): number {
  const text = given.one('--probe-budget') ?? '60s'
  try {
    return parseLimit(`wall=${text}`).value
  } catch {
    throw bad('--probe-budget', `${JSON.stringify(text)} is no time: write for example 60s or 2m`)
  }
}

export function samplesOf(given: Given, cwd: string): readonly Sample[] {
  return given.all('--sample').map(word => {
    const [, name = '', expected = ''] = /^(.+)=(proceed|block)$/s.exec(word) ?? []
    if (name === '') throw bad('--sample', `${JSON.stringify(word)}: write FILE=proceed or FILE=block`)
    const bytes = readInput(resolve(cwd, name), { what: 'the sample', bytesMax: HOOK_SAMPLE_BYTES_MAX })
    return { name, bytes, point: pointOf(bytes), expected: expected as Sample['expected'] }
  })
}

/** Null: broken on purpose, perhaps, and every hook is asked. */
function pointOf(bytes: Uint8Array): string | null {
  const root = parsedOrNull(Buffer.from(bytes).toString('utf8'))
  return isJsonObject(root) && typeof root.hook === 'string' ? root.hook : null
}

/** Options that mean nothing without another. */
export function refuseStray(given: Given): void {
  const pairs: readonly (readonly [flag: string, needs: string])[] = [
    ['--write', '--pin'],
    ['--probe-anyway', '--probe'],
    ['--probe-compare', '--probe'],
    ['--sample', '--probe'],
  ]
  for (const [flag, needed] of pairs) {
    if (given.has(flag) && !given.has(needed)) throw bad(flag, `it needs ${needed}`)
  }
}

export function bad(argument: string, why: string): Refusal<'bad-arguments'> {
  return new Refusal('bad-arguments', { argument }, `${argument}: ${why}`)
}
