/** The launcher's program: its bytes against the assembler's reading of them, its file, and what it does with lists. */
import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, closeSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type Call, callLines, encodeCalls, readReport } from '../../src/confinement/call-list.js'
import {
  LAUNCHER,
  LAUNCHER_FAILED,
  launcherCall,
  launcherElf,
  launcherHandler,
  REPORT_BYTES,
} from '../../src/confinement/landlock-launcher.js'
import { wardenWords } from '../../src/confinement/landlock-warden.js'
import { FILTER_ARCHES, type FilterArch } from '../../src/confinement/seccomp-bpf.js'
import { readElf } from '../../src/supervise/elf.js'
import { type Machine, type Memory, runAarch64 } from '../support/aarch64.js'
import { needs } from '../support/needs.js'
import { projectRoot } from '../support/root.js'
import { scratch } from '../support/scratch.js'

const ARCHES = ['x86_64', 'aarch64'] as const

interface Listing {
  readonly code: Readonly<Record<FilterArch, readonly (readonly [string, string, string?])[]>>
}

const listing = JSON.parse(readFileSync(join(projectRoot, 'native-profiles/landlock-launcher.json'), 'utf8')) as Listing

const codeOf = (arch: FilterArch): Buffer =>
  Buffer.concat(listing.code[arch].map(([bytes]) => Buffer.from(bytes, 'hex')))

t.test('the file is an executable without a loader, with a stack that is not executable', async t => {
  for (const arch of ARCHES) {
    const elf = Buffer.from(launcherElf(arch))
    t.same(
      readElf((offset, bytes) => elf.subarray(offset, offset + bytes)),
      { loader: null, libraryFolders: [] },
    )
    t.equal(elf.readUInt16LE(16), 2, 'ET_EXEC')
    t.equal(elf.readUInt16LE(18), { x86_64: 62, aarch64: 183 }[arch])
    const segments = [0, 1].map(at => ({ type: elf.readUInt32LE(64 + 56 * at), flags: elf.readUInt32LE(68 + 56 * at) }))
    t.same(segments, [
      { type: 1, flags: 5 },
      { type: 0x6474e551, flags: 6 },
    ])
    const entry = Number(elf.readBigUInt64LE(24) - elf.readBigUInt64LE(64 + 16))
    t.ok(elf.subarray(entry).equals(codeOf(arch)), `${arch}: the code begins at the entry and is all that follows`)
    t.equal(Number(elf.readBigUInt64LE(64 + 32)), elf.length, 'the whole file is loaded')
    t.ok(elf.length < 800, `${arch}: ${elf.length} bytes`)
  }
})

/** An operand that is the name of a part. */
const PLACES = / (next|compare|check|report|warden|loop|number|digit|kill|wait|end|other|reap|asked|gone|say)$/

/** GNU objdump of this machine reads its own processor alone. */
t.test('the text beside the code is what objdump reads in it', { skip: needs('objdump') }, async t => {
  const arch = FILTER_ARCHES[process.arch]
  if (arch === undefined) throw new Error('no processor of ours')
  const file = join(scratch(t), 'code')
  writeFileSync(file, codeOf(arch))
  const machine = arch === 'x86_64' ? ['-m', 'i386:x86-64', '-M', 'intel'] : ['-m', 'aarch64']
  const read = execFileSync('objdump', ['-D', '-b', 'binary', ...machine, file], { encoding: 'utf8' })
  const lines = read.split('\n').flatMap(line => {
    const [, at = '', bytes = '', text = ''] = /^\s*([0-9a-f]+):\t([0-9a-f ]+?)\s*\t(.*)$/.exec(line) ?? []
    return at === '' ? [] : [{ at: Number.parseInt(at, 16), bytes: bytes.replaceAll(' ', ''), text: plain(text) }]
  })
  let at = 0
  for (const [index, [bytes, text]] of listing.code[arch].entries()) {
    const line = lines[index]
    t.equal(line?.at, at)
    // An operand that is a place has a name in the listing and a number here.
    const named = PLACES.exec(plain(text))?.[0]
    if (named === undefined) t.equal(line?.text, plain(text))
    else t.ok(line?.text.startsWith(plain(text).slice(0, -named.length)), text)
    at += bytes.length / 2
  }
  t.equal(lines.length, listing.code[arch].length)
})

function plain(text: string): string {
  return text
    .replace(/\s*\/\/.*$/, '')
    .replace(/\s+/g, ' ')
    .trim()
}

/** By hand from the kernel's tables, apart from `native-profiles`. */
const NUMBERS: readonly [string, number, number][] = [
  ['read', 0, 63],
  ['write', 1, 64],
  ['close', 3, 57],
  ['openat', 257, 56],
  ['execve', 59, 221],
  ['prctl', 157, 167],
  ['seccomp', 317, 277],
  ['landlock_restrict_self', 446, 446],
]

t.test('numbers of calls', async t => {
  for (const [call, ...numbers] of NUMBERS)
    t.same(
      ARCHES.map(arch => launcherCall(arch, call)),
      numbers,
      call,
    )
  t.throws(() => launcherCall('x86_64', 'reboot'), /no number/)
})

/** A list that answers itself: what each entry does with the answer it gets. */
const SAMPLES: readonly { readonly name: string; readonly calls: readonly Call[]; readonly fails: number | null }[] = [
  { name: 'every answer as asked', calls: [say('one'), say('two')], fails: null },
  { name: 'a wrong answer', calls: [say('one'), { ...say('two'), answer: 99 }, say('three')], fails: 1 },
  { name: 'any answer', calls: [{ ...say('one'), answer: 'any' }, say('two')], fails: null },
  { name: 'an error where any answer will do', calls: [{ ...close(77), answer: 'any' }, say('two')], fails: null },
  { name: 'an error', calls: [close(77), say('two')], fails: 0 },
  { name: 'bytes that are as asked', calls: [compared('8 bytes!', '8 bytes!'), say('two')], fails: null },
  { name: 'bytes that are not', calls: [compared('8 bytes!', '8 bytes.'), say('two')], fails: 0 },
]

function say(text: string): Call {
  return { call: 'write', args: [1, text, text.length], answer: text.length, what: text }
}

function close(fd: number): Call {
  return { call: 'close', args: [fd], answer: 0, what: 'nothing' }
}

function compared(is: string, asked: string): Call {
  const answer = Buffer.from(asked).readBigUInt64LE()
  return { call: 'compare', args: [{ text: 'bytes', bytes: Buffer.from(is) }], answer, what: 'bytes' }
}

/** The last entry of a list that is to end by itself. */
const END: Call = { call: 'execve', args: ['/nowhere', 0, 0], answer: 'ends', what: 'the command' }

for (const { name, calls, fails } of SAMPLES) {
  const list = [...calls, END]
  const said = calls
    .slice(0, fails === null ? calls.length : fails + 1)
    .flatMap(({ call, what }) => (call === 'write' ? [what] : []))
  t.test(`${name}: on this machine`, { skip: needs('linux') }, async t => {
    const { report, stdout, status } = played(t, list)
    t.equal(stdout, said.join(''), 'the calls before it were made, none after it')
    t.equal(status, LAUNCHER_FAILED)
    t.equal(readReport(report, list).call, fails === null ? END : list[fails])
    t.equal(readReport(report, list).answer < 0n, fails === null || list[fails]?.call === 'close')
  })
  t.test(`${name}: in the machine code of aarch64`, async t => {
    const { report, stdout } = interpreted(list)
    t.equal(stdout, said.join(''))
    t.equal(readReport(report, list).call, fails === null ? END : list[fails])
  })
}

function played(t: Test, calls: readonly Call[]) {
  const arch = FILTER_ARCHES[process.arch]
  const bytes = arch === undefined ? null : encodeCalls(calls, arch)
  if (arch === undefined || bytes === null) throw new Error('no list')
  const folder = scratch(t)
  writeFileSync(join(folder, 'program'), launcherElf(arch))
  chmodSync(join(folder, 'program'), 0o755)
  writeFileSync(join(folder, 'list'), bytes)
  const fd = openSync(join(folder, 'list'), 'r')
  const { output, status } = spawnSync(join(folder, 'program'), [], {
    stdio: ['ignore', 'pipe', 'ignore', fd, 'ignore', 'pipe'],
  })
  closeSync(fd)
  const report = output[LAUNCHER.reportFd] as Buffer | null
  return { status, stdout: String(output[1]), report: report ?? Buffer.alloc(REPORT_BYTES) }
}

/** What the kernel would do with the calls of {@link SAMPLES}, and with the first call of all, which maps the list. */
function interpreted(calls: readonly Call[]) {
  const list = Buffer.from(encodeCalls(calls, 'aarch64') ?? [])
  const base = BigInt(LAUNCHER.listAddress)
  const report = Buffer.alloc(REPORT_BYTES)
  let stdout = ''
  let mapped = false
  runAarch64(codeOf('aarch64'), {
    load: address => {
      const at = Number(address - base)
      if (at < 0 || at + 8 > list.length) throw new Error(`nothing at ${address.toString(16)}`)
      return list.readBigUInt64LE(at)
    },
    call: (number, args, { read }) => {
      const [fd = 0n, address = 0n, bytes = 0n] = args
      if (!mapped) {
        mapped = true
        // PROT_READ|PROT_WRITE, MAP_PRIVATE|MAP_FIXED, the list, from its start.
        t.same([number, ...args], [222n, base, BigInt(LAUNCHER.listBytesMax), 3n, 0x12n, BigInt(LAUNCHER.listFd), 0n])
        return base
      }
      // exit_group
      if (number === 94n) {
        t.equal(fd, BigInt(LAUNCHER_FAILED))
        return null
      }
      if (number !== BigInt(launcherCall('aarch64', 'write'))) return (1n << 64n) - 9n
      if (fd === BigInt(LAUNCHER.reportFd)) {
        report.writeBigUInt64LE(read(address))
        report.writeBigUInt64LE(read(address + 8n), 8)
      } else {
        const at = Number(address - base)
        stdout += list.toString('latin1', at, at + Number(bytes))
      }
      return bytes
    },
  })
  return { stdout, report }
}

/** What happens to the warden, one after the other, where it waits: somebody below it has ended, it is signalled, nobody is left. */
type Happens =
  | { readonly pid: number; readonly code?: number; readonly status?: number }
  | { readonly signal: 10 | 15 }
  | 'nobody'

const COMMAND = 77
const [ASKED, END_ALL] = [{ signal: 15 }, { signal: 10 }] as const
const ended = { pid: COMMAND, code: 1, status: 3 }
const told = [{ code: 1, status: 3 }]

const WARDED: readonly {
  readonly name: string
  readonly happens: readonly Happens[]
  /** What is killed, in order, where each of the two ways ends what is below; `-1` is everything. */
  readonly kills: readonly [scoped: readonly number[], listed: readonly number[]]
  readonly ends: readonly object[]
  readonly survivors: number
}[] = [
  // What is not reaped is told again: the command's end is seen once before all is ended and once after.
  {
    name: 'a command alone',
    happens: [ended, ended, 'nobody'],
    kills: [[-1], [5, 601, 5, 601]],
    ends: [...told, ...told],
    survivors: 0,
  },
  {
    name: 'a command that leaves two behind, one of which had ended and was not reaped',
    happens: [{ pid: 4 }, ended, ended, { pid: 5, code: 1, status: 9 }, { pid: 601 }, 'nobody'],
    kills: [[-1], [5, 601, 5, 601, 5, 601, 5, 601]],
    ends: [...told, ...told],
    survivors: 1,
  },
  {
    name: 'TERM, after which the command ends before its helper',
    happens: [ASKED, ended, { pid: 5, code: 1, status: 0 }, { pid: 6, code: 2, status: 15 }, 'nobody'],
    kills: [[], []],
    ends: told,
    survivors: 0,
  },
  {
    name: 'TERM, and an end that is made',
    happens: [ASKED, ended, END_ALL, { pid: 5 }, 'nobody'],
    kills: [[-1], [5, 601, 5, 601]],
    ends: told,
    survivors: 1,
  },
  {
    name: 'an end while the command runs',
    happens: [END_ALL, ended, { pid: 5 }, 'nobody'],
    kills: [[-1], [5, 601, 5, 601, 5, 601]],
    ends: told,
    survivors: 0,
  },
]

const CLONE: Call = { call: 'clone', args: [17, 0, 0, 0], answer: 0, what: 'the warden' }

for (const { name, happens, kills, ends, survivors } of WARDED) {
  for (const [at, how] of (['scoped', 'listed'] as const).entries()) {
    t.test(`the warden, ${how}: ${name}: in the machine code of aarch64`, async t => {
      const calls = [how === 'scoped' ? CLONE : { ...CLONE, args: [...CLONE.args, '/list'] }, END]
      const { killed, reports, status } = warded(t, calls, happens)
      t.same(killed, kills[at], 'who is killed')
      const words = reports.map(report => wardenWords(report, calls))
      t.same(
        words.flatMap(({ end }) => end ?? []),
        ends,
      )
      t.same(words.at(-1), { failure: null, end: null, survivors })
      t.equal(status, 0n)
    })
  }
}

/** What the kernel would do with the calls of a warden that is let happen what `happens` says. */
function warded(t: Test, calls: readonly Call[], happens: readonly Happens[]) {
  const list = Buffer.from(encodeCalls(calls, 'aarch64') ?? [])
  const base = BigInt(LAUNCHER.listAddress)
  const left = [...happens]
  const seen = { killed: [] as number[], reports: [] as Buffer[], status: null as bigint | null }
  const handler = launcherHandler('aarch64') - Number(Buffer.from(launcherElf('aarch64')).readBigUInt64LE(24))
  const answers: Readonly<Record<string, (args: readonly bigint[], memory: Memory) => ReturnType<Machine['call']>>> = {
    222: () => base,
    220: () => BigInt(COMMAND),
    436: args => {
      t.same(args.slice(0, 3), [0n, 4n, 0n], 'the streams of the command are closed')
      return 0n
    },
    56: ([, path = 0n]) => {
      const from = Number(path - base)
      t.equal(list.toString('latin1', from, from + 6), '/list\0')
      return 9n
    },
    // "5 601 " in two words of memory; a number that is cut off is not taken for one.
    63: ([fd, address = 0n], { write }) => {
      t.equal(fd, 9n)
      write(address, Buffer.from('5 601 60').readBigUInt64LE())
      return 8n
    },
    57: () => 0n,
    129: ([pid = 0n, signal]) => {
      t.equal(signal, 9n)
      seen.killed.push(Number(BigInt.asIntN(64, pid)))
      return 0n
    },
    95: (args, { write }) => {
      t.same([args[0], args[1], args[3], args[4]], [0n, 0n, 0x4100_0004n, 0n])
      const next = left.shift()
      if (next === undefined) throw new Error('the warden waits for more than happens')
      if (next === 'nobody') return -10n
      if ('signal' in next) return { handler, signal: BigInt(next.signal) }
      const info = args[2] ?? 0n
      write(info + 8n, BigInt(next.code ?? 2))
      write(info + 16n, BigInt(next.pid))
      write(info + 24n, BigInt(next.status ?? 9))
      return 0n
    },
    260: args => {
      t.same(args.slice(1, 4), [0n, 0x4000_0000n, 0n])
      return args[0] ?? 0n
    },
    206: ([fd, address = 0n, bytes, flags], { read }) => {
      t.same([fd, bytes, flags], [BigInt(LAUNCHER.reportFd), BigInt(REPORT_BYTES), 0x4000n])
      const report = Buffer.alloc(REPORT_BYTES)
      report.writeBigUInt64LE(read(address))
      report.writeBigUInt64LE(read(address + 8n), 8)
      seen.reports.push(report)
      return bytes ?? 0n
    },
    94: ([status = -1n]) => {
      seen.status = status
      return null
    },
  }
  runAarch64(codeOf('aarch64'), {
    load: address => {
      const at = Number(address - base)
      if (at < 0 || at + 8 > list.length) throw new Error(`nothing at ${address.toString(16)}`)
      return list.readBigUInt64LE(at)
    },
    call: (number, args, memory) => {
      const answer = answers[String(number)]
      if (answer === undefined) throw new Error(`call ${number}`)
      return answer(args, memory)
    },
  })
  return seen
}

t.test('a list in words', async t => {
  const lines = callLines([say('one'), { ...close(7), answer: 'any' }, END])
  t.same(lines, ['write(1, "one", 3) = 3', 'close(7)', 'execve("/nowhere", 0, 0) does not return'])
})

t.test('a list that is more than the launcher maps is none', async t => {
  const bytes = new Uint8Array(LAUNCHER.listBytesMax)
  t.equal(encodeCalls([{ ...close(1), args: [{ text: 'bytes', bytes }] }], 'x86_64'), null)
})
