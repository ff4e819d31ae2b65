/** A fault of `hooks/trust.ts` as a sentence, and the rule that tells it. The verdict is data; words are made here alone. */
import type { Identities } from '../hooks/identities.js'
import type { Fault } from '../hooks/trust.js'

export type FaultRule = 'HC301' | 'HC302' | 'HC303' | 'HC304' | 'HC308'

export function ruleOfFault(fault: Fault): FaultRule {
  switch (fault.kind) {
    case 'foreign-owner':
      return 'HC303'
    case 'foreign-link':
      return 'HC304'
    case 'acl':
      return 'HC308'
    case 'writable':
      return fault.facts.type === 'folder' ? 'HC302' : 'HC301'
  }
}

export function faultText(fault: Fault, ids: Identities): string {
  const { path, uid, gid, mode, type } = fault.facts
  const octal = mode.toString(8).padStart(4, '0')
  switch (fault.kind) {
    case 'foreign-owner':
      return `the ${type} ${path} is owned by uid ${uid}, who can change it at any time (mode ${octal})`
    case 'foreign-link':
      return `the link ${path} is owned by uid ${uid}, who can point it elsewhere: ${fault.folder.path} is a folder for everybody`
    case 'acl':
      return `the access control list of ${path} lets ${fault.principals.join(', ')} write`
    case 'writable': {
      const group = ids.groups.get(gid)
      const who = fault.by === 'world' ? 'everybody' : `group ${group?.name ?? gid}`
      if (type !== 'folder') return `${who} can write ${path} (mode ${octal})`
      return `${who} can ${FOLDER_ACTS[fault.sticky]} ${path} (mode ${octal})`
    }
  }
}

const FOLDER_ACTS: Readonly<Record<Extract<Fault, { kind: 'writable' }>['sticky'], string>> = {
  unset: 'rename and replace what is in',
  planting: 'make new names in',
  'foreign-entry': 'own the names that are passed in',
}
