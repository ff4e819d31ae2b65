/** argv as people type it: what is accepted, what is refused, and in which words. */
import t from 'tap'
import { COMMANDS } from '../../src/cli/commands-table.js'
import { completionScript } from '../../src/cli/completion/script.js'
import { confineChoice, parseEnv } from '../../src/cli/confinement-options.js'
import { FLAGS, flagsOf, type HarnessCommand } from '../../src/cli/flags.js'
import { parseLimit } from '../../src/cli/limits.js'
import { asksForJson, parseArgv, parseHookcheck } from '../../src/cli/parse.js'
import { garbledWord } from '../../src/cli/raw-words.js'
import { limitText } from '../../src/confinement/limit-units.js'
import { isRefusal } from '../../src/errors.js'
import type { LimitName } from '../../src/outcome.js'
import { needs } from '../support/needs.js'

function refusalOf(act: () => unknown): { code: string; message: string } {
  try {
    act()
  } catch (error) {
    if (isRefusal(error)) return { code: error.code, message: error.message }
    throw error
  }
  return { code: 'none', message: '' }
}

t.test('words whose bytes are no UTF-8', { skip: needs('linux') }, async t => {
  const line =
    (...words: (string | number[])[]) =>
    () =>
      Buffer.concat(words.flatMap(word => [Buffer.from(word as string), Buffer.from([0])]))
  const node = ['node', '--flag', '/bin/harness.cjs']
  const bad = [0x77, 0xff]
  t.equal(
    garbledWord(['exec', '--hide', 'w'], () => Buffer.from([0xff, 0])),
    null,
  )
  t.equal(garbledWord(['exec', '\ufffd', 'é'], line(...node, 'exec', '\ufffd', 'é')), null, 'the character itself')
  t.match(garbledWord(['exec', '--hide', 'w\ufffd'], line(...node, 'exec', '--hide', bad)), {
    code: 'bad-arguments',
    message: /^word 3 .*no UTF-8/,
  })
  t.match(garbledWord(['\ufffd', '', 'w\ufffd', ''], line(...node, '\ufffd', '', bad, '')), { message: /^word 3 / })
  t.match(
    garbledWord(['w\ufffd'], () => null),
    { message: /^word 1 .*cannot be read/ },
    'unknown is not yes',
  )
})

t.test('a refusal is a JSON line only for who asked this command for JSON', async t => {
  const cases: readonly [words: string[], is: boolean][] = [
    [['run', '--json', '--bogus'], true],
    [['workflow', 'plan', '--json'], true],
    [['explain', '--json', '--', 'true'], true],
    [['explain', '--', 'npm', '--json'], false],
    [['exec', '--bogus', '--', 'npm', 'ls', '--json'], false],
    [['exec', '--json', '--', 'true'], false],
    [['workflow', '--json'], false],
    [['--json'], false],
    [[], false],
  ]
  for (const [words, is] of cases) t.equal(asksForJson(words), is, words.join(' '))
})

t.test('what is refused names the fix', async t => {
  const cases: readonly { words: string[]; code: string; says: RegExp }[] = [
    { words: ['run', '--inptu', 'x'], code: 'bad-arguments', says: /--inptu.*Did you mean --input/ },
    { words: ['rnu'], code: 'bad-arguments', says: /unknown command.*Did you mean run/ },
    { words: [], code: 'bad-arguments', says: /^no command given: see harness --help$/ },
    { words: ['--zzz'], code: 'bad-arguments', says: /: see harness --help$/ },
    { words: ['tools', '--zzz'], code: 'bad-arguments', says: /: see harness tools --help$/ },
    { words: ['workflow', '--zzz'], code: 'bad-arguments', says: /: see harness workflow --help$/ },
    { words: ['workflow', 'plan', '--zzz'], code: 'bad-arguments', says: /: see harness workflow plan --help$/ },
    {
      words: ['workflow', 'plan', 'f.yaml'],
      code: 'bad-arguments',
      says: /write for example harness workflow plan --flow/,
    },
    { words: ['run', '--surface', 'round'], code: 'bad-arguments', says: /flat, verbs/ },
    {
      words: ['run', '--yes', '--approve-up-to', 'high'],
      code: 'bad-arguments',
      says: /--yes cannot be used with --approve-up-to|--approve-up-to cannot be used with --yes/,
    },
    {
      words: ['run', '--api-key-env', 'A', '--oauth-token-env', 'B'],
      code: 'bad-arguments',
      says: /cannot be used with/,
    },
    ...['--hooks', '--instructions-file', '--output-schema'].map(flag => ({
      words: ['run', flag, 'a', '--input', 'x', flag, 'b'],
      code: 'bad-arguments',
      says: new RegExp(`${flag} was given twice \\(a, b\\): give one file`),
    })),
    { words: ['run', '--input'], code: 'bad-arguments', says: /argument missing/ },
    { words: ['exec'], code: 'bad-arguments', says: /missing required argument 'argv'/ },
    { words: ['run', '--tty', '--input', 'x'], code: 'bad-arguments', says: /--tty/ },
    { words: ['app-server', '--model', 'x'], code: 'not-built-yet', says: /harness app-server/ },
    { words: ['workflow'], code: 'bad-arguments', says: /write harness workflow plan or harness workflow run/ },
    { words: ['workflow', 'rnu', '--flow', 'f.yaml'], code: 'bad-arguments', says: /Did you mean run\?/ },
    { words: ['workflow', 'plan', '--provider', 'demo'], code: 'bad-arguments', says: /--provider/ },
    { words: ['workflow', 'run', '--resume', 'x', '--input', 'y'], code: 'bad-arguments', says: /cannot be used with/ },
    { words: ['workflow', 'plan', '--flow', 'a', '--flow', 'b'], code: 'bad-arguments', says: /given twice/ },
  ]
  for (const { words, code, says } of cases) {
    const refusal = refusalOf(() => parseArgv(words))
    t.equal(refusal.code, code, words.join(' '))
    t.match(refusal.message, says, words.join(' '))
    t.notMatch(refusal.message, /\n/, 'one line')
  }
})

/** Words without which a command is refused for another reason. */
const NEEDED_WORDS: Readonly<Partial<Record<HarnessCommand, readonly string[]>>> = {
  exec: ['true'],
  explain: ['true'],
  'check-path': ['.'],
  context: ['show'],
  completion: ['bash'],
}

t.test('every option that is not built is refused by name wherever it is known', async t => {
  for (const { name, words: typed = [name] } of COMMANDS) {
    const extra = NEEDED_WORDS[name] ?? []
    for (const flag of flagsOf(name).filter(({ built }) => !built)) {
      const words = [...typed, flag.name, ...(flag.value === undefined ? [] : ['x']), ...extra]
      t.strictSame(refusalOf(() => parseArgv(words)).code, 'not-built-yet', words.join(' '))
    }
  }
})

t.test('help and version', async t => {
  const top = parseArgv(['--help'])
  t.ok(top.kind === 'text' && /Exit status:/.test(top.text))
  for (const { name, words = [name] } of COMMANDS) {
    const help = parseArgv([...words, '--help'])
    t.ok(help.kind === 'text' && help.text.includes('Example:'), `${name} --help has an example`)
    for (const flag of flagsOf(name).filter(({ built }) => built)) {
      t.ok(help.kind === 'text' && help.text.includes(flag.name), `${name} --help lists ${flag.name}`)
    }
  }
  t.ok(parseArgv(['--version']).kind === 'text')
})

t.test('words after -- are the command, whatever they look like', async t => {
  const parsed = parseArgv(['exec', '--read', '/a', '--read', '/b', '--', 'git', '--version', '--read', 'x'])
  t.ok(parsed.kind === 'command')
  if (parsed.kind !== 'command') return
  t.strictSame(parsed.words, ['git', '--version', '--read', 'x'])
  t.strictSame(parsed.given.all('--read'), ['/a', '/b'])
  t.strictSame(parseArgv(['exec', 'ls', '-l']), {
    ...parsed,
    words: ['ls', '-l'],
    given: (parseArgv(['exec', 'ls', '-l']) as typeof parsed).given,
  })
})

t.test('given values and defaults', async t => {
  const parsed = parseArgv(['run', '--input', 'x', '--no-session', '--no-project-instructions'])
  if (parsed.kind !== 'command') return t.fail('not a command')
  t.equal(parsed.given.one('--surface'), 'flat')
  t.equal(parsed.given.has('--no-session'), true)
  t.equal(parsed.given.has('--no-project-instructions'), true)
  t.equal(parsed.given.has('--json'), false)
  t.equal(parsed.given.one('--model'), undefined)
})

t.test('the boundary that a command defaults to', async t => {
  const given = (words: string[]) => {
    const parsed = parseArgv(words)
    if (parsed.kind !== 'command') throw new Error('not a command')
    return parsed.given
  }
  t.equal(confineChoice('run', given(['run'])), 'off')
  t.equal(confineChoice('run', given(['run', '--substrate-embedded'])), 'native')
  t.equal(confineChoice('exec', given(['exec', 'true'])), 'auto')
  t.equal(refusalOf(() => confineChoice('exec', given(['exec', '--confine', 'off', 'true']))).code, 'confinement-off')
  t.equal(refusalOf(() => confineChoice('run', given(['run', '--confine', 'docker']))).code, 'boundary-unknown')
  t.match(
    refusalOf(() => confineChoice('run', given(['run', '--confine', 'docker']))).message,
    /bubblewrap-hostproc, landlock, seatbelt, container$/,
    'every one is advised',
  )
  t.match(
    refusalOf(() => confineChoice('exec', given(['exec', '--confine', 'docker', 'true']))).message,
    /write one of native/,
    'and no off to a command that refuses it',
  )
})

t.test('limits: units, ranges and nonsense (A16)', async t => {
  const good: readonly [string, string, number][] = [
    ['memory=512MiB', 'memory', 512 * 2 ** 20],
    ['memory=1.5GiB', 'memory', 1.5 * 2 ** 30],
    ['wall=30s', 'wall', 30_000],
    ['wall=250', 'wall', 250],
    ['pids=64', 'pids', 64],
    ['output-total=1KiB', 'output-total', 1024],
    ['memory=7', 'memory', 7],
    ['memory=7B', 'memory', 7],
    ['memory=2TiB', 'memory', 2 ** 41],
    ['file-size=0.5KiB', 'file-size', 512],
    ['cpu=1500ms', 'cpu', 1_500],
    ['cpu=2m', 'cpu', 120_000],
    ['wall=24h', 'wall', 86_400_000],
    ['open-files=16', 'open-files', 16],
    ['pids=1000000', 'pids', 1_000_000],
  ]
  for (const [text, name, value] of good) t.strictSame(parseLimit(text), { name, value }, text)
  const bad = [
    'wall=0',
    'wall=-1',
    'wall=NaN',
    'wall=Infinity',
    'wall=99999999s',
    'wall=',
    'wall',
    'wall=3 s',
    'pids=3s',
    'speed=3',
    'memory=1e9',
    'output=3',
    '=3',
    'constructor=3',
    'memory=3kb',
    'memory=3Kib',
    'memory=0x10',
    'memory= 3',
    'memory=3 MiB',
    'memory=+3',
    'memory=1,5GiB',
    'memory=.5GiB',
    'memory=٣',
    'memory=0.4',
    'memory=9007199254740993',
    'memory=99999999999999999999TiB',
    'memory=3constructor',
    'cpu=3MiB',
    'cpu=3d',
    'wall=24.1h',
    'wall=2147483648',
    'pids=1000001',
    'pids=0',
    'pids=0.4',
    'pids=1.5',
    'wall=1.5',
    'memory=2.5B',
    'open-files=15',
    'file-size=0B',
    'output-total=-1KiB',
    'Memory=3',
    'memory',
    '',
  ]
  for (const text of bad) t.equal(refusalOf(() => parseLimit(text)).code, 'bad-limit', text)
  t.match(
    refusalOf(() => parseLimit('wall=25h')).message,
    /wall takes a number from 1ms to 24h with one of ms, s, m, h$/,
  )
  t.match(refusalOf(() => parseLimit('open-files=3')).message, /open-files takes a number from 16 to 1000000$/)
})

t.test('a limit is told as it is given', async t => {
  const texts: readonly [LimitName, number, string][] = [
    ['wall', 600_000, '10m'],
    ['wall', 1_500, '1500ms'],
    ['cpu', 86_400_000, '24h'],
    ['memory', 2 ** 31, '2GiB'],
    ['memory', 2 ** 20 + 1, '1048577B'],
    ['output', 65_536, '64KiB'],
    ['pids', 256, '256'],
  ]
  for (const [name, value, text] of texts) {
    t.equal(limitText(name, value), text)
    if (name !== 'output') t.same(parseLimit(`${name}=${text}`), { name, value }, 'and taken back')
  }
})

t.test('--env takes NAME=VALUE and nothing else', async t => {
  t.strictSame(parseEnv(['A=1', 'B=', 'C=x=y', 'D=a\nb']), { A: '1', B: '', C: 'x=y', D: 'a\nb' })
  for (const bad of ['A', '=x', '1A=x', 'A B=x']) t.equal(refusalOf(() => parseEnv([bad])).code, 'bad-arguments', bad)
})

t.test('completion scripts hold every command and option', async t => {
  for (const shell of ['bash', 'zsh', 'fish']) {
    const script = completionScript(shell)
    for (const { name, words = [name] } of COMMANDS)
      for (const word of words) t.match(script, new RegExp(`\\b${word}\\b`), `${shell}: ${name}`)
    t.ok(script.includes('process-write-subtree'), shell)
    for (const { name, built } of flagsOf('hookcheck'))
      if (built)
        t.ok(script.slice(script.lastIndexOf('hookcheck()') + 1).includes(name.slice(2)), `${shell}: hookcheck ${name}`)
  }
  for (const shell of ['tcsh', '', 'constructor'])
    t.equal(refusalOf(() => completionScript(shell)).code, 'bad-arguments', shell)
})

t.test('the table is consistent', async t => {
  for (const { name } of COMMANDS) {
    const names = flagsOf(name).map(flag => flag.name)
    t.equal(new Set(names).size, names.length, `${name} has no option twice`)
  }
  for (const flag of FLAGS.filter(({ built }) => built)) t.ok(flag.text.length > 0, `${flag.name} says what it does`)
})

t.test('the program hookcheck', async t => {
  const typed = (...words: string[]) => {
    const parsed = parseHookcheck(words)
    if (parsed.kind !== 'command') throw new Error('no command')
    return parsed
  }
  t.strictSame(typed('--workspace', 'ws', 'hooks.json').words, ['hooks.json'])
  t.equal(typed('h').given.one('--format'), 'text')
  t.equal(typed('h').given.one('--workspace'), undefined, 'not assumed: nobody said')
  t.strictSame(typed('--ignore', 'HC203=x', '--ignore', 'HC704=y', 'h').given.all('--ignore'), ['HC203=x', 'HC704=y'])
  t.match(parseHookcheck(['--help']), {
    kind: 'text',
    text: /Usage: hookcheck[\s\S]*--probe-budget[\s\S]*Example:[\s\S]*Exit status:[\s\S]*130/,
  })
  t.match(parseHookcheck(['--version']), { kind: 'text', text: /^hookcheck \d/ })
  const refused: readonly [words: string[], says: RegExp][] = [
    [['--formt', 'x', 'h'], /Did you mean --format/],
    [['--zzz', 'h'], /see hookcheck --help/],
    [['a', 'b'], /write for example hookcheck/],
    [['--policy', 'p', '--workspace', 'w', 'h'], /cannot be used with/],
    [['--format', 'xml', 'h'], /sarif/],
    [['--rule', '', 'h'], /empty value/],
  ]
  for (const [words, says] of refused) {
    const { code, message } = refusalOf(() => parseHookcheck(words))
    t.equal(code, 'bad-arguments', words.join(' '))
    t.match(message, says, words.join(' '))
  }
})
