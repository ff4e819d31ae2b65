import t from 'tap'
import { assemble, encode, type Line } from '../../src/confinement/bpf-assembler.js'
import {
  callNumber,
  type FilterArch,
  type FilterOptions,
  filterRows,
  RETURNS,
  seccompProgram,
} from '../../src/confinement/seccomp-bpf.js'
import { disassemble, disassembleBytes } from '../../src/confinement/seccomp-text.js'
import { ARCH_WORDS, runFilter } from '../support/bpf-interpreter.js'
import { golden } from '../support/golden.js'

const ARCHES = ['x86_64', 'aarch64'] as const

type Action = keyof typeof RETURNS

function usual(arch: FilterArch, more: Partial<FilterOptions> = {}): FilterOptions {
  return { arch, unixSockets: 'open', network: 'open', nesting: false, ...more }
}

function actionOf(
  options: FilterOptions,
  nr: number,
  args: readonly bigint[] = [],
  arch = ARCH_WORDS[options.arch],
): Action {
  const value = runFilter(seccompProgram(options).bytes, { arch, nr, args })
  const name = (Object.keys(RETURNS) as Action[]).find(key => RETURNS[key] === value)
  if (name === undefined) throw new Error(`0x${value.toString(16)}`)
  return name
}

/** By hand from the kernel's tables, apart from `native-profiles`, so that a wrong number there shows here. */
const NUMBERS: Readonly<Record<string, readonly [x86_64: number | null, aarch64: number | null]>> = {
  read: [0, 63],
  write: [1, 64],
  open: [2, null],
  ioctl: [16, 29],
  socket: [41, 198],
  connect: [42, 203],
  socketpair: [53, 199],
  clone: [56, 220],
  execve: [59, 221],
  shmget: [29, 194],
  shmat: [30, 196],
  semop: [65, 193],
  msgrcv: [70, 188],
  truncate: [76, 45],
  setpriority: [141, 140],
  mq_open: [240, 180],
  prlimit64: [302, 261],
  chmod: [90, null],
  fchmod: [91, 52],
  ptrace: [101, 117],
  syslog: [103, 116],
  modify_ldt: [154, null],
  prctl: [157, 167],
  mount: [165, 40],
  umount2: [166, 39],
  keyctl: [250, 219],
  openat: [257, 56],
  mknodat: [259, 33],
  fchmodat: [268, 53],
  unshare: [272, 97],
  perf_event_open: [298, 241],
  setns: [308, 268],
  process_vm_readv: [310, 270],
  kcmp: [312, 272],
  finit_module: [313, 273],
  seccomp: [317, 277],
  bind: [49, 200],
  bpf: [321, 280],
  userfaultfd: [323, 282],
  io_uring_setup: [425, 425],
  open_tree: [428, 428],
  fsopen: [430, 430],
  pidfd_open: [434, 434],
  clone3: [435, 435],
  openat2: [437, 437],
  pidfd_getfd: [438, 438],
  mount_setattr: [442, 442],
  fchmodat2: [452, 452],
}

const HIGH = 0xffff_ffff_0000_0000n

/** What a call with these arguments gets; the same on both processors where both have the call. */
const CASES: readonly (readonly [
  call: string,
  args: readonly bigint[],
  action: Action,
  options?: Partial<FilterOptions>,
])[] = [
  ['read', [], 'allow'],
  ['write', [2n, 0n, 3n], 'allow'],
  ['execve', [], 'allow'],
  ['connect', [], 'allow'],
  ['prctl', [], 'allow'],
  ['seccomp', [], 'allow'],
  ['pidfd_open', [], 'allow'],
  // clone: threads and processes pass, namespaces do not, whatever stands in the unused half
  ['clone', [0x3d0f00n], 'allow'],
  ['clone', [17n], 'allow'],
  ['clone', [0x10000000n | 17n], 'EPERM'],
  ['clone', [0x00020000n], 'EPERM'],
  ['clone', [0x02000000n], 'EPERM'],
  ['clone', [0x04000000n], 'EPERM'],
  ['clone', [0x08000000n], 'EPERM'],
  ['clone', [0x20000000n], 'EPERM'],
  ['clone', [0x40000000n], 'EPERM'],
  ['clone', [HIGH | 0x10000000n], 'EPERM'],
  ['clone', [HIGH | 17n], 'allow'],
  ['clone', [0x10000000n], 'allow', { nesting: true }],
  ['clone3', [], 'ENOSYS'],
  ['clone3', [], 'allow', { nesting: true }],
  ['unshare', [0x10000000n], 'EPERM'],
  ['unshare', [0x80n], 'EPERM'],
  ['unshare', [0x200n], 'allow'],
  ['unshare', [0x10000000n], 'allow', { nesting: true }],
  ['setns', [], 'EPERM'],
  ['mount', [], 'EPERM'],
  ['mount', [], 'allow', { nesting: true }],
  ['umount2', [], 'EPERM'],
  ['open_tree', [], 'ENOSYS'],
  ['fsopen', [], 'ENOSYS'],
  ['mount_setattr', [], 'ENOSYS'],
  // sockets
  ['socket', [2n, 1n, 6n], 'allow'],
  ['socket', [10n, 2n, 17n], 'allow'],
  ['socket', [1n, 1n, 0n], 'allow'],
  ['socket', [HIGH | 1n, 1n, 0n], 'allow'],
  ['socket', [16n, 3n, 0n], 'allow'],
  ['socket', [16n, 3n, 9n], 'EPERM'],
  ['socket', [16n, 3n, 15n], 'EPERM'],
  ['socket', [17n, 3n, 0n], 'EPERM'],
  ['socket', [38n, 5n, 0n], 'EPERM'],
  ['socket', [40n, 1n, 0n], 'EPERM'],
  ['socket', [HIGH | 40n, 1n, 0n], 'EPERM'],
  ['socket', [0n, 1n, 0n], 'EPERM'],
  ['socket', [1n, 1n, 0n], 'EPERM', { unixSockets: 'closed' }],
  ['socket', [2n, 1n, 0n], 'allow', { unixSockets: 'closed' }],
  ['socket', [2n, 1n, 0n], 'EPERM', { network: 'none' }],
  ['socket', [10n, 1n, 0n], 'EPERM', { network: 'none' }],
  ['socket', [16n, 3n, 0n], 'EPERM', { network: 'none' }],
  ['socket', [1n, 1n, 0n], 'allow', { network: 'none' }],
  ['socketpair', [1n, 1n], 'allow'],
  ['socketpair', [1n, 2n], 'allow'],
  ['socketpair', [2n, 1n], 'EPERM'],
  ['socketpair', [1n, 1n | 0x80000n], 'allow', { unixSockets: 'closed' }],
  ['socketpair', [1n, 2n | 0x80000n], 'EPERM', { unixSockets: 'closed' }],
  ['socketpair', [1n, 3n], 'EPERM', { unixSockets: 'closed' }],
  ['socketpair', [1n, 5n], 'allow', { unixSockets: 'closed' }],
  ['bind', [3n], 'allow', { unixSockets: 'closed' }],
  ['bind', [3n], 'EPERM', { network: 'none' }],
  ['open', [0n, 3n, 0n], 'allow'],
  ['open', [0n, 3n, 0n], 'EPERM', { namespaces: 'none' }],
  ['openat', [0n, 0n, 3n, 0n], 'allow'],
  ['openat', [0n, 0n, 0o2000003n, 0n], 'EPERM', { namespaces: 'none' }],
  ['openat', [0n, 0n, 0o1101n, 0o644n], 'allow', { namespaces: 'none' }],
  ['openat', [0n, 0n, 2n, 0n], 'allow', { namespaces: 'none' }],
  ['shmget', [1n, 1n, 0n], 'allow'],
  ['shmget', [1n, 1n, 0n], 'EPERM', { namespaces: 'none' }],
  ['shmat', [1n], 'EPERM', { namespaces: 'none' }],
  ['msgrcv', [1n], 'EPERM', { namespaces: 'none' }],
  ['semop', [1n], 'EPERM', { namespaces: 'none' }],
  ['mq_open', [1n], 'EPERM', { namespaces: 'none' }],
  ['prlimit64', [0n, 7n], 'allow', { namespaces: 'none' }],
  ['prlimit64', [1n, 7n], 'EPERM', { namespaces: 'none' }],
  ['prlimit64', [1n, 7n], 'allow'],
  ['setpriority', [0n, 0n, 5n], 'allow', { namespaces: 'none' }],
  ['setpriority', [2n, 0n, 5n], 'EPERM', { namespaces: 'none' }],
  ['truncate', [1n, 0n], 'allow'],
  ['truncate', [1n, 0n], 'EPERM', { truncation: 'closed' }],
  ['openat', [0n, 0n, 0o1000n, 0n], 'EPERM', { truncation: 'closed' }],
  ['openat', [0n, 0n, 0o1003n, 0n], 'EPERM', { truncation: 'closed' }],
  ['openat', [0n, 0n, 0o2001000n, 0n], 'EPERM', { truncation: 'closed' }],
  ['openat', [0n, 0n, 0o1101n, 0o644n], 'allow', { truncation: 'closed' }],
  ['openat', [0n, 0n, 0o1002n, 0n], 'allow', { truncation: 'closed' }],
  ['openat', [0n, 0n, 0o1000n, 0n], 'allow'],
  // terminal: only the low half of the command counts (the kernel takes an unsigned int)
  ['ioctl', [0n, 0x5412n], 'EPERM'],
  ['ioctl', [0n, HIGH | 0x5412n], 'EPERM'],
  ['ioctl', [0n, 0x541cn], 'EPERM'],
  ['ioctl', [0n, HIGH | 0x541cn], 'EPERM'],
  ['ioctl', [0n, 0x5413n], 'allow'],
  ['ioctl', [0x5412n, 0x5401n], 'allow'],
  // other processes, keys, the kernel
  ['ptrace', [], 'EPERM'],
  ['process_vm_readv', [], 'EPERM'],
  ['pidfd_getfd', [], 'EPERM'],
  ['kcmp', [], 'EPERM'],
  ['keyctl', [], 'EPERM'],
  ['io_uring_setup', [], 'EPERM'],
  ['bpf', [], 'EPERM'],
  ['perf_event_open', [], 'EPERM'],
  ['userfaultfd', [], 'EPERM'],
  ['finit_module', [], 'EPERM'],
  ['syslog', [], 'EPERM'],
  ['modify_ldt', [], 'EPERM'],
  ['ptrace', [], 'EPERM', { nesting: true }],
  // set-user-id and set-group-id
  ['chmod', [0n, 0o755n], 'allow'],
  ['chmod', [0n, 0o1777n], 'allow'],
  ['chmod', [0n, 0o4755n], 'EPERM'],
  ['chmod', [0n, 0o2755n], 'EPERM'],
  ['fchmod', [0n, HIGH | 0o4000n], 'EPERM'],
  ['fchmodat', [0n, 0n, 0o4755n], 'EPERM'],
  ['fchmodat', [0n, 0o4755n, 0o755n], 'allow'],
  ['fchmodat2', [0n, 0n, 0o2755n, 0n], 'EPERM'],
  ['mknodat', [0n, 0n, 0o104755n], 'EPERM'],
  ['mknodat', [0n, 0n, 0o100755n], 'allow'],
  ['openat', [0n, 0n, 0o101n, 0o4755n], 'EPERM'],
  ['openat', [0n, 0n, 0o20200000n, 0o2755n], 'EPERM'],
  ['openat', [0n, 0n, 0o101n, 0o644n], 'allow'],
  ['openat', [0n, 0n, 0n, 0o4755n], 'allow'],
  ['open', [0n, 0o101n, 0o4755n], 'EPERM'],
  ['open', [0n, 0n, 0xffffffffn], 'allow'],
  ['openat2', [], 'ENOSYS'],
]

for (const [at, arch] of ARCHES.entries()) {
  t.test(`${arch}: what each call gets`, async t => {
    for (const [call, args, action, options] of CASES) {
      const nr = NUMBERS[call]?.[at]
      if (nr === undefined) throw new Error(`no number for ${call}`)
      if (nr === null) continue
      const shown = `${call}(${args.map(value => `0x${value.toString(16)}`).join(', ')}) ${JSON.stringify(options ?? {})}`
      t.equal(actionOf(usual(arch, options), nr, args), action, shown)
    }
  })

  t.test(`${arch}: numbers of the table are those of the kernel`, async t => {
    for (const [call, numbers] of Object.entries(NUMBERS)) {
      const known = callNumber(arch, call)
      if (known !== undefined) t.equal(known, numbers[at], call)
    }
  })

  t.test(`${arch}: every row decides something, and its calls exist on a processor`, async t => {
    for (const row of filterRows(usual(arch, { unixSockets: 'closed', network: 'none' }))) {
      const options = usual(arch, { unixSockets: 'closed', network: 'none' })
      const args = [0n, 0n, 0n, 0n, 0n, 0n]
      for (const { arg, op, value } of row.condition) args[arg] = op === 'ne' ? 0xffn : BigInt(value)
      t.not(actionOf(options, callNumber(arch, row.call) ?? -1, args), 'allow', `${row.call}: ${row.why}`)
    }
  })

  for (const unixSockets of ['open', 'closed'] as const) {
    t.test(`${arch}: golden program, AF_UNIX ${unixSockets}`, async t => {
      const { instructions, bytes } = seccompProgram(usual(arch, { unixSockets }))
      const text = disassemble(instructions, arch)
      t.equal(text, golden(`seccomp/${arch}-unix-${unixSockets}.txt`, text))
      t.equal(disassembleBytes(bytes), text, 'the bytes say the same')
      t.equal(bytes.length, instructions.length * 8)
    })
  }
}

t.test('a foreign number space ends the program', async t => {
  const x86 = usual('x86_64')
  t.equal(actionOf(x86, 0, [], ARCH_WORDS.i386), 'kill', 'a 32-bit call')
  t.equal(actionOf(x86, 0, [], ARCH_WORDS.aarch64), 'kill')
  t.equal(actionOf(usual('aarch64'), 63, [], ARCH_WORDS.arm), 'kill')
  for (const nr of [0, 1, 101, 520]) t.equal(actionOf(x86, 0x40000000 + nr), 'kill', `x32 call ${nr}`)
  t.equal(actionOf(usual('aarch64'), 0x40000000), 'allow', 'the bit means nothing elsewhere: the kernel answers ENOSYS')
})

t.test('one call is one block, so its number is tested once', async t => {
  const text = disassemble(seccompProgram(usual('x86_64')).instructions, 'x86_64')
  for (const call of ['socket', 'ioctl']) t.equal(text.split(`nr == ${call} `).length - 1, 1, call)
})

t.test('jumps past 255 instructions', async t => {
  const far = (count: number): Line[] => [
    { op: 'load', offset: 0 },
    { op: 'jump', test: 'eq', value: 7, yes: 'end', no: null },
    { op: 'jump', test: 'ge', value: 100, yes: null, no: 'end' },
    ...Array.from({ length: count }, (): Line => ({ op: 'and', value: 0xffffffff })),
    { op: 'return', value: 1 },
    { op: 'label', name: 'end' },
    { op: 'return', value: 2 },
  ]
  for (const count of [0, 10, 252, 253, 254, 255, 256, 257, 300, 4000]) {
    const bytes = encode(assemble(far(count)))
    const run = (nr: number): number => runFilter(bytes, { arch: 0, nr })
    t.same([run(7), run(8), run(100), run(4096)], [2, 2, 1, 1], `${count} instructions between`)
  }
  t.throws(() => assemble(far(4096)), /4096/, 'more than the kernel takes')
})

t.test('a jump to nowhere or backwards is a bug', async t => {
  const jump: Line = { op: 'jump', test: 'eq', value: 1, yes: 'there', no: null }
  t.throws(() => assemble([jump]), /there/)
  t.throws(() => assemble([{ op: 'label', name: 'there' }, jump]), /behind/)
  t.throws(() => disassembleBytes(encode(assemble([{ op: 'return', value: 0 }]))), /no program of ours/)
})
