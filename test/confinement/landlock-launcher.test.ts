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
  REPORT_BYTES,
} from '../../src/confinement/landlock-launcher.js'
import { FILTER_ARCHES, type FilterArch } from '../../src/confinement/seccomp-bpf.js'
import { readElf } from '../../src/supervise/elf.js'
import { runAarch64 } from '../support/aarch64.js'
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
    t.ok(elf.length < 400, `${arch}: ${elf.length} bytes`)
  }
})

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
    const named = / (fail|next|check|compare)$/.exec(plain(text))?.[0]
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
    call: (number, args, read) => {
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

t.test('a list in words', async t => {
  const lines = callLines([say('one'), { ...close(7), answer: 'any' }, END])
  t.same(lines, ['write(1, "one", 3) = 3', 'close(7)', 'execve("/nowhere", 0, 0) does not return'])
})

t.test('a list that is more than the launcher maps is none', async t => {
  const bytes = new Uint8Array(LAUNCHER.listBytesMax)
  t.equal(encodeCalls([{ ...close(1), args: [{ text: 'bytes', bytes }] }], 'x86_64'), null)
})
