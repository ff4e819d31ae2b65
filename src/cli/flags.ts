/**
 * Every option of every command as one table: its value, where it is allowed, what it means, and whether it is built.
 *
 * Names and constraints are the contract's (§2.1) and decisions 1. An option that is not built yet is in the table so
 * that it is refused by name; it is never silently accepted.
 */

export type CommandName = 'run' | 'tools' | 'exec' | 'explain' | 'check-path' | 'emulate' | 'completion'

export interface Flag {
  /** With dashes, e.g. `--base-url`. */
  readonly name: string
  readonly short?: string
  /** Placeholder of the value; absent: a switch. */
  readonly value?: string
  readonly repeat?: true
  readonly choices?: readonly string[]
  readonly fallback?: string
  readonly text: string
  readonly on: readonly CommandName[]
  readonly conflicts?: readonly string[]
  /** False: known to the contract, refused as not built yet. */
  readonly built: boolean
}

const MODEL: readonly CommandName[] = ['run']
const CONFINED: readonly CommandName[] = ['run', 'tools', 'exec', 'explain']
const LAUNCHING: readonly CommandName[] = ['run', 'exec', 'explain', 'tools', 'check-path']

type Row = readonly [name: string, value: string | null, text: string, extra?: Partial<Flag>]

function built(on: readonly CommandName[], rows: readonly Row[]): Flag[] {
  return rows.map(row => flag(row, on, true))
}

function planned(on: readonly CommandName[], rows: readonly Row[]): Flag[] {
  return rows.map(row => flag(row, on, false))
}

function flag([name, value, text, extra = {}]: Row, on: readonly CommandName[], isBuilt: boolean): Flag {
  return { name, ...(value === null ? {} : { value }), text, on, built: isBuilt, ...extra }
}

const repeat = { repeat: true } as const
const KEY_SOURCES = ['--api-key-file', '--api-key-env', '--oauth-token-file', '--oauth-token-env']

function oneOf(name: string): Partial<Flag> {
  return { conflicts: KEY_SOURCES.filter(other => other !== name) }
}

export const FLAGS: readonly Flag[] = [
  ...built(MODEL, [
    ['--input', 'TEXT', 'the task (required)'],
    [
      '--provider',
      'NAME',
      'openai, or demo, which needs no key and no network; anthropic, claude and ollama speak wires that are not built yet',
    ],
    ['--base-url', 'URL', 'endpoint, e.g. http://127.0.0.1:8080/v1'],
    ['--model', 'NAME', 'model to ask for'],
    [
      '--wire',
      'WIRE',
      'protocol of the endpoint; only openai-responses is built yet',
      { choices: ['openai-responses', 'anthropic-messages', 'openai-chat'] },
    ],
    ['--temperature', 'N', '0.0 to 2.0; not sent when absent'],
    ['--top-p', 'N', 'above 0 up to 1; not sent when absent'],
    ['--reasoning-effort', 'WORD', 'passed on as it is; not sent when absent'],
    ['--api-key-file', 'FILE', 'read the API key from FILE at every request', oneOf('--api-key-file')],
    ['--api-key-env', 'NAME', 'read the API key from the variable NAME', oneOf('--api-key-env')],
    ['--oauth-token-file', 'FILE', 'read a bearer token from FILE', oneOf('--oauth-token-file')],
    ['--oauth-token-env', 'NAME', 'read a bearer token from the variable NAME', oneOf('--oauth-token-env')],
    ['--oauth-token-pointer', 'POINTER', 'JSON pointer to the token in its source'],
    ['--header', 'NAME=ENV', 'send header NAME with the value of variable ENV', repeat],
    ['--stream-idle-ms', 'MS', 'give a silent stream up after MS between bytes', { fallback: '60000' }],
    ['--context', 'FILE', 'add FILE to the standing instruction', repeat],
    ['--instructions-file', 'FILE', "add the operator's own instructions"],
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
    ['--max-output-tokens-per-turn', 'N', 'bound of one answer, sent to the model'],
    ['--max-duration-ms', 'MS', 'deadline of the whole run'],
    ['--max-cost-microunits', 'N', 'stop when N micro-USD were spent (needs --prices)'],
    ['--prices', 'FILE', 'rate card (JSON, see README)'],
    ['--no-session', null, 'file no session (none is filed yet in any case)', { conflicts: ['--resume'] }],
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
    ['run', 'tools'],
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
  ...built(LAUNCHING, [
    ['--workspace', 'DIR', 'the folder the run is about', { fallback: '.' }],
    ['--read', 'PATH', 'further readable path', repeat],
    ['--hide', 'PATH', 'hide a path', repeat],
    ['--unprotect', 'NAME', 'lift the protection of one name, recorded', repeat],
    ['--process-write-subtree', 'DIR', 'let processes write DIR of the workspace (. for all of it)', repeat],
  ]),
  ...built(CONFINED, [
    [
      '--confine',
      'BOUNDARY',
      'auto: the strongest boundary that holds here; native: the strongest or none; bubblewrap or bubblewrap-hostproc by name; off (default: off on run and tools, auto on exec and explain)',
    ],
    ['--substrate-embedded', null, 'same as --confine native'],
    ['--env', 'NAME=VALUE', 'set a variable inside the boundary', repeat],
    [
      '--limit',
      'NAME=VALUE',
      'wall, memory, pids, file-size, cpu, open-files, output-total; e.g. memory=512MiB, wall=30s',
      repeat,
    ],
    ['--cgroup-root', 'PATH', 'a delegated cgroup v2 folder for the limits'],
  ]),
  ...built(['run', 'tools', 'explain'], [['--allow-program', 'NAME', 'program that the tool run may start', repeat]]),
  ...built(
    ['check-path'],
    [
      ['--writable', 'DIR', 'further writable folder, absolute or relative to the workspace', repeat],
      ['--json', null, 'verdicts as JSON lines'],
    ],
  ),
  ...built(['tools'], [['--json', null, 'what it prints anyway']]),
  ...built(['explain'], [['--json', null, 'the plan as one JSON document']]),
  ...built(
    ['exec'],
    [
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
        'protocol to speak; only openai-responses is built yet',
        { choices: ['openai-responses', 'anthropic-messages', 'openai-chat'], fallback: 'openai-responses' },
      ],
      ['--port', 'N', 'port on 127.0.0.1; 0 takes a free one', { fallback: '0' }],
      ['--json', null, 'one JSON line for each request received'],
    ],
  ),
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
    ['--hooks', 'FILE', ''],
    ['--hooks-unchecked', null, ''],
    ['--hook-env', 'NAME', '', repeat],
    ['--hook-reap', 'HOW', ''],
    ['--output-schema', 'FILE', ''],
    ['--strict-documents', null, ''],
  ]),
  ...planned(CONFINED, [
    ['--substrate', 'SOCKET', ''],
    ['--read-host', null, ''],
    ['--cache', null, ''],
    ['--allow-nesting', null, ''],
    ['--protect-strict', null, ''],
    ['--allow-host', 'NAME', '', repeat],
    ['--allow-socket', 'PATH', '', repeat],
    ['--grant', 'NAME', '', repeat],
    ['--driver', 'PATH', ''],
    ['--toolchain', 'NAMES', ''],
    ['--toolchain-spec', 'FILE', '', repeat],
    ['--container-uid', 'N', ''],
  ]),
  ...planned(['exec'], [['--tty', null, '']]),
]

/** The options of one command, built ones first. */
export function flagsOf(command: CommandName): readonly Flag[] {
  return FLAGS.filter(({ on }) => on.includes(command))
}
