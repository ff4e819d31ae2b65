/** What the folder checker judges the folders of a launch by, from the policy. Made once per run; the checker looks anew each time. */
import { Refusal } from '../errors.js'
import { indexControlFiles } from '../paths/control-files.js'
import type { LaunchFolderRules } from '../paths/launch-folders.js'
import { protectedNames } from '../paths/protected-names.js'
import { landPlace } from '../paths/resolve.js'
import type { HostFacts, Policy, PolicyRequest } from './types.js'

/** Any folder code where a control file or the home folder cannot be landed: unknown is not outside. */
export function launchFolderRules(
  policy: Policy,
  { unprotect }: Pick<PolicyRequest, 'unprotect'>,
  facts: HostFacts,
): LaunchFolderRules | Refusal {
  const controlFiles = indexControlFiles(policy.controlFiles, process.cwd())
  if (controlFiles instanceof Refusal) return controlFiles
  const home = facts.homes.length === 0 ? null : landPlace(facts.home, { cwd: '/' })
  if (home instanceof Refusal) return home
  const cacheControls = indexControlFiles(
    policy.controlFiles.filter(file => file.holdsCaches !== true),
    process.cwd(),
  )
  if (cacheControls instanceof Refusal) return cacheControls
  return {
    cache: policy.cache === null ? null : { place: policy.cache, controlFiles: cacheControls },
    cwd: policy.workspace.path,
    enterable: [policy.workspace, ...policy.reads],
    grantable: [policy.workspace],
    protects: policy.protects,
    protectedNames: protectedNames(unprotect),
    hidden: [...policy.hides, ...policy.hiddenElsewhere],
    controlFiles,
    home,
  }
}
