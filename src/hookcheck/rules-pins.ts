/** HC8xx: whether a hook is what was approved, and suppressions (hookcheck.md §4.8, §9). HC805 is the driver's own. */
import {
  lockAgainstFile,
  lockAgainstHook,
  mismatches,
  type PinFacts,
  partialPins,
  storeOfPins,
  unpinnedGate,
} from './pin-checks.js'
import type { Rule } from './rule.js'

export function pinRules(facts: PinFacts): readonly Rule[] {
  return [
    {
      id: 'HC801',
      title: 'Gate not pinned',
      severity: 'info',
      hook: (hook, audit) => unpinnedGate(hook, audit, facts),
      why: 'Ownership says who may change the code, not whether it was changed.',
      fix: 'review the code, then hookcheck --pin --write',
      anchor: 'Digest_Spec of sudoers(5)',
    },
    {
      id: 'HC802',
      title: 'Pin mismatch',
      severity: 'error',
      lasting: 'always',
      file: audit => lockAgainstFile(audit, facts),
      hook: function* (hook, audit) {
        yield* lockAgainstHook(hook, audit, facts)
        yield* mismatches(hook, audit, facts)
      },
      why: 'It was changed since somebody reviewed it.',
      fix: 'look at the difference, review it, and pin again',
      anchor: 'Digest_Spec of sudoers(5); direnv allow',
    },
    {
      id: 'HC803',
      title: 'Pin malformed or partial',
      severity: 'warn',
      hook: (hook, audit) => partialPins(hook, audit, facts),
      why: 'A pin of /usr/bin/node says nothing about hook.js.',
      fix: 'pin the closure: digests by path, as hookcheck --pin prints them',
      anchor: 'Digest_Spec of sudoers(5)',
    },
    {
      id: 'HC804',
      title: 'Store of the pins changeable',
      severity: 'error',
      lasting: 'always',
      file: audit => storeOfPins(audit, facts),
      why: 'Whoever writes the lock approves the change.',
      fix: 'keep it beside the hooks file, owned by you or root, mode 0600',
      anchor: 'trust records of direnv and mise',
    },
    {
      id: 'HC806',
      title: 'Suppression that does not hold',
      severity: 'warn',
      why: 'An exception that nobody looks at any more hides the next finding too.',
      fix: 'remove the entry, or write why it holds and until when',
      anchor: 'lintian overrides',
    },
  ]
}
