/**
 * Programs whose code is a file named in their arguments: which argument it is, which further files they load, and which
 * start-up files they read without being told to. Tables by family; reading rules of the programs' own manuals (sh(1p),
 * bash(1), zsh(1), python(1), node(1), perlrun(1), ruby(1), php(1), lua(1), java(1)).
 */
import { nameOf } from './wrappers.js'

export type Family =
  | 'shell'
  | 'python'
  | 'node'
  | 'bun'
  | 'deno'
  | 'perl'
  | 'ruby'
  | 'php'
  | 'lua'
  | 'java'
  | 'pwsh'
  | 'r'
  | 'tool'

interface Interpreter {
  readonly family: Family
  readonly name: RegExp
  /** Options that take the next word, beside those below. */
  readonly values: readonly string[]
  /** Options whose next word is the code itself: then no file is the script. */
  readonly inline: readonly string[]
  /** Options whose next word is a file of code. */
  readonly modules: readonly string[]
  /** Options after which the next word is the script. */
  readonly script?: readonly string[]
  /** Words before the script, e.g. `run`. */
  readonly verbs?: readonly string[]
  /** The first plain word is no script. */
  readonly noScript?: true
}

const INTERPRETERS: readonly Interpreter[] = [
  {
    family: 'shell',
    name: /^-?(?:r?ba|da|a|k|mk|pdk|z|fi|c|tc|ya|o)?sh(?:[0-9.-].*)?$/,
    values: ['-o', '+o', '-O', '+O'],
    inline: ['-c', '--command'],
    modules: ['--rcfile', '--init-file', '-C', '--init-command'],
  },
  {
    family: 'python',
    name: /^(?:python|pypy|micropython)[0-9.]*t?$/,
    values: ['-W', '-X', '--check-hash-based-pycs'],
    inline: ['-c', '-m'],
    modules: [],
  },
  {
    family: 'node',
    name: /^(?:node|nodejs)(?:[0-9.-].*)?$/,
    values: [
      '-C',
      '--conditions',
      '--input-type',
      '--env-file',
      '--title',
      '--icu-data-dir',
      '--openssl-config',
      '--watch-path',
    ],
    inline: ['-e', '--eval', '-p', '--print', '-pe'],
    modules: ['-r', '--require', '--import', '--loader', '--experimental-loader'],
  },
  {
    family: 'bun',
    name: /^bun$/,
    values: ['-c', '--config', '--cwd', '--env-file'],
    inline: ['-e', '--eval', '-p', '--print'],
    modules: ['-r', '--preload', '--require', '--import'],
    verbs: ['run'],
  },
  {
    family: 'deno',
    name: /^deno$/,
    values: ['-c', '--config', '--import-map'],
    inline: ['eval'],
    modules: ['--preload'],
    verbs: ['run'],
  },
  { family: 'perl', name: /^perl[0-9.]*$/, values: ['-I'], inline: ['-e', '-E'], modules: [] },
  {
    family: 'ruby',
    name: /^(?:ruby|jruby|truffleruby)[0-9.]*$/,
    values: ['-I', '-C', '-E'],
    inline: ['-e'],
    modules: ['-r'],
  },
  {
    family: 'php',
    name: /^php[0-9.]*(?:-cgi|-cli)?$/,
    values: ['-d', '-c', '-z', '-g'],
    inline: ['-r', '-R', '-B', '-E'],
    modules: [],
    script: ['-f', '-F', '--file'],
  },
  { family: 'lua', name: /^(?:lua|luajit)[0-9.]*$/, values: ['-l'], inline: ['-e'], modules: [] },
  {
    family: 'java',
    name: /^java$/,
    values: ['-cp', '-classpath', '--class-path', '-p', '--module-path', '--add-modules'],
    inline: [],
    modules: [],
    script: ['-jar'],
    noScript: true,
  },
  {
    family: 'pwsh',
    name: /^(?:pwsh|powershell)$/i,
    values: ['-ExecutionPolicy', '-WorkingDirectory', '-ConfigurationName'],
    inline: ['-c', '-Command', '-EncodedCommand', '-e', '-ec'],
    modules: [],
    script: ['-File', '-f'],
  },
  { family: 'r', name: /^(?:Rscript|R|r)$/, values: [], inline: ['-e'], modules: [], script: ['-f', '--file'] },
  {
    family: 'tool',
    name: /^(?:[gmn]?awk|jq|sed)$/,
    values: ['-F', '-v'],
    inline: [],
    modules: ['-f', '--file', '--from-file'],
    noScript: true,
  },
  {
    family: 'tool',
    name: /^(?:tclsh|wish|expect|guile|escript|osascript|tsx|ts-node)[0-9.]*$/,
    values: ['-f'],
    inline: ['-c', '-e'],
    modules: [],
  },
]

/** The code that an argv names. */
export interface NamedCode {
  readonly family: Family
  /** As written; null: the code is inline, a module name, on stdin, or nowhere. */
  readonly script: string | null
  /** Further files of code, as written; only those that are paths (with a slash). */
  readonly modules: readonly string[]
  /** The options before the script, for rules about flags. */
  readonly options: readonly string[]
  /** Code or a module name stands in the argv itself. */
  readonly inline: boolean
}

/** What `argv` (its first word a path or a name) has its program run; null for a program that is no interpreter. */
export function codeOf(argv: readonly string[]): NamedCode | null {
  const name = nameOf(argv[0] ?? '')
  const interpreter = INTERPRETERS.find(candidate => candidate.name.test(name))
  return interpreter === undefined ? null : readArguments(argv.slice(1), interpreter)
}

function readArguments(words: readonly string[], interpreter: Interpreter): NamedCode {
  const { family, values, inline, modules, script = [], verbs = [], noScript } = interpreter
  const found: string[] = []
  const options: string[] = []
  const done = (word: string | undefined, isInline = false): NamedCode => ({
    family,
    script: isInline || word === undefined || word === '-' ? null : word,
    modules: found.filter(path => path.includes('/')),
    options,
    inline: isInline,
  })
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? ''
    const [option, value] = splitOption(word, interpreter)
    if (word === '--') return done(noScript === true ? undefined : words[at + 1])
    if (inline.includes(option)) {
      options.push(word)
      return done(undefined, true)
    }
    if (word === '-' || (!word.startsWith('-') && !word.startsWith('+'))) {
      if (verbs.includes(word) && options.every(seen => seen.startsWith('-'))) continue
      return done(noScript === true ? undefined : word)
    }
    options.push(word)
    if (script.includes(option)) return done(value ?? words[at + 1])
    if (modules.includes(option)) found.push(value ?? words[++at] ?? '')
    else if (values.includes(option) && value === undefined) at++
  }
  return done(undefined)
}

/** Bundled short options of shells and Python: the one in `-Ic` or `-euc` that says where the code is. */
function splitOption(
  word: string,
  { family, inline, modules, values }: Interpreter,
): readonly [string, (string | undefined)?] {
  const long = /^(--?[\w-]+)=(.*)$/s.exec(word)
  if (long !== null && (long[1]?.startsWith('--') ?? false)) return [long[1] ?? '', long[2]]
  if (/^-[^-]/.test(word) && (family === 'shell' || family === 'python' || family === 'perl' || family === 'ruby')) {
    for (let at = 1; at < word.length; at++) {
      const short = `-${word[at]}`
      if (inline.includes(short)) return [short]
      const takes = values.includes(short) || modules.includes(short)
      if (takes) return at + 1 < word.length && family !== 'shell' ? [short, word.slice(at + 1)] : [short]
    }
  }
  return [word]
}
