/** One side of a section under the operator's hooks (contract §16.4): closed, so a governor that does not answer has refused. */
import type { SectionCrossing } from '../hooks/port.js'
import { isHalted, type Place, sessionName, tell, type Walking } from './walking.js'

export type Crossed =
  | { readonly kind: 'crossed' }
  | { readonly kind: 'refused'; readonly reason: string }
  | { readonly kind: 'halted' }

export interface Crossing extends Omit<SectionCrossing, 'flow'> {
  /** Of the attempt. */
  readonly key: string
}

export async function cross(walking: Walking, place: Place, { key, ...crossing }: Crossing): Promise<Crossed> {
  const { hooks, host, flow, stopping, flowId } = walking
  if (hooks === undefined) return { kind: 'crossed' }
  const { decision } = await hooks(host.keepsSessions ? sessionName(flowId, key) : null).transition(
    { flow: flow.id, ...crossing },
    {
      turn: 0,
      model: host.options.requestedModel,
      delegate: null,
      signal: stopping.signal,
      emit: event => tell(walking, place, event),
    },
  )
  // A hook that was ended with the walk has not refused: the crossing is tried again when the flow is resumed.
  if (stopping.cause() !== null && isHalted(walking)) return { kind: 'halted' }
  if (decision.kind === 'proceed') return { kind: 'crossed' }
  const { moment, attempt, path } = crossing
  tell(walking, place, { kind: 'transition-refused', path, moment, attempt, reason: decision.reason })
  return { kind: 'refused', reason: decision.reason }
}
