/** Unknown is not yes: whatever call of the filesystem fails, an audit of a gate is not clean. */
import fc from 'fast-check'
import t from 'tap'
import { auditData, type DataAudit, folder, program, SOUND } from '../support/audits.js'
import { elf, fakeFiles } from '../support/fake-files.js'

const GATES: readonly DataAudit[] = [
  { hooks: [{ on: 'before-call', command: ['/etc/harness/guard.sh'] }] },
  {
    hooks: [
      { on: 'transition', command: ['/usr/bin/node', '--import', '/etc/harness/guard.js', '/etc/harness/guard.js'] },
    ],
  },
  { hooks: [{ on: 'before-call', command: ['/bin/zsh', '/etc/harness/guard.sh'] }] },
  {
    hooks: [{ on: 'before-call', command: ['/usr/bin/timeout', '5', '/opt/l'] }],
    tree: { '/opt/l': { target: '/etc/harness/guard.sh' } },
  },
  {
    hooks: [{ on: 'before-call', command: ['/opt/binary'] }],
    tree: { '/opt/binary': program(elf('/lib/ld.so', '/opt/lib')), '/opt/lib': folder() },
  },
  {
    hooks: [{ on: 'before-call', command: ['/opt/long'] }],
    tree: { '/opt/long': program(`#!/bin/sh\n${'# what it judges\n'.repeat(400)}/usr/bin/check\n`) },
  },
]

/** Calls one audit makes when none fails. */
function callsOf(audit: DataAudit): number {
  const view = fakeFiles({ ...SOUND, ...audit.tree })
  auditData({ ...audit, more: { view } })
  return view.calls()
}

const clean = (audit: DataAudit): boolean => !auditData(audit).findings.some(({ severity }) => severity === 'error')

t.test('every call failing in its turn', async t => {
  for (const audit of GATES) {
    t.ok(clean(audit), 'a sound one is clean')
    const calls = callsOf(audit)
    t.ok(calls > 20, `${calls} calls`)
    const silent = [...Array(calls).keys()]
      .map(at => at + 1)
      .filter(call => clean({ ...audit, options: { failing: { call, errno: 'EIO' } } }))
    t.strictSame(silent, [], `no call of ${calls} can fail in silence: ${JSON.stringify(audit.hooks)}`)
  }
})

t.test('whatever the errno, something is said', async () => {
  const errnos = fc.constantFrom('EIO', 'EACCES', 'ELOOP', 'ENAMETOOLONG', 'ETIMEDOUT', 'ESTALE', 'EPERM')
  fc.assert(
    fc.property(fc.constantFrom(...GATES), fc.integer({ min: 1, max: 60 }), errnos, (audit, call, errno) => {
      const calls = callsOf(audit)
      const failing = { call: ((call - 1) % calls) + 1, errno }
      const { findings } = auditData({ ...audit, options: { failing } })
      return findings.length > 0
    }),
    { numRuns: 200 },
  )
})

t.test('a finding never goes away because the agent can write more', async () => {
  const paths = fc.constantFrom('/ws', '/etc', '/etc/harness', '/usr/bin', '/opt', '/tmp', '/lib', '/home/ops', '/none')
  fc.assert(
    fc.property(fc.constantFrom(...GATES), fc.uniqueArray(paths, { maxLength: 4 }), paths, (audit, roots, more) => {
      const told = (written: readonly string[]) =>
        auditData({
          ...audit,
          more: { writeSet: { origin: 'given', roots: written.map(path => ({ path, source: 'x' })), held: [] } },
        }).findings.filter(({ rule }) => rule === 'HC305' || rule === 'HC105')
      const before = new Set(told(roots).map(({ rule, path }) => `${rule} ${path}`))
      const after = new Set(told([...roots, more]).map(({ rule, path }) => `${rule} ${path}`))
      // A program in a folder that left the PATH is another program; these are named by their absolute paths.
      return [...before].every(finding => after.has(finding))
    }),
    { numRuns: 200 },
  )
})
