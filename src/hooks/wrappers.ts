/**
 * Programs whose work is to start another one named in their arguments: what is left of an argv when one of them is taken
 * off. Data and one reading rule; an option that is not known here makes the result unsure, never a guess that is told as one.
 */

interface Wrapper {
  /** Options that take the next word. A long one written with `=` is one word anyway. */
  readonly values: readonly string[]
  /** Words before the command, e.g. the duration of `timeout`. */
  readonly skip: number
  /** True where words with `=` before the command set variables. */
  readonly assigns?: true
}

const WRAPPERS: Readonly<Record<string, Wrapper>> = {
  chroot: { values: [], skip: 1 },
  chrt: { values: ['-T', '-P', '-D', '-p'], skip: 1 },
  'dumb-init': { values: ['-r', '--rewrite'], skip: 0 },
  doas: { values: ['-u', '-C'], skip: 0, assigns: true },
  flock: { values: ['-w', '--timeout', '-E', '--conflict-exit-code'], skip: 1 },
  ionice: { values: ['-c', '-n', '-p', '-P', '-u', '--class', '--classdata'], skip: 0 },
  nice: { values: ['-n', '--adjustment'], skip: 0 },
  nohup: { values: [], skip: 0 },
  nsenter: { values: ['-t', '-S', '-G', '--target', '--setuid', '--setgid'], skip: 0 },
  pkexec: { values: ['--user'], skip: 0 },
  runuser: { values: ['-u', '--user', '-g', '--group', '-G', '--supp-group'], skip: 0 },
  setpriv: {
    values: ['--reuid', '--regid', '--ruid', '--euid', '--rgid', '--egid', '--groups', '--inh-caps', '--ambient-caps'],
    skip: 0,
  },
  setsid: { values: [], skip: 0 },
  stdbuf: { values: ['-i', '-o', '-e', '--input', '--output', '--error'], skip: 0 },
  sudo: { values: ['-u', '-g', '-h', '-p', '-C', '-r', '-t', '-T', '-U', '-D', '-R'], skip: 0, assigns: true },
  'systemd-run': { values: ['-p', '--property', '-u', '--unit', '-E', '--setenv', '--slice'], skip: 0 },
  taskset: { values: [], skip: 1 },
  time: { values: ['-f', '-o', '--format', '--output'], skip: 0 },
  timeout: { values: ['-s', '--signal', '-k', '--kill-after'], skip: 1 },
  tini: { values: ['-p'], skip: 0 },
  unshare: { values: ['-S', '-G', '-R', '-w', '--setuid', '--setgid', '--root', '--wd'], skip: 0 },
  xargs: {
    values: ['-I', '-n', '-P', '-d', '-E', '-L', '-s', '-a', '--max-args', '--max-procs', '--delimiter'],
    skip: 0,
  },
}

/** Multi-call programs: the next word is what they are. */
const APPLETS: ReadonlySet<string> = new Set(['busybox', 'toybox'])

export interface Unwrapped {
  /** Name of what was taken off. */
  readonly wrapper: string
  /** The command that is started, its first word not looked up yet; null: none can be told. */
  readonly argv: readonly [string, ...string[]] | null
  /** The PATH it is looked up in, where the wrapper changes it: null for the C library's default, undefined for no change. */
  readonly path: string | null | undefined
  /** The wrapper is the program itself under another name: nothing is looked up. */
  readonly applet: boolean
  /** `NAME=VALUE` words by which it sets variables for what it starts. */
  readonly assigned: readonly string[]
}

/** Takes the first program off `argv`; null when it starts no other one. */
export function unwrap(argv: readonly string[]): Unwrapped | null {
  const name = nameOf(argv[0] ?? '')
  const rest = argv.slice(1)
  if (name === 'env') return { wrapper: name, applet: false, ...envCommand(rest) }
  if (APPLETS.has(name)) {
    const [applet, ...args] = rest
    return applet === undefined || applet.startsWith('-')
      ? null
      : { wrapper: name, argv: [applet, ...args], path: undefined, applet: true, assigned: [] }
  }
  const wrapper = Object.hasOwn(WRAPPERS, name) ? WRAPPERS[name] : undefined
  if (wrapper === undefined) return null
  const command = commandAfter(rest, wrapper)
  const before = rest.slice(0, rest.length - (command?.length ?? 0))
  const assigned = wrapper.assigns === true ? before.filter(word => ASSIGNMENT.test(word)) : []
  return { wrapper: name, argv: command, path: undefined, applet: false, assigned }
}

const ASSIGNMENT = /^\w+=/

/** The last component, which multi-call programs and these tables go by. */
export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}

function commandAfter(words: readonly string[], wrapper: Wrapper): Unwrapped['argv'] {
  let { skip } = wrapper
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? ''
    if (word === '--') return nonEmpty(words.slice(at + 1 + skip))
    if (word.startsWith('-') && word !== '-') {
      if (wrapper.values.includes(word)) at++
      continue
    }
    if (wrapper.assigns === true && ASSIGNMENT.test(word)) continue
    if (skip === 0) return nonEmpty(words.slice(at))
    skip--
  }
  return null
}

function nonEmpty([first, ...rest]: readonly string[]): Unwrapped['argv'] {
  return first === undefined || first === '' ? null : [first, ...rest]
}

/** env(1): `-i` and `-` empty the environment, `-u` removes, `-S` splits its value into words, `NAME=VALUE` sets. */
function envCommand(given: readonly string[]): Pick<Unwrapped, 'argv' | 'path' | 'assigned'> {
  let words = [...given]
  const assigned: string[] = []
  let path: string | null | undefined
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? ''
    const split = /^(?:-[iv0]*S|--split-string=)(.*)$/s.exec(word)
    if (split !== null) {
      const text = split[1] === '' && !word.startsWith('--') ? (words[++at] ?? '') : (split[1] ?? '')
      if (/^-\w*i\w*S/.test(word)) path = null
      words = [...words.slice(0, at + 1), ...splitWords(text), ...words.slice(at + 1)]
    } else if (word === '-' || word === '--ignore-environment' || /^-[v0]*i[iv0]*$/.test(word)) path = null
    else if (['-u', '--unset', '-C', '--chdir', '-P'].includes(word)) {
      const value = words[++at]
      if (word === '-P') path = value
      if (value === 'PATH') path = null
    } else if (word === '-uPATH' || word === '--unset=PATH') path = null
    else if (/^[^=/-][^=/]*=/.test(word)) {
      assigned.push(word)
      if (word.startsWith('PATH=')) path = word.slice('PATH='.length)
    } else if (word === '--') return { argv: nonEmpty(words.slice(at + 1)), path, assigned }
    else if (!word.startsWith('-')) return { argv: nonEmpty(words.slice(at)), path, assigned }
  }
  return { argv: null, path, assigned }
}

/** Words of `env -S`: blanks separate, single and double quotes hold together, a backslash keeps the next character. */
function splitWords(text: string): readonly string[] {
  const words = text.match(/(?:\\.|'[^']*'|"(?:\\.|[^"\\])*"|[^\s'"\\])+/gs) ?? []
  const plain = (quoted: string): string => quoted.replace(/\\(.)/gs, '$1')
  return words.map(word =>
    word.replace(/'([^']*)'|"((?:\\.|[^"\\])*)"|\\(.)/gs, (_, single?: string, double?: string, escaped?: string) =>
      double === undefined ? (single ?? escaped ?? '') : plain(double),
    ),
  )
}
