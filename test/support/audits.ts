/** Audits over a filesystem that is data: one sound system, which each case changes in one point. */
import { type Audit, type AuditRequest, auditHooks } from '../../src/hookcheck/audit.js'
import type { Identities } from '../../src/hooks/identities.js'
import { elf, type FakeNode, type FakeOptions, fakeFiles } from './fake-files.js'

export const OPS: Identities = {
  platform: 'linux',
  uid: 1000,
  gid: 1000,
  userName: 'ops',
  groups: new Map([
    [100, { name: 'users', members: ['ops', 'guest'] }],
    [1000, { name: 'ops', members: [] }],
  ]),
  uidMap: [{ inside: 0, outside: 0, count: 4_294_967_295 }],
}

export const program = (content: string | Uint8Array, more: FakeNode = {}): FakeNode => ({
  content,
  mode: 0o755,
  ...more,
})
export const folder = (more: FakeNode = {}): FakeNode => ({ type: 'folder', ...more })

/** Everything of root, one script of the operator, a workspace on another device. */
export const SOUND: Readonly<Record<string, FakeNode>> = {
  '/lib/ld.so': program(elf(null)),
  '/bin/sh': program(elf('/lib/ld.so')),
  '/bin/zsh': program(elf('/lib/ld.so')),
  '/usr/bin/env': program(elf('/lib/ld.so')),
  '/usr/bin/node': program(elf('/lib/ld.so')),
  '/usr/bin/python3': program(elf('/lib/ld.so')),
  '/usr/bin/timeout': program(elf('/lib/ld.so')),
  '/etc/harness/hooks.json': {},
  '/etc/harness/guard.sh': program('#!/bin/sh\nset -e\n/usr/bin/check "$1"\n'),
  '/etc/harness/guard.js': { content: 'import "node:fs"\njudge()\n' },
  '/home/ops': folder({ uid: 1000, gid: 1000 }),
  '/ws': folder({ uid: 1000, dev: '2' }),
  '/tmp': folder({ mode: 0o1777 }),
}

export interface DataAudit {
  /** Entries of the hooks file, or its whole text. */
  readonly hooks: readonly Readonly<Record<string, unknown>>[] | string
  readonly tree?: Readonly<Record<string, FakeNode>>
  readonly options?: FakeOptions
  readonly ids?: Partial<Identities>
  readonly more?: Partial<AuditRequest>
}

export function auditData({ hooks, tree = {}, options = {}, ids = {}, more = {} }: DataAudit): Audit {
  const view = fakeFiles({ ...SOUND, ...tree }, options)
  const text = typeof hooks === 'string' ? hooks : JSON.stringify({ version: 1, hooks })
  return auditHooks({
    bytes: Buffer.from(text),
    path: '/etc/harness/hooks.json',
    cwd: '/ws',
    writeSet: { origin: 'given', roots: [{ path: '/ws', source: '--workspace' }], held: [] },
    trust: { ids: { ...OPS, ...ids }, groups: 'allowed' },
    view,
    pathSource: { from: 'inherited', path: '/usr/bin:/bin' },
    environment: { HOME: '/home/ops', TMPDIR: '/run/p', LANG: 'C.UTF-8' },
    machine: { platform: 'linux', arch: 'x64' },
    profile: 'default',
    ...more,
  })
}

/** `HC301 error`, in the order of the report, without doubles. */
export function told({ findings }: Pick<Audit, 'findings'>): readonly string[] {
  return [...new Set(findings.map(({ rule, severity }) => `${rule} ${severity}`))]
}
