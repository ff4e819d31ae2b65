/** Events of the walk of a flow: a part of the union in `events.ts`, under its rules for keys and kinds. */
import type { JsonObject } from './json.js'

/**
 * Of the walk of a flow (contract §22). `path` joins ids with dots, from the root. What runs in a step is told between its
 * `step-started` and its `step-finished`, also where sections run side by side: the record has the order of the document.
 */
export type FlowEvent =
  | {
      readonly kind: 'flow-started'
      readonly flow: string
      /** Begins the names of its sessions; `workflow run --resume` takes it. */
      readonly flow_id: string
      readonly steps: number
      /** What stands from before: steps that are over, and those that were cut and are begun anew. Absent: it is new. */
      readonly resumed?: { readonly steps: number; readonly cut: readonly string[] }
    }
  /** `layers`: how many. */
  | {
      readonly kind: 'group-entered'
      readonly path: string
      readonly layers: number
      readonly attempt: number
      readonly of: number
    }
  | { readonly kind: 'layer-ready'; readonly path: string; readonly nodes: readonly string[] }
  | { readonly kind: 'step-started'; readonly path: string }
  /** `note`: the model's words, or how the command ended; absent: none. */
  | { readonly kind: 'step-finished'; readonly path: string; readonly failed: boolean; readonly note?: string }
  /** `because`: a need that failed or was skipped itself, or what else kept it from running. */
  | { readonly kind: 'node-skipped'; readonly path: string; readonly because: string }
  /** `attempt`: the one that begins. */
  | { readonly kind: 'group-repeating'; readonly path: string; readonly attempt: number; readonly of: number }
  | { readonly kind: 'handoff-incomplete'; readonly path: string; readonly missing: readonly string[] }
  | {
      readonly kind: 'transition-refused'
      readonly path: string
      readonly moment: 'enter' | 'leave'
      readonly attempt: number
      readonly reason: string
    }
  | {
      readonly kind: 'group-left'
      readonly path: string
      readonly failed: boolean
      /** What it hands on; absent where it has nothing to give, or failed. */
      readonly gave?: JsonObject
      readonly attempts: number
      /** It failed and no attempt is left. */
      readonly exhausted: boolean
    }
  /** Figures are of the whole flow, over all times it was resumed; steps are counted once for each attempt. */
  | {
      readonly kind: 'flow-finished'
      readonly flow: string
      readonly ran: number
      readonly failed: number
      readonly skipped: number
      readonly retreats: number
      readonly clean: boolean
    }
  | {
      readonly kind: 'flow-paused'
      readonly flow: string
      readonly path: string
      /** The prompt of the operator's step. */
      readonly reason: string
      /** Steps that are over. */
      readonly reached: number
      readonly failed: number
      readonly skipped: number
      readonly retreats: number
    }
