import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { Refusal, type RefusalCode } from '../../src/errors.js'
import { indexControlFiles, NO_CONTROL_FILES } from '../../src/paths/control-files.js'
import { checkLaunchFolders, LaunchFolders } from '../../src/paths/launch-folders.js'
import { mountOf, parseMountinfo } from '../../src/paths/mounts.js'
import { folded, protectedNames } from '../../src/paths/protected-names.js'
import { type LandedPlace, landPlace } from '../../src/paths/resolve.js'
import {
  checkWritableFile,
  checkWritableFolder,
  checkWritablePath,
  type FolderRules,
} from '../../src/paths/writable-folder.js'
import { needs } from '../support/needs.js'
import { scratch } from '../support/scratch.js'

function place(path: string): LandedPlace {
  const landed = landPlace(path, { cwd: '/' })
  if (landed instanceof Refusal) throw landed
  return landed
}

function rulesFor(ws: string, change: Partial<FolderRules> = {}): FolderRules {
  return {
    cwd: ws,
    mode: 'write',
    roots: [place(ws)],
    writes: [],
    protects: [],
    protectedNames: protectedNames(),
    hidden: [],
    controlFiles: NO_CONTROL_FILES,
    home: null,
    ...change,
  }
}

function tree(t: { teardown(undo: () => void): void }): { base: string; ws: string; out: string } {
  const base = scratch(t)
  const [ws, out] = [join(base, 'ws'), join(base, 'out')]
  for (const folder of ['src/deep', '.git/hooks', 'hidden', 'home/user'])
    mkdirSync(join(ws, folder), { recursive: true })
  mkdirSync(out)
  mkdirSync(join(base, 'ws2'))
  mkdirSync(join(base, 'ws '))
  writeFileSync(join(ws, 'file'), '')
  symlinkSync(out, join(ws, 'to-out'))
  symlinkSync('src', join(ws, 'to-src'))
  symlinkSync('.git', join(ws, 'to-git'))
  symlinkSync(join(out, 'absent'), join(ws, 'to-absent'))
  symlinkSync('loop', join(ws, 'loop'))
  return { base, ws, out }
}

/** The verdict's kind, or the code it was refused with. */
function told(verdict: { readonly kind: string } | Refusal): string {
  return verdict instanceof Refusal ? verdict.code : verdict.kind
}

/** The code of a refusal; anything else is no code. */
function codeOf(verdict: unknown): string {
  return verdict instanceof Refusal ? verdict.code : 'passed'
}

t.test('folders, by where they land', async t => {
  const { base, ws } = tree(t)
  const home = place(join(ws, 'home/user'))
  const rules = rulesFor(ws, { home, hidden: [{ path: join(ws, 'hidden') }, { path: join(ws, 'hidden-later') }] })
  const cases: [path: string, code: RefusalCode | 'writable'][] = [
    ['.', 'home-folder'],
    ['src', 'writable'],
    ['src/', 'writable'],
    [`${ws}//src/../src/./deep`, 'writable'],
    ['to-src', 'writable'],
    ['home', 'home-folder'],
    ['home/user', 'home-folder'],
    ['/', 'filesystem-root'],
    ['../ws2', 'outside-roots'],
    [`${base}/ws `, 'outside-roots'],
    ['to-out', 'outside-roots'],
    ['..', 'home-folder'],
    ['to-absent', 'dangling-link'],
    ['loop', 'too-many-links'],
    ['file', 'not-a-directory'],
    ['file/x', 'not-a-directory'],
    ['absent/x', 'missing'],
    ['a\0', 'nul-in-path'],
    ['.git', 'protected'],
    ['.git/hooks', 'protected'],
    ['to-git/hooks', 'protected'],
    ['hidden', 'hidden'],
  ]
  if (process.platform === 'linux') cases.push(['/proc/self', 'special-filesystem'], ['/sys', 'special-filesystem'])
  for (const [path, code] of cases) t.equal(told(checkWritableFolder(path, rules)), code, path)
  const { dev, ino } = lstatSync(join(ws, 'src'), { bigint: true })
  t.match(checkWritableFolder('src', rules), {
    kind: 'writable',
    landed: join(ws, 'src'),
    identity: { dev: String(dev), ino: String(ino) },
    components: ['src'],
    root: { path: ws },
  })
  t.equal(told(checkWritableFolder('.', rulesFor(ws))), 'writable', 'a root itself')
  t.equal(told(checkWritableFolder('src', rulesFor(ws, { roots: [] }))), 'outside-roots', 'no roots allow nothing')
})

t.test('files, existing and new', async t => {
  const { base, ws, out } = tree(t)
  writeFileSync(join(ws, 'hooks.json'), '')
  const controlFiles = indexControlFiles([{ path: join(ws, 'hooks.json'), what: 'the hooks file' }], '/')
  if (controlFiles instanceof Refusal) throw controlFiles
  const rules = rulesFor(ws, { controlFiles, hidden: [{ path: join(ws, 'secret') }] })
  const cases: [path: string, code: RefusalCode | 'writable'][] = [
    ['file', 'writable'],
    ['new', 'writable'],
    ['a/b/c/new', 'writable'],
    ['to-src/new', 'writable'],
    ['to-out/b/c/new', 'outside-roots'],
    [`${base}/ws2/x`, 'outside-roots'],
    [`${base}/ws-evil/x`, 'outside-roots'],
    [`${base}/ws /x`, 'outside-roots'],
    ['../ws2/x', 'outside-roots'],
    ['to-absent', 'dangling-link'],
    ['to-absent/x', 'dangling-link'],
    ['to-src', 'crosses-writable-link'],
    ['src', 'not-a-file'],
    ['new/', 'not-a-file'],
    ['secret', 'hidden'],
    ['secret/x', 'hidden'],
    ['hooks.json', 'control-file-inside'],
    ['.git/config', 'protected'],
    ['.GIT/config', 'protected'],
    ['sub/new/.Git/config', 'protected'],
    ['.g\u200cit/config', 'protected'],
    ['.hu\u017fky/x', 'protected'],
    ['.ZSHRC', 'protected'],
    ['.Mcp.Json', 'protected'],
    ['.GITIGNORE', 'writable'],
    ['.gitignore', 'writable'],
    ['git', 'writable'],
  ]
  for (const [path, code] of cases) t.equal(told(checkWritableFile(path, rules)), code, JSON.stringify(path))
  t.equal(told(checkWritableFile('.vscode/x', { ...rules, protectedNames: protectedNames(['.VSCode']) })), 'writable')
  t.strictSame(readdirSync(out), [], 'nothing was made to find out')
  t.match(checkWritableFile('../ws2/x', rules), {
    message: new RegExp(`lands at "${base}/ws2/x".*use a path inside "${ws}"`),
    details: { landed: `${base}/ws2/x`, roots: [ws] },
  })
  t.equal(told(checkWritablePath('src', rules)), 'writable')
  t.equal(told(checkWritablePath('src/new', rules)), 'writable')
  t.equal(told(checkWritablePath('.', rules)), 'control-file-inside')
})

t.test('roots and denials go by identity', async t => {
  const { ws, out } = tree(t)
  const rules = rulesFor(ws)
  const [root] = rules.roots
  t.equal(
    told(
      checkWritableFolder('src', {
        ...rules,
        roots: [{ path: '/elsewhere', identity: root?.identity ?? place(ws).identity }],
      }),
    ),
    'writable',
  )
  t.equal(
    told(checkWritableFolder('src', { ...rules, roots: [{ path: ws, identity: place(out).identity }] })),
    'changed-while-checked',
  )
  const secret = { path: '/elsewhere', identity: place(join(ws, 'src')).identity }
  t.equal(told(checkWritableFolder('src/deep', { ...rules, hidden: [secret] })), 'hidden')
  t.equal(told(checkWritableFolder('src/deep', { ...rules, protects: [secret] })), 'protected')
  t.equal(
    told(checkWritableFile('src/new', { ...rules, protects: [{ path: join(ws, 'src/new') }] })),
    'protected',
    'not there, still denied',
  )
  renameSync(join(ws, 'src'), join(ws, 'moved'))
  t.equal(told(checkWritableFolder('moved/deep', { ...rules, hidden: [secret] })), 'hidden', 'after a rename too')
  t.equal(folded('.GIT'), '.git')
})

t.test('control files anywhere below a grant', async t => {
  const { base, ws, out } = tree(t)
  writeFileSync(join(ws, 'src/deep/hooks.json'), '')
  symlinkSync(join(ws, 'src/deep/hooks.json'), join(out, 'hooks.json'))
  symlinkSync(join(out, 'real.json'), join(ws, 'src/link.json'))
  writeFileSync(join(out, 'real.json'), '')
  const cases: [file: string, folder: string, code: string][] = [
    [join(ws, 'src/deep/hooks.json'), 'src', 'control-file-inside'],
    [join(ws, 'src/deep/hooks.json'), 'src/deep', 'control-file-inside'],
    [join(out, 'hooks.json'), 'src', 'control-file-inside'],
    [join(ws, 'src/link.json'), 'src', 'control-file-inside'],
    [join(ws, 'src/sessions/new'), 'src', 'control-file-inside'],
    [join(ws, 'src'), 'src/deep', 'control-file-inside'],
    [join(base, 'ws2/x.json'), 'src', 'writable'],
    [join(ws, 'src2'), 'src', 'writable'],
  ]
  for (const [path, folder, code] of cases) {
    const controlFiles = indexControlFiles([{ path, what: 'the hooks file' }], '/')
    if (controlFiles instanceof Refusal) throw controlFiles
    t.equal(told(checkWritableFolder(folder, rulesFor(ws, { controlFiles }))), code, `${path} and ${folder}`)
  }
  t.match(
    indexControlFiles([{ path: join(ws, 'to-absent'), what: 'x' }], '/'),
    { code: 'dangling-link' },
    'unknown is not outside',
  )
})

/** Runs a check in a child of another user or mount namespace and gives what it says. */
function inChild(prefix: readonly string[], script: string): string {
  const build = new URL('../../src/paths/', import.meta.url).href
  const code = `
    const { checkWritableFolder, checkWritableFile } = await import('${build}writable-folder.js')
    const { landPlace } = await import('${build}resolve.js')
    const rules = (ws) => ({ cwd: ws, mode: 'write', roots: [landPlace(ws, { cwd: '/' })], writes: [], protects: [],
      protectedNames: new Set(), hidden: [], home: null, controlFiles: { paths: [], above: new Map(), selves: new Map() } })
    const told = (v) => v.code ?? v.kind
    ${script}`
  return execFileSync('env', [...prefix, process.execPath, '--input-type=module', '-e', code], {
    encoding: 'utf8',
  }).trim()
}

const AS_USER =
  process.getuid?.() === 0 ? ['setpriv', '--reuid', '65534', '--regid', '65534', '--clear-groups', '--'] : []

t.test('a folder without x for its owner is closed to a confined root too (D17)', { skip: needs('root') }, async t => {
  const dir = t.testdir({ closed: {}, open: {} })
  chmodSync(join(dir, 'closed'), 0o600)
  const enter = (name: string) => checkWritableFolder(join(dir, name), rulesFor(dir, { mode: 'enter' }))
  const refused = enter('closed')
  t.ok(refused instanceof Refusal && refused.code === 'no-permission' && /chmod u\+x/.test(refused.message))
  t.match(enter('open'), { kind: 'enterable' })
})

t.test('the kernel is asked, not the mode bits (D17)', { skip: AS_USER.length > 0 && needs('setpriv') }, async t => {
  const ws = scratch(t)
  mkdirSync(join(ws, 'closed'))
  mkdirSync(join(ws, 'unlistable/inner'), { recursive: true })
  chmodSync(join(ws, 'closed'), 0o555)
  chmodSync(join(ws, 'unlistable'), 0o600)
  t.teardown(() => chmodSync(join(ws, 'unlistable'), 0o700))
  const ask = (path: string): string =>
    inChild(AS_USER, `console.log(told(checkWritableFolder('${path}', rules('${ws}'))))`)
  t.equal(ask('closed'), 'no-permission')
  t.equal(ask('unlistable/inner'), 'no-permission')
  const isRoot = process.getuid?.() === 0
  t.equal(told(checkWritableFolder('closed', rulesFor(ws))), isRoot ? 'writable' : 'no-permission', 'as this user')
})

t.test('a folder of another user: whose it is, and what to do', { skip: needs('root', 'setpriv') }, t => {
  const ws = scratch(t)
  mkdirSync(join(ws, 'theirs'))
  chownSync(join(ws, 'theirs'), 5000, 5001)
  const said = inChild(AS_USER, `console.log(checkWritableFolder('theirs', rules('${ws}')).message)`)
  t.match(
    said,
    /it belongs to uid 5000 and gid 5001 \(mode 755\), and this is uid 65534: .*--user 5000:5001.*chown 65534/,
  )
  chmodSync(join(ws, 'theirs'), 0o555)
  chownSync(join(ws, 'theirs'), 65534, 65534)
  t.notMatch(inChild(AS_USER, `console.log(checkWritableFolder('theirs', rules('${ws}')).message)`), /belongs/)
  t.end()
})

t.test('a read-only mount (D17)', { skip: needs('root', 'mount-namespace') }, async t => {
  const ws = scratch(t)
  mkdirSync(join(ws, 'ro/x'), { recursive: true })
  const script = `const v = checkWritableFolder('ro/x', rules('${ws}')); console.log(told(v), v.details.mount)`
  const mount = `mount --bind ${ws}/ro ${ws}/ro && mount -o remount,ro,bind ${ws}/ro && exec "$@"`
  t.equal(inChild(['unshare', '-m', 'sh', '-c', mount, 'sh'], script), `read-only-mount ${ws}/ro`)
})

t.test('the immutable flag (D17)', { skip: needs('root', 'immutable-flag') }, async t => {
  const ws = scratch(t)
  mkdirSync(join(ws, 'fixed'))
  writeFileSync(join(ws, 'fixed-file'), 'old')
  execFileSync('chattr', ['+i', join(ws, 'fixed'), join(ws, 'fixed-file')])
  t.teardown(() => execFileSync('chattr', ['-i', join(ws, 'fixed'), join(ws, 'fixed-file')]))
  t.equal(told(checkWritableFolder('fixed', rulesFor(ws))), 'immutable')
  t.equal(told(checkWritableFile('fixed/new', rulesFor(ws))), 'immutable')
  t.equal(told(checkWritableFile('fixed-file', rulesFor(ws))), 'immutable')
})

/** A shell line that mounts in a namespace of the child's own, before `inChild` runs its script there. */
function mounting(line: string): string[] {
  return ['unshare', '-m', '--propagation', 'private', 'sh', '-c', `${line} && exec "$@"`, 'sh']
}

t.test('a second mount of a folder is that folder', { skip: needs('root', 'mount-namespace') }, async t => {
  const { base, ws, out } = tree(t)
  mkdirSync(join(out, 'conf'))
  mkdirSync(join(base, 'again'))
  for (const name of ['g', 'h', 'c', 'm']) mkdirSync(join(ws, name))
  const binds = [
    [`${ws}/.git`, `${ws}/g`],
    [`${ws}/hidden`, `${ws}/h`],
    [`${out}/conf`, `${ws}/c`],
    [out, `${ws}/m`],
    [ws, `${base}/again`],
  ]
  const script = `
    const { indexControlFiles } = await import('${new URL('../../src/paths/control-files.js', import.meta.url).href}')
    const { protectedNames } = await import('${new URL('../../src/paths/protected-names.js', import.meta.url).href}')
    const place = path => landPlace(path, { cwd: '/' })
    const all = { ...rules('${ws}'), protectedNames: protectedNames(),
      protects: [place('${ws}/.git')], hidden: [place('${ws}/hidden')],
      controlFiles: indexControlFiles([{ path: '${out}/conf/c.toml', what: 'x' }], '/') }
    const at = path => [told(checkWritableFolder(path, all)), told(checkWritableFile(path + '/new', all))]
    console.log(JSON.stringify(['g', 'h', 'c', 'm', '${base}/again/src', '${base}/again/.git', '${base}/again'].map(at)))`
  const line = binds.map(([from, to]) => `mount --bind ${from} ${to}`).join(' && ')
  t.strictSame(JSON.parse(inChild(mounting(line), script)), [
    ['protected', 'protected'],
    ['hidden', 'hidden'],
    ['control-file-inside', 'writable'],
    ['control-file-inside', 'writable'],
    ['writable', 'writable'],
    ['protected', 'protected'],
    ['writable', 'writable'],
  ])
})

t.test(
  'filesystems of the kernel’s own, wherever they are mounted',
  { skip: needs('root', 'mount-namespace') },
  async t => {
    const ws = scratch(t)
    const types = ['proc', 'sysfs', 'mqueue', 'devpts', 'tmpfs']
    for (const type of types) mkdirSync(join(ws, type))
    const script = `
    const at = path => [told(checkWritableFolder(path, rules('${ws}'))), told(checkWritableFile(path + '/x', rules('${ws}')))]
    console.log(JSON.stringify(${JSON.stringify(types)}.map(at)))`
    const line = types.map(type => `mount -t ${type} none ${ws}/${type}`).join(' && ')
    const special = ['special-filesystem', 'special-filesystem']
    t.strictSame(JSON.parse(inChild(mounting(line), script)), [
      special,
      special,
      special,
      special,
      ['writable', 'writable'],
    ])
    t.equal(told(checkWritableFolder('/dev/shm', rulesFor(ws))), 'outside-roots', 'a plain one, and none of ours')
    t.equal(told(checkWritableFile('/dev/null', rulesFor(ws))), 'special-filesystem')
  },
)

t.test('what is swapped while it is judged is refused by the last look (D06)', async t => {
  const away = (ws: string): void => renameSync(join(ws, 'src'), join(ws, 'old'))
  const swaps: [what: string, swaps: ((ws: string) => void)[], code: string][] = [
    ['another folder', [away, ws => mkdirSync(join(ws, 'src'))], 'changed-while-checked'],
    ['a link', [away, ws => symlinkSync('old', join(ws, 'src'))], 'changed-while-checked'],
    ['nothing', [away], 'changed-while-checked'],
    ['itself', [], 'writable'],
  ]
  for (const [what, steps, code] of swaps) {
    const { ws } = tree(t)
    let asked = 0
    const names: Pick<ReadonlySet<string>, 'has'> = {
      has: () => {
        if (asked++ === 0) for (const step of steps) step(ws)
        return false
      },
    }
    const protectedNames = names as ReadonlySet<string>
    t.equal(told(checkWritableFolder('src', rulesFor(ws, { protectedNames }))), code, what)
    t.ok(asked > 0)
  }
})

t.test('the mount table', async t => {
  const mounts = parseMountinfo(
    [
      '22 1 254:0 / / rw,relatime - ext4 /dev/vda rw',
      '30 22 0:40 / /a\\040b rw,nosuid shared:1 master:2 - tmpfs tmpfs rw,size=1k',
      '31 22 0:41 /sub /data ro,relatime - ext4 /dev/vdb rw',
      '32 22 0:42 / /data rw,relatime - xfs /dev/vdc ro',
      'nonsense',
      '',
    ].join('\n'),
  )
  t.equal(mounts.length, 4)
  t.match(mountOf('/a b/c', mounts), { id: '30', point: '/a b', readOnly: false, type: 'tmpfs' })
  t.match(mountOf('/data/x', mounts), { id: '32', readOnly: true }, 'the later mount covers the earlier')
  t.match(mountOf('/database', mounts), { id: '22' })
  t.match(mountOf('/a b', mounts), { id: '30' }, 'a mount point itself')
  t.match(mountOf('/a/x', mounts), { id: '22' }, 'one as long as the name, and another')
  t.equal(mountOf('/x', []), null)
})

t.test('the folders of a launch', async t => {
  const { base, ws, out } = tree(t)
  const rules = { ...rulesFor(ws), enterable: [place(ws)], grantable: [place(ws)] }
  const made = checkLaunchFolders({ cwd: 'src', grants: ['src', 'home'], privateParent: out }, rules)
  t.ok(LaunchFolders.made(made))
  t.match(made, {
    cwd: { kind: 'enterable', landed: join(ws, 'src') },
    grants: [{ kind: 'writable' }, { kind: 'writable' }],
  })
  t.notOk(LaunchFolders.made(Object.assign({}, made)), 'a copy is not a verdict')
  t.notOk(LaunchFolders.made(null))
  t.equal(Object.isFrozen(made), true)
  mkdirSync(join(ws, 'src/tmp'))
  symlinkSync(join(ws, 'src/tmp'), join(out, 'tmp'))
  symlinkSync('../home', join(ws, 'src/to-home'))
  const cases: [request: Parameters<typeof checkLaunchFolders>[0], code: RefusalCode][] = [
    [{ cwd: '..', grants: [], privateParent: out }, 'outside-roots'],
    [{ cwd: 'file', grants: [], privateParent: out }, 'not-a-directory'],
    [{ cwd: 'absent', grants: [], privateParent: out }, 'missing'],
    [{ cwd: '.', grants: ['.git'], privateParent: out }, 'protected'],
    [{ cwd: '.', grants: ['src', '../ws2'], privateParent: out }, 'outside-roots'],
    [{ cwd: '.', grants: ['src'], privateParent: join(ws, 'src/tmp') }, 'control-file-inside'],
    [{ cwd: '.', grants: ['src'], privateParent: join(out, 'tmp') }, 'control-file-inside'],
    [{ cwd: '.', grants: ['src'], privateParent: join(base, 'none') }, 'not-a-directory'],
    [{ cwd: 'src/to-home', grants: ['src'], privateParent: out }, 'crosses-writable-link'],
    [{ cwd: '.', grants: ['src', 'src/to-home'], privateParent: out }, 'crosses-writable-link'],
  ]
  for (const [request, code] of cases)
    t.equal(codeOf(checkLaunchFolders(request, rules)), code, JSON.stringify(request))
  t.notOk(existsSync(join(base, 'none')))
})
