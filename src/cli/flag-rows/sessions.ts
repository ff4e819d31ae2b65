/** Profiles, sessions, documents, delegates and answers. */
import { built, type Flag, MODEL, once, PROFILED, planned, repeat } from './row.js'

export const SESSION_FLAGS: readonly Flag[] = [
  ...built(
    [...PROFILED, 'profiles'],
    [
      [
        '--profile',
        'NAME',
        'apply a profile of the configuration file (harness profiles); of several the later wins, what is typed wins always',
        { short: '-p', repeat: true },
      ],
    ],
  ),
  ...built(MODEL, [
    ['--session-dir', 'PATH', 'folder of the sessions; default: sessions in our state folder'],
    ['--no-session', null, 'file no session', { conflicts: ['--resume'] }],
  ]),
  ...built(['run', 'chat'], [['--resume', 'ID', 'go on with a session: its id, or latest']]),
  ...built(
    ['sessions'],
    [
      ['--session-dir', 'PATH', 'folder of the sessions; default: sessions in our state folder'],
      ['--format', 'FORMAT', 'of export: json (default) or markdown', { choices: ['json', 'markdown'] }],
      ['--json', null, 'the same as JSON'],
    ],
  ),
  ...built(
    [...MODEL, 'tools', 'context'],
    [
      ['--skills-dir', 'DIR', 'offer the skills DIR/NAME/SKILL.md to the model', repeat],
      ['--agents-dir', 'DIR', 'offer the agents DIR/*.md to the tool delegate (a run needs --delegate)', repeat],
      ['--plugin-dir', 'DIR', 'skills and agents of a plugin, called PLUGIN:NAME', repeat],
      ['--memory-dir', 'DIR', 'records DIR/*.md of earlier work, read and never written', repeat],
      ['--strict-documents', null, 'refuse the run for what would be a warning of a document'],
    ],
  ),
  ...built(
    [...MODEL, 'tools', 'context'],
    [['--delegate', null, 'let the model hand parts of the task to delegates, and to the agents where there are any']],
  ),
  ...built(MODEL, [
    ['--delegate-turns', 'N', 'requests of one delegate at most (default 20)'],
    ['--delegate-parallel', 'N', 'delegates at one time at most, where they only read (default 4)'],
  ]),
  ...built(
    ['run'],
    [['--output-schema', 'FILE', 'the answer is JSON that fits the JSON Schema in FILE, one line on stdout', once]],
  ),
  // Known, not built: each is refused by name.
  ...planned(
    [...MODEL, 'tools'],
    [
      ['--workspace-id', 'ID', ''],
      ['--mcp-profile', 'FILE', '', repeat],
      ['--mcp-registry', 'FILE', ''],
    ],
  ),
]
