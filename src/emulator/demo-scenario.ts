/**
 * The built-in scenario of `--provider demo`: a model that looks around in the sample workspace, and, with the tools
 * for it, finds a bug with the project's own test, mends it, and once reaches for a file outside, to meet the refusal.
 * It plays against the tools that the first request publishes, so the same model shows what a narrower run can do.
 */
import type { JsonObject } from '../json.js'
import type { Scenario, ScenarioTurn } from './scenario.js'

interface Step {
  /** Tools that must all be published for this step to be played. */
  readonly needs: readonly string[]
  /** Tools of which none may be published. */
  readonly unless?: readonly string[]
  readonly says: string
  readonly calls: readonly { readonly name: string; readonly arguments: JsonObject }[]
}

const RUN_TEST = { name: 'run', arguments: { argv: ['node', '--test'] } } as const

/** In order. A step whose tools are not all published is left out. */
const STEPS: readonly Step[] = [
  {
    needs: ['dir_list'],
    says: 'I look at what is here.',
    calls: [{ name: 'dir_list', arguments: { path: '.' } }],
  },
  {
    needs: ['file_read'],
    says: 'The program and its test are short; I read both.',
    calls: [
      { name: 'file_read', arguments: { path: 'greet.mjs' } },
      { name: 'file_read', arguments: { path: 'greet.test.mjs' } },
    ],
  },
  { needs: ['run', 'file_edit'], says: 'I run the test before I change anything.', calls: [RUN_TEST] },
  {
    needs: ['file_edit'],
    says: 'The greeting lacks its exclamation mark. I add it.',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the text of the sample program
    calls: [{ name: 'file_edit', arguments: { path: 'greet.mjs', old: '`Hello, ${name}`', new: '`Hello, ${name}!`' } }],
  },
  { needs: ['run', 'file_edit'], says: 'I run the test again.', calls: [RUN_TEST] },
  { needs: ['run'], unless: ['file_edit'], says: 'I run the test.', calls: [RUN_TEST] },
  {
    needs: ['file_write'],
    says: 'Last, I try a file outside the workspace, which should be refused.',
    calls: [{ name: 'file_write', arguments: { path: '../outside.txt', text: 'written from inside\n' } }],
  },
]

/** The demo for these published tools; always ends with an answer that names what was done. */
export function demoScenario(published: readonly string[]): Scenario {
  const verbs = published.includes('tool_invoke')
  const tools = verbs ? ALWAYS_THERE : published
  const steps = stepsFor(tools).map(step => (verbs ? throughVerb(step) : step))
  const turns = steps.map((step, index) => turnOf(step, index, steps[index - 1]))
  const reply = { text: answerFor(tools), usage: usageAt(turns.length) }
  return {
    version: 1,
    model: 'demo',
    turns: [...turns, { ...expectOf(steps.at(-1)), reply }],
    // biome-ignore lint/suspicious/noThenProperty: the document's own key
    then: 'repeat-last', // oxlint-disable-line unicorn/no-thenable
  }
}

/** Under the verbs surface the entries are not published by name; these need no grant. */
const ALWAYS_THERE: readonly string[] = ['dir_list', 'file_read']

function throughVerb(step: Step): Step {
  const calls = step.calls.map(call => ({ name: 'tool_invoke', arguments: { ...call } }))
  return { ...step, calls }
}

function stepsFor(tools: readonly string[]): readonly Step[] {
  return STEPS.filter(
    step => step.needs.every(tool => tools.includes(tool)) && !step.unless?.some(tool => tools.includes(tool)),
  )
}

function turnOf(step: Step, index: number, before: Step | undefined): ScenarioTurn {
  return { ...expectOf(before), reply: { text: `${step.says}\n`, calls: step.calls, usage: usageAt(index) } }
}

/** The results of the step before have to be there, failed or not: the demo goes on over a refusal as a model does. */
function expectOf(before: Step | undefined): Pick<ScenarioTurn, 'expect'> {
  return before ? { expect: { results: before.calls.map(call => ({ call: call.name })) } } : {}
}

/** Figures that grow as a conversation does, most of it cached after the first turn. */
function usageAt(index: number): { input: number; output: number; cached: number } {
  return { input: 900 + 220 * index, output: 40, cached: index === 0 ? 0 : 680 + 220 * index }
}

function answerFor(tools: readonly string[]): string {
  const did = [
    ...(tools.includes('dir_list') ? ['I listed the workspace'] : []),
    ...(tools.includes('file_read') ? ['I asked to read greet.mjs and its test'] : []),
    ...(tools.includes('file_edit') ? ['I asked to add the missing exclamation mark in greet.mjs'] : []),
    ...(tools.includes('run') ? ["I asked for the project's own test to be run"] : []),
    ...(tools.includes('file_write') ? ['I tried to write ../outside.txt, outside the workspace'] : []),
  ]
  const lacking = ['file_edit', 'run', 'file_write'].filter(tool => !tools.includes(tool))
  const withheld =
    lacking.length === 0
      ? ''
      : ` I was not given ${lacking.join(', ')}, so I changed and ran only what the others allow.`
  return `${did.length === 0 ? 'I was given no tools, so I did nothing' : did.join('; ')}.${withheld} The record says how each call ended.`
}
