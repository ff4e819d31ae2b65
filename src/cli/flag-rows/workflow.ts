/** Flows: the document, how it is walked, how a plan is shown. */
import { built, type Flag, once } from './row.js'

export const WORKFLOW_FLAGS: readonly Flag[] = [
  ...built(
    ['workflow-plan', 'workflow-run'],
    [
      ['--flow', 'FILE', 'the flow: a .yaml, .yml or .json document (required)', once],
      ['--max-attempts', 'N', 'try no section more than N times, whatever its repeat says'],
    ],
  ),
  ...built(
    ['workflow-plan'],
    [
      [
        '--format',
        'FORMAT',
        'text (default), json, mermaid or dot (Graphviz)',
        { choices: ['text', 'json', 'mermaid', 'dot'] },
      ],
      ['--json', null, 'same as --format json', { conflicts: ['--format'] }],
    ],
  ),
  ...built(
    ['workflow-run'],
    [
      ['--input', 'TEXT', 'the task of the flow (required; a flow that is resumed keeps its own)'],
      ['--resume', 'FLOW_ID', 'go on with a flow that was cut, cancelled or paused', { conflicts: ['--input'] }],
      ['--flow-parallel', 'N', 'steps at one time at most, where their write sets do not meet (default 4)'],
    ],
  ),
]
