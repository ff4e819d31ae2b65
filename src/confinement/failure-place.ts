/** Where a launcher has failed, read when that has happened: what a fix has to name is asked of the machine only then. */
import { mountOf } from '../paths/mounts.js'
import type { FailurePlace } from './failure-table.js'
import { type HostView, readSurroundings, realHost } from './surroundings.js'
import type { HostFacts } from './types.js'

export function failurePlace(
  { bwrap, installHint }: Pick<HostFacts, 'bwrap' | 'installHint'>,
  view: HostView = realHost,
): FailurePlace {
  const { engine, mounts } = readSurroundings(view)
  return {
    engine,
    bwrap: bwrap?.path ?? null,
    installHint,
    mountOf(path) {
      const mount = mountOf(path, mounts)
      return mount === null ? null : { point: mount.point, type: mount.type }
    },
  }
}
