/** Answers that many hooks ask for, worked out once an audit: a thousand hooks in one folder have one folder. */
import { type AuditContext, remember } from './context.js'

/** `make`, remembering its answer for each key of each audit. */
export function perAudit<Key, Value>(
  make: (audit: AuditContext, key: Key) => Value,
): (audit: AuditContext, key: Key) => Value {
  const audits = new WeakMap<AuditContext, Map<Key, Value>>()
  return (audit, key) => {
    const known = audits.get(audit) ?? new Map<Key, Value>()
    audits.set(audit, known)
    return remember(known, key, () => make(audit, key))
  }
}

/** The same for what needs no key. */
export function oncePerAudit<Value>(make: (audit: AuditContext) => Value): (audit: AuditContext) => Value {
  const remembered = perAudit<null, Value>(make)
  return audit => remembered(audit, null)
}
