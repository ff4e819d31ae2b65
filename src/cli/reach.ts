/** What the file tools may reach: from the landed policy where a boundary stands, from the flags alone where none does. */
import type { Policy, PolicyRequest } from '../confinement/types.js'
import { Refusal } from '../errors.js'
import { indexControlFiles, NO_CONTROL_FILES } from '../paths/control-files.js'
import { protectedNames } from '../paths/protected-names.js'
import { type LandedPlace, land, landPlace } from '../paths/resolve.js'
import { parseWriteScope } from '../paths/write-scope.js'
import type { FileReach } from '../tools/folders.js'

export interface ReachOptions {
  readonly request: PolicyRequest
  /** Null: no boundary, so nothing is written. */
  readonly policy: Policy | null
  /** `GLOB=SCOPE` as given, in order. */
  readonly writeScope: readonly string[]
  readonly cwd: string
}

/** Throws the refusal of the first path or rule that cannot be honoured. */
export function fileReach({ request, policy, writeScope, cwd }: ReachOptions): FileReach {
  const controls = indexControlFiles(request.controlFiles, cwd)
  if (controls instanceof Refusal) throw controls
  return {
    workspace: policy?.workspace ?? workspacePlace(request.workspace, cwd),
    reads: policy?.reads ?? request.read.map(path => placeOf(path, cwd)),
    hides: policy?.hides ?? request.hide.map(path => placeOf(path, cwd)),
    protects: policy?.protects ?? [],
    protectedNames: protectedNames(request.unprotect),
    controlFiles: policy === null ? NO_CONTROL_FILES : controls,
    writeScopeLayers: [writeScope.map(parseWriteScope)],
    canWrite: policy !== null,
  }
}

function placeOf(path: string, cwd: string): LandedPlace {
  const place = landPlace(path, { cwd })
  if (place instanceof Refusal) throw place
  return place
}

function workspacePlace(path: string, cwd: string): LandedPlace {
  const landing = land(path, { cwd })
  const why =
    landing instanceof Refusal
      ? landing.message
      : !landing.exists
        ? 'it does not exist'
        : landing.type === 'folder'
          ? null
          : `it is a ${landing.type}`
  if (why === null && !(landing instanceof Refusal)) return { path: landing.landed, identity: landing.identity }
  throw new Refusal(
    'workspace-unusable',
    { path, why: why ?? '' },
    `the workspace ${path} cannot be used: ${why}; give a folder with --workspace DIR`,
  )
}
