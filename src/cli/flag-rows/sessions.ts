/** Profiles, sessions, documents, delegates and answers. */
import { built, type Flag, MODEL, PROFILED, planned, repeat } from './row.js'

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
    ['--resume', 'ID', 'go on with a session: its id, or latest'],
    ['--no-session', null, 'file no session', { conflicts: ['--resume'] }],
  ]),
  ...built(
    ['sessions'],
    [
      ['--session-dir', 'PATH', 'folder of the sessions; default: sessions in our state folder'],
      ['--format', 'FORMAT', 'of export: json (default) or markdown', { choices: ['json', 'markdown'] }],
      ['--json', null, 'the same as JSON'],
    ],
  ),
  // Known, not built: each is refused by name.
  ...planned(
    ['run', 'tools'],
    [
      ['--workspace-id', 'ID', ''],
      ['--skills-dir', 'DIR', '', repeat],
      ['--agents-dir', 'DIR', '', repeat],
      ['--plugin-dir', 'DIR', '', repeat],
      ['--memory-dir', 'DIR', '', repeat],
      ['--mcp-profile', 'FILE', '', repeat],
      ['--mcp-registry', 'FILE', ''],
      ['--delegate', null, ''],
    ],
  ),
  ...planned(MODEL, [
    ['--context-window', 'N', ''],
    ['--delegate-turns', 'N', ''],
    ['--delegate-parallel', 'N', ''],
    ['--output-schema', 'FILE', ''],
    ['--strict-documents', null, ''],
  ]),
]
