/** What a run is about, who approves, its ceilings, what it prints. */
import { built, type Flag, MODEL, once, repeat } from './row.js'

export const LOOP_FLAGS: readonly Flag[] = [
  ...built(['run'], [['--input', 'TEXT', 'the task (required)']]),
  ...built(MODEL, [
    [
      '--approve',
      'MODE',
      'who approves calls above the ceiling',
      { choices: ['auto', 'prompt', 'deny', 'all'], fallback: 'auto' },
    ],
    [
      '--approve-up-to',
      'RISK',
      'calls up to this risk are not asked about (default low)',
      { choices: ['low', 'medium', 'high', 'destructive'], conflicts: ['--yes'] },
    ],
    ['--yes', null, 'same as --approve all', { conflicts: ['--approve-up-to'] }],
    ['--max-turns', 'N', 'stop after N requests to the model'],
    ['--max-output-tokens', 'N', 'stop when N output tokens were reported'],
    [
      '--max-output-tokens-per-turn',
      'N',
      'bound of one answer, sent to the model; anthropic-messages sends 4096 when absent',
    ],
    ['--max-duration-ms', 'MS', 'deadline of the whole run, chat or flow'],
    [
      '--context-window',
      'N',
      'tokens that the model can hold: near them the conversation is made shorter (default 128000)',
    ],
    ['--max-cost-microunits', 'N', 'stop when N micro-USD were spent (needs --prices)'],
    ['--prices', 'FILE', 'rate card (JSON, see README)'],
    ['--log-file', 'PATH', 'append one JSON line a launch, kill, refusal and ending to PATH'],
    [
      '--log-level',
      'LEVEL',
      'least level of --log-file (default info)',
      { choices: ['debug', 'info', 'warn', 'error'] },
    ],
    ['--no-keys', null, 'leave the terminal alone: Esc stops nothing'],
    ['--json', null, 'events as JSON lines on stdout'],
    ['--quiet', null, 'no progress on stderr'],
  ]),
  ...built(
    [...MODEL, 'context'],
    [
      ['--context', 'FILE', 'add FILE to the standing instruction', repeat],
      ['--instructions-file', 'FILE', "add the operator's own instructions", once],
      ['--no-project-instructions', null, 'leave AGENTS.md / CLAUDE.md of the workspace out'],
      [
        '--scope-announce',
        'HOW',
        'tell the model the write scope',
        { choices: ['stated', 'silent'], fallback: 'stated' },
      ],
      [
        '--execution-path',
        'PATH',
        'what the context says of who launches',
        { choices: ['direct', 'metaharness'], fallback: 'direct' },
      ],
    ],
  ),
  ...built(
    [...MODEL, 'tools', 'context'],
    [
      [
        '--surface',
        'KIND',
        'publish every tool, or three verbs over them',
        { choices: ['flat', 'verbs'], fallback: 'flat' },
      ],
      [
        '--write-scope',
        'GLOB=SCOPE',
        'allowed, partial-only or denied for files that match; first match decides',
        repeat,
      ],
    ],
  ),
]
