/** The commands as `--help` tells them, and the closed table of exit statuses (decisions 4). Pure data. */
import type { CommandName, HarnessCommand } from './flags.js'

export interface CommandRow<Name extends CommandName = HarnessCommand> {
  readonly name: Name
  /** As it is typed; absent: its name. */
  readonly words?: readonly [string, string]
  readonly arguments?: string
  readonly text: string
  readonly example: readonly string[]
}

export const COMMANDS: readonly CommandRow[] = [
  {
    name: 'run',
    text: 'drive a model to an answer over a workspace',
    example: [
      'harness run --provider demo --input "fix the test"',
      'harness run --provider openai --model NAME --api-key-env OPENAI_API_KEY --workspace . \\',
      '  --confine auto --allow-program node --process-write-subtree . --input "make the tests pass"',
    ],
  },
  {
    name: 'demo',
    text: 'the main job on a fresh sample project that is gone afterwards: no key, no network, no root',
    example: ['harness demo', 'docker run --rm IMAGE demo'],
  },
  {
    name: 'chat',
    text: 'a conversation over a workspace: each line of stdin is answered; exit or the end of stdin ends it',
    example: [
      'harness chat --provider demo',
      'harness chat --provider anthropic --model NAME --confine auto --allow-program node --process-write-subtree .',
    ],
  },
  {
    name: 'workflow-plan',
    words: ['workflow', 'plan'],
    text: 'check a flow and print the order of its steps; nothing is run',
    example: [
      'harness workflow plan --flow review.yaml',
      'harness workflow plan --flow review.yaml --format dot | dot -Tsvg > review.svg',
    ],
  },
  {
    name: 'workflow-run',
    words: ['workflow', 'run'],
    text: 'walk a flow: its steps in order, side by side where they cannot meet, again where a section repeats',
    example: [
      'harness workflow run --flow review.yaml --input "the parser drops comments" --provider openai --model NAME \\',
      '  --confine auto --allow-program node --process-write-subtree . --yes',
      'harness workflow run --flow review.yaml --resume FLOW_ID --provider openai --model NAME',
    ],
  },
  {
    name: 'tools',
    text: 'print as JSON the tools a run with these options would publish, and what is withheld',
    example: ['harness tools --confine auto --allow-program node'],
  },
  {
    name: 'context',
    arguments: '<show...>',
    text: 'print the layers of the standing instruction that a run with these options would send',
    example: ['harness context show --skills-dir skills', 'harness context show --context notes.md --body'],
  },
  {
    name: 'exec',
    arguments: '<argv...>',
    text: 'run one command inside the boundary, its stdio passed through, its exit status mirrored',
    example: [
      'harness exec -- npm test',
      'harness exec --process-write-subtree build --limit memory=512MiB -- make',
      'harness exec --tty --process-write-subtree . -- vi notes.txt',
    ],
  },
  {
    name: 'explain',
    arguments: '<argv...>',
    text: 'print, without starting anything, exactly how the command would be confined',
    example: ['harness explain --process-write-subtree . -- git status'],
  },
  {
    name: 'doctor',
    text: 'try every guarantee of the boundary for real on this machine: held, absent or unknown, why, and the exact fix',
    example: [
      'harness doctor',
      'harness doctor --confine bubblewrap --tty --hook-reap namespace',
      'harness doctor --json | jq \'.guarantees[] | select(.status != "held")\'',
      'docker run --rm IMAGE doctor    # which option of the engine is missing',
      'harness doctor --seccomp-profile default.json > harness-seccomp.json    # for --security-opt seccomp=FILE',
    ],
  },
  {
    name: 'check-path',
    arguments: '<path...>',
    text: "the writable-folder checker's verdict for each path",
    example: ['harness check-path --workspace . src ../elsewhere .git/hooks'],
  },
  {
    name: 'emulate',
    text: 'serve a scenario as a local provider endpoint, for demos and tests without a key',
    example: [
      'harness emulate --scenario scenario.yaml --wire anthropic-messages --port 8080',
      'harness emulate --record scenario.yaml --upstream https://api.openai.com/v1 --port 8080',
      'harness emulate --validate scenario.yaml',
    ],
  },
  {
    name: 'providers',
    arguments: '<list|show...>',
    text: 'the providers, built in and of the configuration file: list, or show NAME',
    example: ['harness providers list', 'harness providers show anthropic --json'],
  },
  {
    name: 'profiles',
    arguments: '<list|show|explain|init...>',
    text: 'the configuration file: list its profiles, show NAME, explain -p NAME with where each value is from, init makes one',
    example: ['harness profiles init', 'harness profiles explain -p ci'],
  },
  {
    name: 'sessions',
    arguments: '[list|show|export|fork...]',
    text: 'the sessions that were filed: list, show ID, export ID, fork ID',
    example: ['harness sessions', 'harness sessions show latest', 'harness sessions export ID --format markdown'],
  },
  {
    name: 'events',
    text: 'convert the record of a run (run --json) to metaharness.event/1 lines',
    example: [
      'harness events --in run.jsonl --out evaluation.jsonl',
      'harness run --json … | harness events > evaluation.jsonl',
    ],
  },
  {
    name: 'completion',
    arguments: '<shell>',
    text: 'print a completion script for bash, zsh or fish',
    example: [
      'harness completion bash > ~/.local/share/bash-completion/completions/harness',
      'harness completion zsh > ~/.zfunc/_harness    # a folder of fpath, before compinit',
      'harness completion fish > ~/.config/fish/completions/harness.fish',
    ],
  },
]

/** The other program, which is one command. */
export const HOOKCHECK: CommandRow<'hookcheck'> = {
  name: 'hookcheck',
  arguments: '[file]',
  text: "Audit an operator's hooks file before any run: is each program what it seems, can anything untrusted change it, does it fail closed?",
  example: [
    'hookcheck --workspace . ~/.config/b10x/hooks.json',
    'hookcheck --policy policy.json --strict --format sarif --output hookcheck.sarif hooks.json',
    'hookcheck --explain HC305',
    'hookcheck --pin --write hooks.json',
    'hookcheck --from claude ~/.claude/settings.json > hooks.json',
  ],
}

/** Exit statuses of `hookcheck` (hookcheck.md §9). */
export const HOOKCHECK_STATUS_HELP = `
Exit status:
  0    audited, nothing at or above --fail-on
  1    audited, findings at or above it, or more warnings than --max-warnings;
       with --from: something has no counterpart
  2    could not audit: bad arguments, a file that is absent or unreadable
  3    a bug of ours, or the probes could not be run
  130  interrupted, 143 terminated
`

/** Commands of the contract that are not built yet: refused by name. */
export const PLANNED_COMMANDS = ['app-server', 'toolchains', 'report'] as const

export const EXIT_STATUS_HELP = `
Exit status:
  run          0 answered, 2 stopped for a named reason, 1 could not run
               130 left at once on a second Ctrl-C
  demo         as run
  chat         0 ended by exit or the end of stdin, 2 stopped for a named reason or
               its last answer was cancelled, 1 could not run or failed, 130 as run
  workflow plan
               0 printed, 1 the flow is refused
  workflow run 0 came out clean, or paused at an operator step, 2 finished not clean,
               reached a ceiling or was cancelled, 1 could not run or failed, 130 as run
  tools, context
               0 printed, 1 could not
  exec         the command's own, 128+n when a signal ended it
               125 refused or could not run, 126 found but not executable,
               127 not found, 124 ended by our deadline or a bound
  explain      0 printed, 1 could not
  doctor       0 everything asked for holds, 2 some of it does not, 1 could not check
  check-path   0 all writable, 2 some refused, 1 could not check
  emulate      0 stopped, 2 a request differed from the scenario, never came though it
               was expected, or was not recorded, or --validate found a problem,
               1 could not serve
  providers, profiles, sessions
               0 printed, 1 could not
  events       0 converted, 1 could not
  completion   0 printed, 1 could not

The audit of a hooks file is a program of its own: hookcheck --help

First steps:
  harness demo
  harness exec -- id
`
