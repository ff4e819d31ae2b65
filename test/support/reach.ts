/** A file reach over a workspace folder, with everything else closed. */
import { Refusal } from '../../src/errors.js'
import { NO_CONTROL_FILES } from '../../src/paths/control-files.js'
import { protectedNames } from '../../src/paths/protected-names.js'
import { type LandedPlace, landPlace } from '../../src/paths/resolve.js'
import type { FileReach } from '../../src/tools/folders.js'

export function placeOf(path: string): LandedPlace {
  const place = landPlace(path, { cwd: '/' })
  if (place instanceof Refusal) throw place
  return place
}

export function reachOf(workspace: string, change: Partial<FileReach> = {}): FileReach {
  return {
    workspace: placeOf(workspace),
    reads: [],
    hides: [],
    protects: [],
    protectedNames: protectedNames(),
    controlFiles: NO_CONTROL_FILES,
    homes: [],
    gitSettings: [],
    writeScopeLayers: [],
    canWrite: true,
    ...change,
  }
}
