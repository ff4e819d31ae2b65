/** What the file tools may reach: from the landed policy where a boundary stands, from the flags alone where none does. */
import type { GitUser } from '../confinement/machine-facts.js'
import { landAsked, landHides } from '../confinement/policy-hides.js'
import { everyHome } from '../confinement/policy-host.js'
import { refuseWritableLinks } from '../confinement/policy-reach.js'
import type { HostFacts, LandedRule, Policy, PolicyRequest } from '../confinement/types.js'
import { Refusal } from '../errors.js'
import { indexControlFiles, NO_CONTROL_FILES } from '../paths/control-files.js'
import { enterRefusal } from '../paths/folder-checks.js'
import { protectedNames } from '../paths/protected-names.js'
import { type Landing, land, missing } from '../paths/resolve.js'
import { parseWriteScope } from '../paths/write-scope.js'
import type { FileReach } from '../tools/folders.js'

export interface ReachOptions {
  readonly request: PolicyRequest
  /** Null: no boundary, so nothing is written. */
  readonly policy: Policy | null
  /** `GLOB=SCOPE` as given, in order. */
  readonly writeScope: readonly string[]
  readonly cwd: string
  readonly facts: GitUser & Pick<HostFacts, 'pointedPlaces'>
}

/** Throws the refusal of the first path or rule that cannot be honoured. */
export function fileReach({ request, policy, writeScope, cwd, facts }: ReachOptions): FileReach {
  const controls = indexControlFiles(request.controlFiles, cwd)
  if (controls instanceof Refusal) throw controls
  const { workspace, reads, hides, hiddenElsewhere } = policy ?? readingOnly(request, cwd, facts)
  return {
    workspace,
    reads,
    hides: [...hides, ...hiddenElsewhere],
    // A file tool is no git: what the grant opens is git's to write.
    protects: [...(policy?.protects ?? []), ...(policy?.gitOpen ?? [])],
    protectedNames: protectedNames(request.unprotect),
    controlFiles: policy === null ? NO_CONTROL_FILES : controls,
    homes: facts.homes,
    gitSettings: facts.gitSettings,
    writeScopeLayers: [writeScope.map(parseWriteScope)],
    canWrite: policy !== null,
  }
}

type Reading = Pick<Policy, 'workspace' | 'reads' | 'hides' | 'hiddenElsewhere'>

/** Without a boundary the same is hidden as with one: what `--hide` names, and the secrets of what is opened. */
function readingOnly(request: PolicyRequest, cwd: string, facts: ReachOptions['facts']): Reading {
  const workspace = workspaceRule(request.workspace, cwd)
  refuseWritableLinks(request, workspace, [])
  const reads = [workspace, ...request.read.map(path => ruleOf(path, `--read ${path}`, cwd))]
  const asked = landAsked(
    request.hide,
    reads.map(rule => rule.path),
  )
  const { controlFiles } = request
  const { hides, elsewhere } = landHides({
    asked,
    reads,
    opened: [],
    system: [],
    homes: request.read.length === 0 ? facts.homes : everyHome(facts),
    credentials: [],
    controlFiles,
    pointed: facts.pointedPlaces,
    launchUid: null,
  })
  return { workspace, reads, hides, hiddenElsewhere: elsewhere }
}

function ruleOf(path: string, source: string, cwd: string): LandedRule {
  const landing = land(path, { cwd })
  if (landing instanceof Refusal) throw landing
  if (!landing.exists) throw missing(landing)
  const { landed, identity, type } = landing
  return { path: landed, source, identity, type: type === 'folder' ? 'folder' : 'file' }
}

function workspaceRule(path: string, cwd: string): LandedRule {
  const why = whyUnusable(land(path, { cwd }))
  if (why === null) return ruleOf(path, `--workspace ${path}`, cwd)
  throw new Refusal(
    'workspace-unusable',
    { path, why },
    `the workspace ${path} cannot be used: ${why}; give a folder with --workspace DIR`,
  )
}

function whyUnusable(landing: Landing | Refusal): string | null {
  if (landing instanceof Refusal) return landing.message
  if (!landing.exists) return 'it does not exist'
  if (landing.type !== 'folder') return `it is a ${landing.type}`
  return enterRefusal(landing) === null ? null : 'this user may not enter it'
}
