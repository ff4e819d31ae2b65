/** A command line that is read without the parser means what the parser reads in it. */
import fc from 'fast-check'
import t from 'tap'
import { type CommandName, type Flag, flagsOf } from '../../src/cli/flags.js'
import { parseArgv, parseHookcheck, type Typed } from '../../src/cli/parse.js'
import { plainExec, plainHookcheck } from '../../src/cli/plain-words.js'
import { Refusal } from '../../src/errors.js'

/** What somebody types for one row of the table: mostly right, in every spelling there is, and wrong. */
function typedFlag(flag: Flag): fc.Arbitrary<string[]> {
  const value = fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom(...(flag.choices ?? ['a', 'b=c', '1s'])) },
    { weight: 1, arbitrary: fc.constantFrom('', '-', '--', '-x', flag.name, 'é') },
  )
  const spellings: [number, fc.Arbitrary<string[]>][] =
    flag.value === undefined
      ? [
          [8, fc.constant([flag.name])],
          [1, fc.constantFrom('', 'x').map(word => [`${flag.name}=${word}`])],
        ]
      : [
          [8, value.map(word => [flag.name, word])],
          [1, value.map(word => [`${flag.name}=${word}`])],
          [1, fc.constant([flag.name])],
          [1, fc.constant([flag.short ?? '-p', 'x'])],
        ]
  return fc.oneof(...spellings.map(([weight, arbitrary]) => ({ weight, arbitrary })))
}

const stray = fc.constantFrom<string[]>(
  ['--help'],
  ['-h'],
  ['--nothing'],
  ['-V'],
  ['x'],
  [''],
  ['-'],
  ['--'],
  ['--no-keys'],
)

/** Few options at a time, so that many of the lines are plain. */
function lineOf(name: CommandName, operands: fc.Arbitrary<string[]>): fc.Arbitrary<string[]> {
  const flags = flagsOf(name)
  const one = fc.oneof(
    { weight: 10, arbitrary: fc.constantFrom(...flags).chain(typedFlag) },
    { weight: 1, arbitrary: stray },
    { weight: 3, arbitrary: operands },
  )
  return fc.array(one, { maxLength: 4 }).chain(parts => operands.map(last => [...parts.flat(), ...last]))
}

const exec = lineOf(
  'exec',
  fc.constantFrom<string[]>(['--', 'true'], ['--', 'ls', '-l', '--', 'x'], ['true'], ['--'], []),
)
const hookcheck = lineOf('hookcheck', fc.constantFrom<string[]>(['hooks.json'], ['a', 'b'], ['--', 'f'], []))

function seen({ given, words }: Typed): unknown {
  const typed = [...given.values.keys()].filter(flag => given.isTyped(flag))
  return { values: [...given.values], typed, words }
}

const cases = [
  { name: 'exec', lines: exec, plain: plainExec, parse: (words: readonly string[]) => parseArgv(['exec', ...words]) },
  { name: 'hookcheck', lines: hookcheck, plain: plainHookcheck, parse: parseHookcheck },
] as const

for (const { name, lines, plain, parse } of cases) {
  t.test(name, async t => {
    let plains = 0
    fc.assert(
      fc.property(lines, words => {
        const read = plain(words)
        if (read === null) return
        plains++
        let parsed: ReturnType<typeof parse> | Refusal
        try {
          parsed = parse(words)
        } catch (error) {
          if (!(error instanceof Refusal)) throw error
          parsed = error
        }
        if (parsed instanceof Refusal || parsed.kind !== 'command')
          throw new Error(`${JSON.stringify(words)} is no command: ${JSON.stringify(parsed)}`)
        const [ours, theirs] = [JSON.stringify(seen(read)), JSON.stringify(seen(parsed))]
        if (ours !== theirs) throw new Error(`${JSON.stringify(words)} reads as ${ours}, parsed it is ${theirs}`)
      }),
      { numRuns: 4_000 },
    )
    t.ok(plains > 200, `${plains} of the lines were plain`)
  })
}

t.test('what people type most needs no parser', async t => {
  t.ok(plainExec(['--', 'true']))
  t.ok(plainExec(['--process-write-subtree', '.', '--read', '/a', '--read', '/b', '--', 'npm', 'test', '--', '-x']))
  t.ok(plainHookcheck(['--workspace', '.', '--fail-on', 'never', 'hooks.json']))
  t.equal(plainExec(['true']), null, 'where the command begins is the parser’s to tell')
  t.equal(plainExec(['--']), null)
  t.equal(plainHookcheck([]), null)
})
