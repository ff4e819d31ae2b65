/** Whatever the file says: a typed flag wins, a key that is not known refuses, and the line named is that of the key. */
import fc from 'fast-check'
import t from 'tap'
import { readDocument } from '../../src/config/document.js'
import { profileLayers, resolveLayers } from '../../src/config/layers.js'
import { PROFILE_KEYS, type ProfileKey } from '../../src/config/profile-keys.js'
import { isRefusal } from '../../src/errors.js'

const FILE = '/etc/op/harness.toml'
const KNOWN = new Set([...PROFILE_KEYS.map(({ key }) => key), 'name', 'write'])

/** What begins as a shell's words do is refused where a path is meant. */
const word = fc.string({ minLength: 1, maxLength: 6 }).filter(text => !/^[~$]|\0/.test(text))

function toml({ kind, choices, min = 1 }: ProfileKey): fc.Arbitrary<string> {
  switch (kind) {
    case 'switch':
      return fc.boolean().map(String)
    case 'number':
      return fc.integer({ min, max: 9_999 }).map(String)
    case 'text':
      return (choices === undefined ? word : fc.constantFrom(...choices)).map(basicString)
    case 'list':
    case 'joined':
      return fc.array(word, { maxLength: 3 }).map(words => `[${words.map(basicString).join(', ')}]`)
  }
}

/** JSON escapes are those of a TOML basic string, but for DEL. */
function basicString(text: string): string {
  return JSON.stringify(text).replaceAll('\x7f', '\\u007F')
}

const KEYS = PROFILE_KEYS.filter(({ kind }) => kind !== 'joined')
const lines = fc
  .subarray([...KEYS])
  .chain(rows => fc.tuple(...rows.map(row => toml(row).map(value => `${row.key} = ${value}`))))

const file = fc.record({ defaults: lines, profiles: fc.array(lines, { maxLength: 3 }) })

function textOf({ defaults, profiles }: { defaults: string[]; profiles: string[][] }): string {
  const tables = profiles.map((body, at) => ['', '[[profiles]]', `name = "p${at}"`, ...body])
  return ['[default]', ...defaults, ...tables.flat()].join('\n')
}

const read = (text: string) => readDocument(Buffer.from(text), FILE, { flags: new Set() })

t.test('a typed flag wins over every table, and nothing else does', async t => {
  fc.assert(
    fc.property(file, fc.subarray(KEYS.map(({ flag }) => flag)), (drawn, typed) => {
      const { defaults, profiles } = read(textOf(drawn))
      const values = new Map(typed.map(flag => [flag, 'typed']))
      const tables = profileLayers(profiles, defaults)
      const resolved = resolveLayers([...tables, { origin: { kind: 'typed' }, values, write: null }], new Map())
      for (const [flag, { value, origin }] of resolved) {
        if (typed.includes(flag) !== (origin.kind === 'typed') || (value === 'typed') !== typed.includes(flag))
          return false
        const last = tables.findLast(table => table.values.has(flag))
        if (origin.kind !== 'typed' && last?.values.get(flag) !== value) return false
      }
      return typed.every(flag => resolved.has(flag))
    }),
    { numRuns: 100 },
  )
  t.pass('held')
})

t.test('a key that is not known refuses the file, on its own line', async t => {
  const stray = fc.stringMatching(/^[a-z][a-z-]{0,11}$/).filter(key => !KNOWN.has(key))
  fc.assert(
    fc.property(file, stray, fc.nat(), (drawn, key, at) => {
      const all = textOf(drawn).split('\n')
      const places = all.flatMap((line, index) => (line === '' || line.startsWith('[[') ? [] : [index + 1]))
      const place = places[at % places.length] ?? 1
      all.splice(place, 0, `${key} = 1`)
      try {
        read(all.join('\n'))
        return false
      } catch (error) {
        return isRefusal(error, 'bad-document') && error.details.place === String(place + 1)
      }
    }),
    { numRuns: 100 },
  )
  t.pass('held')
})
