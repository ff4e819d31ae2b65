/** Rules about who can change what a hook runs: HC301 to HC309, asked of every member of the closure and every step to it. */
import type { ClosureMember } from '../hooks/closure.js'
import { mayBeCreated } from '../hooks/path-scrub.js'
import type { Allowance } from '../hooks/trust.js'
import { writesOnDevice } from '../hooks/write-set.js'
import { type AuditContext, type HookFacts, presentMembers } from './context.js'
import { faultText, ruleOfFault } from './fault-text.js'
import type { Reported, Rule, RuleId } from './rule.js'

export const REACH_RULES: readonly Rule[] = [
  {
    id: 'HC301',
    title: 'File writable by others',
    severity: 'error',
    hook: (hook, audit) => faultsOf('HC301', hook, audit),
    why: 'The code itself can be replaced, and takes effect at the next call: scripts are read anew each time, by shells even while they run.',
    fix: 'chmod go-w on the file',
    anchor: 'sshd refuses a key command with mode & 022; suexec and the NetworkManager dispatcher refuse such programs',
  },
  {
    id: 'HC302',
    title: 'Path step writable by others',
    severity: 'error',
    hook: (hook, audit) => [...faultsOf('HC302', hook, audit), ...allowed(hook, audit)],
    why: 'A folder on the way can be renamed, and another one put in its place.',
    fix: 'chmod go-w on the folder, or move the hook',
    anchor: 'sshd and OpenSMTPD judge every folder up to the root; chkpath does so with the sticky bit in mind',
  },
  {
    id: 'HC303',
    title: 'Foreign owner',
    severity: 'error',
    hook: (hook, audit) => faultsOf('HC303', hook, audit),
    why: 'An owner can change the mode, and then the content, at any time.',
    fix: 'chown to root or the operator, or copy the hook to a folder of theirs',
    anchor: 'sshd demands root or the expected uid; git judges owners by lstat and the effective uid',
  },
  {
    id: 'HC304',
    title: 'Symlink others can plant or repoint',
    severity: 'error',
    hook: links,
    why: 'The target that was checked is not the one that runs later.',
    fix: 'name the target itself, or own the link',
    anchor: 'chkpath, rule 4; suexec takes no program that is a link',
  },
  {
    id: 'HC305',
    title: "In the agent's write set",
    severity: 'error',
    lasting: 'gates',
    hook: inWriteSet,
    why: 'The one attacker that every run has can change what is to judge it.',
    fix: 'move it out of the write set; what a project must ship is copied to an operator folder at install time and pinned',
    anchor: 'sandbox-runtime keeps shell start-up files, git hooks and editor folders from the agent at all times',
  },
  {
    id: 'HC306',
    title: 'Missing step that others could create',
    severity: 'warn',
    hook: missing,
    why: 'What is not found today is supplied by whoever may create it tomorrow.',
    fix: 'create it with the right owner, or take the reference out',
    anchor: 'hardening guides look at creatable PATH entries; systemd-analyze verify tells missing files',
  },
  {
    id: 'HC307',
    title: 'Extra hard links',
    severity: 'warn',
    hook: hardLinks,
    why: 'Writing under the other name changes the hook, wherever that name is; package stores link their files into projects.',
    fix: 'replace it by a copy of its own (cp to a new file)',
    anchor: 'cronie takes no crontab with a second link; protected_hardlinks of Linux exists for this',
  },
  {
    id: 'HC308',
    title: 'Access control list grants write',
    severity: 'error',
    hook: lists,
    why: 'A list is not seen in ls -l but for a plus sign.',
    fix: 'setfacl -b, or chmod -N on macOS',
    anchor: 'acl(5): with a list present, the group bits of the mode are its mask',
  },
  {
    id: 'HC309',
    title: 'Set-id bit on a file of the closure',
    severity: 'warn',
    hook: setIds,
    why: 'The hook runs with other rights than meant, its variables are stripped, and it may not be ours to end.',
    fix: 'chmod ug-s, or start it through a plain program',
    anchor: 'suexec and the NetworkManager dispatcher refuse set-id programs',
  },
]

/** Each fault once a hook, with the member it was found on the way to. */
function* faultsOf(id: RuleId, hook: HookFacts, { judge, ids }: AuditContext): Iterable<Reported> {
  const told = new Set<string>()
  for (const { path, role, inspected } of hook.closure.members) {
    for (const fault of judge(inspected.walk).faults) {
      if (ruleOfFault(fault) !== id || told.has(fault.facts.path)) continue
      told.add(fault.facts.path)
      const way = fault.facts.path === path ? '' : `, on the way to the ${role} ${path}`
      yield { path, step: fault.facts.path, message: `${faultText(fault, ids)}${way}` }
    }
  }
}

const ALLOWANCES: Readonly<Partial<Record<Allowance['kind'], string>>> = {
  'own-group': 'is writable by the group of the same name as the user, which lists no other member',
  'staff-group': 'is writable by group staff, as Debian sets it up',
  'admin-group': 'is writable by group admin, whose members may become root anyway',
}

function* allowed(hook: HookFacts, { judge }: AuditContext): Iterable<Reported> {
  const told = new Set<string>()
  for (const { path, inspected } of hook.closure.members)
    for (const { kind, facts } of judge(inspected.walk).allowances) {
      const text = ALLOWANCES[kind]
      if (text === undefined || told.has(facts.path)) continue
      told.add(facts.path)
      yield { path, step: facts.path, severity: 'info', message: `${facts.path} ${text}` }
    }
}

function* links(hook: HookFacts, audit: AuditContext): Iterable<Reported> {
  yield* faultsOf('HC304', hook, audit)
  const told = new Set<string>()
  for (const { path, role, inspected } of hook.closure.members) {
    if (role !== 'program' && role !== 'argument') continue
    const crossed = inspected.walk.steps.filter(({ target, facts }) => {
      const first = target !== null && !told.has(facts.path)
      if (first) told.add(facts.path)
      return first
    })
    if (crossed.length === 0) continue
    const chain = crossed.map(({ facts, target }) => `${facts.path} -> ${target ?? ''}`).join(', ')
    yield { path, about: 'links', severity: 'info', message: `the ${role} ${path} is reached through links: ${chain}` }
  }
}

function* inWriteSet(hook: HookFacts, { reach }: AuditContext): Iterable<Reported> {
  const told = new Set<string>()
  for (const { path, role, inspected } of hook.closure.members) {
    // A start-up file that is not there is told by the rule of such files, with what would turn it off.
    if (role === 'start-up' && inspected.facts === null) continue
    const found = reach(inspected.walk)
    if (found === null || told.has(path)) continue
    told.add(path)
    const step = found.path === path ? '' : ` through ${found.path}`
    const by = found.by === 'mount' ? ', by another mount of it' : ''
    const message = `the agent can write the ${role} ${path}${step}: it lies in ${found.root}${by} (${found.source})`
    yield { path, step: found.path, message }
  }
}

function* missing(hook: HookFacts, { trust, writeSet }: AuditContext): Iterable<Reported> {
  for (const { path, role, inspected } of hook.closure.members) {
    const { walk } = inspected
    if (walk.end.kind !== 'missing' || role === 'start-up') continue
    const creatable = mayBeCreated(walk, trust, writeSet)
    const link = walk.end.link === null ? '' : `, at the end of the link ${walk.end.link}`
    const who = creatable ? ', and others can create it' : ''
    const message = `the ${role} ${path} does not exist (no ${walk.end.path}${link})${who}`
    yield { path, step: walk.end.path, severity: creatable ? 'error' : 'warn', message }
  }
}

function* hardLinks(hook: HookFacts, { writeSet }: AuditContext): Iterable<Reported> {
  for (const { path, role, facts } of presentMembers(hook)) {
    if (facts === null || facts.type !== 'file' || facts.nlink < 2) continue
    // A store of root that nobody may write links equal files on purpose; so do system packages.
    if (facts.uid === 0 && (facts.mode & 0o222) === 0) continue
    const near = writesOnDevice(facts.dev, writeSet)
    const where = near
      ? 'one may lie where the agent can write, on the same filesystem'
      : 'none where the agent can write'
    const message = `the ${role} ${path} has ${facts.nlink} hard links: ${where}`
    yield { path, severity: near ? 'warn' : 'info', message }
  }
}

function* lists(hook: HookFacts, audit: AuditContext): Iterable<Reported> {
  yield* faultsOf('HC308', hook, audit)
  const told = new Set<string>()
  for (const { path, inspected } of presentMembers(hook)) {
    for (const { kind, facts } of audit.judge(inspected.walk).allowances) {
      if (kind !== 'acl-mask' || told.has(facts.path)) continue
      told.add(facts.path)
      const message = `${facts.path} shows g+w, which is the mask of an access control list that no entry makes use of`
      yield { path, step: facts.path, severity: 'info', message }
    }
    for (const { facts } of inspected.walk.steps) {
      const heirs = facts.type === 'folder' ? (audit.trust.acl?.(facts.path)?.inherited ?? []) : []
      if (heirs.length === 0 || told.has(`heirs ${facts.path}`)) continue
      told.add(`heirs ${facts.path}`)
      const message = `files made in ${facts.path} later will be writable by ${heirs.join(', ')}`
      yield { path, step: facts.path, about: `heirs ${facts.path}`, severity: 'warn', message }
    }
  }
}

function* setIds(hook: HookFacts, { ids }: AuditContext): Iterable<Reported> {
  for (const member of presentMembers(hook)) {
    const { path, role, facts } = member
    if (facts === null) continue
    if (facts.type === 'file' && (facts.mode & 0o6000) !== 0 && !isScript(member)) {
      const bits = [
        ...((facts.mode & 0o4000) !== 0 ? ['setuid'] : []),
        ...((facts.mode & 0o2000) !== 0 ? ['setgid'] : []),
      ]
      const foreign = facts.uid !== ids.uid
      const message = `the ${role} ${path} is ${bits.join(' and ')} of uid ${facts.uid}`
      yield { path, severity: foreign ? 'error' : 'warn', message }
    }
    for (const folder of member.inspected.walk.above)
      if ((folder.mode & 0o2000) !== 0)
        yield {
          path,
          step: folder.path,
          severity: 'info',
          message: `${folder.path} is setgid: files made in it take its group`,
        }
  }
}

/** The kernel takes no set-id bit of a script (execve(2)). */
function isScript({ inspected }: ClosureMember): boolean {
  return inspected.format?.kind === 'script'
}
