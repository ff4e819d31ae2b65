/** Which file a name means and what the kernel starts: the search of execvp, first lines, chains, loaders, handlers. */

import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import t from 'tap'
import { handlerOf, parseHandler } from '../../src/hooks/binfmt.js'
import { chainOf, programHost, resolveProgram } from '../../src/hooks/program.js'
import { askingOnce, realFiles } from '../../src/paths/file-view.js'
import { readElf } from '../../src/supervise/elf.js'
import { formatOf } from '../../src/supervise/program-format.js'
import { elf, type FakeNode, fakeFiles } from '../support/fake-files.js'
import { needs } from '../support/needs.js'
import { scratch } from '../support/scratch.js'

const LINUX = { platform: 'linux', arch: 'x64' }

t.test('formats by first bytes', async t => {
  const line = (text: string, more = '') => formatOf(Buffer.from(`${text}\n${more}`), LINUX)
  const script = (interpreter: string, argument: string | null, lineBytes: number, nameIsCut = false) => ({
    kind: 'script',
    interpreter,
    argument,
    lineBytes,
    nameIsCut,
  })
  t.strictSame(line('#!/bin/sh'), script('/bin/sh', null, 7))
  t.strictSame(line('#! \t/bin/sh  -e -u \t'), script('/bin/sh', '-e -u', 18))
  t.strictSame(line('#!/bin/sh\r'), script('/bin/sh\r', null, 8), 'a carriage return is part of the name')
  t.strictSame(line('#!'), script('', null, 0))
  t.strictSame(formatOf(Buffer.from('#!/bin/sh'), LINUX), script('/bin/sh', null, 7), 'no newline at all')
  t.strictSame(line(`#!/${'x'.repeat(253)}`), script(`/${'x'.repeat(253)}`, null, 254), 'up to the bound')
  t.match(line(`#!/${'x'.repeat(297)}`), { lineBytes: 298, nameIsCut: true }, '300 bytes')
  t.match(
    line(`#!/bin/sh ${'x'.repeat(297)}`),
    { interpreter: '/bin/sh', nameIsCut: false, argument: 'x'.repeat(246) },
    'a long argument is cut in silence',
  )
  t.strictSame(formatOf(Buffer.alloc(0), LINUX), { kind: 'empty' })
  t.strictSame(formatOf(Buffer.from('echo hi\n'), LINUX), { kind: 'other', before: null })
  t.strictSame(formatOf(Buffer.from('\ufeff#!/bin/sh\n'), LINUX), { kind: 'other', before: 'byte-order-mark' })
  t.strictSame(formatOf(Buffer.from(' #!/usr/bin/node\n'), LINUX), { kind: 'other', before: 'blanks' })
  t.strictSame(formatOf(Buffer.from('MZ\x90\0'), LINUX), { kind: 'pe' })
  t.strictSame(formatOf(Buffer.from('cffaedfe00000000', 'hex'), LINUX), { kind: 'mach-o', runsHere: false })
  t.match(formatOf(Buffer.from('cffaedfe00000000', 'hex'), { platform: 'darwin', arch: 'arm64' }), { runsHere: true })
  t.match(formatOf(elf(null), LINUX), { kind: 'elf', machine: 62, runsHere: true })
  t.match(formatOf(elf(null, null, 183), LINUX), { kind: 'elf', machine: 183, runsHere: false })
  t.match(formatOf(elf(null).subarray(0, 12), LINUX), { kind: 'elf', runsHere: false }, 'cut off')
})

t.test('what an ELF file loads', async t => {
  const read = (bytes: Uint8Array) => (offset: number, length: number) => bytes.subarray(offset, offset + length)
  t.strictSame(readElf(read(elf('/lib/ld.so', '$ORIGIN/../lib:/opt/lib'))), {
    loader: '/lib/ld.so',
    libraryFolders: ['$ORIGIN/../lib', '/opt/lib'],
  })
  t.strictSame(readElf(read(elf(null))), { loader: null, libraryFolders: [] })
  t.equal(readElf(read(elf('/lib/ld.so').subarray(0, 100))), null, 'a table that is cut off')
  t.equal(
    readElf(() => null),
    null,
  )
  t.equal(readElf(read(Buffer.from('#!/bin/sh'))), null)
})

t.test('handlers of the kernel', async t => {
  const qemu = parseHandler(
    'qemu-aarch64',
    'enabled\ninterpreter /usr/bin/qemu-aarch64\nflags: FC\noffset 0\nmagic 7f454c46\nmask ffffff00\n',
  )
  const jar = parseHandler('jar', 'enabled\ninterpreter /usr/bin/jexec\nflags: \nextension .jar\n')
  if (qemu === null || jar === null) return t.fail('not parsed')
  t.match(qemu, {
    interpreter: '/usr/bin/qemu-aarch64',
    flags: 'FC',
    magic: { offset: 0, bytes: '7f454c46', mask: 'ffffff00' },
  })
  t.equal(parseHandler('off', 'disabled\ninterpreter /x\n'), null)
  t.equal(handlerOf([qemu, jar], '/x', Buffer.from('7f454c99', 'hex'))?.name, 'qemu-aarch64', 'masked')
  t.equal(handlerOf([qemu, jar], '/x', Buffer.from('7f4549', 'hex')), null)
  t.equal(handlerOf([qemu, jar], '/a/x.jar', Buffer.from('PK'))?.name, 'jar')
  t.equal(handlerOf([qemu, jar], '/a/xjar', Buffer.from('PK')), null)
})

const x = (content: string | Uint8Array, more: FakeNode = {}): FakeNode => ({ content, mode: 0o755, ...more })
const TREE: Readonly<Record<string, FakeNode>> = {
  '/lib/ld.so': x(elf(null)),
  '/bin/sh': x(elf('/lib/ld.so')),
  '/bin/other': x(elf(null, null, 183)),
  '/bin/unloadable': x(elf('/lib/none.so')),
  '/a/sound': x('#!/bin/sh\n'),
  '/a/plain': { content: '#!/bin/sh\n' },
  '/a/broken': x('#!/none/sh\n'),
  '/a/text': x('echo hi\n'),
  '/a/empty': x(''),
  '/a/folder/x': {},
  '/a/fifo': x('', { type: 'fifo' }),
  '/a/noexec': x('#!/bin/sh\n', { noexec: true }),
  '/a/loop': { target: 'loop' },
  '/a/dangling': { target: '/none' },
  '/a/of-text': x('#!/a/text\n'),
  '/a/of-plain': x('#!/a/plain\n'),
  '/a/relative': x('#!sh\n'),
  '/a/secret': x('', { mode: 0o111, openErrno: 'EACCES' }),
  '/b/plain': x('#!/bin/sh\n'),
  '/b/broken': x('#!/bin/sh\n'),
  '/b/text': x('#!/bin/sh\n'),
  '/b/sound': x('#!/bin/sh\n'),
  '/b/fifo': x('#!/bin/sh\n'),
  '/b/folder': x('#!/bin/sh\n'),
  '/b/loop': x('#!/bin/sh\n'),
  '/cwd/here': x('#!/bin/sh\n'),
  '/cwd/sh': x(elf(null)),
}

t.test('what the kernel starts', async t => {
  const host = programHost(fakeFiles(TREE), LINUX)
  const verdicts: readonly (readonly [string, string])[] = [
    ['/a/sound', 'starts: /a/sound /bin/sh /lib/ld.so'],
    ['/bin/sh', 'starts: /bin/sh /lib/ld.so'],
    ['/a/relative', 'starts: /a/relative sh'],
    ['/a/secret', 'starts: /a/secret'],
    ['/a/none', 'ENOENT unreachable /a/none'],
    ['/a/dangling', 'ENOENT unreachable /a/dangling'],
    ['/a/sound/x', 'ENOTDIR unreachable /a/sound/x'],
    ['/a/loop', 'ELOOP unreachable /a/loop'],
    ['/a/folder', 'EACCES no-file /a/folder'],
    ['/a/fifo', 'EACCES no-file /a/fifo'],
    ['/a/plain', 'EACCES not-executable /a/plain'],
    ['/a/noexec', 'EACCES not-executable /a/noexec'],
    ['/a/text', 'ENOEXEC no-format /a/text'],
    ['/a/empty', 'ENOEXEC no-format /a/empty'],
    ['/bin/other', 'ENOEXEC foreign-machine /bin/other'],
    ['/a/broken', 'ENOENT interpreter-fails /none/sh'],
    ['/a/of-text', 'ENOEXEC no-format /a/text'],
    ['/a/of-plain', 'EACCES not-executable /a/plain'],
    ['/bin/unloadable', 'ENOENT loader-fails /lib/none.so'],
  ]
  for (const [path, expected] of verdicts) {
    const { links, problem } = chainOf(path, '/cwd', host)
    const told =
      problem === null
        ? `starts: ${links.map(({ named }) => named).join(' ')}`
        : `${problem.errno} ${problem.why} ${problem.path}`
    t.equal(told, expected, path)
  }
})

t.test('five scripts may be interpreters of each other, six may not', async t => {
  const nested = (count: number) =>
    Object.fromEntries(
      [...Array(count).keys()].map((at): [string, FakeNode] => [
        `/s${at}`,
        x(`#!${at + 1 < count ? `/s${at + 1}` : '/bin/sh'}\n`),
      ]),
    )
  for (const [count, errno] of [
    [1, undefined],
    [5, undefined],
    [6, 'ELOOP'],
  ] as const)
    t.equal(
      chainOf('/s0', '/', programHost(fakeFiles({ ...TREE, ...nested(count) }), LINUX)).problem?.errno,
      errno,
      String(count),
    )
  const self = programHost(fakeFiles({ '/s': x('#!/s\n') }), LINUX)
  t.equal(chainOf('/s', '/', self).problem?.why, 'too-deep', 'a cycle')
})

t.test('the search', async t => {
  const host = programHost(fakeFiles(TREE), LINUX)
  const find = (word: string, path: string | null, cwd = '/cwd'): string => {
    const found = resolveProgram(word, { path, cwd, host })
    const matches = found.matches.map(({ path: at, verdict }) => `${at} ${verdict}`).join(', ')
    return found.kind === 'found' ? `${found.path} [${matches}]` : `${found.problem} ${found.errno} [${matches}]`
  }
  const cases: readonly (readonly [string, string | null, string])[] = [
    ['/a/none', '/a', '/a/none []'],
    ['sound', '/a:/b', '/a/sound [/a/sound taken, /b/sound shadowed]'],
    ['plain', '/a:/b', '/b/plain [/a/plain passed-over, /b/plain taken]'],
    ['broken', '/a:/b', '/b/broken [/a/broken passed-over, /b/broken taken]'],
    ['folder', '/a:/b', '/b/folder [/a/folder passed-over, /b/folder taken]'],
    ['fifo', '/a:/b', '/b/fifo [/a/fifo passed-over, /b/fifo taken]'],
    ['text', '/a:/b', '/a/text [/a/text taken, /b/text shadowed]'],
    ['loop', '/a:/b', 'unknown ELOOP [/a/loop passed-over]'],
    ['plain', '/a', 'not-found EACCES [/a/plain passed-over]'],
    ['nothing', '/a:/b', 'not-found ENOENT []'],
    ['here', '', '/cwd/here [/cwd/here taken]'],
    ['here', ':/a', '/cwd/here [/cwd/here taken]'],
    ['here', '/a:', '/cwd/here [/cwd/here taken]'],
    ['here', '/a:.', '/cwd/./here [/cwd/./here taken]'],
    ['sh', null, '/bin/sh [/bin/sh taken]'],
    ['', '/a', 'empty ENOENT []'],
    ['a\0', '/a', 'nul EINVAL []'],
    ['./here', '/a', 'relative ENOENT []'],
    ['d/here', '/a', 'relative ENOENT []'],
  ]
  for (const [word, path, expected] of cases) t.equal(find(word, path), expected, `${JSON.stringify(word)} in ${path}`)
})

/** What the kernel and execvp themselves do, by a program that says its name. */
t.test('the same answers as a real start', { skip: needs('linux') }, async t => {
  const at = scratch(t)
  for (const name of ['p', 'q']) mkdirSync(`${at}/${name}`)
  const write = (path: string, text: string, mode = 0o755): void => {
    writeFileSync(`${at}/${path}`, text)
    chmodSync(`${at}/${path}`, mode)
  }
  const says = (path: string): string => `#!/bin/sh\necho ${path}\n`
  write('p/first', says('p/first'))
  write('p/closed', says('p/closed'), 0o644)
  write('q/closed', says('q/closed'))
  write('p/lost', '#!/none/sh\necho p/lost\n')
  write('q/lost', says('q/lost'))
  write('p/crlf', '#!/bin/sh\r\necho p/crlf\n')
  write('q/crlf', says('q/crlf'))
  mkdirSync(`${at}/p/folder`)
  write('q/folder', says('q/folder'))
  symlinkSync('nowhere', `${at}/p/gone`)
  write('q/gone', says('q/gone'))
  write('p/text', 'echo p/text by a shell\n')
  write('q/text', says('q/text'))
  write('here', says('here'))
  for (let n = 6; n >= 1; n--) write(`n${n}`, n === 6 ? says('nested') : `#!${at}/n${n + 1}\n`)
  write('six', `#!${at}/n1\n`)
  const host = programHost(askingOnce(realFiles))
  const real = (word: string, path: string | undefined) => {
    const env = path === undefined ? {} : { PATH: path }
    const { stdout, error } = spawnSync(word, [], { cwd: at, env, encoding: 'utf8' })
    return error === undefined ? stdout.trim().split(' ')[0] : ((error as NodeJS.ErrnoException).code ?? '')
  }
  const ours = (word: string, path: string | undefined) => {
    const found = resolveProgram(word, { path: path ?? null, cwd: at, host })
    if (found.kind === 'problem') return found.errno
    const { problem } = found.chain
    if (problem !== null && problem.errno !== 'ENOEXEC') return problem.errno
    return found.path.slice(at.length + 1).replace(/^\.\//, '')
  }
  for (const word of ['first', 'closed', 'lost', 'crlf', 'folder', 'gone', 'text', 'none'])
    t.equal(ours(word, `${at}/p:${at}/q`), real(word, `${at}/p:${at}/q`), word)
  for (const path of ['', `:${at}/p`, `${at}/p:`, `${at}/p:.`])
    t.equal(ours('here', path), real('here', path), JSON.stringify(path))
  for (const word of ['p/lost', 'p/closed', 'p/crlf', 'p/folder', 'p/gone', 'none']) {
    const found = chainOf(`${at}/${word}`, at, host)
    t.equal(found.problem?.errno, real(`${at}/${word}`, '/bin'), word)
  }
  t.equal(chainOf(`${at}/n2`, at, host).problem, null, 'five scripts')
  t.equal(real(`${at}/n2`, '/bin'), 'nested')
  t.equal(chainOf(`${at}/six`, at, host).problem?.errno, real(`${at}/six`, '/bin'), 'seven scripts')
})
