/** A scenario played request by request: which turn is next, whether the request is what it expects. Pure. */
import { defaultCallId } from './played.js'
import type { PlayedRequest } from './request.js'
import type { Scenario, ScenarioFault, ScenarioReply, ScenarioTurn } from './scenario.js'

export interface PlayState {
  /** Turns played so far. */
  readonly played: number
}

export const AT_THE_START: PlayState = { played: 0 }

export type Plan =
  | { readonly kind: 'reply'; readonly turn: number; readonly reply: ScenarioReply; readonly fault: ScenarioFault }
  /** `turn` counts from 1. The request is answered with 400; its turn waits for a request that fits. */
  | { readonly kind: 'mismatch'; readonly turn: number; readonly difference: string }

/** What one legal request gets. */
export function playRequest(
  scenario: Scenario,
  state: PlayState,
  request: PlayedRequest,
): { readonly state: PlayState; readonly plan: Plan } {
  const number = state.played + 1
  const beyond = state.played >= scenario.turns.length
  const turn = scenario.turns[Math.min(state.played, scenario.turns.length - 1)]
  if (!turn || (beyond && scenario.then !== 'repeat-last')) {
    const difference = `the scenario has ${scenario.turns.length} turn(s) and no more`
    return { state, plan: { kind: 'mismatch', turn: number, difference } }
  }
  // A repeated turn was met once; what it expects of the results before it would no longer be the latest.
  const differences = beyond ? [] : compare(turn.expect ?? {}, request)
  if (differences.length > 0) {
    return { state, plan: { kind: 'mismatch', turn: number, difference: differences.join('; ') } }
  }
  const reply = unusedCallIds(beyond ? withoutCallIds(turn.reply) : turn.reply, number, request)
  const plan: Plan = { kind: 'reply', turn: number, reply, fault: turn.fault ?? {} }
  return { state: { played: number }, plan }
}

/** A repeated call is another call: under its written id the conversation would hold two of one id. */
function withoutCallIds({ calls, ...reply }: ScenarioReply): ScenarioReply {
  return calls ? { ...reply, calls: calls.map(call => ({ name: call.name, arguments: call.arguments })) } : reply
}

/** A conversation that is resumed has been played before: an id that we would give by turn and place may be in it. */
function unusedCallIds({ calls, ...reply }: ScenarioReply, turn: number, request: PlayedRequest): ScenarioReply {
  if (!calls) return reply
  const used = new Set(request.calls.map(({ id }) => id))
  const named = calls.map((call, index) => {
    const given = defaultCallId(turn, index)
    if (call.id !== undefined || !used.has(given)) return call
    let again = 2
    while (used.has(`${given}_${again}`)) again += 1
    return { ...call, id: `${given}_${again}` }
  })
  return { ...reply, calls: named }
}

function compare(expect: NonNullable<ScenarioTurn['expect']>, request: PlayedRequest): readonly string[] {
  const texts = typeof expect.contains === 'string' ? [expect.contains] : (expect.contains ?? [])
  const missingTexts = texts.filter(text => !request.texts.some(one => one.includes(text)))
  const missingTools = (expect.tools ?? []).filter(tool => !request.tools.includes(tool))
  return [
    ...missingTexts.map(text => `nothing in the request contains ${JSON.stringify(text)}`),
    ...missingTools.map(tool => `the tool ${tool} is not published (${request.tools.join(', ') || 'none is'})`),
    ...(expect.results ?? []).flatMap(result => compareResult(result, request)),
  ]
}

type ExpectedResult = NonNullable<NonNullable<ScenarioTurn['expect']>['results']>[number]

function compareResult(expected: ExpectedResult, request: PlayedRequest): readonly string[] {
  const call = request.calls.findLast(one => one.id === expected.call || one.name === expected.call)
  const result = request.results.find(one => one.callId === call?.id)
  if (!result) return [`there is no result of ${expected.call}`]
  const shown = result.text.length > 300 ? `${result.text.slice(0, 300)}…` : result.text
  return [
    ...(expected.failed === undefined || expected.failed === result.failed
      ? []
      : [`the result of ${expected.call} ${result.failed ? 'failed' : 'did not fail'}: ${shown}`]),
    ...(expected.contains === undefined || result.text.includes(expected.contains)
      ? []
      : [`the result of ${expected.call} does not contain ${JSON.stringify(expected.contains)}: ${shown}`]),
  ]
}
