/** What holds for every policy, every filter and every argument list, tried on generated ones. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { assemble, encode, type Line } from '../../src/confinement/bpf-assembler.js'
import { bwrapArgv } from '../../src/confinement/bwrap-argv.js'
import { landPolicy } from '../../src/confinement/policy.js'
import { isVisible } from '../../src/confinement/policy-reach.js'
import { type FilterOptions, seccompProgram } from '../../src/confinement/seccomp-bpf.js'
import type { LandedRule, Policy, PolicyRequest } from '../../src/confinement/types.js'
import { Refusal } from '../../src/errors.js'
import { isDeniedPath } from '../../src/paths/denied-place.js'
import { compileHideGlob, isHideGlob } from '../../src/paths/hide-glob.js'
import { runFilter } from '../support/bpf-interpreter.js'
import { DEBIAN, policy, request, rule } from '../support/confinement-fakes.js'
import { scratch } from '../support/scratch.js'

/** Options of bubblewrap that we use, by how many words follow. */
const OPERANDS: Readonly<Record<string, number>> = {
  '--unshare-user': 0,
  '--unshare-pid': 0,
  '--unshare-ipc': 0,
  '--unshare-uts': 0,
  '--unshare-cgroup-try': 0,
  '--unshare-net': 0,
  '--die-with-parent': 0,
  '--new-session': 0,
  '--disable-userns': 0,
  '--clearenv': 0,
  '--cap-drop': 1,
  '--hostname': 1,
  '--setenv': 2,
  '--ro-bind': 2,
  '--ro-bind-try': 2,
  '--bind': 2,
  '--symlink': 2,
  '--perms': 1,
  '--size': 1,
  '--dir': 1,
  '--tmpfs': 1,
  '--proc': 1,
  '--dev': 1,
  '--remount-ro': 1,
  '--ro-bind-data': 2,
  '--seccomp': 1,
  '--json-status-fd': 1,
  '--chdir': 1,
}

interface Option {
  readonly name: string
  readonly operands: readonly string[]
}

/** Reads an option list as bubblewrap does; throws for a word where an option is looked for and none of ours stands. */
function parse(words: readonly string[]): Option[] {
  const options: Option[] = []
  for (let at = 0; at < words.length; ) {
    const name = words[at] ?? ''
    const count = OPERANDS[name]
    if (count === undefined) throw new Error(`${JSON.stringify(name)} stands where an option is looked for`)
    options.push({ name, operands: words.slice(at + 1, at + 1 + count) })
    at += 1 + count
  }
  return options
}

type Reach = 'nothing' | 'read' | 'write'

/** What the mounts of an option list let a process do at `path`: the last mount that encloses it decides. */
function reachOf(options: readonly Option[], path: string): Reach {
  let reach: Reach = 'nothing'
  for (const { name, operands } of options) {
    const place = operands[operands.length - 1] ?? ''
    if (!(path === place || path.startsWith(`${place}/`))) continue
    if (name === '--bind') reach = 'write'
    else if (name === '--ro-bind') reach = operands[0] === '/dev/null' ? 'nothing' : 'read'
    else if (name === '--tmpfs' && !place.startsWith('/dev')) reach = 'nothing'
  }
  return reach
}

const STRENGTH: Readonly<Record<Reach, number>> = { nothing: 0, read: 1, write: 2 }

/** Few names, so that generated paths meet; some that look like options or break lines. */
const name = fc.constantFrom('a', 'b', 'c', '--bind', '-', "it's", 'two\nlines', ' ', '--', 'ü')
const below = fc.array(name, { minLength: 1, maxLength: 4 }).map(names => names.join('/'))
const inProject = below.map(path => `/project/${path}`)
const anywhere = fc.oneof(
  inProject,
  below.map(path => `/data/${path}`),
)

function rules(paths: fc.Arbitrary<string>, maxLength = 4): fc.Arbitrary<LandedRule[]> {
  return fc.uniqueArray(paths, { maxLength }).map(all => all.map(path => rule(path)))
}

/** Rules as landing leaves them: no read or grant inside a hide that was asked for is generated away, only the shapes are. */
const somePolicy: fc.Arbitrary<Policy> = fc
  .record({
    reads: rules(anywhere),
    writes: rules(inProject, 2),
    hides: rules(anywhere),
    protects: rules(inProject),
    env: fc.dictionary(
      fc.string({ minLength: 1 }).filter(text => !/[=\0]/.test(text)),
      fc.string().filter(text => !text.includes('\0')),
    ),
  })
  .map(({ reads, ...rest }) => policy({ ...rest, reads: [rule('/project'), ...reads] }))

/** With what is opened one by one, at places of its own. */
const openedPolicy: fc.Arbitrary<Policy> = fc
  .record({
    base: somePolicy,
    sockets: rules(anywhere, 2),
    cache: fc.option(below.map(path => rule(`/cache/${path}`))),
    driver: fc.option(below.map(path => `/srv/${path}`)),
    links: fc.array(fc.record({ path: below.map(path => `/toolchain/${path}`), target: anywhere }), { maxLength: 2 }),
    nesting: fc.boolean(),
  })
  .map(({ base, sockets, cache, driver, links, nesting }) => ({
    ...base,
    ...{ sockets, cache, nesting },
    links: links.map(link => ({ ...link, source: 'test' })),
    staged: driver === null ? [] : [{ ...rule(driver, 'file'), inside: '/toolchain/driver', sha256: '', stamp: '' }],
  }))

const RUNS = 10_000

const words = fc.array(fc.oneof(fc.constantFrom('--bind', '--', '--setenv', '-c', ''), fc.string()), { maxLength: 5 })

function argvOf(some: Policy, command: readonly string[] = ['/usr/bin/true']) {
  return bwrapArgv({
    boundary: 'bubblewrap',
    policy: some,
    facts: DEBIAN,
    cwd: '/project',
    uid: 1000,
    files: [],
    limitOptions: [],
    command,
  })
}

t.test('user strings never reach a flag position', async t => {
  fc.assert(
    fc.property(openedPolicy, words, (some, command) => {
      const { args, optionWords } = argvOf(some, ['/usr/bin/true', ...command])
      const options = parse(args.slice(0, optionWords))
      const set = options.filter(option => option.name === '--setenv').map(({ operands }) => operands)
      return (
        set.length === Object.keys(some.env).length &&
        set.every(([key = '', value]) => some.env[key] === value) &&
        args.slice(optionWords).join('\0') ===
          ['--', '/run/harness/limit', '--', '/usr/bin/true', ...command].join('\0')
      )
    }),
    { numRuns: RUNS },
  )
  t.pass(`${RUNS} lists`)
})

t.test('adding a hide or a protected path never grants', async t => {
  fc.assert(
    fc.property(
      openedPolicy,
      anywhere,
      inProject,
      fc.array(anywhere, { minLength: 1, maxLength: 6 }),
      (some, hidden, kept, probes) => {
        const before = parse(optionsOf(some))
        const denied = parse(
          optionsOf({ ...some, hides: [...some.hides, rule(hidden)], protects: [...some.protects, rule(kept)] }),
        )
        return [hidden, kept, ...probes, `${hidden}/x`, `${kept}/x`].every(
          path => STRENGTH[reachOf(denied, path)] <= STRENGTH[reachOf(before, path)],
        )
      },
    ),
    { numRuns: RUNS },
  )
  t.pass(`${RUNS} policies`)
})

function optionsOf(some: Policy): readonly string[] {
  const { args, optionWords } = argvOf(some)
  return args.slice(0, optionWords)
}

t.test('what is mounted is what the rules say: the innermost rule decides, and at one place the denial', async t => {
  const RANK = { read: 1, write: 2, protect: 3, hide: 4 } as const
  fc.assert(
    fc.property(somePolicy, fc.array(anywhere, { minLength: 1, maxLength: 6 }), (some, probes) => {
      const options = parse(optionsOf(some))
      const ruled = [
        ...some.reads.map(({ path }) => ({ path, kind: 'read' as const })),
        ...some.writes.map(({ path }) => ({ path, kind: 'write' as const })),
        ...some.protects.map(({ path }) => ({ path, kind: 'protect' as const })),
        ...some.hides.map(({ path }) => ({ path, kind: 'hide' as const })),
      ]
      const expected = (probe: string): Reach => {
        const around = ruled
          .filter(({ path }) => probe === path || probe.startsWith(`${path}/`))
          .sort((a, b) => a.path.length - b.path.length || RANK[a.kind] - RANK[b.kind])
        let reach: Reach = 'nothing'
        for (const { kind } of around) {
          if (kind === 'hide') reach = 'nothing'
          else if (kind === 'write') reach = 'write'
          // Reading adds nothing inside a grant, and a protected path is read-only where it is shown at all.
          else if (kind === 'read') reach = reach === 'write' ? 'write' : 'read'
          else reach = reach === 'nothing' ? 'nothing' : 'read'
        }
        return reach
      }
      return probes.every(probe => reachOf(options, probe) === expected(probe))
    }),
    { numRuns: 500 },
  )
  t.pass('500 policies')
})

t.test('visible says what the mounts do', async t => {
  fc.assert(
    fc.property(
      somePolicy,
      anywhere,
      (some, path) => isVisible(path, some, DEBIAN) === (reachOf(parse(optionsOf(some)), path) !== 'nothing'),
    ),
    { numRuns: 500 },
  )
  t.pass('500 policies')
})

t.test('the order of flags does not matter, and neither does saying one twice', async t => {
  const ws = scratch(t)
  for (const folder of ['a/x', 'b/x', 'c']) mkdirSync(join(ws, folder), { recursive: true })
  writeFileSync(join(ws, 'a/k'), '')
  const other = scratch(t)
  for (const folder of ['r', 's/t']) mkdirSync(join(other, folder), { recursive: true })
  const lists: Pick<PolicyRequest, 'read' | 'writeSubtrees' | 'hide' | 'unprotect'> = {
    read: [join(other, 'r'), join(other, 's'), join(other, 's/t')],
    writeSubtrees: ['a', 'b', 'c'],
    hide: [join(ws, 'a/k'), join(ws, 'b/x'), join(other, 's/none')],
    unprotect: ['.vscode', '.idea'],
  }
  const argv = (parts: Partial<PolicyRequest>): string => {
    const { reads, hides, ...landed } = landPolicy(request(ws, parts), DEBIAN)
    return JSON.stringify([optionsOf({ ...landed, reads, hides }), landed.watched])
  }
  const expected = argv(lists)
  const shuffled = fc.record({
    read: fc.shuffledSubarray([...lists.read, ...lists.read], { minLength: 6 }),
    writeSubtrees: fc.shuffledSubarray([...lists.writeSubtrees], { minLength: 3 }),
    hide: fc.shuffledSubarray([...lists.hide, ...lists.hide], { minLength: 6 }),
    unprotect: fc.shuffledSubarray([...lists.unprotect], { minLength: 2 }),
  })
  fc.assert(
    fc.property(shuffled, parts => argv(parts) === expected),
    { numRuns: 40 },
  )
  t.pass('40 orders')
})

t.test('any list of flags lands or refuses with a code', async t => {
  const ws = scratch(t)
  mkdirSync(join(ws, 'a'))
  const word = fc.oneof(fc.constantFrom('.', '..', 'a', '/', '/etc', '/tmp', '', '--bind', `${ws}/a`), fc.string())
  const list = fc.array(word, { maxLength: 3 })
  const flags = fc.record({
    read: list,
    writeSubtrees: list,
    hide: list,
    unprotect: list,
    env: fc.dictionary(word, word),
  })
  fc.assert(
    fc.property(flags, parts => {
      try {
        return parse(optionsOf(landPolicy(request(ws, parts), DEBIAN))).length > 0
      } catch (error) {
        return error instanceof Refusal && error.message !== ''
      }
    }),
    { numRuns: 200 },
  )
  t.pass('200 requests')
})

t.test('the assembler keeps the meaning of a program, however long', async t => {
  const numbers = fc.uniqueArray(fc.nat(2_000), { minLength: 1, maxLength: 700 })
  fc.assert(
    fc.property(numbers, fc.array(fc.nat(2_000), { minLength: 5, maxLength: 20 }), (taken, probes) => {
      // All tests first and all answers behind them: every jump but the last is far.
      const lines: Line[] = [
        { op: 'load', offset: 0 },
        ...taken.map((value): Line => ({ op: 'jump', test: 'eq', value, yes: `is-${value}`, no: null })),
        { op: 'return', value: 0xffff_ffff },
        ...taken.flatMap((value): Line[] => [
          { op: 'label', name: `is-${value}` },
          { op: 'return', value },
        ]),
      ]
      const bytes = encode(assemble(lines))
      return [...taken.slice(0, 20), ...probes].every(
        nr => runFilter(bytes, { arch: 0, nr }) === (taken.includes(nr) ? nr : 0xffff_ffff),
      )
    }),
    { numRuns: 30 },
  )
  t.pass('30 programs')
})

t.test('closing more never allows more', async t => {
  const RANK: Readonly<Record<number, number>> = { 2147418112: 0, 327681: 1, 327718: 1, 2147483648: 2 }
  const arg = fc.oneof(
    fc.constantFrom(0n, 1n, 2n, 10n, 16n, 17n, 0x10000000n, 0x5412n, 0o4755n),
    fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
  )
  const call = fc.record({ nr: fc.nat(600), args: fc.array(arg, { minLength: 6, maxLength: 6 }) })
  const open: Readonly<Record<'x86_64' | 'aarch64', FilterOptions>> = {
    x86_64: { arch: 'x86_64', unixSockets: 'open', network: 'open', nesting: true },
    aarch64: { arch: 'aarch64', unixSockets: 'open', network: 'open', nesting: true },
  }
  for (const arch of ['x86_64', 'aarch64'] as const) {
    const word = arch === 'x86_64' ? 0xc000003e : 0xc00000b7
    const loose = seccompProgram(open[arch]).bytes
    const tight = (['unixSockets', 'network', 'nesting'] as const).map(
      key =>
        seccompProgram({ ...open[arch], [key]: { unixSockets: 'closed', network: 'none', nesting: false }[key] }).bytes,
    )
    fc.assert(
      fc.property(call, data => {
        const rank = (bytes: Uint8Array): number => RANK[runFilter(bytes, { arch: word, ...data })] ?? Number.NaN
        return tight.every(bytes => rank(bytes) >= rank(loose))
      }),
      { numRuns: 500 },
    )
  }
  t.pass('500 calls on each processor')
})

/** `glob` as a regular expression, by another way than the product's: one letter after the other. */
function reference(glob: string): RegExp {
  let text = ''
  for (let at = 0; at < glob.length; at++) {
    const char = glob[at] ?? ''
    if (glob.startsWith('**/', at) && (at === 0 || glob[at - 1] === '/')) {
      text += '(?:|.*/)'
      at += 2
    } else if (glob.startsWith('**', at)) {
      text += '.*'
      at++
    } else if (char === '*') text += '[^/]*'
    else if (char === '?') text += '[^/]'
    else if (char === '{') text += '(?:'
    else if (char === '}') text += ')'
    else if (char === ',') text += '|'
    else text += char === '.' ? '\\.' : char
  }
  return new RegExp(`^${text}$`, 's')
}

const piece = fc.constantFrom('a', 'b', '.', '*', '?', '[ab]', '[!a]', '{a,b.}', '{a,ba}')
const segment = fc.oneof(
  { arbitrary: fc.constant('**'), weight: 1 },
  { arbitrary: fc.array(piece, { minLength: 1, maxLength: 4 }).map(parts => parts.join('')), weight: 4 },
)
const pattern = fc
  .array(segment, { minLength: 1, maxLength: 4 })
  .map(segments => segments.join('/'))
  .filter(
    glob => isHideGlob(glob) && typeof compileHideGlob(glob) !== 'string' && !/\*\*\*|[^/]\*\*|\*\*[^/]/.test(glob),
  )
const plainName = fc
  .array(fc.constantFrom('a', 'b', '.'), { minLength: 1, maxLength: 3 })
  .map(letters => letters.join(''))
const plainPath = fc.array(plainName, { minLength: 1, maxLength: 4 }).map(names => names.join('/'))

t.test('a pattern takes what a regular expression of the same meaning takes', async t => {
  const classes = (glob: string): string => glob.replaceAll('[!', '[^/')
  fc.assert(
    fc.property(pattern, plainPath, (glob, path) => {
      const program = compileHideGlob(glob)
      if (typeof program === 'string') return false
      const taken = program.accepts(program.advance(program.start(), path))
      return taken === reference(classes(glob)).test(path)
    }),
    { numRuns: RUNS },
  )
  t.pass(`${RUNS} patterns`)
})

t.test('a rule more denies no less, whatever its spelling, and what lies in a denied place is denied', async t => {
  const place = fc.record({ base: fc.constantFrom('/w', '/w/a'), glob: fc.option(pattern, { nil: undefined }) })
  fc.assert(
    fc.property(fc.array(place, { maxLength: 3 }), place, plainPath, plainName, (denials, more, path, name) => {
      const places = [...denials, more].map(({ base, glob }) => ({
        path: base === '/w' && glob === undefined ? '/w/b' : base,
        ...(glob === undefined ? {} : { glob }),
      }))
      const denied = (list: typeof places, at: string): boolean => list.some(each => isDeniedPath(at, each))
      const [before, after] = [denied(places.slice(0, -1), `/w/${path}`), denied(places, `/w/${path}`)]
      return (!before || after) && (!after || denied(places, `/w/${path}/${name}`))
    }),
    { numRuns: RUNS },
  )
  t.pass(`${RUNS} rules`)
})

t.test('covers of a pattern hold all that it names, and nothing beside it', async t => {
  const top = scratch(t)
  let count = 0
  fc.assert(
    fc.property(fc.uniqueArray(plainPath, { minLength: 1, maxLength: 8 }), pattern, (paths, glob) => {
      const ws = join(top, String(count++))
      mkdirSync(ws)
      const files = paths.filter(path => !path.split('/').some(part => /^\.+$/.test(part)) && made(join(ws, path)))
      const hides = hidesOf(request(ws, { hide: [`${ws}/${glob}`] }))
      const isNamed = (path: string): boolean => isDeniedPath(`${ws}/${path}`, { path: ws, glob })
      const isCovered = (path: string): boolean =>
        hides.some(hide => `${ws}/${path}` === hide.path || `${ws}/${path}`.startsWith(`${hide.path}/`))
      return files.every(path => isNamed(path) === isCovered(path))
    }),
    { numRuns: 150, examples: [[['a'], 'a/a/{a,b.}']] },
  )
  t.pass('150 trees')
})

/** None where a file stands on the way to what the pattern names, which is refused: nothing can be named there. */
function hidesOf(asked: PolicyRequest): readonly { readonly path: string }[] {
  try {
    return landPolicy(asked, DEBIAN).hides
  } catch (error) {
    if (error instanceof Refusal && error.code === 'not-a-directory') return []
    throw error
  }
}

/** False where a file stands in the way. */
function made(path: string): boolean {
  try {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, '', { flag: 'wx' })
    return true
  } catch {
    return false
  }
}
