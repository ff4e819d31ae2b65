/** Flows walked without a run around them: a model and a program that are functions of the step, sessions in memory. */
import { Refusal } from '../../src/errors.js'
import type { HarnessEvent } from '../../src/events.js'
import type { HookPort } from '../../src/hooks/port.js'
import type { JsonObject } from '../../src/json.js'
import type { Budget } from '../../src/loop/budget.js'
import type { RateCard } from '../../src/loop/rates.js'
import type { ConversationOptions, Journal } from '../../src/loop/run-state.js'
import type { ToolOutcome } from '../../src/tools/port.js'
import type { Item, ModelPort, TurnOutcome, TurnRequest } from '../../src/wires/port.js'
import type { FlowLine } from '../../src/workflow/flow-lines.js'
import type { FlowJournal } from '../../src/workflow/journal.js'
import { parseFlow } from '../../src/workflow/parse.js'
import { Past } from '../../src/workflow/past.js'
import type { FlowHost, SectionRequest } from '../../src/workflow/ports.js'
import { type FlowEnd, walkFlow } from '../../src/workflow/walk.js'
import { recorded, replies, type Step, scriptedModel, scriptedTools } from './loop.js'
import { eventProblem } from './schemas.js'

/** What the model does at a step: an answer's fields, or any turn. `n`: how often it was asked at this path, from 1. */
export type Model = (asked: {
  readonly path: string
  readonly n: number
  readonly request: TurnRequest
  readonly input: string
}) => JsonObject | Step | Promise<JsonObject | Step>

/** What a program does: an exit status, or a whole outcome. */
export type Program = (
  argv: readonly string[],
  signal: AbortSignal,
) => number | ToolOutcome | Promise<number | ToolOutcome>

export interface Scene {
  readonly flow: string
  readonly model?: Model
  readonly program?: Program
  readonly hooks?: HookPort
  readonly budget?: Budget
  readonly rates?: RateCard
  readonly parallel?: number
  readonly files?: Readonly<Record<string, string | Refusal>>
  readonly canWrite?: boolean
  readonly past?: readonly FlowLine[]
  /** Of earlier walks. */
  readonly sessions?: Map<string, Item[]>
  readonly signal?: AbortSignal
  readonly options?: Partial<ConversationOptions>
  /** Asked at each settle; a refusal is what came of it. */
  readonly settle?: (lines: readonly FlowLine[]) => Refusal | null
}

export interface Walked {
  readonly end: FlowEnd
  readonly events: readonly HarnessEvent[]
  /** The walk alone: events of flows as short lines. */
  readonly walk: readonly string[]
  readonly lines: readonly FlowLine[]
  readonly sections: readonly SectionRequest[]
  readonly sessions: Map<string, Item[]>
  /** Inputs of the steps of the model, by path. */
  readonly inputs: ReadonlyMap<string, readonly string[]>
  readonly scopes: readonly (readonly string[])[]
  /** What happened when it happened, as `path kind`. */
  readonly live: readonly string[]
}

const PASSED: JsonObject = { outcome: 'passed' }
const STEP = /This is step (\S+) of the flow/g

/** A flow in YAML whose root has these lines as its nodes. */
export function flowOf(...nodes: readonly string[]): string {
  return ['id: f', 'root:', '  id: root', '  nodes:', ...nodes.map(node => `    ${node}`), ''].join('\n')
}

export async function walkScene(scene: Scene): Promise<Walked> {
  const events: HarnessEvent[] = []
  const lines: FlowLine[] = [...(scene.past ?? [])]
  const sections: SectionRequest[] = []
  const sessions = scene.sessions ?? new Map<string, Item[]>()
  const inputs = new Map<string, string[]>()
  const scopes: (readonly string[])[] = []
  const live: string[] = []
  const { options } = recorded(modelOf(scene.model ?? (() => PASSED), inputs), toolsOf(scene.program ?? (() => 0)), {
    riskCeiling: 'destructive',
    budget: scene.budget ?? {},
    ...(scene.rates === undefined ? {} : { rates: scene.rates }),
    ...scene.options,
  })
  const { emit: _, input: __, signal: ___, hooks: ____, ...base } = options
  const { hooks } = scene
  const host: FlowHost = {
    options: base,
    canWrite: scene.canWrite ?? true,
    keepsSessions: true,
    ...(hooks === undefined ? {} : { hooks: () => hooks }),
    openSection: request => {
      sections.push(request)
      const items = (sessions.get(request.session) ?? []).slice(0, request.keep ?? 0)
      sessions.set(request.session, items)
      return {
        items: [...items],
        options: { journal: journalOf(items) },
        filed: () => ({ id: request.session, path: `/sessions/${request.session}` }),
        close: () => {},
      }
    },
    openStep: async scope => {
      scopes.push(scope)
      return { tools: options.tools, warnings: [], close: async () => [] }
    },
    readContext: path => {
      const file = scene.files?.[path]
      if (typeof file === 'string') return Buffer.from(file)
      return file ?? new Refusal('missing', { path }, `${path} does not exist`)
    },
  }
  const journal: FlowJournal = {
    push: line => void lines.push(line),
    settle: async () => scene.settle?.(lines) ?? null,
  }
  const end = await walkFlow({
    flow: parseFlow(Buffer.from(scene.flow), 'flow.yaml'),
    flowId: 'F',
    input: 'the task',
    host,
    journal,
    past: new Past(scene.past),
    resumed: scene.past !== undefined,
    parallel: scene.parallel ?? 1,
    signal: scene.signal ?? new AbortController().signal,
    emit: event => {
      const problem = eventProblem(event)
      if (problem !== null) throw new Error(problem)
      events.push(event)
    },
    live: (path, { kind }) => void live.push(`${path} ${kind}`),
  })
  return { end, events, walk: events.flatMap(walkLine), lines, sections, sessions, inputs, scopes, live }
}

function modelOf(model: Model, inputs: Map<string, string[]>): ModelPort {
  const asked = new Map<string, number>()
  return {
    ...scriptedModel([]),
    turn: async (request, seams): Promise<TurnOutcome> => {
      const text = request.items.flatMap(item => (item.kind === 'user-text' ? [item.text] : []))
      const path = [...text.join('\n').matchAll(STEP)].at(-1)?.[1] ?? ''
      const input = text.findLast(one => one.includes(`This is step ${path} `)) ?? ''
      const n = (asked.get(path) ?? 0) + 1
      asked.set(path, n)
      inputs.set(path, [...(inputs.get(path) ?? []), input])
      const came = await model({ path, n, request, input })
      const step =
        typeof came === 'function'
          ? came
          : replies({ calls: [{ id: `answer-${path}-${n}`, name: 'answer', args: came }] })
      return step(request, seams)
    },
  }
}

function toolsOf(program: Program) {
  return scriptedTools({
    run: {
      envelope: { effects: ['process'], risk: 'high', idempotency: 'non_idempotent', access: ['process'] },
      run: async ({ argv }, { signal }) => {
        const came = await program(argv as readonly string[], signal)
        return typeof came === 'number'
          ? { output: { argv: argv ?? [], exit: came, stdout: '', stderr: '' }, failed: false }
          : came
      },
    },
  })
}

function journalOf(items: Item[]): Journal {
  return { item: item => void items.push(item), turn: () => {}, end: () => {}, settle: async () => null }
}

type Told = {
  readonly [Kind in HarnessEvent['kind']]?: (event: Extract<HarnessEvent, { kind: Kind }>) => string | null
}

const TOLD: Told = {
  'group-entered': e => `enter ${e.path} ${e.attempt}/${e.of}`,
  'step-started': e => `step ${e.path}`,
  'step-finished': e => `${e.failed ? 'failed' : 'passed'} ${e.path}`,
  'node-skipped': e => `skip ${e.path} (${e.because})`,
  'group-repeating': e => `again ${e.path} ${e.attempt}/${e.of}`,
  'handoff-incomplete': e => `incomplete ${e.path} ${e.missing.join(',')}`,
  'transition-refused': e => `refused ${e.path} ${e.moment} ${e.attempt}: ${e.reason}`,
  'group-left': e => {
    const gave = e.gave === undefined ? '' : ` ${JSON.stringify(e.gave)}`
    return `leave ${e.path} ${e.failed ? 'failed' : 'clean'} ${e.attempts}${e.exhausted ? ' exhausted' : ''}${gave}`
  },
  'flow-finished': e =>
    `end ran ${e.ran} failed ${e.failed} skipped ${e.skipped} retreats ${e.retreats} ${e.clean ? 'clean' : 'not clean'}`,
  'flow-paused': e => `paused ${e.path}: ${e.reason}`,
  finished: e => (e.stop.kind === 'cancelled' ? `finished ${e.stop.kind}` : null),
  failed: e => `broke ${e.code}`,
  warning: e => `warning ${e.code}`,
}

/** An event of the walk as a short line; others are left out. */
function walkLine(event: HarnessEvent): string[] {
  const told = TOLD[event.kind] as ((event: HarnessEvent) => string | null) | undefined
  const line = told?.(event) ?? null
  return line === null ? [] : [line]
}
