/** Rules about the command as it is written: HC201 to HC207. What the program is, and who can change it, is asked elsewhere. */

import { ARGUMENT_BYTES_MAX } from '../bounds.js'
import { type Chain, type Match, type Resolution, SCRIPTS_MAX, type StartProblem } from '../hooks/program.js'
import { nameOf } from '../hooks/wrappers.js'
import type { AuditContext, HookFacts } from './context.js'
import { fetched } from './fetch-launchers.js'
import type { Reported, Rule } from './rule.js'
import { shellWords } from './shell-syntax.js'

export const COMMAND_RULES: readonly Rule[] = [
  {
    id: 'HC201',
    title: 'Command is not a clean argv',
    severity: 'error',
    lasting: 'always',
    hook: tooLarge,
    why: 'The spawn throws, or the kernel answers E2BIG when the hook is needed.',
    fix: 'write a list of arguments, and hand large data over in a file',
    anchor: 'hooks of OCI runtimes take a path and a list of arguments',
  },
  {
    id: 'HC202',
    title: 'Relative program path',
    severity: 'error',
    hook: ({ closure, cwd, spec }) =>
      closure.resolution.kind === 'problem' && closure.resolution.problem === 'relative'
        ? [
            {
              place: placeOf(spec.places, spec.place),
              about: spec.command[0],
              message: `${JSON.stringify(spec.command[0])} is looked up in the hook's working folder, ${cwd}`,
            },
          ]
        : [],
    why: 'What runs depends on a folder; where the agent can write it, the agent supplies the program.',
    fix: 'write the absolute path',
    anchor: 'AuthorizedKeysCommand of sshd must be absolute; so must the hook path of an OCI runtime',
  },
  {
    id: 'HC203',
    title: 'Bare program name',
    severity: 'warn',
    gate: 'raise',
    hook: bareName,
    why: 'A program of the same name in an earlier folder takes its place, and a broken first match is silently passed over for the second.',
    fix: 'write the absolute path that is printed',
    anchor: 'secure_path of sudoers(5)',
  },
  {
    id: 'HC204',
    title: 'Program cannot start',
    severity: 'error',
    hook: cannotStart,
    why: 'At before-call every call is refused from then on; at stop and after-call the check is simply gone.',
    fix: 'see the cause: install it, chmod +x, or move it off a noexec mount',
    anchor:
      'suexec looks at the x bit because the error is unreadable otherwise; systemd-analyze verify looks at ExecStart',
  },
  {
    id: 'HC205',
    title: 'Shell in the argv, or shell syntax that nothing expands',
    severity: 'warn',
    hook: shellWords,
    why: 'A shell brings quoting and its start-up files back; without one, $NAME, ~ and | are handed over as they are written.',
    fix: 'put the text into a script with a #! line, and write literal paths',
    anchor: 'pipe(8) of Postfix never lets a shell see what came from outside',
  },
  {
    id: 'HC206',
    title: 'Fetch-and-run launcher',
    severity: 'warn',
    gate: 'raise',
    hook: ({ closure, spec }) => fetched(spec.command, closure),
    why: 'The network decides which code runs, the first run takes seconds, and some launchers look into the current project first.',
    fix: 'install the tool once in a folder of the operator, name it by its absolute path, and pin it',
    anchor: 'skillsaw tells a download that is chained to its execution',
  },
  {
    id: 'HC207',
    title: 'Detaching or privilege-changing wrapper',
    severity: 'warn',
    hook: wrapped,
    why: 'What has its own session or other rights is not ours to time and to end, and privilege tools ask questions that nobody sees.',
    fix: 'name the program itself; the harness times it; for rights of root use a narrow service',
    anchor: 'the NetworkManager dispatcher and pam_exec keep time and session to themselves',
  },
]

function placeOf(
  places: ReadonlyMap<string, Reported['place']>,
  hook: Reported['place'],
): NonNullable<Reported['place']> {
  return places.get('command') ?? hook ?? { line: 1, column: 1 }
}

/** A quarter of what the kernel takes for arguments and environment together: an eighth of the stack is left in any case (execve(2)). */
const WORDS_BYTES_MAX = { linux: (2 * 1024 * 1024) / 4, other: (1024 * 1024) / 4 } as const

function* tooLarge({ spec }: HookFacts, { environment, machine }: AuditContext): Iterable<Reported> {
  const limit = machine.platform === 'linux' ? WORDS_BYTES_MAX.linux : WORDS_BYTES_MAX.other
  for (const [at, word] of spec.command.entries()) {
    const bytes = Buffer.byteLength(word)
    if (bytes > ARGUMENT_BYTES_MAX)
      yield {
        about: `word ${at + 1}`,
        message: `word ${at + 1} has ${bytes} bytes, over the ${ARGUMENT_BYTES_MAX} the kernel takes`,
      }
  }
  const words = spec.command.reduce((sum, word) => sum + Buffer.byteLength(word) + 1, 0)
  const variables = Object.entries(environment).reduce(
    (sum, [name, value]) => sum + Buffer.byteLength(`${name}=${value}`) + 1,
    0,
  )
  if (words + variables > limit)
    yield { about: 'total', message: `arguments and environment have ${words + variables} bytes, over ${limit}` }
}

function* bareName({ spec, closure: { resolution } }: HookFacts): Iterable<Reported> {
  const [word] = spec.command
  if (word.includes('/') || resolution.kind !== 'found') return
  const list = resolution.matches.map(told).join(', ')
  const message = `${JSON.stringify(word)} is looked up in PATH when the hook runs: ${list}`
  yield {
    place: placeOf(spec.places, spec.place),
    path: resolution.path,
    message,
    fix: `write ${JSON.stringify(resolution.path)}`,
  }
}

function told({ path, verdict, problem }: Match): string {
  return problem === null ? `${path} (${verdict})` : `${path} (${verdict}: ${problemText(problem)})`
}

function* cannotStart(
  { spec, closure: { resolution, lookUps } }: HookFacts,
  { path }: Pick<AuditContext, 'path'>,
): Iterable<Reported> {
  const place = placeOf(spec.places, spec.place)
  if (resolution.kind === 'problem') {
    if (resolution.problem === 'not-found')
      yield {
        place,
        about: spec.command[0],
        message: `${notFound(spec.command[0], resolution)} (PATH is ${path.path})`,
      }
    return
  }
  const problem = ownStartProblem(resolution.chain)
  if (problem !== null) {
    const hint =
      problem.errno === 'ENOENT' ? '; ENOENT is also what is told of a missing interpreter or working folder' : ''
    yield { place, path: problem.path, message: `${problemText(problem)} (${problem.errno}${hint})` }
  }
  for (const { wrapper, script, word, resolution: found } of lookUps) {
    // What `env` of a first line does not find is told by the rule of such lines.
    if (wrapper === 'env' && script !== null) continue
    if (found.kind === 'problem' && found.problem !== 'unknown')
      yield {
        place,
        about: word,
        message: `${wrapper} finds no program ${JSON.stringify(word)}: ${notFound(word, found)}`,
      }
    const inner = found.kind === 'found' ? ownStartProblem(found.chain) : null
    if (inner !== null) yield { place, path: inner.path, message: `${wrapper} cannot start it: ${problemText(inner)}` }
  }
}

/** What is wrong with the program itself. Formats and interpreters have rules of their own, and so has what is not known. */
function ownStartProblem({ links, problem }: Chain): StartProblem | null {
  if (problem === null) return null
  const { why, errno } = problem
  if (why === 'unreachable') return errno === 'ENOENT' || errno === 'ENOTDIR' ? problem : null
  if (why === 'loader-fails') return problem
  return links.length === 1 && (why === 'no-file' || why === 'not-executable') ? problem : null
}

function notFound(word: string, { matches }: Extract<Resolution, { kind: 'problem' }>): string {
  const passed = matches.map(told).join(', ')
  return `no program ${JSON.stringify(word)} is in the PATH of hooks${passed === '' ? '' : `, which passes over ${passed}`}`
}

export function problemText({ why, path, errno }: StartProblem): string {
  switch (why) {
    case 'unreachable':
      return errno === 'ENOENT' ? `${path} does not exist` : `${path} cannot be reached`
    case 'no-file':
      return `${path} is no plain file`
    case 'not-executable':
      return errno === 'EACCES'
        ? `${path} may not be executed: no x bit, or a noexec mount`
        : `${path} may not be executed (${errno})`
    case 'no-format':
      return `${path} has no executable format`
    case 'foreign-machine':
      return `${path} is a binary of another machine`
    case 'no-interpreter':
      return `the first line of ${path} names no interpreter`
    case 'interpreter-fails':
      return `the interpreter ${path} ${errno === 'ENOENT' ? 'does not exist' : `cannot be reached (${errno})`}`
    case 'too-deep':
      return `more than ${SCRIPTS_MAX} scripts are interpreters of each other, up to ${path}`
    case 'loader-fails':
      return `the loader ${path} that the binary asks for ${errno === 'ENOENT' ? 'does not exist' : `cannot be used (${errno})`}`
  }
}

const DETACHING: ReadonlySet<string> = new Set([
  'setsid',
  'nohup',
  'daemonize',
  'systemd-run',
  'at',
  'batch',
  'screen',
  'tmux',
  'start-stop-daemon',
])
const PRIVILEGED: ReadonlySet<string> = new Set([
  'sudo',
  'doas',
  'pkexec',
  'su',
  'runuser',
  'setpriv',
  'unshare',
  'nsenter',
])

function* wrapped({ spec, gate, closure }: HookFacts): Iterable<Reported> {
  const names = new Set([
    nameOf(spec.command[0]),
    ...closure.lookUps.map(({ wrapper }) => wrapper),
    nameOf(closure.argv[0] ?? ''),
  ])
  for (const name of names) {
    if (DETACHING.has(name))
      yield { about: name, message: `${name} starts what is not ours to end: it leaves the group that is killed` }
    if (PRIVILEGED.has(name))
      yield {
        about: name,
        message: `${name} changes rights: it may ask, it resets the environment, and we may not end it`,
      }
    if (name === 'timeout' && gate)
      yield {
        about: name,
        message: 'timeout ends with 124, which is a failed hook: the harness times it by itself (timeout-ms)',
      }
  }
  const text = closure.code?.family === 'shell' && closure.code.inline ? (spec.command.at(-1) ?? '') : ''
  if (/\bdisown\b|[^&>|]&\s*(?:$|[;\n)])/.test(text))
    yield { about: 'background', message: 'the shell text leaves a program running in the background' }
}
