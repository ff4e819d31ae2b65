import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { Refusal } from '../../src/errors.js'
import { openFileIn, readGuardedFile, replaceGuardedFile } from '../../src/paths/guarded-file.js'
import { type GuardedPlace, openGuardedFolder } from '../../src/paths/guarded-folder.js'
import { landPlace } from '../../src/paths/resolve.js'
import { needs } from '../support/needs.js'
import { projectRoot } from '../support/root.js'
import { scratch } from '../support/scratch.js'

function at(ws: string, path: string): GuardedPlace {
  const root = landPlace(ws, { cwd: '/' })
  if (root instanceof Refusal) throw root
  return { root, components: path.split('/') }
}

const bytes = (text: string): Buffer => Buffer.from(text)

/** The code of a refused read. Told apart here, because `t.match` lets a Buffer pass for an object of any shape. */
function readCode(place: GuardedPlace): string {
  const read = readGuardedFile(place, 10)
  return read instanceof Refusal ? read.code : 'done'
}

t.test('a new file, with the parents it needs', async t => {
  const ws = scratch(t)
  const old = process.umask(0o077)
  t.teardown(() => process.umask(old))
  t.strictSame(replaceGuardedFile(at(ws, 'a/b/f'), bytes('text')), { bytes: 4, created: [`${ws}/a`, `${ws}/a/b`] })
  t.equal(readFileSync(join(ws, 'a/b/f'), 'utf8'), 'text')
  t.equal(statSync(join(ws, 'a/b/f')).mode & 0o7777, 0o600, 'by umask, never executable')
  t.equal(statSync(join(ws, 'a')).mode & 0o7777, 0o700)
  process.umask(0o022)
  t.strictSame(replaceGuardedFile(at(ws, 'a/g'), bytes('')), { bytes: 0, created: [] })
  t.equal(statSync(join(ws, 'a/g')).mode & 0o7777, 0o644)
  t.strictSame(readdirSync(join(ws, 'a')), ['b', 'g'], 'no temporary file is left')
})

t.test('what is replaced keeps its mode', async t => {
  const ws = scratch(t)
  for (const mode of [0o755, 0o640, 0o600, 0o4755]) {
    writeFileSync(join(ws, 'f'), 'old')
    chmodSync(join(ws, 'f'), mode)
    t.match(replaceGuardedFile(at(ws, 'f'), bytes('new')), { bytes: 3 })
    t.equal(statSync(join(ws, 'f')).mode & 0o7777, mode, mode.toString(8))
  }
  mkdirSync(join(ws, 'set'))
  chmodSync(join(ws, 'set'), 0o2775)
  replaceGuardedFile(at(ws, 'set/f'), bytes('new'))
  t.equal(statSync(join(ws, 'set/f')).gid, statSync(join(ws, 'set')).gid)
})

t.test('owners, as uid 0', { skip: needs('root') }, async t => {
  const ws = scratch(t)
  mkdirSync(join(ws, 'theirs'))
  chownSync(join(ws, 'theirs'), 65_534, 65_534)
  replaceGuardedFile(at(ws, 'theirs/sub/f'), bytes('x'))
  t.match(statSync(join(ws, 'theirs/sub')), { uid: 65_534, gid: 65_534 })
  t.match(statSync(join(ws, 'theirs/sub/f')), { uid: 65_534, gid: 65_534 }, 'a new file is the folder owner’s')
  writeFileSync(join(ws, 'f'), '')
  chownSync(join(ws, 'f'), 1_234, 4_321)
  replaceGuardedFile(at(ws, 'f'), bytes('x'))
  t.match(statSync(join(ws, 'f')), { uid: 1_234, gid: 4_321 }, 'an old one stays whose it was')
})

t.test('another name of the same inode keeps its bytes', async t => {
  const base = scratch(t)
  mkdirSync(join(base, 'ws'))
  writeFileSync(join(base, 'canary'), 'canary')
  linkSync(join(base, 'canary'), join(base, 'ws/h'))
  t.match(replaceGuardedFile(at(join(base, 'ws'), 'h'), bytes('mine')), { bytes: 4 })
  t.equal(readFileSync(join(base, 'canary'), 'utf8'), 'canary')
  t.equal(readFileSync(join(base, 'ws/h'), 'utf8'), 'mine')
})

t.test('links, folders and special files are refused, and nothing waits', async t => {
  const base = scratch(t)
  const ws = join(base, 'ws')
  mkdirSync(join(ws, 'folder'), { recursive: true })
  mkdirSync(join(base, 'out'))
  writeFileSync(join(base, 'out/canary'), 'canary')
  writeFileSync(join(ws, 'file'), 'x')
  symlinkSync(join(base, 'out/canary'), join(ws, 'link'))
  symlinkSync(join(base, 'out'), join(ws, 'dirlink'))
  execFileSync('mkfifo', [join(ws, 'fifo')])
  const cases: [path: string, code: string][] = [
    ['link', 'changed-while-checked'],
    ['dirlink/canary', 'changed-while-checked'],
    ['dirlink/new/x', 'changed-while-checked'],
    ['folder', 'not-a-file'],
    ['fifo', 'not-a-file'],
    ['file/x', 'changed-while-checked'],
  ]
  for (const [path, code] of cases) {
    t.match(replaceGuardedFile(at(ws, path), bytes('bad')), { code }, `write ${path}`)
    t.equal(readCode(at(ws, path)), code, `read ${path}`)
  }
  t.equal(readCode(at(ws, 'none')), 'missing')
  t.equal(readCode(at(ws, 'none/x')), 'missing')
  t.strictSame(readdirSync(join(base, 'out')), ['canary'])
  t.equal(readFileSync(join(base, 'out/canary'), 'utf8'), 'canary')
  t.equal(readCode({ ...at(ws, 'x'), components: [] }), 'not-a-file')
  const moved = at(ws, 'file')
  renameSync(ws, join(base, 'elsewhere'))
  mkdirSync(ws)
  t.match(
    replaceGuardedFile(moved, bytes('bad')),
    { code: 'changed-while-checked' },
    'another folder took the root’s place',
  )
})

t.test('a link that appears between the look and the open is not read through (D06)', async t => {
  const base = scratch(t)
  mkdirSync(join(base, 'ws'))
  writeFileSync(join(base, 'canary'), 'canary')
  const { root } = at(join(base, 'ws'), 'f')
  const held = openGuardedFolder({ root, components: [] }, 'refuse')
  if (held instanceof Refusal) throw held
  t.teardown(() => held.close())
  for (const [put, error] of [
    [(name: string) => symlinkSync('../canary', name), { code: 'ELOOP' }],
    [(name: string) => execFileSync('mkfifo', [name]), null],
  ] as const) {
    const name = join(base, 'ws/f')
    rmSync(name, { force: true })
    writeFileSync(name, 'ours')
    let uses = 0
    const folder = {
      ...held,
      at: (path: string): string => {
        if (++uses === 2) {
          rmSync(name)
          put(name)
        }
        return held.at(path)
      },
    }
    if (error === null) t.match(openFileIn(folder, 'f', 'f'), { code: 'not-a-file' }, 'and a FIFO is not waited for')
    else t.throws(() => openFileIn(folder, 'f', 'f'), error)
    t.equal(uses, 2)
  }
})

t.test('a link that appears before the rename stops a write, and stays (D06)', async t => {
  const base = scratch(t)
  mkdirSync(join(base, 'ws'))
  writeFileSync(join(base, 'canary'), 'canary')
  const name = join(base, 'ws/f')
  writeFileSync(name, 'old')
  const content = bytes('mine')
  let swapped = false
  // The length is asked for while the temporary file is filled: after the look at the target.
  Object.defineProperty(content, 'length', {
    get: () => {
      if (!swapped) {
        rmSync(name)
        symlinkSync('../canary', name)
      }
      swapped = true
      return content.byteLength
    },
  })
  t.match(replaceGuardedFile(at(join(base, 'ws'), 'f'), content), { code: 'changed-while-checked' })
  t.equal(readlinkSync(name), '../canary')
  t.equal(readFileSync(join(base, 'canary'), 'utf8'), 'canary')
  t.strictSame(readdirSync(join(base, 'ws')), ['f'], 'no temporary file is left')
})

t.test('kernel filesystems hold nothing to read', { skip: needs('linux') }, async t => {
  t.equal(readCode(at('/proc', 'self/environ')), 'changed-while-checked')
  t.equal(readCode(at('/proc', `${process.pid}/environ`)), 'special-filesystem')
})

t.test('an edit sees the whole file and refuses one that changes under it', async t => {
  const ws = scratch(t)
  writeFileSync(join(ws, 'f'), 'old')
  const edit = (change: (old: Buffer) => Buffer | Refusal, bytesMax = 10) =>
    replaceGuardedFile(at(ws, 'f'), { bytesMax, edit: change })
  t.match(
    edit(old => Buffer.concat([old, old])),
    { bytes: 6 },
  )
  t.equal(readFileSync(join(ws, 'f'), 'utf8'), 'oldold')
  const no = new Refusal('edit-mismatch', { path: 'f', occurrences: 0 }, 'no')
  t.equal(
    edit(() => no),
    no,
  )
  t.match(
    edit(old => old, 5),
    { code: 'too-large', details: { bytes: 6, limit: 5 } },
  )
  const meddling = edit(old => {
    writeFileSync(join(ws, 'f'), 'another writer')
    return old
  })
  t.match(meddling, { code: 'changed-while-checked' })
  t.equal(readFileSync(join(ws, 'f'), 'utf8'), 'another writer')
  t.match(replaceGuardedFile(at(ws, 'none'), { bytesMax: 1, edit: old => old }), { code: 'missing' })
  t.strictSame(readdirSync(ws), ['f'])
})

t.test('a file that may not be written is not replaced either', async t => {
  const ws = scratch(t)
  writeFileSync(join(ws, 'f'), 'old')
  chmodSync(join(ws, 'f'), 0o444)
  const isRoot = process.getuid?.() === 0
  t.match(replaceGuardedFile(at(ws, 'f'), bytes('new')), isRoot ? { bytes: 3 } : { code: 'no-permission' })
  t.equal(statSync(join(ws, 'f')).mode & 0o7777, 0o444)
})

/** Starts the flipper on `name`, and stops it with the test. */
async function flip(
  t: { teardown(undo: () => void): void },
  kind: 'file' | 'folder',
  name: string,
  outside: string,
): Promise<void> {
  const child = spawn(process.execPath, [join(projectRoot, 'integration/fixtures/flipper.mjs'), kind, name, outside], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.teardown(() => void child.kill('SIGKILL'))
  await once(child.stdout, 'data')
}

/** On a busy machine the flipper may not get its turn for a while: the rounds go on until both endings were met. */
function both({ written, refused }: { readonly written: number; readonly refused: number }): boolean {
  return written > 0 && refused > 0
}

t.test('2 000 writes against a file that flips to a link and back', async t => {
  const base = scratch(t)
  mkdirSync(join(base, 'ws'))
  writeFileSync(join(base, 'canary'), 'canary')
  const { ino, mtimeNs } = lstatSync(join(base, 'canary'), { bigint: true })
  await flip(t, 'file', join(base, 'ws/f'), join(base, 'canary'))
  const place = at(join(base, 'ws'), 'f')
  const seen = { written: 0, refused: 0, leaked: 0 }
  for (let round = 0; round < 2_000 || (round < 10_000 && !both(seen)); round++) {
    const written = replaceGuardedFile(place, bytes('mine'))
    seen[written instanceof Refusal ? 'refused' : 'written']++
    const read = readGuardedFile(place, 100)
    if (!(read instanceof Refusal) && read.includes('canary')) seen.leaked++
  }
  t.equal(seen.leaked, 0, 'nothing from outside was read')
  t.ok(both(seen), `both happened: ${JSON.stringify(seen)}`)
  t.match(lstatSync(join(base, 'canary'), { bigint: true }), { ino, mtimeNs })
  t.equal(readFileSync(join(base, 'canary'), 'utf8'), 'canary')
})

t.test('and against a folder on the way that does', async t => {
  const base = scratch(t)
  mkdirSync(join(base, 'ws/d'), { recursive: true })
  mkdirSync(join(base, 'out'))
  writeFileSync(join(base, 'out/f'), 'canary')
  await flip(t, 'folder', join(base, 'ws/d'), join(base, 'out'))
  const place = at(join(base, 'ws'), 'd/f')
  const seen = { written: 0, refused: 0 }
  for (let round = 0; round < 1_000 || (round < 10_000 && !both(seen)); round++) {
    seen[replaceGuardedFile(place, bytes('mine')) instanceof Refusal ? 'refused' : 'written']++
  }
  t.ok(both(seen), `both happened: ${JSON.stringify(seen)}`)
  t.strictSame(readdirSync(join(base, 'out')), ['f'])
  t.equal(readFileSync(join(base, 'out/f'), 'utf8'), 'canary')
})

t.test('a full disk leaves the old content whole', { skip: needs('root', 'mount-namespace') }, async t => {
  const ws = scratch(t)
  const build = new URL('../../src/paths/', import.meta.url).href
  const code = `
    const { replaceGuardedFile } = await import('${build}guarded-file.js')
    const { landPlace } = await import('${build}resolve.js')
    const fs = await import('node:fs')
    const place = { root: landPlace('${ws}', { cwd: '/' }), components: ['f'] }
    const first = replaceGuardedFile(place, Buffer.from('old content'))
    const second = replaceGuardedFile(place, Buffer.alloc(2_000_000, 'x'))
    console.log(JSON.stringify([first.bytes, second.code, second.details.errno, fs.readFileSync('${ws}/f', 'utf8'), fs.readdirSync('${ws}')]))`
  const mount = `mount -t tmpfs -o size=64k none ${ws} && exec "$@"`
  const out = execFileSync(
    'unshare',
    ['-m', 'sh', '-c', mount, 'sh', process.execPath, '--input-type=module', '-e', code],
    { encoding: 'utf8' },
  )
  t.strictSame(JSON.parse(out), [11, 'no-space', 'ENOSPC', 'old content', ['f']])
  t.equal(existsSync(join(ws, 'f')), false, 'the mount was of the child alone')
})

/** The codes of writes to `paths`, from a child that `prefix` starts. */
function codesInChild(prefix: readonly string[], ws: string, paths: readonly string[]): unknown {
  const build = new URL('../../src/paths/', import.meta.url).href
  const code = `
    const { replaceGuardedFile } = await import('${build}guarded-file.js')
    const { landPlace } = await import('${build}resolve.js')
    const root = landPlace('${ws}', { cwd: '/' })
    const write = name => replaceGuardedFile({ root, components: name.split('/') }, Buffer.from('new')).code ?? 'done'
    console.log(JSON.stringify(${JSON.stringify(paths)}.map(write)))`
  const words = [...prefix, process.execPath, '--input-type=module', '-e', code]
  return JSON.parse(execFileSync('env', words, { encoding: 'utf8' }))
}

t.test('a read-only mount is told by a write (D17)', { skip: needs('root', 'mount-namespace') }, async t => {
  const ws = scratch(t)
  writeFileSync(join(ws, 'f'), 'old')
  const mount = `mount --bind ${ws} ${ws} && mount -o remount,ro,bind ${ws} && exec "$@"`
  t.strictSame(
    codesInChild(['unshare', '-m', 'sh', '-c', mount, 'sh'], ws, ['f', 'new', 'sub/new']),
    ['f', 'new', 'sub/new'].map(() => 'read-only-mount'),
  )
})

t.test(
  'a rename would not ask, so a user’s read-only file is asked about (D17)',
  { skip: needs('root', 'setpriv') },
  async t => {
    const ws = scratch(t)
    chmodSync(ws, 0o777)
    writeFileSync(join(ws, 'f'), 'old')
    chmodSync(join(ws, 'f'), 0o444)
    const user = ['setpriv', '--reuid', '65534', '--regid', '65534', '--clear-groups', '--']
    t.strictSame(codesInChild(user, ws, ['f', 'new']), ['no-permission', 'done'])
    t.equal(readFileSync(join(ws, 'f'), 'utf8'), 'old')
  },
)

t.test('the immutable flag is told by a write (D17)', { skip: needs('root', 'immutable-flag') }, async t => {
  const ws = scratch(t)
  mkdirSync(join(ws, 'fixed'))
  writeFileSync(join(ws, 'f'), 'old')
  const flagged = [join(ws, 'fixed'), join(ws, 'f')]
  execFileSync('chattr', ['+i', ...flagged])
  t.teardown(() => execFileSync('chattr', ['-i', ...flagged]))
  for (const path of ['f', 'fixed/new', 'fixed/sub/new'])
    t.match(replaceGuardedFile(at(ws, path), bytes('new')), { code: 'immutable' }, path)
  t.equal(readFileSync(join(ws, 'f'), 'utf8'), 'old')
  t.strictSame(readdirSync(join(ws, 'fixed')), [])
})
