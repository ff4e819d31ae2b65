/** Seatbelt profiles under names and policies that nobody would write by hand. */
import fc from 'fast-check'
import t from 'tap'
import { baseProfile } from '../../src/confinement/seatbelt-base.js'
import { type ProfileRequest, type SeatbeltProfile, seatbeltProfile } from '../../src/confinement/seatbelt-profile.js'
import type { LandedRule, Policy } from '../../src/confinement/types.js'
import { Refusal } from '../../src/errors.js'
import { policy, rule } from '../support/confinement-fakes.js'
import { allows, type ParsedProfile, parseProfile, type Question } from '../support/seatbelt-evaluator.js'
import { MACOS, PRIVATE_FOLDER } from '../support/seatbelt-policies.js'

t.setTimeout(180_000)

function profileOf(parts: Partial<Policy>): SeatbeltProfile | Refusal {
  const request: ProfileRequest = { policy: policy(parts), facts: MACOS, privateFolder: PRIVATE_FOLDER, ptys: false }
  return seatbeltProfile(request)
}

const BASE = parseProfile(baseProfile(), {}).rules

/** Every profile begins with the same text: it is read once. */
function parsedOf(parts: Partial<Policy>): ParsedProfile {
  const made = profileOf(parts)
  if (made instanceof Refusal) throw made
  if (!made.text.startsWith(baseProfile())) throw new Error('a profile without the base')
  const { rules: own, parameters } = parseProfile(
    `(version 1)${made.text.slice(baseProfile().length)}`,
    made.parameters,
  )
  return { rules: [...BASE, ...own], parameters }
}

/** Pieces that mean something to a reader of profiles, to Scheme, to getopt or to a shell, and everything else. */
const hostile = fc
  .array(
    fc.oneof(
      {
        weight: 3,
        arbitrary: fc.constantFrom('"', '\\', ')', '(', ';', '#"', ' ', '=', '-D', '$(x)', '*', '[', '|#', "'", '`'),
      },
      {
        weight: 1,
        arbitrary: fc.constantFrom(
          '(allow default)',
          '") (allow file-write* (subpath "',
          '(param "PRIVATE")',
          '\n',
          '\0',
          '\r',
        ),
      },
      { weight: 2, arbitrary: fc.string({ unit: 'binary', maxLength: 4 }) },
    ),
    { minLength: 1, maxLength: 6 },
  )
  .map(parts => parts.join('').replaceAll('/', ''))
  .filter(name => name !== '' && name !== '.' && name !== '..')

t.test('no name changes a rule (C09)', async t => {
  const plain = profileOf(around('plain'))
  if (plain instanceof Refusal) throw plain
  let refused = 0
  fc.assert(
    fc.property(hostile, name => {
      const made = profileOf(around(name))
      if (/[\0\n\r]/.test(name)) {
        refused++
        return made instanceof Refusal && made.code === 'unsupported-rule'
      }
      if (made instanceof Refusal) return false
      parseProfile(made.text, made.parameters)
      return made.text === plain.text && Object.values(made.parameters).includes(`/w/${name}/g`)
    }),
    { numRuns: 2_000 },
  )
  t.ok(refused > 20, 'and those that could are refused')
})

function around(name: string): Partial<Policy> {
  const workspace = rule(`/w/${name}`)
  return {
    workspace,
    reads: [workspace, { ...rule('/w/zz'), links: [`/w/${name}/link`] }],
    writes: [rule(`/w/${name}/g`)],
    protects: [rule(`/w/${name}/g/.git`)],
    hides: [rule(`/w/${name}/h`, 'file')],
  }
}

/** Few names, so that rules meet. */
const folder = fc
  .array(fc.constantFrom('a', 'b', 'c'), { minLength: 1, maxLength: 4 })
  .map(names => `/w/${names.join('/')}`)
const rules = (maxLength: number): fc.Arbitrary<LandedRule[]> =>
  fc.uniqueArray(folder, { maxLength }).map(paths => paths.map(path => rule(path)))

const DENIALS = ['protects', 'hides', 'watched', 'hiddenElsewhere'] as const
const anyPolicy = fc.record({
  reads: rules(4),
  writes: rules(2).map(found =>
    found.filter(one => !found.some(other => other !== one && one.path.startsWith(`${other.path}/`))),
  ),
  protects: rules(2),
  hides: rules(3),
  watched: rules(1),
  hiddenElsewhere: rules(1),
})

const OPERATIONS = [
  'file-read-data',
  'file-read-metadata',
  'file-write-data',
  'file-write-create',
  'file-write-unlink',
  'process-exec',
] as const

const PLACES = ['/w', '/w/a', '/w/a/b', '/w/b/a/c', '/usr/bin/true'] as const

t.test('a denial more never grants anything', async t => {
  let bit = 0
  fc.assert(
    fc.property(
      anyPolicy,
      fc.constantFrom(...DENIALS),
      folder,
      fc.array(folder, { maxLength: 3 }),
      (parts, kind, path, more) => {
        const before = parsedOf(parts)
        const after = parsedOf({ ...parts, [kind]: [...parts[kind].filter(one => one.path !== path), rule(path)] })
        for (const place of [...PLACES, path, `${path}/x`, ...more]) {
          for (const operation of OPERATIONS) {
            const question: Question = { operation, path: place, vnodeType: 'DIRECTORY' }
            const [could, can] = [allows(before, question), allows(after, question)]
            if (can && !could) return false
            if (could && !can) bit++
          }
        }
        return true
      },
    ),
    { numRuns: 10_000 },
  )
  t.ok(bit > 10_000, `it takes something away (${bit} answers)`)
})

t.test('what is protected or hidden stays so, whatever is allowed around it', async () => {
  fc.assert(
    fc.property(anyPolicy, parts => {
      const profile = parsedOf(parts)
      const may = (operation: string, path: string): boolean => allows(profile, { operation, path })
      const written = parts.protects.every(
        ({ path }) =>
          !['', '/x'].some(tail => may('file-write-data', path + tail) || may('file-write-unlink', path + tail)),
      )
      const opened = [...parts.reads, ...parts.writes].map(({ path }) => path)
      const shown = parts.hides.some(
        ({ path }) =>
          !opened.some(other => other.startsWith(`${path}/`)) &&
          (may('file-read-data', path) || may('file-read-data', `${path}/x`)),
      )
      const outside = ['/w', '/etc/passwd', '/usr/bin/x', '/Users/user/.zshrc'].some(path =>
        may('file-write-create', path),
      )
      return written && !shown && !outside
    }),
    { numRuns: 1_000 },
  )
})
