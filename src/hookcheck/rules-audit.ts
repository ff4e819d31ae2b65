/** Rules about the audit itself: what it could not see, what ownership is worth here, and what it was not told. */
import { isIdentityMap, OVERFLOW_ID } from '../hooks/identities.js'
import type { StepWalk } from '../hooks/steps.js'
import { isUnseen } from '../paths/file-view.js'
import { mountOf } from '../paths/mounts.js'
import { type AuditContext, type HookFacts, presentMembers, unseenEnd } from './context.js'
import type { Reported, Rule } from './rule.js'
import { scriptMembers } from './script-body.js'

export const AUDIT_RULES: readonly Rule[] = [
  {
    id: 'HC001',
    title: 'Audit incomplete for this hook',
    severity: 'error',
    lasting: 'always',
    file: unseenOfFile,
    hook: unseenOfHook,
    why: 'A check that passes over what it cannot read says "clean" about the worst cases: what is not known is not safe.',
    fix: 'run the audit as the user the harness runs as, and let that user search the named folder',
    anchor:
      'lynis does not run on files it cannot vouch for; direnv tests with open, not stat, whether a file is there',
  },
  {
    id: 'HC002',
    title: 'Ownership proves little here',
    severity: 'info',
    file: ownership,
    why: 'Where everything is uid 0, or owners are those of another namespace, modes keep nobody apart: the agent may be that uid too.',
    fix: 'rely on mounts: keep hooks outside of every writable root, best on a read-only mount, and audit with the policy of the run',
    anchor: 'git treats root with SUDO_UID apart when it judges who owns a repository',
  },
  {
    id: 'HC003',
    title: 'Write set unknown',
    severity: 'warn',
    strict: 'error',
    file: ({ writeSet }) => {
      if (writeSet.origin === 'given') return []
      const roots = writeSet.places.map(({ landed }) => landed).join(', ')
      return [{ message: `nobody said what the agent can write; taken for it: ${roots}`, about: 'write-set' }]
    },
    why: 'The rules that matter most ask whether the agent can write what a hook runs, and can only be as good as that answer.',
    fix: 'give --workspace and --writable, or --policy with what harness explain --json prints',
    anchor: 'our own: the other checkers know no confined writer',
  },
  {
    id: 'HC004',
    title: 'Permission model not understood',
    severity: 'warn',
    strict: 'error',
    file: ({ ids, trust, once }) =>
      ids.platform === 'linux' || trust.acl !== undefined || once.mounts() !== null
        ? []
        : [
            {
              message: 'access control lists were not read, and modes do not show them on this system',
              about: 'acl',
              fix: 'hookcheck --deep reads them (ls -lde)',
            },
          ],
    hook: foreignModels,
    why: 'On a network or synthetic filesystem the mode is a guess: a server decides, or every file shows the same. On a volatile one the name is free after a restart.',
    fix: 'keep hooks on a local filesystem, in a folder of root or the operator',
    anchor: 'suexec changes its uid before it looks, so that NFS answers for the right user',
  },
  {
    id: 'HC805',
    title: 'Changed while audited',
    severity: 'error',
    lasting: 'always',
    why: 'Somebody is writing, and every other verdict is about what was there before.',
    fix: 'stop the writer and audit again',
    anchor: 'compaudit says itself that modes may change between its look and the use',
  },
]

function* unseenOfFile({ fileWalk, writeSet, path, document }: AuditContext): Iterable<Reported> {
  const end = unseenEnd(fileWalk)
  if (end !== null)
    yield { ...end, message: `${end.path}, on the way to the hooks file, cannot be looked at (${end.errno})` }
  else if (fileWalk.end.kind !== 'landed')
    yield {
      path: document.path,
      message: `the hooks file ${document.path} is not there: what was audited is not what is`,
    }
  for (const { path: root, errno } of writeSet.unseen)
    yield { path: root, message: `what the agent can write is not known: ${root} cannot be looked at (${errno})` }
  for (const { entry, why, rule } of path.dropped) {
    if (rule !== 'HC001' || why.kind !== 'unseen') continue
    // A folder that we may not search is one that the hook may not search either: execvp(3) passes it over.
    const severity = why.errno === 'EACCES' ? { severity: 'info' as const } : {}
    yield {
      path: why.path,
      ...severity,
      message: `the PATH entry ${entry} cannot be looked at (${why.errno}) and is left out`,
    }
  }
}

function* unseenOfHook(hook: HookFacts, { once, host, body }: AuditContext): Iterable<Reported> {
  const { resolution, members, libraryFolders, opaque, lookUps } = hook.closure
  const unknown = [resolution, ...lookUps.map(({ resolution: found }) => found)]
  for (const found of unknown)
    if (found.kind === 'problem' && found.problem === 'unknown')
      yield { path: found.path, message: `which program would run cannot be told: ${found.path} (${found.errno})` }
  for (const { role, path, inspected } of members) {
    const end = unseenEnd(inspected.walk)
    if (end !== null) {
      yield {
        path,
        step: end.path,
        message: `${end.path}, on the way to the ${role} ${path}, cannot be looked at (${end.errno})`,
      }
      continue
    }
    const { unread, format, elf } = inspected
    if (unread !== null && role !== 'start-up') {
      const runs = unread.errno === 'EACCES' && role !== 'argument' && once.mayExecute(path) === true
      const message = `the content of the ${role} ${path} cannot be read (${unread.errno})`
      yield runs ? { path, severity: 'warn', message: `${message}: it is execute-only` } : { path, message }
    }
    if (unread === null && format?.kind === 'elf' && format.runsHere && elf === null)
      yield { path, message: `the tables of the binary ${path} cannot be read: what it loads is not known` }
  }
  for (const { path, role, facts, inspected } of scriptMembers(hook)) {
    const text = inspected.unread === null && facts?.type === 'file' ? body(inspected.walk) : null
    if (text !== null && isUnseen(text))
      yield { path, message: `the content of the ${role} ${path} cannot be read (${text.errno})` }
  }
  for (const { of, folder } of libraryFolders) {
    const end = folder.startsWith('/') ? unseenEnd(host.inspect(folder, '/').walk) : null
    if (end !== null)
      yield {
        path: folder,
        step: end.path,
        message: `the library folder ${folder} of ${of} cannot be looked at (${end.errno})`,
      }
  }
  for (const wrapper of opaque)
    yield { severity: 'warn', about: wrapper, message: `what ${wrapper} starts cannot be told from its arguments` }
}

function* ownership(audit: AuditContext): Iterable<Reported> {
  const { ids, writeSet, hooks } = audit
  const severity = writeSet.origin === 'assumed' ? { severity: 'warn' as const } : {}
  if (ids.uid === 0)
    yield {
      ...severity,
      about: 'root',
      message: 'the audit runs as uid 0: no mode keeps a process of uid 0 from writing',
    }
  if (!isIdentityMap(ids.uidMap)) {
    const read = ids.uidMap !== null && ids.uidMap.length > 0
    const how = read ? 'user ids here are not those outside (a user namespace)' : 'the map of user ids cannot be read'
    yield { ...severity, about: 'uid-map', message: `${how}: owners are told as this namespace shows them` }
  }
  const unmapped = new Set<string>()
  for (const hook of hooks)
    for (const { inspected } of presentMembers(hook))
      for (const { kind, facts } of audit.judge(inspected.walk).allowances)
        if (kind === 'unmapped-owner') unmapped.add(facts.path)
  for (const path of [...unmapped].sort()) {
    const message = `${path} has an owner from outside of this namespace (shown as ${OVERFLOW_ID}), whom nobody here can be`
    yield { ...severity, path, message }
  }
}

/** Filesystems whose answer about rights is not this kernel's own, and those that are gone after a restart. */
// biome-ignore format: a list of words
const FOREIGN: ReadonlySet<string> = new Set([
  'nfs', 'nfs4', 'cifs', 'smb', 'smb3', 'smbfs', '9p', 'virtiofs', 'vboxsf', 'vmhgfs', 'drvfs', 'fuse', 'fuseblk', 'afs',
  'ceph', 'glusterfs', 'lustre',
])
const VOLATILE: ReadonlySet<string> = new Set(['tmpfs', 'ramfs'])
const REMOVABLE = ['/media/', '/run/media/', '/Volumes/'] as const

function* foreignModels(hook: HookFacts, { writeSet }: AuditContext): Iterable<Reported> {
  const told = new Set<string>()
  for (const { path, role, inspected } of presentMembers(hook)) {
    for (const at of pathsOf(inspected.walk)) {
      const mount = mountOf(at, writeSet.mounts)
      const what = mount === null ? null : modelOf(mount.type, at, role === 'program' || role === 'argument')
      if (mount === null || what === null || told.has(mount.point)) continue
      told.add(mount.point)
      yield { path, step: mount.point, message: `${path} is reached through ${mount.point}, ${what}` }
    }
  }
}

function modelOf(type: string, path: string, isCode: boolean): string | null {
  if (FOREIGN.has(type) || type.startsWith('fuse.'))
    return `a ${type} filesystem, whose modes do not tell who may write`
  if (isCode && VOLATILE.has(type)) return `a ${type} filesystem, which is empty after a restart`
  return REMOVABLE.some(place => path.startsWith(place)) ? 'a place for removable media' : null
}

function pathsOf({ steps }: StepWalk): readonly string[] {
  return steps.map(({ facts }) => facts.path)
}
