/**
 * The facts of one audit, gathered once and shared by every rule: who we are, what the agent can write, the PATH and HOME
 * that hooks get, and for each hook its closure with what can be changed in it. Rules look here and ask nothing themselves
 * but the content of scripts.
 */
import { SCRIPT_BYTES_MAX } from '../bounds.js'
import { type Closure, type ClosureMember, closureOf } from '../hooks/closure.js'
import type { HookSpec, HooksDocument } from '../hooks/hook-spec.js'
import type { Identities } from '../hooks/identities.js'
import type { ScrubbedPath } from '../hooks/path-scrub.js'
import { type ProgramHost, programHost } from '../hooks/program.js'
import { openLanded, type PathStep, type StepWalk, walkSteps } from '../hooks/steps.js'
import { type Judgement, judgeWalk, type LastRole, type TrustRules } from '../hooks/trust.js'
import { type Reach, reachOf, type WriteSet } from '../hooks/write-set.js'
import { askingOnce, type FileView, isUnseen, type Unseen } from '../paths/file-view.js'
import { FIRST_BYTES, type Machine } from '../supervise/program-format.js'

/** `strict`: no group is allowed for and what is not understood is an error. `report`: everything is a note. */
export type Profile = 'default' | 'strict' | 'report'

/** What the run would judge by; `makeAuditContext` turns it into facts. */
export interface AuditInputs {
  readonly document: Pick<HooksDocument, 'path' | 'folder' | 'hooks'>
  readonly view: FileView
  readonly trust: TrustRules
  readonly writeSet: WriteSet
  /** As hooks get it. */
  readonly path: ScrubbedPath
  /** What hooks get beside PATH, complete: HOME, TMPDIR, locale, constants. Names of `env` in the file are added by each hook. */
  readonly environment: Readonly<Record<string, string>>
  readonly machine: Machine
  readonly profile: Profile
}

export interface AuditContext extends AuditInputs {
  /** Asks each path once. `view` in the inputs is asked anew. */
  readonly once: FileView
  readonly ids: Identities
  readonly host: ProgramHost
  readonly home: string | null
  readonly fileWalk: StepWalk
  /** How a walk is judged, and whether it reaches into the write set; each walk once. */
  judge(walk: StepWalk, last?: LastRole): Judgement
  reach(walk: StepWalk): Reach | null
  walk(path: string): StepWalk
  /** The first bytes of a file that was landed on, {@link SCRIPT_BYTES_MAX} of them; each file once. */
  body(walk: StepWalk): Uint8Array | Unseen
  readonly hooks: readonly HookFacts[]
  /** Every step that was looked at so far, for the last look. */
  steps(): Iterable<PathStep>
}

export interface HookFacts {
  readonly spec: HookSpec
  /** At `before-call` or `transition`: its failure refuses. */
  readonly gate: boolean
  readonly cwd: string
  readonly closure: Closure
}

/** Gathers. Reads as it goes: what cannot be seen stays in the facts as unseen. */
export function makeAuditContext(inputs: AuditInputs): AuditContext {
  const once = askingOnce(inputs.view)
  const fileWalk = walkSteps(inputs.document.path, '/', once)
  const host = programHost(once, inputs.machine)
  const walks = new Map<string, StepWalk>()
  const home = inputs.environment.HOME ?? null
  const walk = (path: string): StepWalk => remember(walks, path, () => walkSteps(path, '/', once))
  const hooks = inputs.document.hooks.map(spec => factsOf(spec, { ...inputs, host, home }))
  const judged = new Map<LastRole, Map<StepWalk, Judgement>>([
    ['passed', new Map()],
    ['searched', new Map()],
  ])
  const reached = new Map<StepWalk, Reach | null>()
  const bodies = new Map<StepWalk, Uint8Array | Unseen>(hooks.flatMap(({ closure }) => closure.members.flatMap(whole)))
  const { trust, writeSet } = inputs
  return {
    ...inputs,
    once,
    ids: trust.ids,
    host,
    home,
    hooks,
    fileWalk,
    walk,
    judge: (of, last = 'passed') => remember(judged.get(last) ?? new Map(), of, () => judgeWalk(of, trust, last)),
    reach: of => remember(reached, of, () => reachOf(of, writeSet)),
    body: of => remember(bodies, of, () => readBody(of, once)),
    steps: function* () {
      yield* fileWalk.steps
      for (const { closure } of hooks) for (const { inspected } of closure.members) yield* inspected.walk.steps
      for (const each of walks.values()) yield* each.steps
    },
  }
}

/** The value known for `key`, made once. */
export function remember<Key, Value>(known: Map<Key, Value>, key: Key, make: () => Value): Value {
  const before = known.get(key)
  if (before !== undefined || known.has(key)) return before as Value
  const value = make()
  known.set(key, value)
  return value
}

function factsOf(
  spec: HookSpec,
  { document, path, host, home }: Pick<AuditInputs, 'document' | 'path'> & Pick<AuditContext, 'host' | 'home'>,
): HookFacts {
  const cwd = spec.cwd ?? document.folder
  const closure = closureOf(spec.command, { host, path: path.path, cwd, home })
  return { spec, gate: isGate(spec), cwd, closure }
}

/** Whether the failure of a hook at this point refuses. */
export function isGate({ on }: Pick<HookSpec, 'on'>): boolean {
  return on === 'before-call' || on === 'transition'
}

/** The text of a file that was read whole when its format was told. */
function whole({ inspected: { walk, facts, first, unread } }: ClosureMember): readonly [StepWalk, Uint8Array][] {
  return unread === null && facts?.type === 'file' && facts.size === first.length && first.length < FIRST_BYTES
    ? [[walk, first]]
    : []
}

function readBody(walk: StepWalk, view: FileView): Uint8Array | Unseen {
  const file = openLanded(walk, view)
  if (isUnseen(file)) return file
  try {
    return file.read(0, SCRIPT_BYTES_MAX)
  } finally {
    file.close()
  }
}

/** The members whose file is there. */
export function presentMembers({ closure }: HookFacts): readonly ClosureMember[] {
  return closure.members.filter(({ facts }) => facts !== null)
}

/** Whether a walk ended in what is not known, as opposed to what is not there. */
export function unseenEnd({ end }: StepWalk): (Unseen & { readonly path: string }) | null {
  if (end.kind === 'unseen') return { path: end.path, errno: end.errno }
  return end.kind === 'too-many-links' ? { path: end.path, errno: 'ELOOP' } : null
}
