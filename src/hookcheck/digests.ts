/** SHA-256 of files of a closure, each read once an audit and through the descriptor whose stat is compared with the one judged. */
import { isUnseen, type PathFacts, type Unseen, withOpened } from '../paths/file-view.js'
import { sameIdentity } from '../paths/walk.js'
import type { AuditContext } from './context.js'
import { oncePerAudit } from './per-audit.js'

/** Hex, or why there is none; ESTALE: another file stands there than the one that was judged. */
export type Digest = string | Unseen

const digests = oncePerAudit(() => new Map<string, Digest>())

export function digestOf(facts: PathFacts, audit: AuditContext): Digest {
  const known = digests(audit)
  const key = `${facts.dev} ${facts.ino} ${facts.ctimeNs}`
  const before = known.get(key)
  if (before !== undefined) return before
  const digest = withOpened(audit.once, facts.path, file =>
    sameIdentity(file.facts, facts) && file.facts.ctimeNs === facts.ctimeNs ? file.sha256() : { errno: 'ESTALE' },
  )
  known.set(key, digest)
  return digest
}

/** What was read so far, without reading more: a report tells the digests that were needed anyway. */
export function knownDigest({ dev, ino, ctimeNs }: PathFacts, audit: AuditContext): string | null {
  const digest = digests(audit).get(`${dev} ${ino} ${ctimeNs}`)
  return digest === undefined || isUnseen(digest) ? null : digest
}
