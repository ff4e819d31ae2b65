/** Answers that many hooks ask for, worked out once an audit: a thousand hooks in one folder have one folder. */
import type { AuditContext } from './context.js'

/** `make`, remembering its answer for each key of each audit. */
export function perAudit<Key, Value>(
  make: (audit: AuditContext, key: Key) => Value,
): (audit: AuditContext, key: Key) => Value {
  const audits = new WeakMap<AuditContext, Map<Key, { readonly value: Value }>>()
  return (audit, key) => {
    let known = audits.get(audit)
    if (known === undefined) {
      known = new Map()
      audits.set(audit, known)
    }
    const before = known.get(key)
    if (before !== undefined) return before.value
    const value = make(audit, key)
    known.set(key, { value })
    return value
  }
}

/** The same for what needs no key. */
export function oncePerAudit<Value>(make: (audit: AuditContext) => Value): (audit: AuditContext) => Value {
  const remembered = perAudit<null, Value>(make)
  return audit => remembered(audit, null)
}
