/** Options of one command alone. */
import { WIRE_NAMES } from '../../wires/port.js'
import { built, type Flag, repeat } from './row.js'

export const COMMAND_FLAGS: readonly Flag[] = [
  ...built(
    ['check-path'],
    [
      ['--writable', 'DIR', 'further writable folder, absolute or relative to the workspace', repeat],
      ['--json', null, 'verdicts as JSON lines'],
    ],
  ),
  ...built(
    ['context'],
    [
      ['--json', null, 'the manifest as a JSON array, as a run records it'],
      ['--body', null, 'the instruction itself, as a run sends it', { conflicts: ['--json'] }],
    ],
  ),
  ...built(['demo'], [['--json', null, 'the events of the run as JSON lines on stdout']]),
  ...built(['tools'], [['--json', null, 'what it prints anyway']]),
  ...built(['providers', 'profiles'], [['--json', null, 'the same as JSON']]),
  ...built(
    ['events'],
    [
      ['--in', 'FILE', 'the record; default: stdin'],
      ['--out', 'FILE', 'put in its place when it is whole; default: stdout'],
    ],
  ),
  ...built(['explain'], [['--json', null, 'the plan as one JSON document']]),
  ...built(
    ['doctor'],
    [
      ['--json', null, 'the report as one JSON document (native-profiles/doctor.schema.json)'],
      ['--quick', null, 'boundaries and machine alone, with a launch each; of guarantees and limits none is tried'],
      ['--tty', null, 'ask for a terminal inside too'],
      ['--hook-reap', 'HOW', 'ask for hooks in pid namespaces too (namespace)', { choices: ['group', 'namespace'] }],
      [
        '--seccomp-profile',
        'BASE',
        'try nothing: print BASE, the seccomp profile of a container engine, with the calls allowed that bubblewrap makes, for containers without capabilities',
        { conflicts: ['--json'] },
      ],
    ],
  ),
  ...built(
    ['exec'],
    [
      [
        '--tty',
        null,
        'a terminal inside for interactive programs: every key is theirs, Ctrl-] twice within a second leaves; needs node-pty',
      ],
      ['--outcome-fd', 'N', 'write the outcome record to descriptor N'],
      ['--outcome-file', 'PATH', 'write the outcome record to PATH', { conflicts: ['--outcome-fd'] }],
    ],
  ),
  ...built(
    ['emulate'],
    [
      ['--scenario', 'FILE', 'scenario document (JSON or YAML); default: the demo'],
      [
        '--wire',
        'WIRE',
        'protocol to speak; one scenario plays on all of them',
        { choices: WIRE_NAMES, fallback: 'openai-responses' },
      ],
      ['--port', 'N', 'port on 127.0.0.1; 0 takes a free one', { fallback: '0' }],
      ['--latency-ms', 'MS', 'silence before each answer', { fallback: '0' }],
      [
        '--record',
        'FILE',
        'pass requests on to --upstream and write the exchange to FILE as a scenario, without secrets',
        { conflicts: ['--scenario'] },
      ],
      ['--upstream', 'URL', 'base URL of the endpoint that --record passes on to'],
      [
        '--validate',
        'FILE',
        'check a scenario and serve nothing: 0 valid, 2 not',
        { conflicts: ['--scenario', '--record', '--upstream'] },
      ],
      ['--json', null, 'one JSON line for each request, when its answer is over, and a summary'],
    ],
  ),
]
