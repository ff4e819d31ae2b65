/**
 * Random trees against a second implementation of path resolution that shares nothing with ours, against the kernel's, and
 * against the checker's rules written down once more, plainly and on a model.
 */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { errnoOf, Refusal, type RefusalCode } from '../../src/errors.js'
import { type ControlIndex, indexControlFiles } from '../../src/paths/control-files.js'
import { replaceGuardedFile } from '../../src/paths/guarded-file.js'
import { protectedNames } from '../../src/paths/protected-names.js'
import { type Landing, land } from '../../src/paths/resolve.js'
import {
  checkWritableFile,
  checkWritableFolder,
  type DeniedPlace,
  type FolderRules,
  type WritableVerdict,
} from '../../src/paths/writable-folder.js'
import { normalizeRelative, parseWriteScope, scopeRefusal } from '../../src/paths/write-scope.js'
import { editBytes } from '../../src/tools/edit-bytes.js'
import { CASES, holds } from '../support/fuzz.js'
import { folder, insert, type Led, lead, type Nowhere } from '../support/model-tree.js'
import { placeOf } from '../support/reach.js'

/** Names that stand in no folder above the trees, since `..` leads there too. */
const NAMES = ['qa', 'qb', 'qaa', 'q\u00e4', '.git', '.GIT'] as const
/** The first ones far more often, so that paths meet what stands there. */
const name = fc.oneof(...NAMES.map((one, at) => ({ weight: [8, 6, 3, 1, 2, 1][at] ?? 1, arbitrary: fc.constant(one) })))
/** Without names that rules on names are about, so that what denies is told by the place alone. */
const plain = fc.constantFrom('qa', 'qa', 'qb', 'qaa')
/** The workspace, and what lies beside it. */
const top = fc.constantFrom('ws', 'ws', 'ws', 'out')

/** Text of a link: from where it stands, or from the base of the tree. */
const target = fc.oneof(
  fc.record({
    absolute: fc.constant(false),
    to: fc.array(fc.oneof({ weight: 3, arbitrary: name }, { weight: 2, arbitrary: fc.constantFrom('..', '..', '.') }), {
      minLength: 1,
      maxLength: 4,
    }),
  }),
  fc.record({
    absolute: fc.constant(true),
    to: fc.tuple(top, fc.array(name, { maxLength: 2 })).map(([first, rest]) => [first, ...rest]),
  }),
)
const entry = fc.record({
  kind: fc.constantFrom('folder', 'folder', 'file', 'link', 'link'),
  path: fc.tuple(top, fc.array(name, { minLength: 1, maxLength: 3 })).map(([first, rest]) => [first, ...rest]),
  target,
})
type Entry = typeof entry extends fc.Arbitrary<infer Value> ? Value : never
const entries = fc.array(entry, { minLength: 2, maxLength: 16 })

const wandering = fc.array(
  fc.oneof({ weight: 6, arbitrary: name }, { weight: 1, arbitrary: fc.constantFrom('..', '.', '') }),
  { minLength: 1, maxLength: 5 },
)

/** Paths asked in one tree. */
const EACH = 5
const questions = fc.array(wandering, { minLength: EACH, maxLength: EACH })

/** In memory where the system has such a folder: thousands of trees are no work for a disk. */
function workshop(t: Test): string {
  const memory = '/dev/shm'
  const base = realpathSync(mkdtempSync(join(existsSync(memory) ? memory : tmpdir(), 'harness-fuzz-')))
  t.teardown(() => rmSync(base, { recursive: true, force: true }))
  return base
}

interface Planted {
  readonly base: string
  readonly ws: string
  /** Where a path leads in the model; relative ones from the workspace. */
  lead(path: string): Led
  /** True for a place inside the tree. The rest of the machine is in no model. */
  isKnown(place: readonly string[]): boolean
}

/** The same tree twice: on the machine, below `base`, and as a model of the whole path to it. */
function plant(base: string, entries: readonly Entry[]): Planted {
  rmSync(base, { recursive: true, force: true })
  const above = base.split('/').slice(1)
  const root = folder()
  for (const one of ['ws', 'out']) {
    mkdirSync(join(base, one), { recursive: true })
    insert(root, { kind: 'folder', path: [...above, one], target: '' })
  }
  for (const { kind, path, target: named } of entries) {
    const target = `${named.absolute ? `${base}/` : ''}${named.to.join('/')}`
    if (!insert(root, { kind, path: [...above, ...path], target })) continue
    const at = join(base, ...path)
    mkdirSync(join(at, '..'), { recursive: true })
    if (kind === 'folder') mkdirSync(at)
    else if (kind === 'file') writeFileSync(at, '')
    else symlinkSync(target, at)
  }
  const ws = [...above, 'ws']
  return {
    base,
    ws: join(base, 'ws'),
    lead: path => lead(root, path, ws),
    isKnown: place => above.every((one, at) => place[at] === one) && place.length > above.length,
  }
}

const LANDING_CODES: Readonly<Record<Nowhere, RefusalCode>> = {
  dangling: 'dangling-link',
  loop: 'too-many-links',
  'not-a-folder': 'not-a-directory',
  'up-from-nothing': 'missing',
}

function pathOf(place: readonly string[]): string {
  return `/${place.join('/')}`
}

/** A landing, by the model: path and whether it is there, or the code. */
function ledText(led: Led): string {
  return led.kind === 'there' || led.kind === 'new' ? `${led.kind} ${pathOf(led.place)}` : LANDING_CODES[led.kind]
}

/** The same of ours. */
function landedText(landing: Landing | Refusal): string {
  return landing instanceof Refusal ? landing.code : `${landing.exists ? 'there' : 'new'} ${landing.landed}`
}

function realOrNull(path: string): string | null {
  try {
    return realpathSync.native(path)
  } catch (error) {
    if (errnoOf(error) === undefined) throw error
    return null
  }
}

/** The same components in other spellings: doubled slashes and `.` anywhere, from the root, up and down again. */
const noise = fc.array(fc.constantFrom('/', '//', '/./', '/././', '//.//'), { minLength: 8, maxLength: 8 })

function spellings(ws: string, path: readonly string[], between: readonly string[]): string[] {
  const noisy = path
    .map((component, at) => `${at === 0 ? '' : (between[at % between.length] ?? '/')}${component}`)
    .join('')
  const spelled = path[0] === '' ? `.${noisy}` : noisy
  return [
    spelled,
    `${ws}//${spelled}`,
    `../ws/./${spelled}`,
    `./${spelled}`,
    `${ws}/../ws/../../${ws.split('/').at(-2) ?? ''}/ws/${spelled}`,
  ]
}

/** A spelling that begins with an empty component would be absolute. */
function relative(path: readonly string[]): string {
  return path[0] === '' ? `./${path.join('/')}` : path.join('/')
}

t.test('landing agrees with a second implementation and with the kernel, and spelling does not matter', async t => {
  const base = join(workshop(t), 'tree')
  const property = fc.property(entries, questions, noise, (planting, paths, between) => {
    const { ws, lead: leads } = plant(base, planting)
    return paths.every(path => {
      const spelled = relative(path)
      const ours = landedText(land(spelled, { cwd: ws }))
      if (ours !== ledText(leads(spelled))) return false
      const real = realOrNull(`${ws}/${spelled}`)
      if (real === null ? ours.startsWith('there') : ours !== `there ${real}`) return false
      return spellings(ws, path, between).every(other => landedText(land(other, { cwd: ws })) === ours)
    })
  })
  holds(t, property, { what: 'landing', each: EACH })
})

/** Rules over a planted tree. Places are components below the base; links in them are followed, as an operator's are. */
interface RandomRules {
  readonly hidden: readonly (readonly string[])[]
  readonly protects: readonly (readonly string[])[]
  readonly controls: readonly (readonly string[])[]
  readonly writes: readonly (readonly string[])[]
}

const somewhere = fc.tuple(top, fc.array(plain, { maxLength: 3 })).map(([first, rest]) => [first, ...rest])
const below = fc.tuple(top, fc.array(plain, { minLength: 1, maxLength: 3 })).map(([first, rest]) => [first, ...rest])
const randomRules: fc.Arbitrary<RandomRules> = fc.record({
  hidden: fc.array(below, { maxLength: 2 }),
  protects: fc.array(below, { maxLength: 2 }),
  controls: fc.array(below, { maxLength: 2 }),
  writes: fc.array(somewhere, { maxLength: 2 }),
})

/** What of the rules can be landed, for the checker and for the model. */
function rulesOf({ base, ws, lead: leads }: Planted, random: RandomRules) {
  const led = (places: RandomRules['hidden']) =>
    places.flatMap(place => {
      const one = leads(join(base, ...place))
      return one.kind === 'there' || one.kind === 'new' ? [one] : []
    })
  const denied = (one: ReturnType<typeof led>[number]): DeniedPlace => {
    const path = pathOf(one.place)
    return one.kind === 'there' ? placeOf(path) : { path }
  }
  const hidden = led(random.hidden)
  const protects = led(random.protects)
  const writes = led(random.writes).filter(one => one.kind === 'there' && one.node.kind === 'folder')
  const controls = random.controls.filter(place => led([place]).length > 0)
  const index = indexControlFiles(
    controls.map(place => ({ path: join(base, ...place), what: 'a control file' })),
    '/',
  )
  if (index instanceof Refusal) throw index
  const rules: FolderRules = {
    cwd: ws,
    mode: 'write',
    roots: [placeOf(ws)],
    writes: writes.map(({ place }) => placeOf(pathOf(place))),
    protects: protects.map(denied),
    protectedNames: protectedNames(),
    hidden: hidden.map(denied),
    controlFiles: index satisfies ControlIndex,
    home: null,
  }
  return { rules, hidden, protects, writes, controls: led(controls) }
}
type ModelRules = ReturnType<typeof rulesOf>

function isIn(place: readonly string[], above: readonly string[]): boolean {
  return above.every((one, at) => place[at] === one)
}

/** The checker once more: what is asked in which order stands in confinement.md and in `folder-checks.ts`. */
function expected(
  { base, lead: leads, isKnown }: Planted,
  model: ModelRules,
  path: string,
  as: 'write' | 'enter' | 'file',
): string | null {
  const led = leads(path)
  if (led.kind !== 'there' && led.kind !== 'new') return LANDING_CODES[led.kind]
  const { place, crossed } = led
  const isFolder = led.kind === 'there' && led.node.kind === 'folder'
  if (as !== 'file' && led.kind === 'new') return 'missing'
  if (as !== 'file' && !isFolder) return 'not-a-directory'
  if (!isKnown(place)) return null
  const ws = [...base.split('/').slice(1), 'ws']
  if (!isIn(place, ws)) return 'outside-roots'
  if (model.hidden.some(rule => isIn(place, rule.place))) return 'hidden'
  if (as !== 'enter') {
    const named = place.slice(ws.length).some(one => one.toLowerCase() === '.git')
    if (named || model.protects.some(rule => isIn(place, rule.place))) return 'protected'
    const within = model.controls.some(control => isIn(place, control.place))
    const holdsOne =
      as === 'write' &&
      model.controls.some(
        control => isIn(control.place, place) || control.crossed.places.some(link => isIn(link.slice(0, -1), place)),
      )
    if (within || holdsOne) return 'control-file-inside'
  }
  const movable = crossed.places.some(link => model.writes.some(root => isIn(link, root.place)))
  if (as === 'file' ? crossed.endsOnLink : movable) return 'crosses-writable-link'
  if (as === 'file' && (isFolder || /(?:^|\/)\.{0,2}$/.test(path))) return 'not-a-file'
  return `${as === 'enter' ? 'enterable' : 'writable'} ${pathOf(place)}`
}

function verdictText(verdict: WritableVerdict | Refusal): string {
  return verdict instanceof Refusal ? verdict.code : `${verdict.kind} ${verdict.landed}`
}

const CHECKERS = {
  file: checkWritableFile,
  write: checkWritableFolder,
  enter: (path: string, rules: FolderRules) => checkWritableFolder(path, { ...rules, mode: 'enter' }),
} as const
const USES = ['file', 'write', 'enter'] as const
const PASSED: ReadonlySet<string> = new Set(['writable', 'enterable'])
/** All that a tree of this kind can be refused with. */
const CODES: readonly RefusalCode[] = [
  'outside-roots',
  'protected',
  'control-file-inside',
  'hidden',
  'not-a-directory',
  'not-a-file',
  'missing',
  'dangling-link',
  'too-many-links',
  'crosses-writable-link',
]

t.test('the checker agrees with its rules written down again, and spelling never changes a verdict', async t => {
  const base = join(workshop(t), 'tree')
  const seen = new Map<string, number>()
  const which = fc.nat({ max: 4 })
  const property = fc.property(
    entries,
    randomRules,
    questions,
    noise,
    which,
    (planting, random, paths, between, one) => {
      const planted = plant(base, planting)
      const model = rulesOf(planted, random)
      return paths.every(path =>
        USES.every(as => {
          const check = CHECKERS[as]
          const spelled = relative(path)
          const ours = verdictText(check(spelled, model.rules))
          const wanted = expected(planted, model, spelled, as)
          const [kind = ''] = ours.split(' ')
          seen.set(kind, (seen.get(kind) ?? 0) + 1)
          if (wanted === null ? PASSED.has(kind) : ours !== wanted) return false
          const other = spellings(planted.ws, path, between)[one] ?? spelled
          return verdictText(check(other, model.rules)) === ours
        }),
      )
    },
  )
  holds(t, property, { what: 'the checker', each: EACH })
  const unmet = [...PASSED, ...CODES].filter(kind => !seen.has(kind))
  // A few cases need not meet them all.
  if (CASES >= 10_000) t.strictSame(unmet, [], `every verdict was met: ${JSON.stringify([...seen])}`)
})

t.test('a further denial never grants', async t => {
  const base = join(workshop(t), 'tree')
  const denials = fc.array(below, { minLength: 1, maxLength: 3 })
  const property = fc.property(entries, randomRules, denials, questions, (planting, random, more, paths) => {
    const planted = plant(base, planting)
    const { rules } = rulesOf(planted, random)
    const denied = rulesOf(planted, { hidden: more, protects: more, controls: [], writes: [] }).rules
    const further = {
      ...rules,
      hidden: [...rules.hidden, ...denied.hidden],
      protects: [...rules.protects, ...denied.protects],
    }
    return paths.map(relative).every(path =>
      USES.every(as => {
        const [free, bound] = [CHECKERS[as](path, rules), CHECKERS[as](path, further)]
        return bound instanceof Refusal || !(free instanceof Refusal)
      }),
    )
  })
  holds(t, property, { what: 'denials', each: EACH })
})

/** Every name below a folder; nothing is followed. */
function namesIn(at: string): string[] {
  return readdirSync(at, { withFileTypes: true }).flatMap(one => {
    const path = join(at, one.name)
    return one.isDirectory() ? [path, ...namesIn(path)] : [path]
  })
}

t.test('what is written by a verdict changes the workspace and nothing beside it', async t => {
  const base = join(workshop(t), 'tree')
  let written = 0
  const property = fc.property(entries, questions, (planting, paths) => {
    const planted = plant(base, planting)
    const { rules } = rulesOf(planted, { hidden: [], protects: [], controls: [], writes: [] })
    const before = namesIn(join(base, 'out')).join()
    return paths.map(relative).every(path => {
      const verdict = checkWritableFile(path, rules)
      if (verdict instanceof Refusal) return true
      const done = replaceGuardedFile(verdict, Buffer.from('x'))
      written++
      const there = realOrNull(verdict.landed) === verdict.landed
      return !(done instanceof Refusal) && there && namesIn(join(base, 'out')).join() === before
    })
  })
  holds(t, property, { what: 'writes', each: EACH })
  t.ok(written > 0, `${written} files written`)
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
