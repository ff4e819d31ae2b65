/** Options of `hookcheck` beside the confinement options, which it takes as `run` does: they say what the agent can write. */
import { built, type Flag, repeat } from './row.js'

/** Work that is not an audit: each of these excludes the others. */
const INSTEAD = ['--list-rules', '--explain', '--from', '--pin']

function instead(name: string): Partial<Flag> {
  return { conflicts: INSTEAD.filter(other => other !== name) }
}

export const HOOKCHECK_FLAGS: readonly Flag[] = [
  ...built(
    ['hookcheck'],
    [
      ['--workspace', 'DIR', 'the folder the runs are about: all of it counts as written by the agent'],
      ['--writable', 'DIR', 'further folder the agent can write, absolute or relative to the workspace', repeat],
      [
        '--policy',
        'FILE',
        'take the write set from the output of harness explain --json',
        { conflicts: ['--workspace', '--writable', '--process-write-subtree'] },
      ],
      ['--strict', null, 'no allowance for groups; unpinned gates and unknown permission models are errors'],
      ['--report-only', null, 'everything is a note and the status 0, for a first look', { conflicts: ['--strict'] }],
      [
        '--fail-on',
        'LEVEL',
        'end with 1 at findings of this severity and above',
        { choices: ['error', 'warn', 'never'], fallback: 'error' },
      ],
      ['--max-warnings', 'N', 'end with 1 when there are more than N warnings'],
      ['--rule', 'RULE', 'judge by this rule only (HC305) or this group (HC3)', repeat],
      ['--ignore', 'RULE=REASON', 'leave findings of RULE out, for the REASON that the report then tells', repeat],
      [
        '--format',
        'FORMAT',
        'how the report is written',
        { choices: ['text', 'json', 'sarif', 'github', 'junit'], fallback: 'text' },
      ],
      ['--output', 'FILE', 'write the report in its format to FILE, and the text to stdout'],
      ['--list-rules', null, 'print the rules', instead('--list-rules')],
      ['--explain', 'RULE', 'print what RULE checks, why, and what to do', instead('--explain')],
      ['--deep', null, 'search the write set for other names (hard links) of a hook’s files'],
      [
        '--probe',
        null,
        'also run each hook whose files passed, with documents made for trying it',
        { conflicts: INSTEAD },
      ],
      ['--probe-anyway', null, 'probe hooks whose files did not pass, too'],
      ['--probe-compare', null, 'probe with your own whole environment too, and compare'],
      ['--sample', 'FILE=VERDICT', 'a document for the probes, and proceed or block as what it should get', repeat],
      ['--probe-budget', 'TIME', 'time for all probes together', { fallback: '60s' }],
      ['--pin', null, 'print the lock that approves the hooks as they are now', instead('--pin')],
      ['--write', null, 'with --pin: put the lock beside the hooks file, where runs obey it'],
      ['--compat', 'LOADER', 'name what an older loader does not know', { choices: ['original'] }],
      [
        '--from',
        'CLIENT',
        'read FILE as the hooks of another client and print the hooks file it corresponds to',
        { choices: ['claude'], ...instead('--from') },
      ],
    ],
  ),
]
