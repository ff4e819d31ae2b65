/**
 * The bytes of the configuration file, read only where nobody but its operator and root could have written them: it
 * decides what is run and where credentials go. Judged step by step, links included, as hooks are (`hooks/trust.ts`).
 */
import { CONFIG_BYTES_MAX } from '../bounds.js'
import { Refusal } from '../errors.js'
import { readIdentities } from '../hooks/identities.js'
import { openLanded, type StepWalk, walkSteps } from '../hooks/steps.js'
import { type Fault, judgeWalk } from '../hooks/trust.js'
import { type FileView, isUnseen } from '../paths/file-view.js'

/**
 * Null: there is no file at `path` (absolute), nor a link. Throws `file-unreadable`, `not-a-file`, `too-large`, and
 * `config-unsafe` where others can change it.
 */
export function readConfigFile(path: string, view: FileView): Uint8Array | null {
  const walk = walkSteps(path, '/', view)
  if (isAbsent(walk)) return null
  refuseUnlanded(path, walk)
  const [fault] = judgeWalk(walk, { ids: readIdentities(view), groups: 'allowed' }).faults
  if (fault !== undefined) throw unsafe(path, fault)
  const file = openLanded(walk, view)
  if (isUnseen(file)) throw unreadable(path, file.errno)
  try {
    const { type } = file.facts
    if (type !== 'file') throw notAFile(path, type)
    const bytes = file.read(0, CONFIG_BYTES_MAX + 1)
    if (isUnseen(bytes)) throw unreadable(path, bytes.errno)
    if (bytes.length <= CONFIG_BYTES_MAX) return bytes
    throw new Refusal(
      'too-large',
      { path, bytes: bytes.length, limit: CONFIG_BYTES_MAX },
      `the configuration file ${path} has more than ${CONFIG_BYTES_MAX} bytes: make it smaller`,
    )
  } finally {
    file.close()
  }
}

function isAbsent({ end }: StepWalk): boolean {
  return (end.kind === 'missing' && end.link === null) || end.kind === 'not-a-folder'
}

function refuseUnlanded(path: string, { end }: StepWalk): void {
  if (end.kind === 'landed' && end.facts.type !== 'file') throw notAFile(path, end.facts.type)
  if (end.kind === 'unseen') throw unreadable(path, end.errno)
  if (end.kind === 'too-many-links') throw unreadable(path, 'ELOOP')
  if (end.kind === 'missing')
    throw new Refusal(
      'file-unreadable',
      { path, errno: 'ENOENT' },
      `the configuration file ${path}: its link ${end.link ?? ''} leads to ${end.path}, which does not exist: mend the link or remove it`,
    )
}

function unreadable(path: string, errno: string): Refusal {
  const text = `the configuration file ${path} cannot be read (${errno}), and unknown is not absent: make it readable, or set HOME or XDG_CONFIG_HOME to your own`
  return new Refusal('file-unreadable', { path, errno }, text)
}

function notAFile(path: string, is: string): Refusal {
  return new Refusal(
    'not-a-file',
    { path, is },
    `the configuration file ${path} is a ${is}: put a plain file there, or remove it`,
  )
}

function unsafe(file: string, fault: Fault): Refusal {
  const { path, why, fix } = told(fault)
  const text = `the configuration file ${file} decides what is run, and others can change it: ${path} ${why}; ${fix}`
  return new Refusal('config-unsafe', { file, path }, text)
}

function told(fault: Fault): { readonly path: string; readonly why: string; readonly fix: string } {
  const { path, uid, gid } = fault.facts
  switch (fault.kind) {
    case 'foreign-owner':
      return {
        path,
        why: `belongs to uid ${uid}`,
        fix: 'give it to yourself or root (chown), or set HOME or XDG_CONFIG_HOME to your own',
      }
    case 'foreign-link':
      return { path, why: `is a link of uid ${uid} in a folder that all may write`, fix: 'remove it' }
    case 'acl':
      return { path, why: `may be written by ${fault.principals.join(', ')} (ACL)`, fix: `setfacl -b ${path}` }
    case 'writable': {
      const by = fault.by === 'world' ? 'everyone' : `group ${gid}`
      return { path, why: `may be written by ${by}`, fix: `chmod go-w ${path}` }
    }
  }
}
