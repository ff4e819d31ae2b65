/** HC001 to HC409: each rule with what it finds and what it is silent about, over one sound system changed in one point. */
import t from 'tap'
import { refusing } from '../../src/hookcheck/audit.js'
import type { FileView } from '../../src/paths/file-view.js'
import type { Mount } from '../../src/paths/mounts.js'
import { auditData, type DataAudit, folder, OPS, program, SOUND, told } from '../support/audits.js'
import { elf, type FakeFiles, fakeFiles, mount } from '../support/fake-files.js'

const GATE = { on: 'before-call', command: ['/etc/harness/guard.sh'] }
const NOTE = { ...GATE, on: 'after-call' }
const gate = (...command: readonly string[]) => [{ ...GATE, command }]
const note = (...command: readonly string[]) => [{ ...NOTE, command }]
const GUARD = '/etc/harness/guard.sh'
const guard = (content: string | Uint8Array, more = {}) => ({ [GUARD]: program(content, more) })
const BODY = '\n/usr/bin/check\n'

interface Case extends Partial<DataAudit> {
  readonly name: string
  /** Every finding, as `HCnnn severity`. */
  readonly expected: readonly string[]
}

const rootMount = mount('/', '/')
const onFilesystem = (type: string, point: string): readonly Mount[] => [
  rootMount,
  mount(point, '/', { type, device: '0:9' }),
]

const cases: readonly Case[] = [
  { name: 'a sound hook', expected: [] },
  { name: 'an interpreter and its script', hooks: gate('/usr/bin/node', '/etc/harness/guard.js'), expected: [] },

  // HC001: unknown is not yes
  {
    name: 'a step that may not be seen',
    tree: { '/etc/harness/guard.sh': { errno: 'EACCES' } },
    expected: ['HC001 error'],
  },
  { name: 'a step that fails', tree: { '/etc/harness/guard.sh': { errno: 'EIO' } }, expected: ['HC001 error'] },
  { name: 'a loop of links', tree: { [GUARD]: { target: 'guard.sh' } }, expected: ['HC001 error', 'HC304 info'] },
  { name: 'a program that cannot be read', tree: guard('x', { openErrno: 'EIO' }), expected: ['HC001 error'] },
  {
    name: 'a program that is execute-only',
    tree: guard('x', { mode: 0o711, openErrno: 'EACCES' }),
    expected: ['HC001 warn'],
  },
  {
    name: 'a script that cannot be read',
    hooks: gate('/usr/bin/node', '/etc/harness/guard.js'),
    tree: { '/etc/harness/guard.js': { content: 'x', openErrno: 'EACCES' } },
    expected: ['HC001 error'],
  },
  {
    name: 'a binary whose tables are cut off',
    tree: guard(elf('/lib/ld.so').subarray(0, 70)),
    expected: ['HC001 error'],
  },
  { name: 'a wrapper whose command cannot be told', hooks: note('/usr/bin/timeout'), expected: ['HC001 warn'] },
  {
    name: 'a search that ends in a loop',
    hooks: note('lost'),
    tree: { '/usr/bin/lost': { target: 'lost' } },
    expected: ['HC001 error'],
  },
  {
    name: 'a PATH folder that fails',
    tree: { '/bad': { errno: 'EIO' } },
    more: { pathSource: { from: 'inherited', path: '/bad' } },
    expected: ['HC001 error'],
  },
  {
    name: 'a PATH folder we may not enter, nor may a hook',
    tree: { '/bad': { errno: 'EACCES' } },
    more: { pathSource: { from: 'inherited', path: '/bad' } },
    expected: ['HC001 info'],
  },
  { name: 'a hooks file that went away', more: { path: '/etc/harness/gone.json' }, expected: ['HC001 error'] },
  { name: 'a root of the write set that fails', tree: { '/ws': { errno: 'EIO' } }, expected: ['HC001 error'] },

  // HC002, HC003, HC004
  { name: 'as root', ids: { uid: 0 }, expected: ['HC002 info'] },
  {
    name: 'as root, nobody said what is written',
    ids: { uid: 0 },
    more: { writeSet: null },
    expected: ['HC002 warn', 'HC003 warn'],
  },
  { name: 'in a user namespace', ids: { uidMap: [{ inside: 0, outside: 1000, count: 1 }] }, expected: ['HC002 info'] },
  { name: 'a map that cannot be read', ids: { uidMap: [] }, expected: ['HC002 info'] },
  { name: 'no namespaces here', ids: { uidMap: null }, expected: [] },
  {
    name: 'an owner from outside',
    tree: { '/opt': folder({ uid: 65_534, gid: 65_534 }), '/opt/g': program(`#!/bin/sh${BODY}`) },
    hooks: gate('/opt/g'),
    ids: { uidMap: [{ inside: 1000, outside: 1000, count: 1 }] },
    expected: ['HC002 info'],
  },
  { name: 'the write set is assumed', more: { writeSet: null }, expected: ['HC003 warn'] },
  { name: 'the write set is assumed, strict', more: { writeSet: null, profile: 'strict' }, expected: ['HC003 error'] },
  { name: 'on NFS', options: { mounts: onFilesystem('nfs4', '/etc/harness') }, expected: ['HC004 warn'] },
  {
    name: 'on NFS, strict',
    options: { mounts: onFilesystem('nfs4', '/etc/harness') },
    more: { profile: 'strict' },
    expected: ['HC004 error'],
  },
  { name: 'on FUSE', options: { mounts: onFilesystem('fuse.sshfs', '/etc') }, expected: ['HC004 warn'] },
  { name: 'on tmpfs', options: { mounts: onFilesystem('tmpfs', '/etc/harness') }, expected: ['HC004 warn'] },
  { name: 'beside a mount of NFS', options: { mounts: onFilesystem('nfs4', '/etc/other') }, expected: [] },
  { name: 'on overlay', options: { mounts: onFilesystem('overlay', '/etc') }, expected: [] },
  {
    name: 'macOS without its lists',
    ids: { platform: 'darwin', uidMap: null },
    options: { mounts: null },
    expected: ['HC004 warn'],
  },

  // HC101 to HC104 are the reader's
  { name: 'no JSON', hooks: '{', expected: ['HC101 error'] },
  {
    name: 'a key twice',
    hooks:
      '{"version":1,"hooks":[{"on":"stop","command":["/etc/harness/guard.sh"],"command":["/etc/harness/guard.sh"]}]}',
    expected: ['HC101 error'],
  },
  { name: 'version 2', hooks: '{"version":2,"hooks":[]}', expected: ['HC102 error'] },
  { name: 'an unknown key', hooks: [{ ...GATE, timeoutms: 5 }], expected: ['HC103 error'] },
  { name: 'an unknown point', hooks: [{ ...GATE, on: 'PreToolUse' }], expected: ['HC104 error'] },

  // HC105, HC106
  {
    name: 'the hooks file in the workspace',
    more: { path: '/ws/hooks.json' },
    tree: { '/ws/hooks.json': {} },
    expected: ['HC105 error'],
  },
  {
    name: 'the hooks file through a link of the workspace',
    more: { path: '/ws/l' },
    tree: { '/ws/l': { target: '/etc/harness/hooks.json' } },
    expected: ['HC105 error'],
  },
  {
    name: 'a hooks file of everybody',
    tree: { '/etc/harness/hooks.json': { mode: 0o666 } },
    expected: ['HC106 error'],
  },
  {
    name: 'a hooks file of somebody else',
    tree: { '/etc/harness/hooks.json': { uid: 1001 } },
    expected: ['HC106 error'],
  },
  {
    name: 'a hooks file with a second name',
    tree: { '/etc/harness/hooks.json': { nlink: 2 } },
    expected: ['HC106 warn'],
  },
  { name: 'a FIFO as hooks file', tree: { '/etc/harness/hooks.json': { type: 'fifo' } }, expected: ['HC106 error'] },
  { name: 'a hooks file of the operator', tree: { '/etc/harness/hooks.json': { uid: 1000 } }, expected: [] },

  // HC201 to HC207
  {
    name: 'a command that is a string',
    hooks: [{ ...GATE, command: '/etc/harness/guard.sh' }],
    expected: ['HC201 error'],
  },
  { name: 'a word the kernel does not take', hooks: gate(GUARD, 'x'.repeat(131_072)), expected: ['HC201 error'] },
  { name: 'words within the bounds', hooks: gate(GUARD, 'x'.repeat(131_071)), expected: [] },
  {
    name: 'words that are too many together',
    hooks: gate(GUARD, ...Array.from({ length: 6 }, () => 'x'.repeat(100_000))),
    expected: ['HC201 error'],
  },
  { name: 'a relative program', hooks: gate('./guard.sh'), expected: ['HC202 error'] },
  { name: 'a bare name on a gate', hooks: gate('node', '/etc/harness/guard.js'), expected: ['HC203 error'] },
  { name: 'a bare name elsewhere', hooks: note('node', '/etc/harness/guard.js'), expected: ['HC203 warn'] },
  { name: 'no such program', hooks: gate('/etc/harness/none'), expected: ['HC204 error', 'HC306 warn'] },
  { name: 'no such name', hooks: gate('none'), expected: ['HC204 error'] },
  { name: 'a folder as program', hooks: gate('/etc/harness'), expected: ['HC204 error'] },
  { name: 'a FIFO as program', tree: { [GUARD]: program('', { type: 'fifo' }) }, expected: ['HC204 error'] },
  { name: 'no x bit', tree: guard(`#!/bin/sh${BODY}`, { mode: 0o644 }), expected: ['HC204 error'] },
  { name: 'a noexec mount', tree: guard(`#!/bin/sh${BODY}`, { noexec: true }), expected: ['HC204 error'] },
  { name: 'a loader that is missing', tree: guard(elf('/lib/none.so')), expected: ['HC204 error', 'HC306 warn'] },
  { name: 'a wrapper that finds nothing', hooks: note('/usr/bin/timeout', '5', 'none'), expected: ['HC204 error'] },
  { name: 'sh -c', hooks: gate('/bin/sh', '-c', 'exec /usr/bin/check'), expected: ['HC205 warn'] },
  {
    name: 'sh -c with a variable that hooks get',
    hooks: gate('/bin/sh', '-c', 'exec /usr/bin/check "$HOME"'),
    expected: ['HC205 warn'],
  },
  {
    name: 'sh -c with one they do not',
    hooks: gate('/bin/sh', '-c', '"${PLUGIN_ROOT:-.}"/check'),
    expected: ['HC205 error'],
  },
  {
    name: 'sh -c with one it sets itself',
    hooks: gate('/bin/sh', '-c', 'ROOT=/opt; exec "$ROOT/check"'),
    expected: ['HC205 warn'],
  },
  { name: 'sh -c with a template', hooks: gate('/bin/sh', '-c', 'check {{path}}'), expected: ['HC205 error'] },
  { name: 'a variable that nothing expands', hooks: gate(GUARD, '$HOME/x'), expected: ['HC205 warn'] },
  { name: 'a home that nothing expands', hooks: gate(GUARD, '~/x'), expected: ['HC205 warn'] },
  { name: 'a pipe that nothing reads', hooks: gate(GUARD, '|', 'tee'), expected: ['HC205 warn'] },
  { name: 'a command substitution', hooks: gate(GUARD, '$(date)'), expected: ['HC205 warn'] },
  { name: 'a regular expression', hooks: gate(GUARD, '^(a|b)$', 'a && b', '100%'), expected: [] },
  { name: 'inline code of an interpreter', hooks: note('/usr/bin/python3', '-c', 'print(f"{x}") # `a`'), expected: [] },
  {
    name: 'a template in a path (case E24)',
    hooks: gate('${PLUGIN_ROOT:-.}/hooks/x.sh'),
    expected: ['HC202 error', 'HC205 warn'],
  },
  {
    name: 'npx',
    hooks: note('/usr/bin/npx', 'guard'),
    tree: { '/usr/bin/npx': program(elf(null)) },
    expected: ['HC206 warn'],
  },
  {
    name: 'npx on a gate',
    hooks: gate('/usr/bin/npx', 'guard'),
    tree: { '/usr/bin/npx': program(elf(null)) },
    expected: ['HC206 error'],
  },
  {
    name: 'npx behind a wrapper',
    hooks: note('/usr/bin/timeout', '5', '/usr/bin/npx', 'guard'),
    tree: { '/usr/bin/npx': program(elf(null)) },
    expected: ['HC206 warn'],
  },
  {
    name: 'npm run',
    hooks: note('/usr/bin/npm', 'run', 'x'),
    tree: { '/usr/bin/npm': program(elf(null)) },
    expected: [],
  },
  {
    name: 'curl into a shell',
    hooks: note('/bin/sh', '-c', 'curl https://x | sh'),
    expected: ['HC205 warn', 'HC206 warn'],
  },
  {
    name: 'a container by name',
    hooks: note('/usr/bin/docker', 'run', 'guard:1'),
    tree: { '/usr/bin/docker': program(elf(null)) },
    expected: ['HC206 warn'],
  },
  {
    name: 'a container by digest',
    hooks: note('/usr/bin/docker', 'run', `guard@sha256:${'a'.repeat(64)}`),
    tree: { '/usr/bin/docker': program(elf(null)) },
    expected: [],
  },
  {
    name: 'setsid',
    hooks: note('/usr/bin/setsid', GUARD),
    tree: { '/usr/bin/setsid': program(elf(null)) },
    expected: ['HC207 warn'],
  },
  {
    name: 'sudo',
    hooks: note('/usr/bin/sudo', '-n', GUARD),
    tree: { '/usr/bin/sudo': program(elf(null)) },
    expected: ['HC207 warn'],
  },
  { name: 'timeout on a gate', hooks: gate('/usr/bin/timeout', '5', GUARD), expected: ['HC207 warn'] },
  { name: 'timeout elsewhere', hooks: note('/usr/bin/timeout', '5', GUARD), expected: [] },
  {
    name: 'a background program',
    hooks: note('/bin/sh', '-c', 'server & disown'),
    expected: ['HC205 warn', 'HC207 warn'],
  },

  // HC301 to HC309
  { name: 'a program of everybody', tree: guard(`#!/bin/sh${BODY}`, { mode: 0o777 }), expected: ['HC301 error'] },
  {
    name: 'a script argument of a group',
    hooks: gate('/usr/bin/node', '/etc/harness/guard.js'),
    tree: { '/etc/harness/guard.js': { content: 'judge()', mode: 0o664, gid: 100 } },
    expected: ['HC301 error'],
  },
  {
    name: 'an interpreter of everybody',
    tree: { '/bin/sh': program(elf('/lib/ld.so'), { mode: 0o777 }) },
    expected: ['HC301 error'],
  },
  {
    name: 'a loader of everybody',
    tree: { '/lib/ld.so': program(elf(null), { mode: 0o777 }) },
    expected: ['HC301 error'],
  },
  {
    name: 'a folder of everybody',
    hooks: gate('/opt/d/g'),
    tree: { '/opt/d': folder({ mode: 0o777 }), '/opt/d/g': program(`#!/bin/sh${BODY}`) },
    expected: ['HC302 error'],
  },
  {
    name: "a folder of the user's own group",
    hooks: gate('/opt/d/g'),
    tree: { '/opt/d': folder({ mode: 0o775, uid: 1000, gid: 1000 }), '/opt/d/g': program(`#!/bin/sh${BODY}`) },
    expected: ['HC302 info'],
  },
  {
    name: "a folder of the user's own group, strict",
    hooks: gate('/opt/d/g'),
    more: { profile: 'strict' },
    tree: { '/opt/d': folder({ mode: 0o775, uid: 1000, gid: 1000 }), '/opt/d/g': program(`#!/bin/sh${BODY}`) },
    expected: ['HC302 error'],
  },
  {
    name: 'in a private folder in tmp',
    hooks: gate('/tmp/p/g'),
    tree: { '/tmp/p': folder({ mode: 0o700, uid: 1000 }), '/tmp/p/g': program(`#!/bin/sh${BODY}`, { uid: 1000 }) },
    expected: [],
  },
  { name: 'of somebody else', tree: guard(`#!/bin/sh${BODY}`, { uid: 1001 }), expected: ['HC303 error'] },
  {
    name: 'in the home of somebody else',
    hooks: gate('/home/guest/g'),
    tree: { '/home/guest': folder({ uid: 1001 }), '/home/guest/g': program(`#!/bin/sh${BODY}`) },
    expected: ['HC303 error'],
  },
  {
    name: 'a link of somebody else in tmp',
    hooks: gate('/tmp/l'),
    tree: { '/tmp/l': { target: GUARD, uid: 1001 } },
    expected: ['HC304 error', 'HC304 info'],
  },
  { name: 'a link of ours', hooks: gate('/opt/l'), tree: { '/opt/l': { target: GUARD } }, expected: ['HC304 info'] },
  {
    name: 'a program of the workspace (case E14)',
    hooks: gate('/ws/guard.sh'),
    tree: { '/ws/guard.sh': program(`#!/bin/sh${BODY}`, { dev: '2' }) },
    expected: ['HC305 error'],
  },
  {
    name: 'a script argument of the workspace',
    hooks: gate('/usr/bin/node', '/ws/guard.js'),
    tree: { '/ws/guard.js': { content: 'judge()', dev: '2' } },
    expected: ['HC305 error'],
  },
  {
    name: 'a link into the workspace',
    hooks: gate('/opt/l'),
    tree: { '/opt/l': { target: '/ws/g' }, '/ws/g': program(`#!/bin/sh${BODY}`, { dev: '2' }) },
    expected: ['HC305 error', 'HC304 info'],
  },
  {
    name: 'a module of the workspace',
    hooks: gate('/usr/bin/node', '--import', '/ws/pre.mjs', '/etc/harness/guard.js'),
    tree: { '/ws/pre.mjs': { content: 'x()' } },
    expected: ['HC305 error'],
  },
  {
    name: 'a held place in the workspace',
    hooks: gate('/ws/.git/hooks/g'),
    tree: { '/ws/.git/hooks/g': program(`#!/bin/sh${BODY}`) },
    more: {
      writeSet: { origin: 'given', roots: [{ path: '/ws', source: 'x' }], held: [{ path: '/ws/.git', source: 'y' }] },
    },
    expected: [],
  },
  {
    name: 'a missing script in a safe folder',
    hooks: gate('/usr/bin/node', '/etc/harness/none.js'),
    expected: ['HC306 warn'],
  },
  { name: 'a missing script in tmp', hooks: gate('/usr/bin/node', '/tmp/none.js'), expected: ['HC306 error'] },
  {
    name: 'a dangling link',
    hooks: gate('/opt/l'),
    tree: { '/opt/l': { target: '/tmp/g' } },
    expected: ['HC204 error', 'HC306 error', 'HC304 info'],
  },
  {
    name: 'a second name on a device that is written',
    tree: { ...guard(`#!/bin/sh${BODY}`, { nlink: 2 }), '/ws': folder({ dev: '1' }) },
    expected: ['HC307 warn'],
  },
  { name: 'a second name elsewhere', tree: guard(`#!/bin/sh${BODY}`, { nlink: 2 }), expected: ['HC307 info'] },
  { name: 'a store that nobody writes', tree: guard(`#!/bin/sh${BODY}`, { nlink: 9, mode: 0o555 }), expected: [] },
  {
    name: 'a list that grants',
    more: {
      trust: {
        ids: OPS,
        groups: 'allowed',
        acl: path => (path === GUARD ? { writers: ['user guest'], groupBits: 'as-shown', inherited: [] } : null),
      },
    },
    expected: ['HC308 error'],
  },
  {
    name: 'a list that is inherited',
    more: {
      trust: {
        ids: OPS,
        groups: 'allowed',
        acl: path =>
          path === '/etc/harness' ? { writers: [], groupBits: 'as-shown', inherited: ['user guest'] } : null,
      },
    },
    expected: ['HC308 warn'],
  },
  { name: 'a setuid program of another', tree: guard(elf(null), { mode: 0o4755 }), expected: ['HC309 error'] },
  { name: 'a setgid program of ours', tree: guard(elf(null), { mode: 0o2755, uid: 1000 }), expected: ['HC309 warn'] },
  {
    name: 'a setuid script, which the kernel ignores',
    tree: guard(`#!/bin/sh${BODY}`, { mode: 0o4755 }),
    expected: [],
  },
  { name: 'a setgid folder', tree: { '/etc/harness': folder({ mode: 0o2755 }) }, expected: ['HC309 info'] },

  // HC401 to HC409
  { name: 'text without a format', tree: guard('check\n'), expected: ['HC401 error'] },
  { name: 'JSON without a format', tree: guard('{"a":1}\n'), expected: ['HC401 error'] },
  {
    name: 'a handler for it',
    tree: {
      ...guard('PK\x03\x04'),
      '/proc/sys/fs/binfmt_misc/status': { content: 'enabled\n' },
      '/proc/sys/fs/binfmt_misc/zip': {
        content: 'enabled\ninterpreter /usr/bin/node\nflags: \noffset 0\nmagic 504b\n',
      },
    },
    expected: ['HC408 warn'],
  },
  { name: 'an empty gate', tree: guard(''), expected: ['HC402 error'] },
  { name: 'an empty note', hooks: [NOTE], tree: guard(''), expected: ['HC402 warn'] },
  { name: 'only a first line', tree: guard('#!/bin/sh\n'), expected: ['HC402 error'] },
  { name: 'only comments', tree: guard('#!/bin/sh\n# judge\n\n  # later\n'), expected: ['HC402 error'] },
  { name: 'only exit 0', tree: guard('#!/bin/sh\nset -e\nexit 0\n'), expected: ['HC402 error'] },
  {
    name: 'only a comment of C',
    hooks: gate('/usr/bin/node', '/etc/harness/guard.js'),
    tree: { '/etc/harness/guard.js': { content: '// judge\n/* later\n */\n' } },
    expected: ['HC402 error'],
  },
  { name: 'exit 2', tree: guard('#!/bin/sh\nexit 2\n'), expected: [] },
  {
    name: 'the program true',
    hooks: gate('/bin/true'),
    tree: { '/bin/true': program(elf(null)) },
    expected: ['HC402 error'],
  },
  {
    name: 'the program cat behind a wrapper',
    hooks: note('/usr/bin/timeout', '5', '/bin/cat'),
    tree: { '/bin/cat': program(elf(null)) },
    expected: ['HC402 warn'],
  },
  { name: 'no interpreter', tree: guard(`#!/bin/none${BODY}`), expected: ['HC306 warn', 'HC403 error'].reverse() },
  { name: 'a relative interpreter', tree: guard(`#!sh${BODY}`), expected: ['HC403 error', 'HC306 warn'] },
  {
    name: 'an interpreter without an x bit',
    tree: { ...guard(`#!/opt/i${BODY}`), '/opt/i': { content: elf(null) } },
    expected: ['HC403 error'],
  },
  { name: 'an interpreter that is a folder', tree: guard(`#!/etc${BODY}`), expected: ['HC403 error'] },
  { name: 'an empty first line', tree: guard('#!\ncheck\n'), expected: ['HC403 error'] },
  {
    name: 'CRLF (case E11)',
    tree: guard('#!/bin/sh\r\n/usr/bin/check\r\n'),
    expected: ['HC403 error', 'HC404 error', 'HC306 warn'],
  },
  {
    name: 'CRLF in a script that sh is given (case E11)',
    hooks: gate('/bin/sh', '/etc/harness/x.sh'),
    tree: { '/etc/harness/x.sh': { content: 'check\r\ncheck\r\n' } },
    expected: ['HC404 warn'],
  },
  { name: 'CRLF further down', tree: guard('#!/bin/sh\ncheck\r\n'), expected: ['HC404 warn'] },
  { name: 'a byte order mark', tree: guard(`\ufeff#!/bin/sh${BODY}`), expected: ['HC401 error', 'HC404 error'] },
  { name: 'a blank before', tree: guard(` #!/usr/bin/node${BODY}`), expected: ['HC401 error', 'HC404 error'] },
  { name: 'two words', tree: guard(`#!/bin/sh -e -u${BODY}`), expected: ['HC405 error'] },
  { name: 'one word', tree: guard(`#!/bin/sh -eu${BODY}`), expected: [] },
  { name: 'env with two words', tree: guard('#!/usr/bin/env node -e\nx\n'), expected: ['HC405 error', 'HC406 error'] },
  {
    name: 'env -S with two words',
    hooks: [NOTE],
    tree: guard('#!/usr/bin/env -S node --no-warnings\nx\n'),
    expected: ['HC406 warn'],
  },
  {
    name: 'a first line of 300 bytes',
    tree: guard(`#!/bin/${'x'.repeat(292)}\nx\n`),
    expected: ['HC403 error', 'HC405 error'],
  },
  { name: 'a first line of 200 bytes', tree: guard(`#!/bin/sh -${'x'.repeat(191)}${BODY}`), expected: ['HC405 warn'] },
  { name: 'through env, on a gate', tree: guard('#!/usr/bin/env node\nx\n'), expected: ['HC406 error'] },
  { name: 'through env, elsewhere', hooks: [NOTE], tree: guard('#!/usr/bin/env node\nx\n'), expected: ['HC406 warn'] },
  {
    name: 'through env, not in the PATH of hooks (case E21)',
    hooks: [NOTE],
    tree: { ...guard('#!/usr/bin/env ruby\nx\n'), '/home/ops/.rbenv/shims/ruby': program(elf(null)) },
    expected: ['HC406 error'],
  },
  { name: 'library folder of the workspace', tree: guard(elf('/lib/ld.so', '/ws/lib')), expected: ['HC407 error'] },
  { name: 'library folder beside the program', tree: guard(elf('/lib/ld.so', '$ORIGIN/lib')), expected: [] },
  {
    name: 'library folder that everybody may make',
    tree: guard(elf('/lib/ld.so', '/tmp/lib')),
    expected: ['HC407 error'],
  },
  {
    name: 'library folder of everybody',
    tree: { ...guard(elf('/lib/ld.so', '/opt/lib')), '/opt/lib': folder({ mode: 0o1777 }) },
    expected: ['HC407 error'],
  },
  { name: 'library folder that is relative', tree: guard(elf('/lib/ld.so', 'lib')), expected: ['HC407 error'] },
  {
    name: 'library folder that fails',
    tree: { ...guard(elf('/lib/ld.so', '/opt/lib')), '/opt/lib': { errno: 'EIO' } },
    expected: ['HC001 error'],
  },
  { name: 'a binary of another machine', tree: guard(elf(null, null, 183)), expected: ['HC408 error'] },
  {
    name: 'zsh with a start-up file',
    hooks: note('/bin/zsh', GUARD),
    tree: { '/home/ops/.zshenv': { uid: 1000 } },
    expected: ['HC409 warn'],
  },
  { name: 'zsh without one', hooks: note('/bin/zsh', GUARD), expected: [] },
  { name: 'zsh -f', hooks: note('/bin/zsh', '-f', GUARD), tree: { '/home/ops/.zshenv': {} }, expected: [] },
  {
    name: 'zsh with a HOME in the workspace',
    hooks: note('/bin/zsh', GUARD),
    more: { environment: { HOME: '/ws' } },
    expected: ['HC409 error'],
  },
  {
    name: 'zsh with a start-up file of everybody',
    hooks: note('/bin/zsh', GUARD),
    tree: { '/home/ops/.zshenv': { mode: 0o666 } },
    expected: ['HC301 error', 'HC409 error'],
  },
]

t.test('every rule, finding and silent', async t => {
  for (const { name, expected, hooks = [GATE], ...more } of cases) {
    const audit = auditData({ hooks, ...more })
    const found = [...told(audit)].sort()
    t.strictSame(
      found,
      [...expected].sort(),
      `${name}\n${audit.findings.map(({ rule, message }) => `${rule} ${message}`).join('\n')}`,
    )
  }
})

t.test('each rule is found by a case and has its words', async t => {
  const { CORE_RULES } = await import('../../src/hookcheck/audit.js')
  const found = new Set(cases.flatMap(({ expected }) => expected.map(text => text.slice(0, 5))))
  for (const rule of CORE_RULES) {
    if (rule.id !== 'HC805') t.ok(found.has(rule.id), `${rule.id} has a case`)
    for (const key of ['title', 'why', 'fix', 'anchor'] as const) t.ok(rule[key].length > 3, `${rule.id} ${key}`)
  }
  t.equal(new Set(CORE_RULES.map(({ id }) => id)).size, CORE_RULES.length, 'no rule twice')
})

t.test('profiles', async t => {
  const bad: DataAudit = { hooks: gate('node', '/ws/guard.js'), tree: { '/ws/guard.js': { content: 'x()' } } }
  t.strictSame(told(auditData(bad)), ['HC203 error', 'HC305 error'])
  t.strictSame(told(auditData({ ...bad, more: { profile: 'report' } })), ['HC203 info', 'HC305 info'])
  t.strictSame(told(auditData({ ...bad, more: { profile: 'strict' } })), ['HC203 error', 'HC305 error'])
  const refused = refusing(auditData(bad).findings)
  t.strictSame(
    refused.map(({ rule }) => rule),
    ['HC305'],
    'a rule that is only raised for gates refuses no run',
  )
})

t.test('what a finding says', async t => {
  const text = '{"version": 1, "hooks": [\n  {"on": "before-call", "command": ["/ws/guard.sh"]}\n]}'
  const tree = { '/ws/guard.sh': program(`#!/bin/sh${BODY}`, { dev: '2' }) }
  const [first] = auditData({ hooks: text, tree }).findings
  t.match(first, { rule: 'HC305', severity: 'error', hook: 1, path: '/ws/guard.sh', step: '/ws', line: 2, column: 3 })
  t.match(first?.message, /the agent can write the program \/ws\/guard\.sh .*--workspace/)
  const [moved] = auditData({ hooks: `\n\n\n${text}`, tree }).findings
  t.equal(moved?.fingerprint, first?.fingerprint, 'a position is no part of the fingerprint')
  t.not(moved?.line, first?.line)
  const e24 = auditData({ hooks: gate('${PLUGIN_ROOT:-.}/hooks/x.sh') }).findings.find(({ rule }) => rule === 'HC205')
  t.match(
    e24?.message,
    /handed over as it is; a shell without the variable would run "\.\/hooks\/x\.sh", which would be looked up in \/etc\/harness/,
  )
  const e21 = auditData({ hooks: [NOTE], tree: guard('#!/usr/bin/env ruby\nx\n') }).findings[0]
  t.match(e21?.message, /asks env for ruby, which is not in the PATH of hooks \(\/usr\/bin:\/bin\)/)
})

t.test('changed while audited', async t => {
  const changes: readonly (readonly [string, string, Parameters<FakeFiles['put']>[1]])[] = [
    ['the program', GUARD, program(`#!/bin/sh${BODY}`, { ino: '9999' })],
    ['a folder on the way', '/etc', folder({ mode: 0o777 })],
    ['the hooks file', '/etc/harness/hooks.json', { content: 'other' }],
    ['away', GUARD, { errno: 'EIO' }],
  ]
  for (const [name, path, node] of changes) {
    const view = fakeFiles(SOUND)
    const meddled: FileView = {
      ...view,
      open: asked => {
        const file = view.open(asked)
        if (asked === GUARD) view.put(path, node)
        return file
      },
    }
    const audit = auditData({ hooks: [GATE], more: { view: meddled } })
    t.ok(told(audit).includes('HC805 error'), name)
    t.match(
      audit.findings.find(({ rule }) => rule === 'HC805'),
      { path, hook: null },
    )
  }
})
