import { mkdirSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { errnoOf, Refusal } from '../../src/errors.js'
import { NO_CONTROL_FILES } from '../../src/paths/control-files.js'
import { protectedNames } from '../../src/paths/protected-names.js'
import { land } from '../../src/paths/resolve.js'
import { checkWritableFile, type DeniedPlace, type FolderRules } from '../../src/paths/writable-folder.js'
import { normalizeRelative, parseWriteScope, scopeRefusal } from '../../src/paths/write-scope.js'
import { editBytes } from '../../src/tools/edit-bytes.js'
import { placeOf } from '../support/reach.js'
import { scratch } from '../support/scratch.js'

const NAMES = ['a', 'b', 'c', 'ä'] as const
const name = fc.constantFrom(...NAMES)
const names = fc.array(name, { minLength: 1, maxLength: 4 })

/** What stands at a path: later entries that do not fit onto earlier ones are left out. */
const entry = fc.oneof(
  fc.record({ kind: fc.constant('folder' as const), path: names }),
  fc.record({ kind: fc.constant('file' as const), path: names }),
  fc.record({
    kind: fc.constant('link' as const),
    path: names,
    target: fc.array(fc.oneof(name, fc.constant('..'), fc.constant('.')), { minLength: 1, maxLength: 4 }),
    absolute: fc.boolean(),
  }),
)
type Entry = typeof entry extends fc.Arbitrary<infer Value> ? Value : never

function plant(root: string, entries: readonly Entry[]): void {
  rmSync(root, { recursive: true, force: true })
  mkdirSync(root)
  for (const one of entries) {
    const path = join(root, ...one.path)
    try {
      if (one.kind === 'folder') mkdirSync(path, { recursive: true })
      else if (one.kind === 'file') writeFileSync(path, '', { flag: 'wx' })
      else symlinkSync(one.absolute ? `${root}/${one.target.join('/')}` : one.target.join('/'), path)
    } catch (error) {
      if (errnoOf(error) === undefined) throw error
    }
  }
}

/** The same components in another spelling: doubled slashes and `.` anywhere. */
const noise = fc.array(fc.constantFrom('/', '//', '/./', '/././', '//.//'), { minLength: 8, maxLength: 8 })

function spelled(components: readonly string[], between: readonly string[]): string {
  return components
    .map((component, at) => `${at === 0 ? '' : (between[at % between.length] ?? '/')}${component}`)
    .join('')
}

const wandering = fc.array(fc.oneof({ weight: 4, arbitrary: name }, fc.constant('..')), { minLength: 1, maxLength: 6 })

function realOrNull(path: string): string | null {
  try {
    return realpathSync.native(path)
  } catch (error) {
    if (errnoOf(error) === undefined) throw error
    return null
  }
}

t.test('landing agrees with the kernel, and spelling does not matter', async t => {
  const root = join(scratch(t), 'tree')
  fc.assert(
    fc.property(fc.array(entry, { maxLength: 12 }), wandering, noise, (entries, path, between) => {
      plant(root, entries)
      const plain = land(path.join('/'), { cwd: root })
      const real = realOrNull(`${root}/${path.join('/')}`)
      if (real !== null) {
        if (plain instanceof Refusal || !plain.exists) return false
        if (plain.landed !== real) return false
      } else if (!(plain instanceof Refusal) && plain.exists) return false
      const landedOr = (landing: typeof plain): string => (landing instanceof Refusal ? landing.code : landing.landed)
      const variants = [
        land(spelled(path, between), { cwd: root }),
        land(`${root}//${spelled(path, between)}`, { cwd: '/' }),
      ]
      return variants.every(variant => landedOr(variant) === landedOr(plain))
    }),
    { numRuns: 100 },
  )
  t.pass('100 trees')
})

t.test('a further denial never grants, and a landing outside never passes', async t => {
  const base = scratch(t)
  const root = join(base, 'tree')
  fc.assert(
    fc.property(
      fc.array(entry, { maxLength: 10 }),
      wandering,
      fc.array(names, { maxLength: 3 }),
      (entries, path, denials) => {
        plant(root, entries)
        const rules: FolderRules = {
          cwd: root,
          mode: 'write',
          roots: [placeOf(root)],
          writes: [],
          protects: [],
          protectedNames: protectedNames(),
          hidden: [],
          controlFiles: NO_CONTROL_FILES,
          home: null,
        }
        const denied: DeniedPlace[] = denials.map(components => ({ path: join(root, ...components) }))
        const free = checkWritableFile(path.join('/'), rules)
        const bound = checkWritableFile(path.join('/'), { ...rules, hidden: denied, protects: denied })
        if (!(free instanceof Refusal) && !free.landed.startsWith(`${root}/`)) return false
        return bound instanceof Refusal || !(free instanceof Refusal)
      },
    ),
    { numRuns: 100 },
  )
  t.pass('100 trees')
})

t.test('a further scope layer never grants', async t => {
  const glob = fc
    .array(fc.constantFrom('a', 'b', '*', '**', '/', '**/'), { minLength: 1, maxLength: 5 })
    .map(parts => parts.join(''))
  const rule = fc
    .tuple(glob, fc.constantFrom('allowed', 'partial-only', 'denied'))
    .map(([text, scope]) => parseWriteScope(`${text}=${scope}`))
  const layer = fc.array(rule, { maxLength: 4 })
  const path = fc
    .array(fc.constantFrom('a', 'b', '..', '.', ''), { minLength: 1, maxLength: 5 })
    .map(parts => parts.join('/'))
  fc.assert(
    fc.property(
      fc.array(layer, { maxLength: 2 }),
      layer,
      path,
      fc.constantFrom('file.write' as const, 'file.edit' as const),
      (layers, more, at, operation) => {
        const before = scopeRefusal(layers, at, operation)
        const after = scopeRefusal([...layers, more], at, operation)
        if (before !== null && after === null) return false
        if (at.startsWith('/')) return true
        return (scopeRefusal(layers, normalizeRelative(at), operation) === null) === (before === null)
      },
    ),
  )
  t.pass('layers only narrow')
})

t.test('an edit changes the matched bytes and no other', async t => {
  const bytes = fc.uint8Array({ maxLength: 40 }).map(array => Buffer.from(array))
  const text = fc.stringMatching(/^[a-z]{1,4}$/)
  fc.assert(
    fc.property(bytes, bytes, text, text, (before, after, find, put) => {
      const old = Buffer.concat([before, Buffer.from(find), after])
      const edited = editBytes(old, find, put)
      if (edited.kind === 'not-one') return edited.occurrences > 1
      return edited.bytes.equals(Buffer.concat([before, Buffer.from(put), after]))
    }),
  )
  t.pass('bytes around stay')
})
