/** Landlock rules over random trees and policies, held to what a policy means, which is asked of it path by path. */
import fc from 'fast-check'
import t from 'tap'
import { landlockRules } from '../../src/confinement/landlock-rules.js'
import type { LandedRule, LandlockRule, Policy } from '../../src/confinement/types.js'
import { Refusal } from '../../src/errors.js'
import { DEBIAN, rule } from '../support/confinement-fakes.js'
import { type Tree, viewOf } from '../support/entry-trees.js'
import { holds } from '../support/fuzz.js'

t.setTimeout(180_000)

const { tree } = fc.letrec<{ tree: Tree; node: Tree[string] }>(tie => ({
  tree: fc.dictionary(fc.constantFrom('a', 'b', 'c', '.git', 'ü'), tie('node'), { maxKeys: 4 }),
  node: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom('file' as const, 'file' as const, 'link' as const, 'socket' as const),
    tie('tree'),
  ),
}))

interface Found {
  readonly path: string
  readonly type: string
}

/** Every folder, file and other thing of the tree, below /w. */
function everything(at: Tree, path = '/w'): Found[] {
  return Object.entries(at).flatMap(([name, node]) => {
    const below = `${path}/${name}`
    return typeof node === 'object'
      ? [{ path: below, type: 'folder' }, ...everything(node, below)]
      : [{ path: below, type: node }]
  })
}

type Parts = Pick<Policy, 'reads' | 'writes' | 'hides' | 'protects'>

/** A tree and a policy over it: any places of it may be read, written, hidden and protected at once. */
const scenes = tree.chain(made => {
  const places = everything(made).filter(({ type }) => type === 'folder' || type === 'file')
  const rules = places.map(({ path, type }) => rule(path, type === 'folder' ? 'folder' : 'file'))
  const some = fc.subarray(rules)
  const folders = fc.subarray(rules.filter(({ type }) => type === 'folder'))
  const parts = fc.record({
    reads: some.map(more => [rule('/w'), ...more]),
    writes: fc.oneof(fc.constant([rule('/w')]), folders),
    hides: some,
    protects: some,
  })
  return fc.record({ tree: fc.constant(made), parts, extra: some })
})

function rulesOf(made: Tree, parts: Parts): readonly LandlockRule[] {
  const rules = landlockRules({
    policy: parts,
    facts: { ...DEBIAN, systemRoots: [], etcFiles: [] },
    terminal: false,
    view: viewOf({ w: made }),
  })
  if (rules instanceof Refusal) throw rules
  return rules.rules
}

/** Component by component, apart from the product's own. */
function within(path: string, folder: string): boolean {
  return path === folder || path.startsWith(`${folder}/`)
}

/** What the kernel makes of the rules: one over the path, or over a folder above it, opens it. */
function opens(rules: readonly LandlockRule[], path: string, set: 'read' | 'write'): boolean {
  return rules.some(rule => rule.sets.includes(set) && within(path, rule.path))
}

/** What the policy means: some place opens the path, and nothing denied in that place is the path, holds it, or is held by it. */
function means(places: readonly LandedRule[], denied: readonly LandedRule[], path: string): boolean {
  return places.some(
    place =>
      within(path, place.path) &&
      denied
        .filter(deny => within(deny.path, place.path))
        .every(deny => !within(path, deny.path) && !within(deny.path, path)),
  )
}

t.test('what is opened is what the policy means, for every path', async t => {
  const property = fc.property(scenes, ({ tree: made, parts }) => {
    const rules = rulesOf(made, parts)
    const { reads, writes, hides, protects } = parts
    return everything(made).every(({ path, type }) => {
      // A link is no place of its own, and nobody reads or writes a socket.
      if (type === 'link' || type === 'socket') return true
      const read = means([...reads, ...writes], hides, path)
      const write = means(writes, [...hides, ...protects], path)
      return opens(rules, path, 'read') === read && opens(rules, path, 'write') === write
    })
  })
  holds(t, property, { what: 'rules against the policy', each: 10 })
})

t.test('one denial more opens nothing', async t => {
  const property = fc.property(scenes, fc.boolean(), ({ tree: made, parts, extra }, hidden) => {
    const key = hidden ? 'hides' : 'protects'
    const before = rulesOf(made, parts)
    const after = rulesOf(made, { ...parts, [key]: [...parts[key], ...extra] })
    return everything(made).every(({ path }) =>
      (['read', 'write'] as const).every(set => !opens(after, path, set) || opens(before, path, set)),
    )
  })
  holds(t, property, { what: 'denials', each: 10 })
})

t.test('a folder that may be listed holds no hidden folder at any depth', async t => {
  const property = fc.property(scenes, ({ tree: made, parts }) => {
    const listed = rulesOf(made, parts).filter(({ sets }) => sets.includes('list') || sets.includes('read'))
    const hidden = parts.hides.filter(({ type }) => type === 'folder')
    const byName = [...parts.reads, ...parts.writes]
    return listed.every(({ path }) =>
      hidden.every(
        hide =>
          !within(hide.path, path) ||
          // Somebody who opens the hidden place itself, or a place in it, by name has opened it.
          byName.some(place => within(place.path, hide.path) && within(path, place.path) && place.path !== hide.path),
      ),
    )
  })
  holds(t, property, { what: 'listings', each: 10 })
})
