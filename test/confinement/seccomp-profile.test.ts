/** An engine's profile, as a container without capabilities meets it, and the calls of bubblewrap. */
import t from 'tap'
import { NESTED_CALLS, nestedSeccompProfile } from '../../src/confinement/seccomp-profile.js'
import type { Json } from '../../src/json.js'

const ALLOW = 'SCMP_ACT_ALLOW'
const ERRNO = 'SCMP_ACT_ERRNO'
const archMap = [
  { architecture: 'SCMP_ARCH_X86_64', subArchitectures: ['SCMP_ARCH_X86', 'SCMP_ARCH_X32'] },
  { architecture: 'SCMP_ARCH_AARCH64', subArchitectures: null },
]

const made = (document: Json, arch: 'x86_64' | 'aarch64' = 'x86_64') =>
  nestedSeccompProfile(document, { arch, file: 'base' })
const rulesOf = (syscalls: Json, arch?: 'aarch64') =>
  made({ defaultAction: ERRNO, defaultErrnoRet: 1, archMap, syscalls }, arch).syscalls.slice(0, -1)

t.test('the calls of bubblewrap are allowed whatever was said of them, and of no other', async t => {
  const profile = made({
    defaultAction: ERRNO,
    defaultErrnoRet: 1,
    archMap,
    syscalls: [
      { names: ['read', 'clone'], action: ALLOW, args: [], comment: '', includes: {}, excludes: {} },
      { names: ['clone'], action: ALLOW, args: [{ index: 0, value: 2114060288, op: 'SCMP_CMP_MASKED_EQ' }] },
      { names: ['mount', 'umount2', 'swapon'], action: ERRNO, errno: 'EPERM' },
      { names: ['clone3'], action: ERRNO, errnoRet: 38, excludes: { caps: ['CAP_SYS_ADMIN'] } },
      { name: 'socket', action: ALLOW, args: [{ index: 0, value: 40, op: 'SCMP_CMP_NE' }] },
    ],
  })
  t.same(profile, {
    defaultAction: ERRNO,
    defaultErrnoRet: 1,
    architectures: ['SCMP_ARCH_X86_64', 'SCMP_ARCH_X86', 'SCMP_ARCH_X32'],
    syscalls: [
      { names: ['read'], action: ALLOW },
      { names: ['swapon'], action: ERRNO, errnoRet: 1 },
      { names: ['clone3'], action: ERRNO, errnoRet: 38 },
      { names: ['socket'], action: ALLOW, args: [{ index: 0, value: 40, op: 'SCMP_CMP_NE' }] },
      { names: NESTED_CALLS, action: ALLOW },
    ],
  })
})

t.test('conditions are decided for a container without capabilities on this processor', async t => {
  const rule = (more: { readonly [key: string]: Json }): Json => ({ names: ['x'], action: ALLOW, ...more })
  const cases: readonly (readonly [what: string, rule: Json, kept: boolean, arch?: 'aarch64'])[] = [
    ['a capability that it lacks', rule({ includes: { caps: ['CAP_SYS_ADMIN'] } }), false],
    ['for those who lack it', rule({ excludes: { caps: ['CAP_SYS_ADMIN'] } }), true],
    ['this processor', rule({ includes: { arches: ['amd64', 'x32'] } }), true],
    ['another one', rule({ includes: { arches: ['arm64'] } }), false],
    ['this one is another', rule({ includes: { arches: ['arm64'] } }), true, 'aarch64'],
    ['not on this processor', rule({ excludes: { arches: ['amd64'] } }), false],
    ['a kernel that is old', rule({ includes: { minKernel: '4.8' } }), true],
    ['a kernel that may be there', rule({ includes: { minKernel: '6.9' } }), false],
    ['refused on it', rule({ action: ERRNO, includes: { minKernel: '6.9' } }), true],
    ['but for an old kernel', rule({ excludes: { minKernel: '4.8' } }), false],
    ['but for one that may be there', rule({ excludes: { minKernel: '6.9' } }), false],
    ['refused but for it', rule({ action: ERRNO, excludes: { minKernel: '6.9' } }), true],
    ['one condition of two', rule({ includes: { arches: ['amd64'], caps: ['CAP_BPF'] } }), false],
  ]
  for (const [what, given, kept, arch] of cases) t.equal(rulesOf([given], arch).length, kept ? 1 : 0, what)
})

t.test('what an engine made for a container is read from its config.json', async t => {
  const seccomp = {
    defaultAction: ERRNO,
    architectures: ['SCMP_ARCH_X86_64'],
    flags: ['SECCOMP_FILTER_FLAG_LOG'],
    syscalls: [{ names: ['read'], action: ALLOW }],
  }
  t.same(made({ ociVersion: '1.0.2', linux: { seccomp } }), {
    ...seccomp,
    syscalls: [...seccomp.syscalls, { names: NESTED_CALLS, action: ALLOW }],
  })
})

t.test('what is written is read again as the same', async t => {
  const once = made({ defaultAction: ERRNO, archMap, syscalls: [{ names: ['read', 'mount'], action: ALLOW }] })
  t.same(made(JSON.parse(JSON.stringify(once)) as Json), once)
})

t.test('no profile, and what is not known, is refused with its place', async t => {
  const whole = (more: { readonly [key: string]: Json }): Json => ({
    defaultAction: ERRNO,
    archMap,
    syscalls: [],
    ...more,
  })
  const cases: readonly (readonly [document: Json, place: string])[] = [
    [null, '/'],
    [[], '/'],
    [{}, '/defaultAction'],
    [{ linux: {} }, '/linux/seccomp'],
    [whole({ syscalls: null }), '/syscalls'],
    [whole({ archMap: [] }), '/architectures'],
    [{ defaultAction: ERRNO, architectures: ['SCMP_ARCH_S390X'], syscalls: [] }, '/architectures'],
    [whole({ defaultErrno: 'EUNHEARD' }), '/defaultErrno'],
    [whole({ syscalls: [7] }), '/syscalls/0'],
    [whole({ syscalls: [{ names: ['x'] }] }), '/syscalls/0/action'],
    [whole({ syscalls: [{ names: 'x', action: ALLOW }] }), '/syscalls/0/names'],
    [whole({ syscalls: [{ names: ['x'], action: ALLOW, args: {} }] }), '/syscalls/0/args'],
    [whole({ syscalls: [{ names: ['x'], action: ALLOW, args: [{ index: 0, value: 2 ** 63 }] }] }), '/syscalls/0/args'],
    [whole({ syscalls: [{ names: ['x'], action: ALLOW, includes: { moon: 'full' } }] }), '/syscalls/0/includes/moon'],
    [
      whole({ syscalls: [{ names: ['x'], action: ALLOW, includes: { minKernel: 4 } }] }),
      '/syscalls/0/includes/minKernel',
    ],
  ]
  for (const [document, place] of cases)
    t.throws(() => made(document), { code: 'bad-document', details: { file: 'base', place } }, place)
})
