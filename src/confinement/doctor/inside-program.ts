/**
 * The program of `doctor` that tries forbidden things: run by node inside the boundary, it needs nothing else there. Pure text.
 *
 * Its only argument is a JSON object (`InsideFacts`); it prints one JSON line an attempt, `{name, result, detail}`, as soon as
 * it is known, so what ends it early leaves the rest unanswered. An attempt returns true where it got through, false where it
 * was refused, null where there is nothing here to try; a text is the first, and says what. What it throws counts as refused for the errno of a refusal alone.
 */

import type { Machine } from './places.js'

/** `refused`: it did not get through. `succeeded`: it did. `not-here`: there is nothing to try. `unanswered`: nobody knows. */
export type AttemptResult = 'refused' | 'succeeded' | 'not-here' | 'unanswered'

export interface Answer {
  readonly name: string
  readonly result: AttemptResult
  /** What was seen; empty where there is nothing to say. */
  readonly detail: string
}

/** What the program is told. Paths are absolute. */
export interface InsideFacts {
  readonly names: readonly string[]
  readonly workspace: string
  /** A folder that is shown and not granted, with the file `canary` and the socket `s`. */
  readonly outside: string
  /** A file that nothing shows, and what stands in it. */
  readonly secret: string
  readonly secretText: string
  /** The supervisor outside, and its start time in clock ticks. */
  readonly pid: number
  readonly startTime: string
  /** A name that exists nowhere. */
  readonly mark: string
  /** Something in the temporary folder outside. */
  readonly tmpName: string
  readonly machine: Machine
  /** Name and value of a variable in the supervisor's environment, which nothing inside has. */
  readonly variable: readonly [string, string]
  /** Null: it could not be opened outside. */
  readonly tcpPort: number | null
  readonly udpPort: number | null
  readonly unixPath: string | null
  readonly abstractName: string | null
  /** The program of `raw-calls`, base64, and the calls that it is to make. Null: there is none for this processor. */
  readonly raw: { readonly program: string; readonly input: string; readonly names: readonly string[] } | null
  /** Number of a descriptor that the supervisor was started with, and the inode of the file behind it. */
  readonly descriptor?: { readonly number: number; readonly ino: number }
  /** Leaves a process behind that keeps stdout open and takes no TERM. */
  readonly daemon?: true
  /** Stays when all is said, for as long as somebody reads it and a doctor may take. */
  readonly stay?: true
}

/** Refusals of kernels and boundaries; ENOENT and ESRCH: what is meant is not there, which is how a namespace refuses. */
const REFUSALS = [
  ...['EACCES', 'EPERM', 'EROFS', 'ENOENT', 'ENOTDIR', 'EBUSY', 'ESRCH', 'ENXIO', 'EXDEV', 'ENOSYS', 'EBADF'],
  ...['ECONNREFUSED', 'ENETUNREACH', 'EHOSTUNREACH', 'EADDRNOTAVAIL', 'EAFNOSUPPORT', 'ETIMEDOUT', 'ENOTCONN'],
]

/** A filesystem that has no files without a name, or none of this user's: nothing can be made there so. */
const UNMADE = ['ENOTSUP', 'EISDIR', 'EINVAL', 'EOVERFLOW']

/** Of the raw calls, as numbers: EPERM, EACCES, ENOSYS, ENOSPC and EUSERS (no more namespaces), EAFNOSUPPORT (no such family). */
const RAW = { refused: [1, 13, 38, 28, 87], notHere: [97] }

/** For `node -e`; argv[1] is the facts. */
export const INSIDE_PROGRAM = String.raw`
const fs = require('fs'), net = require('net'), dgram = require('dgram'), os = require('os'), path = require('path')
const { spawn, spawnSync } = require('child_process')
const facts = JSON.parse(process.argv[1])
const REFUSALS = new Set(${JSON.stringify(REFUSALS)}), UNMADE = new Set(${JSON.stringify(UNMADE)}), RAW = ${JSON.stringify(RAW)}
const WAIT_MS = 150
const at = (...names) => path.join(facts.workspace, ...names)
const say = (name, result, detail) => fs.writeSync(1, JSON.stringify({ name, result, detail: String(detail).slice(0, 300) }) + '\n')
const there = file => fs.existsSync(file)
const opened = (file, flags) => { fs.closeSync(fs.openSync(file, flags)); return true }
const setting = file => () => (there(file) ? opened(file, fs.constants.O_WRONLY) : null)
const isPlace = ({ path, identity }) => {
  try { const { dev, ino } = fs.statSync(path, { bigint: true }); return dev + ':' + ino === identity } catch { return false }
}
// The first place of the machine that is there as itself and takes the attempt; another one of that name is none.
const anyPlace = (places, attempt) => {
  const tried = path => {
    try { attempt(path); return true } catch (error) { if (REFUSALS.has(error.code) || UNMADE.has(error.code)) return false; throw error }
  }
  return places.length === 0 ? null : (places.filter(isPlace).find(({ path }) => tried(path))?.path ?? false)
}
// A file that never has a name: where it can be made, nothing is left of it (open(2), O_TMPFILE).
const UNNAMED = process.platform === 'linux' ? fs.constants.O_WRONLY | fs.constants.O_DIRECTORY | 0o20000000 : null
const made = file => { fs.writeFileSync(file, 'made inside'); return true }
const appended = file => { fs.appendFileSync(file, '# changed\n'); return true }
const moved = (from, to) => { fs.renameSync(from, to); fs.renameSync(to, from); return true }
const waiting = (begin, ms = WAIT_MS) => new Promise((resolve, reject) => {
  const timer = setTimeout(() => resolve(false), ms)
  const done = value => { clearTimeout(timer); resolve(value) }
  begin(done, error => { clearTimeout(timer); reject(error) })
})
const connected = options => waiting((done, failed) => {
  const socket = net.connect(options)
  socket.once('connect', () => { socket.destroy(); done(true) })
  socket.once('error', failed)
// On this machine there is an answer at once; what is slow to come is not refused.
}, 20 * WAIT_MS)
const sent = port => waiting((done, failed) => {
  const socket = dgram.createSocket('udp4')
  const end = then => { try { socket.close() } catch {} then() }
  socket.once('message', () => end(() => done(true)))
  socket.once('error', error => end(() => failed(error)))
  socket.send('x', port, '127.0.0.1', error => { if (error) end(() => failed(error)) })
  setTimeout(() => end(() => {}), WAIT_MS).unref()
})
const processes = () => fs.readdirSync('/proc').filter(name => /^[0-9]+$/.test(name))
const read = file => { try { return fs.readFileSync(file, 'latin1') } catch { return '' } }
const isSupervisor = () => read('/proc/' + facts.pid + '/stat').replace(/^.*\) /s, '').split(' ')[19] === facts.startTime
const attempts = {
  'read-canary': () => { fs.readFileSync(path.join(facts.outside, 'canary')); return true },
  'change-outside': () => appended(path.join(facts.outside, 'canary')),
  'make-outside': () => made(path.join(facts.outside, facts.mark)),
  'make-in-workspace': () => made(at(facts.mark)),
  'open-system-file': () => (there('/etc/hosts') ? opened('/etc/hosts', fs.constants.O_WRONLY) : null),
  'write-in-places': () => (UNNAMED === null ? null : anyPlace(facts.machine.places, path => fs.closeSync(fs.openSync(path, UNNAMED, 0o600)))),
  'list-places': () => anyPlace(facts.machine.places.filter(({ shown }) => !shown), path => fs.readdirSync(path)),
  'read-passwords': () => (process.platform === 'linux' ? opened('/etc/shadow', 'r') : null),
  'open-disk': () => {
    const { disks } = facts.machine
    return disks.length === 0 ? null : disks.find(path => { try { return opened(path, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK) } catch { return false } }) ?? false
  },
  'read-secret': () => fs.readFileSync(facts.secret, 'utf8').includes(facts.secretText),
  'read-secret-through-proc': () => fs.readFileSync('/proc/' + facts.pid + '/root' + facts.secret, 'utf8').includes(facts.secretText),
  'tcp': () => (facts.tcpPort === null ? null : connected({ host: '127.0.0.1', port: facts.tcpPort })),
  'udp': () => (facts.udpPort === null ? null : sent(facts.udpPort)),
  'unix-path': () => (facts.unixPath === null ? null : connected({ path: facts.unixPath })),
  'unix-abstract': () => (facts.abstractName === null ? null : connected({ path: '\0' + facts.abstractName })),
  // URG does nothing to who does not ask for it, so nobody else is harmed where the number is another's here.
  'signal-supervisor': () => { process.kill(facts.pid, 'SIGURG'); return isSupervisor() },
  'see-supervisor': isSupervisor,
  'read-supervisor-environment': () => read('/proc/' + facts.pid + '/environ') !== '' && isSupervisor(),
  'environment-own': () => process.env[facts.variable[0]] !== undefined,
  'environment-any': () => processes().some(pid => read('/proc/' + pid + '/environ').includes(facts.variable.join('='))),
  'make-repository': () => { fs.mkdirSync(at('.git')); return true },
  'make-envrc': () => made(at('.envrc')),
  'core-pattern': setting('/proc/sys/kernel/core_pattern'),
  'sysrq': setting('/proc/sysrq-trigger'),
  'uevent-helper': setting('/sys/kernel/uevent_helper'),
  'irq': setting('/proc/irq/default_smp_affinity'),
  'acpi-wakeup': setting('/proc/acpi/wakeup'),
  'scsi': setting('/proc/scsi/scsi'),
  'cgroup-procs': setting('/sys/fs/cgroup/cgroup.procs'),
  'open-terminal': () => opened('/dev/tty', 'r+'),
  'tmp-shows-outside': () => [path.dirname(facts.tmpName), '/tmp', os.tmpdir()].some(folder => there(path.join(folder, path.basename(facts.tmpName)))),
  'share-memory': () => (facts.machine.ipc === null ? null : fs.readlinkSync('/proc/self/ns/ipc') === facts.machine.ipc),
  'leave': () => {
    const places = [os.tmpdir(), '/tmp', process.env.HOME, '/dev/shm']
    for (const place of places) try { fs.writeFileSync(path.join(place, facts.mark), 'left') } catch {}
    return false
  },
  'set-user-id': () => {
    const file = path.join(os.tmpdir(), 'bits-' + facts.mark)
    fs.writeFileSync(file, '')
    fs.chmodSync(file, 0o4755)
    return (fs.statSync(file).mode & 0o4000) !== 0
  },
  'made': () => made(at('room', 'made')),
  'git-config': () => appended(at('.git', 'config')),
  'git-hook': () => made(at('.git', 'hooks', 'post-commit')),
  'git-nested': () => appended(at('deep', 'er', '.git', 'config')),
  'git-rename': () => moved(at('.git'), at('moved')),
  'git-rename-parent': () => moved(at('deep'), at('moved')),
  'control-change': () => appended(at('.envrc')),
  'control-new': () => made(at('.vscode', 'tasks.json')),
  'control-rename': () => moved(at('.vscode'), at('moved')),
  'descriptor-write': () => fs.fstatSync(facts.descriptor.number).ino === facts.descriptor.ino && fs.writeSync(facts.descriptor.number, 'written') > 0,
  'descriptor-list': () => fs.readdirSync('/proc/self/fd').some(fd => { try { return fs.fstatSync(Number(fd)).ino === facts.descriptor.ino } catch { return false } }),
}
const rawCalls = () => {
  const { program, input, names } = facts.raw
  const file = path.join(os.tmpdir(), 'calls-' + facts.mark)
  fs.writeFileSync(file, Buffer.from(program, 'base64'), { mode: 0o755 })
  const ran = spawnSync(file, [], { input: Buffer.from(input, 'base64'), timeout: 5000, stdio: ['pipe', 'pipe', 'ignore'] })
  if (ran.error) return names.forEach(name => say(name, 'unanswered', 'a program in ' + os.tmpdir() + ' cannot be started: ' + ran.error.code))
  const results = ran.stdout ?? Buffer.alloc(0)
  names.forEach((name, index) => {
    if (results.length < 8 * (index + 1)) return say(name, 'unanswered', 'the calls ended early' + (ran.signal ? ': ' + ran.signal : ''))
    const value = results.readBigInt64LE(8 * index), errno = Number(-value)
    if (RAW.notHere.includes(errno)) return say(name, 'not-here', 'errno ' + errno)
    say(name, RAW.refused.includes(errno) ? 'refused' : 'succeeded', value < 0n ? 'errno ' + errno : 'returned ' + value)
  })
}
// Whatever does not hold it: it goes with the workspace and with who reads it, and after ten seconds anyway.
const LEFT_BEHIND = 'trap "" TERM HUP; n=0; while [ -d "$0" ] && [ $n -lt 10 ] && echo; do sleep 1; n=$((n+1)); done'
const main = async () => {
  for (const name of facts.names) {
    try {
      const got = await attempts[name]()
      say(name, got === null ? 'not-here' : got ? 'succeeded' : 'refused', typeof got === 'string' ? got : '')
    } catch (error) {
      say(name, REFUSALS.has(error.code) ? 'refused' : 'unanswered', error.code ?? error.message)
    }
  }
  if (facts.raw !== null) rawCalls()
  if (facts.daemon) {
    const daemon = spawn('/bin/sh', ['-c', LEFT_BEHIND, facts.workspace], { detached: true, stdio: ['ignore', 'inherit', 'ignore'] })
    daemon.once('error', error => say('daemon', 'unanswered', error.code))
    daemon.once('spawn', () => { say('daemon', 'succeeded', ''); daemon.unref() })
  }
  if (facts.stay) {
    say('stays', 'succeeded', '')
    const until = Date.now() + 10_000
    const timer = setInterval(() => {
      try { fs.writeSync(1, '\n') } catch (error) { if (error.code !== 'EAGAIN') return clearInterval(timer) }
      if (Date.now() > until || !there(facts.workspace)) clearInterval(timer)
    }, 200)
  }
}
main()
`

/** The answers in the program's stdout; a line that is none is left out, so what it spoke of is unanswered. */
export function answersOf(stdout: string): Answer[] {
  return stdout.split('\n').flatMap(line => {
    const answer = parsed(line)
    return answer === null ? [] : [answer]
  })
}

const RESULTS: ReadonlySet<unknown> = new Set(['refused', 'succeeded', 'not-here', 'unanswered'])

function parsed(line: string): Answer | null {
  try {
    const value = JSON.parse(line) as Partial<Answer> | null
    if (typeof value?.name !== 'string' || value.result === undefined || !RESULTS.has(value.result)) return null
    return { name: value.name, result: value.result, detail: typeof value.detail === 'string' ? value.detail : '' }
  } catch {
    return null
  }
}
