/** `--compat original`: keys that the first loader of hooks files does not know, told one by one (hookcheck.md §10). */
import type { HookFacts } from './context.js'
import type { Reported, Rule } from './rule.js'

const ORIGINAL = new Set(['on', 'tools', 'command'])

/** `rule` is HC103, under whose number the keys are told as notes. */
export function compatRule(rule: Rule): Rule {
  return { ...rule, hook: extensionKeys }
}

function* extensionKeys({ spec }: HookFacts): Iterable<Reported> {
  for (const [key, place] of spec.places) {
    if (ORIGINAL.has(key)) continue
    const message = `the key ${JSON.stringify(key)} needs a loader that knows it; an older one refuses the file, or runs the hook without it`
    yield { place, about: `compat ${key}`, severity: 'info', message }
  }
}
