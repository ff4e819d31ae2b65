/**
 * The library: plan a confinement, launch, bound, kill, check folders. Named exports only; what is not here is not
 * public. Every launch goes through the folder checker: `launch` takes a verdict that only it can make.
 */
export { type Boundary, openBoundary } from './confinement/boundary.js'
export { explainPolicy } from './confinement/explain.js'
export { readHostFacts as probeHost } from './confinement/host-facts.js'
export { launch } from './confinement/launch.js'
export { planLaunch } from './confinement/launch-plan.js'
export { landPolicy } from './confinement/policy.js'
export type { ConfineChoice, ControlFile, HostFacts, LaunchPlan, Policy, PolicyRequest } from './confinement/types.js'
export { isRefusal, Refusal, type RefusalCode, type RefusalDetails } from './errors.js'
export type { HarnessEvent } from './events.js'
export { gatherHookHost, type HookHost, type HookHostRequest } from './hooks/hook-host.js'
export { loadHooks } from './hooks/load.js'
export type { Consulted, HookedCall, HookMoment, HookPort } from './hooks/port.js'
export { type PreparedHooks, type PrepareRequest, prepareHooks } from './hooks/prepare.js'
export { type HookRunOptions, hookPort } from './hooks/run.js'
export type { AppliedConfinement, Captured, Ending, Guarantee, Outcome } from './outcome.js'
export { realFiles } from './paths/file-view.js'
export { checkLaunchFolders, LaunchFolders } from './paths/launch-folders.js'
export { checkWritableFolder, type FolderRules, type WritableVerdict } from './paths/writable-folder.js'
export { renderCaptured } from './supervise/bounded-output.js'
export { closeInherited } from './supervise/descriptors.js'
