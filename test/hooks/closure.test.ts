/** Every file whose bytes decide what a hook does, and whether each still is what it was. */
import { chmodSync, linkSync, renameSync, utimesSync, writeFileSync } from 'node:fs'
import t from 'tap'
import { closureFiles, closureOf } from '../../src/hooks/closure.js'
import { codeOf } from '../../src/hooks/interpreters.js'
import { programHost } from '../../src/hooks/program.js'
import { snapshotClosure, verifyClosure } from '../../src/hooks/snapshot.js'
import { startUpFiles } from '../../src/hooks/start-up-files.js'
import { unwrap } from '../../src/hooks/wrappers.js'
import { realFiles } from '../../src/paths/file-view.js'
import { elf, type FakeNode, fakeFiles } from '../support/fake-files.js'
import { scratch } from '../support/scratch.js'

t.test('the script an interpreter is given', async t => {
  const cases: readonly (readonly [string, string])[] = [
    ['/usr/bin/python3 -I /h.py x', 'python /h.py'],
    ['python3.11 -W error -X dev /h.py', 'python /h.py'],
    ['python3 -Wd /h.py', 'python /h.py'],
    ['python3 -c code', 'python inline'],
    ['python3 -Ic code', 'python inline'],
    ['python3 -m module /h.py', 'python inline'],
    ['python3 -', 'python -'],
    ['python3', 'python -'],
    ['node h.js', 'node h.js'],
    [
      'node --no-warnings -r ./pre.js --import=/hooks/i.mjs --loader /l.mjs h.js',
      'node h.js + ./pre.js /hooks/i.mjs /l.mjs',
    ],
    ['node -r dotenv/config h.js', 'node h.js + dotenv/config'],
    ['node -e code', 'node inline'],
    ['node --eval=code', 'node inline'],
    ['node -- h.js', 'node h.js'],
    ['bun run h.ts', 'bun h.ts'],
    ['bun h.ts', 'bun h.ts'],
    ['deno run --allow-read /h.ts', 'deno /h.ts'],
    ['deno eval code', 'deno inline'],
    ['sh /h.sh a b', 'shell /h.sh'],
    ['bash -euo pipefail /h.sh', 'shell /h.sh'],
    ['bash -lc text', 'shell inline'],
    ['bash --rcfile /rc -i', 'shell - + /rc'],
    ['zsh -f /h.zsh', 'shell /h.zsh'],
    ['perl -w -I /lib /h.pl', 'perl /h.pl'],
    ['perl -ne code', 'perl inline'],
    ['ruby -r ./x.rb /h.rb', 'ruby /h.rb + ./x.rb'],
    ['php -d a=b /h.php', 'php /h.php'],
    ['php -f /h.php', 'php /h.php'],
    ['lua -l mod /h.lua', 'lua /h.lua'],
    ['java -cp /x.jar Main', 'java -'],
    ['java -jar /h.jar arg', 'java /h.jar'],
    ['pwsh -NoProfile -File /h.ps1', 'pwsh /h.ps1'],
    ['Rscript --vanilla /h.R', 'r /h.R'],
    ['awk -f /h.awk data', 'tool - + /h.awk'],
    ['/opt/guard /etc/rules', 'none'],
    ['/opt/pythonic /h.py', 'none'],
  ]
  for (const [line, expected] of cases) {
    const code = codeOf(line.split(' '))
    const more = code === null || code.modules.length === 0 ? '' : ` + ${code.modules.join(' ')}`
    t.equal(
      code === null ? 'none' : `${code.family} ${code.inline ? 'inline' : (code.script ?? '-')}${more}`,
      expected,
      line,
    )
  }
})

t.test('programs that start another one', async t => {
  const cases: readonly (readonly [readonly string[], string | null])[] = [
    [['/usr/bin/env', 'node', 'h.js'], 'node h.js'],
    [['env', '-S', 'node --import ./x.js', '/h'], 'node --import ./x.js /h'],
    [['env', '-Snode -e "a b"', '/h'], 'node -e a b /h'],
    [['env', '-vS', "perl 'a b'"], 'perl a b'],
    [['env', '-i', 'A=b', 'node'], 'node (PATH unset)'],
    [['env', '-u', 'PATH', 'node'], 'node (PATH unset)'],
    [['env', '-u', 'HOME', 'node'], 'node'],
    [['env', 'PATH=/x:/y', 'node'], 'node (PATH /x:/y)'],
    [['env', '-iS', 'node'], 'node (PATH unset)'],
    [['env', '--', 'node'], 'node'],
    [['env'], '?'],
    [['timeout', '-k', '1', '5', 'node', 'h.js'], 'node h.js'],
    [['timeout', '--kill-after=1', '5s', 'node'], 'node'],
    [['nice', '-n', '5', 'node'], 'node'],
    [['sudo', '-u', 'ops', 'A=b', 'node'], 'node'],
    [['setsid', '--', 'node'], 'node'],
    [['taskset', '-c', '0', 'node'], 'node'],
    [['stdbuf', '-oL', 'node'], 'node'],
    [['timeout', '5'], '?'],
    [['busybox', 'sh', '/h.sh'], 'sh /h.sh applet'],
    [['busybox', '--list'], null],
    [['node', 'h.js'], null],
    [['constructor', 'x'], null],
  ]
  for (const [argv, expected] of cases) {
    const inner = unwrap(argv)
    const path = inner?.path === undefined ? '' : inner.path === null ? ' (PATH unset)' : ` (PATH ${inner.path})`
    const told = inner === null ? null : `${inner.argv?.join(' ') ?? '?'}${path}${inner.applet ? ' applet' : ''}`
    t.equal(told, expected, argv.join(' '))
  }
})

t.test('start-up files by family and option', async t => {
  const read = (line: string): string => {
    const argv = line.split(' ')
    return startUpFiles(argv[0] ?? '', codeOf(argv), { home: '/home/me', cwd: '/c' }).join(' ')
  }
  t.equal(read('zsh /h'), '/etc/zshenv /etc/zsh/zshenv /home/me/.zshenv')
  t.equal(read('zsh -f /h'), '')
  t.equal(read('sh /h'), '')
  t.match(read('bash -lc text'), '/home/me/.bash_profile')
  t.match(read('bash -i /h'), '/home/me/.bashrc')
  t.equal(read('fish /h'), '/home/me/.config/fish/config.fish')
  t.equal(read('csh -f /h'), '')
  t.match(read('tcsh /h'), '/home/me/.tcshrc')
  t.equal(read('python3 /h.py'), '', 'the environment of hooks turns the user site off')
  t.equal(read('python3 -E /h.py'), '/home/me/.local/lib', 'and -E looks past it')
  t.equal(read('python3 -EI /h.py'), '')
  t.match(read('bun /h.ts'), '/c/bunfig.toml')
  t.equal(read('pwsh -NoProfile -File /h'), '')
  t.match(read('git status'), '/home/me/.gitconfig')
  t.equal(read('/opt/guard'), '')
  t.strictSame(startUpFiles('zsh', codeOf(['zsh', '/h']), { home: null, cwd: '/' }), ['/etc/zshenv', '/etc/zsh/zshenv'])
})

const x = (content: string | Uint8Array): FakeNode => ({ content, mode: 0o755 })
const TREE: Readonly<Record<string, FakeNode>> = {
  '/lib/ld.so': x(elf(null)),
  '/usr/bin/env': x(elf('/lib/ld.so')),
  '/usr/bin/node': x(elf('/lib/ld.so', '$ORIGIN/../lib')),
  '/usr/bin/timeout': x(elf('/lib/ld.so')),
  '/bin/zsh': x(elf('/lib/ld.so')),
  '/ops/h.js': x('#!/usr/bin/env node\n'),
  '/ops/z': x('#!/bin/zsh\n'),
  '/ops/split': x('#!/usr/bin/env -S node --import ./pre.mjs\n'),
  '/ops/pre.mjs': {},
  '/home/me/.zshenv': {},
  '/ops/current': { target: 'h.js' },
}

function closure(command: readonly [string, ...string[]]) {
  const host = programHost(fakeFiles(TREE), { platform: 'linux', arch: 'x64' })
  return closureOf(command, { host, path: '/usr/bin:/bin', cwd: '/ops', home: '/home/me' })
}

t.test('members and their roles', async t => {
  const told = (command: readonly [string, ...string[]]) =>
    closure(command).members.map(({ role, path, facts }) => `${role} ${path}${facts === null ? ' missing' : ''}`)
  t.strictSame(told(['/ops/h.js']), [
    'program /ops/h.js',
    'interpreter /usr/bin/env',
    'loader /lib/ld.so',
    'interpreter /usr/bin/node',
  ])
  t.strictSame(told(['timeout', '5', '/ops/h.js']).slice(0, 3), [
    'program /usr/bin/timeout',
    'loader /lib/ld.so',
    'interpreter /ops/h.js',
  ])
  t.strictSame(
    told(['node', 'h.js', '/etc/data']),
    ['program /usr/bin/node', 'loader /lib/ld.so', 'argument /ops/h.js'],
    'relative to the cwd of the hook',
  )
  t.strictSame(told(['node', './none.js']), [
    'program /usr/bin/node',
    'loader /lib/ld.so',
    'argument /ops/none.js missing',
  ])
  t.strictSame(
    told(['/ops/split']).slice(-2),
    ['interpreter /usr/bin/node', 'argument /ops/pre.mjs'],
    'options of a first line',
  )
  t.strictSame(told(['/ops/z']).slice(-3), [
    'start-up /etc/zshenv missing',
    'start-up /etc/zsh/zshenv missing',
    'start-up /home/me/.zshenv',
  ])
  t.strictSame(told(['/ops/current'])[0], 'program /ops/h.js', 'landed')
  t.strictSame(told(['none']), [])
  t.strictSame(closure(['/usr/bin/node', 'h.js']).libraryFolders, [{ of: '/usr/bin/node', folder: '/usr/bin/../lib' }])
  t.strictSame(closure(['timeout']).opaque, ['timeout'])
  const looked = closure(['/ops/h.js']).lookUps
  t.match(looked, [
    { wrapper: 'env', script: '/ops/h.js', word: 'node', resolution: { kind: 'found', path: '/usr/bin/node' } },
  ])
})

t.test('as control files of the run', async t => {
  const files = closureFiles([closure(['/ops/current']), closure(['/ops/z'])])
  t.strictSame(files.map(({ path }) => path).sort(), [
    '/bin/zsh',
    '/etc/zsh/zshenv',
    '/etc/zshenv',
    '/home/me/.zshenv',
    '/lib/ld.so',
    '/ops/current',
    '/ops/h.js',
    '/ops/z',
    '/usr/bin/env',
    '/usr/bin/node',
  ])
  t.equal(files.find(({ path }) => path === '/ops/h.js')?.what, 'the program of a hook')
})

t.test('looked at again before a start', async t => {
  const at = scratch(t)
  const file = `${at}/h.sh`
  const snapshot = () => {
    writeFileSync(file, '#!/bin/sh\nexit 0\n')
    chmodSync(file, 0o755)
    utimesSync(file, new Date(0), new Date(0))
    const host = programHost(realFiles)
    const taken = snapshotClosure(closureOf([file], { host, path: '/bin', cwd: '/', home: null }), realFiles)
    if ('what' in taken) throw new Error(taken.what)
    return taken
  }
  const changes: readonly (readonly [string, () => void, string | null])[] = [
    ['nothing', () => {}, null],
    ['other bytes, as many', () => writeFileSync(file, '#!/bin/sh\nexit 1\n'), 'digest'],
    ['the same bytes again', () => writeFileSync(file, '#!/bin/sh\nexit 0\n'), null],
    ['a link that was made elsewhere', () => linkSync(file, `${at}/other`), null],
    ['the mode', () => chmodSync(file, 0o777), 'mode'],
    [
      'other bytes, and the time set back',
      () => {
        writeFileSync(file, '#!/bin/sh\nexit 2\n')
        utimesSync(file, new Date(0), new Date(0))
      },
      'digest',
    ],
    [
      'another file in its place',
      () => {
        writeFileSync(`${at}/new`, '#!/bin/sh\nexit 3\n', { mode: 0o755 })
        renameSync(`${at}/new`, file)
      },
      'digest',
    ],
    ['gone', () => renameSync(file, `${at}/away`), 'ENOENT'],
  ]
  for (const [name, change, what] of changes) {
    const taken = snapshot()
    t.equal(taken[0]?.sha256?.length, 64)
    change()
    t.equal(verifyClosure(taken, realFiles)?.what ?? null, what, name)
  }
})

t.test('a member that cannot be hashed', async t => {
  const at = (node: FakeNode) => {
    const view = fakeFiles({ '/h': node, '/lib/ld.so': x(elf(null)) })
    const host = programHost(view, { platform: 'linux', arch: 'x64' })
    const found = closureOf(['/h'], { host, path: '/', cwd: '/', home: null })
    return { view, taken: snapshotClosure(found, view) }
  }
  t.match(at({ mode: 0o111, openErrno: 'EACCES' }).taken, [{ path: '/h', sha256: null }], 'execute-only')
  t.match(at({ mode: 0o755, openErrno: 'EIO' }).taken, { path: '/h', what: 'EIO' })
  const { view, taken } = at({ mode: 0o111, openErrno: 'EACCES', ino: '5' })
  if ('what' in taken) return t.fail(taken.what)
  view.put('/h', { mode: 0o111, openErrno: 'EACCES', ino: '6' })
  t.match(verifyClosure(taken, view), { what: 'ino' }, 'without bytes the stat decides')
})
