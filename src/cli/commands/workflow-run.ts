/** `harness workflow run`. */
import { Refusal } from '../../errors.js'

export async function workflowRun(): Promise<number> {
  throw new Refusal('not-built-yet', { option: 'harness workflow run' }, 'harness workflow run is not built yet')
}
