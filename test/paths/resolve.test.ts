import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { Refusal, type RefusalCode } from '../../src/errors.js'
import {
  componentsBelow,
  isWithin,
  type Landing,
  land,
  landPlace,
  lookalike,
  missing,
} from '../../src/paths/resolve.js'
import { walk } from '../../src/paths/walk.js'
import { needs } from '../support/needs.js'
import { scratch } from '../support/scratch.js'

/** ws with a file, folders and links of every kind; out beside it. */
function tree(t: { teardown(undo: () => void): void }): { ws: string; out: string; base: string } {
  const base = scratch(t)
  const ws = join(base, 'ws')
  const out = join(base, 'out')
  mkdirSync(join(ws, 'a/b'), { recursive: true })
  mkdirSync(join(out, 'deep/er'), { recursive: true })
  writeFileSync(join(ws, 'a/f'), 'text')
  const links: Record<string, string> = {
    'to-out': out,
    'to-er': '../out/deep/er',
    'to-f': 'a/f',
    'to-f-slash': 'a/f/',
    'to-nothing': join(base, 'nothing/here'),
    'to-nothing-beside': 'a/new',
    'to-chain': 'to-f',
    loop: 'loop2',
    loop2: 'loop',
    self: '.',
    odd: 'a/../a/./b//',
  }
  for (const [name, target] of Object.entries(links)) symlinkSync(target, join(ws, name))
  return { ws, out, base }
}

function landed(path: string, cwd: string): Landing {
  const landing = land(path, { cwd })
  if (landing instanceof Refusal) throw landing
  return landing
}

t.test('where a spelling lands', async t => {
  const { ws, out, base } = tree(t)
  const cases: { path: string; lands: string; tail?: string[]; links?: number; type?: string }[] = [
    { path: '.', lands: ws, type: 'folder' },
    { path: 'a/f', lands: `${ws}/a/f`, type: 'file' },
    { path: `${ws}//a/./b/../f`, lands: `${ws}/a/f`, type: 'file' },
    { path: '/..', lands: '/', type: 'folder' },
    { path: 'to-f', lands: `${ws}/a/f`, links: 1, type: 'file' },
    { path: 'to-chain', lands: `${ws}/a/f`, links: 2 },
    { path: 'odd', lands: `${ws}/a/b`, links: 1 },
    { path: 'to-er/..', lands: `${out}/deep`, links: 1 },
    { path: 'to-er/../../x', lands: `${out}/x`, tail: ['x'], links: 1 },
    { path: 'to-out/n/e/w', lands: `${out}/n/e/w`, tail: ['n', 'e', 'w'], links: 1 },
    { path: 'self/self/a', lands: `${ws}/a`, links: 2 },
    { path: 'new/', lands: `${ws}/new`, tail: ['new'] },
    { path: 'new/./x', lands: `${ws}/new/x`, tail: ['new', 'x'] },
    { path: '../ws2', lands: `${base}/ws2`, tail: ['ws2'] },
  ]
  for (const { path, lands, tail = [], links = 0, type } of cases) {
    const landing = landed(path, ws)
    t.equal(landing.landed, lands, path)
    t.strictSame(landing.missingTail, tail, `${path}: tail`)
    t.equal(landing.exists, tail.length === 0)
    t.equal(landing.links.length, links, `${path}: links`)
    if (type !== undefined) t.equal(landing.type, type)
    t.match(landing.identity, { dev: /^\d+$/, ino: /^\d+$/ })
  }
  t.equal(landed('a', join(ws, 'self')).landed, `${ws}/a`, 'links in the working folder are followed too')
  t.equal(landed('to-f', ws).links[0]?.last, true)
  t.equal(landed('self/a', ws).links[0]?.last, false)
})

t.test('what cannot be landed', async t => {
  const { ws } = tree(t)
  const cases: [path: string, code: RefusalCode][] = [
    ['', 'missing'],
    ['a\0b', 'nul-in-path'],
    ['a/f/x', 'not-a-directory'],
    ['a/f/', 'not-a-directory'],
    ['a/f/..', 'not-a-directory'],
    ['to-f-slash', 'not-a-directory'],
    ['to-nothing', 'dangling-link'],
    ['to-nothing/x/y', 'dangling-link'],
    ['to-nothing-beside', 'dangling-link'],
    ['loop', 'too-many-links'],
    ['loop/x', 'too-many-links'],
    ['new/../a', 'missing'],
    [`${'x'.repeat(300)}`, 'file-unreadable'],
  ]
  for (const [path, code] of cases) {
    const refusal = land(path, { cwd: ws })
    t.ok(refusal instanceof Refusal, path)
    t.match(refusal, { code })
  }
  t.match(land('to-nothing', { cwd: ws }), { details: { link: `${ws}/to-nothing`, target: /nothing\/here$/ } })
})

t.test('forty links are followed, one more is not', async t => {
  const base = scratch(t)
  writeFileSync(join(base, 'end'), '')
  symlinkSync('end', join(base, 'l1'))
  for (let at = 2; at <= 41; at++) symlinkSync(`l${at - 1}`, join(base, `l${at}`))
  t.equal(landed('l40', base).landed, join(base, 'end'))
  t.match(land('l41', { cwd: base }), { code: 'too-many-links' })
})

t.test('detours through /proc land where they really lead', { skip: needs('linux') }, async t => {
  const { ws } = tree(t)
  t.equal(landed(`/proc/self/root${ws}/a/f`, '/').landed, `${ws}/a/f`)
  t.match(landed('/proc/self/environ', '/'), { landed: /^\/proc\/\d+\/environ$/ })
})

t.test('places and components', async t => {
  const { ws, out } = tree(t)
  const root = landPlace(ws, { cwd: '/' })
  if (root instanceof Refusal) throw root
  t.strictSame(componentsBelow(landed('a/b/new/x', ws), root), ['a', 'b', 'new', 'x'])
  t.strictSame(componentsBelow(landed('.', ws), root), [])
  t.equal(componentsBelow(landed('to-out', ws), root), null)
  t.strictSame(componentsBelow(landed('a', ws), { ...root, path: out }), ['a'], 'identity decides, not the spelling')
  t.match(landPlace('none', { cwd: ws }), { code: 'missing' })
  for (const [path, folder, within] of [
    ['/w/app', '/w/app', true],
    ['/w/app/x', '/w/app', true],
    ['/w/app2/x', '/w/app', false],
    ['/w/app ', '/w/app', false],
    ['/x', '/', true],
  ] as const) {
    t.equal(isWithin(path, folder), within, `${path} in ${folder}`)
  }
})

t.test('a name in another normal form is told apart and shown', async t => {
  const base = scratch(t)
  const cases: [onDisk: string, asked: string, shows: RegExp][] = [
    ['A\u0308rger', '\u00c4rger', /asked for "\\u\{c4\}rger", on disk is "A\\u\{308\}rger"/],
    ['shot\u202fPM.png', 'shot PM.png', /on disk is "shot\\u\{202f\}PM\.png"/],
  ]
  for (const [onDisk, asked, shows] of cases) {
    writeFileSync(join(base, onDisk), '')
    t.equal(landed(onDisk, base).exists, true, 'exact bytes come first')
    const landing = landed(asked, base)
    if (landing.exists) continue
    t.strictSame(lookalike(landing), { asked, onDisk })
    t.match(missing(landing).message, shows)
  }
  t.notMatch(missing(landed(join(base, 'none'), '/')).message, 'it would be', 'a landed spelling is not told twice')
  t.equal(lookalike(landed('plain', base)), null)
  t.equal(lookalike(landed('\u00d6l', base)), null)
})

t.test('a walk says what went away or may not be looked at', async t => {
  const base = scratch(t)
  const folder = mkdtempSync(join(base, 'f-'))
  t.match(walk('x', folder), { missingTail: ['x'] })
  rmSync(folder, { recursive: true })
  t.match(walk('x', folder), { missingTail: [/^f-/, 'x'] }, 'a working folder that is gone has only a missing tail')
})
