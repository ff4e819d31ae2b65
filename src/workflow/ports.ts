/** What a walk needs of the run it is part of: sections with their conversations, steps with their reach, the operator's hooks. */
import type { Refusal } from '../errors.js'
import type { Emit } from '../events.js'
import type { HookPort } from '../hooks/port.js'
import type { ConversationOptions } from '../loop/run-state.js'
import type { ToolPort } from '../tools/port.js'
import type { Item } from '../wires/port.js'

export interface SectionRequest {
  /** `<flow>.root.<attempt>.<group>.<attempt>…`: the name of its session. */
  readonly session: string
  /** Items of that session that count; null: it begins. */
  readonly keep: number | null
}

/** The conversation of one attempt of a section. */
export interface OpenedSection {
  /** To go on with. */
  readonly items: readonly Item[]
  /** What belongs to the session: its journal, the delegates that keep theirs below it. */
  readonly options: Pick<ConversationOptions, 'journal' | 'delegates'>
  /** Of the session that was filed; null: none was. */
  filed(): { readonly id: string; readonly path: string } | null
  close(): void
}

export interface OpenedStep {
  readonly tools: ToolPort
  /** For the record, when the step has started. */
  readonly warnings: readonly string[]
  /** Ends what the step was held by; a line for each protected place that its launches have changed. */
  close(): Promise<readonly string[]>
}

export interface FlowHost {
  /** Of every step, but for what a section or a step has of its own. */
  readonly options: Omit<ConversationOptions, 'emit' | 'journal' | 'items' | 'hooks' | 'delegates' | 'answer'>
  /** False: nothing can be written in this run, so no two nodes can meet. */
  readonly canWrite: boolean
  /** Throws a refusal where the session cannot be kept or gone on with. */
  openSection(request: SectionRequest): OpenedSection
  /** The tools under a step's scope; with an empty one those of the run. Throws a refusal where its boundary cannot be had. */
  openStep(scope: readonly string[], emit: Emit): Promise<OpenedStep>
  /** Hooks that are told of this session (null: none is kept). Absent: there are no hooks. */
  readonly hooks?: (session: string | null) => HookPort
  /** True where sessions are kept. */
  readonly keepsSessions: boolean
  /** The first `bytesMax` bytes of a file of the workspace, as the file tools may read it. */
  readContext(path: string, bytesMax: number): Buffer | Refusal
}
