/** HC801 to HC804: whether what is approved is what is there, and who could change the approval. */
import type { ClosureMember } from '../hooks/closure.js'
import type { HookSpec } from '../hooks/hook-spec.js'
import { argvDigest, type HooksLock, lockEntryOf, lockPathOf, type Pins, pinsOf } from '../hooks/lock.js'
import { isUnseen } from '../paths/file-view.js'
import { type AuditContext, type HookFacts, presentMembers } from './context.js'
import { digestOf } from './digests.js'
import { faultText } from './fault-text.js'
import type { Reported } from './rule.js'

export interface PinFacts {
  /** Hex, of the bytes of the hooks file. */
  readonly sha256: string
  readonly lock: HooksLock | null
  /** Why the lock that is there cannot be read; null: it can, or there is none. */
  readonly lockProblem: string | null
}

/** Those that a start compares (`hooks/lock.ts`). */
export function pinsOfHook({ spec, closure }: HookFacts, lock: HooksLock | null): Pins {
  return pinsOf(spec, closure.members[0]?.path ?? null, lock)
}

/** Code that the distribution updates and only root writes: a pin of it fails at the next update. */
export function isSystemFile({ facts }: Pick<ClosureMember, 'facts'>): boolean {
  return (
    facts !== null &&
    facts.uid === 0 &&
    /^\/(?:usr\/(?!local\/)|bin\/|sbin\/|lib|nix\/store\/|gnu\/store\/)/.test(facts.path)
  )
}

export function* unpinnedGate(hook: HookFacts, { ids, profile }: AuditContext, { lock }: PinFacts): Iterable<Reported> {
  if (!hook.gate || Object.keys(pinsOfHook(hook, lock)).length > 0) return
  const own = presentMembers(hook).filter(({ facts }) => facts !== null && facts.uid !== 0 && facts.uid === ids.uid)
  const [first] = own
  const message =
    first === undefined
      ? 'it is not pinned; only root can change its code'
      : `it is not pinned, and you can change its code (${first.path})`
  const severity = profile === 'strict' ? 'error' : first === undefined ? 'info' : 'warn'
  yield { about: 'unpinned', severity, message }
}

export function* mismatches(hook: HookFacts, audit: AuditContext, { lock }: PinFacts): Iterable<Reported> {
  const place = hook.spec.places.get('digest')
  const at = place === undefined ? {} : { place }
  for (const [path, pinned] of Object.entries(pinsOfHook(hook, lock))) {
    const member = memberAt(path, hook) ?? pinnedBeside(path, audit)
    if (member === null) {
      yield { ...at, path, message: `${path} is pinned and is not there` }
      continue
    }
    const digest = digestOf(member, audit)
    if (isUnseen(digest)) yield { ...at, path, message: `${path} is pinned and cannot be read (${digest.errno})` }
    else if (`sha256:${digest}` !== pinned) {
      const changed = new Date(Number(BigInt(member.ctimeNs) / 1_000_000n)).toISOString()
      yield {
        ...at,
        path,
        message: `${path} is not what was pinned: it has sha256:${digest} (${member.size} bytes, changed ${changed}), pinned is ${pinned}`,
      }
    }
  }
}

function memberAt(path: string, { closure }: HookFacts): NonNullable<ClosureMember['facts']> | null {
  return closure.members.find(member => member.path === path || member.named === path)?.facts ?? null
}

/** A pinned file that the closure does not know of, such as a list of rules. */
function pinnedBeside(path: string, { walk }: AuditContext): NonNullable<ClosureMember['facts']> | null {
  const { end } = walk(path)
  return end.kind === 'landed' && end.facts.type === 'file' ? end.facts : null
}

export function* partialPins(hook: HookFacts, _: AuditContext, { lock }: PinFacts): Iterable<Reported> {
  const pins = pinsOfHook(hook, lock)
  if (Object.keys(pins).length === 0) return
  const isPinned = ({ path, named }: ClosureMember): boolean => Object.hasOwn(pins, path) || Object.hasOwn(pins, named)
  for (const member of presentMembers(hook)) {
    const { path, role } = member
    if (isPinned(member)) {
      if (isSystemFile(member))
        yield { path, severity: 'info', message: `the pin of ${path} fails when the distribution updates it` }
    } else if (role === 'argument' || (role !== 'start-up' && !isSystemFile(member)))
      yield { path, message: `the pin leaves out the ${role} ${path}, whose bytes decide what the hook does` }
  }
}

export function* storeOfPins(audit: AuditContext, { lock, lockProblem }: PinFacts): Iterable<Reported> {
  const { document } = audit
  const path = lock?.path ?? lockPathOf(document.path)
  if (lockProblem !== null) yield { path, message: lockProblem }
  if (lock === null) return
  const to = audit.walk(path)
  const found = audit.reach(to)
  if (found !== null)
    yield { path, message: `the lock ${path} lies in ${found.root}, where the agent can write (${found.source})` }
  for (const fault of audit.judge(to).faults)
    yield { path, step: fault.facts.path, message: faultText(fault, audit.ids) }
  yield* stale(audit, { path, hooks: document.hooks, lock })
}

function* stale(
  { fileWalk, walk }: AuditContext,
  { path, hooks, lock }: { readonly path: string; readonly hooks: readonly HookSpec[]; readonly lock: HooksLock },
): Iterable<Reported> {
  const [file, own] = [fileWalk.end, walk(path).end]
  if (file.kind === 'landed' && own.kind === 'landed' && BigInt(own.facts.ctimeNs) < BigInt(file.facts.ctimeNs))
    yield {
      path,
      about: 'older',
      severity: 'info',
      message: 'the lock is older than the last change of the hooks file, whose bytes are compared all the same',
    }
  const known = new Set(hooks.flatMap(hook => lockEntryOf(lock, hook) ?? []))
  for (const entry of lock.entries.filter(each => !known.has(each))) {
    const which = entry.name ?? `hook ${entry.index}`
    yield {
      path,
      about: `gone ${which}`,
      severity: 'info',
      message: `the lock has an entry for ${which}, which is no hook of the file`,
    }
  }
}

/** The lock against the file itself: other bytes, or another command, than what was approved. */
export function* lockAgainstFile({ document }: AuditContext, { sha256, lock }: PinFacts): Iterable<Reported> {
  if (lock === null || lock.hooksFileSha256 === sha256) return
  const message = `the hooks file is not the one that ${lock.path} approves: it has sha256:${sha256}, approved is sha256:${lock.hooksFileSha256}`
  yield { path: document.path, about: 'lock', message }
}

export function* lockAgainstHook({ spec }: HookFacts, _: AuditContext, { lock }: PinFacts): Iterable<Reported> {
  if (lock === null) return
  const entry = lockEntryOf(lock, spec)
  if (entry === null) yield { about: 'lock entry', message: `${lock.path} has no entry for it: it was not approved` }
  else if (entry.argvSha256 !== argvDigest(spec.command))
    yield { about: 'lock argv', message: `its command is not the one that ${lock.path} approves` }
}
