/** Profiles, sessions, documents, delegates and answers. */
import { type Flag, MODEL, planned, repeat } from './row.js'

export const SESSION_FLAGS: readonly Flag[] = [
  // Known, not built: each is refused by name.
  ...planned(
    ['run', 'tools'],
    [
      ['--profile', 'NAME', '', { short: '-p', repeat: true }],
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
    ['--session-dir', 'PATH', ''],
    ['--resume', 'ID', ''],
    ['--delegate-turns', 'N', ''],
    ['--delegate-parallel', 'N', ''],
    ['--output-schema', 'FILE', ''],
    ['--strict-documents', null, ''],
  ]),
]
