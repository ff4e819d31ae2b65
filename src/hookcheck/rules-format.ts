/** Rules about what the kernel makes of the program: HC401 to HC405 and HC408, its format and its chain of interpreters. */
import type { ChainLink, StartProblem } from '../hooks/program.js'
import { type AuditContext, type HookFacts, presentMembers } from './context.js'
import type { Reported, Rule } from './rule.js'
import { problemText } from './rules-command.js'
import { lineEnds, scriptMembers, vacuous } from './script-body.js'

export const FORMAT_RULES: readonly Rule[] = [
  {
    id: 'HC401',
    title: 'No executable format: the shell would run it',
    severity: 'error',
    hook: hook =>
      problemsOf(hook, 'no-format')
        .filter(({ link }) => formatKind(link) !== 'empty')
        .map(({ link, problem }) => {
          const before = link.inspected.format?.kind === 'other' ? link.inspected.format.before : null
          const what = before === null ? '' : ', because of what stands before its "#!"'
          return {
            path: problem.path,
            message: `${problem.path} is no program for the kernel${what}: a shell would be given it instead`,
          }
        }),
    why: 'execvp(3) of glibc hands such a file to /bin/sh, whatever it is written in; elsewhere it fails to start.',
    fix: 'begin the file with #! and the absolute path of its interpreter',
    anchor: 'lintian: executable-not-elf-or-script; exec(3) on ENOEXEC',
  },
  {
    id: 'HC402',
    title: 'Vacuous program',
    severity: 'warn',
    gate: 'raise',
    hook: vacuousPrograms,
    why: 'It proceeds always. A full disk or a checkout that went wrong leaves exactly this.',
    fix: 'restore the file, and pin it',
    anchor: 'the NetworkManager dispatcher passes over empty scripts; lintian: maintainer-script-empty',
  },
  {
    id: 'HC403',
    title: 'Interpreter chain broken',
    severity: 'error',
    hook: brokenChains,
    why: 'The start fails with "no such file", blamed on the script; a relative interpreter is whatever lies in the working folder.',
    fix: 'name an installed interpreter by its absolute path',
    anchor: 'lintian: interpreter-not-absolute, wrong-path-for-interpreter; execve(2)',
  },
  {
    id: 'HC404',
    title: 'CRLF, byte order mark or bytes before "#!"',
    severity: 'error',
    hook: strayBytes,
    why: 'With a carriage return the kernel looks for "sh\\r"; with anything before "#!" a shell runs the rest, whatever language it is in.',
    fix: 'save the file with LF line ends, without a byte order mark, and set that in version control',
    anchor: 'shellcheck SC1017 and SC1082',
  },
  {
    id: 'HC405',
    title: 'First line too long or with several arguments',
    severity: 'error',
    hook: firstLines,
    why: 'The kernel reads a limited length and makes one argument of everything behind the interpreter, so that "-e -u" is one option that no shell knows.',
    fix: 'shorten the path, bundle the options, or use env -S',
    anchor: 'execve(2), "Interpreter scripts"',
  },
  {
    id: 'HC408',
    title: 'Of another machine',
    severity: 'warn',
    hook: otherMachines,
    why: 'It does not start here, or starts through an emulator that is slow and that somebody registered.',
    fix: 'install a native build',
    anchor: 'Linux Documentation/admin-guide/binfmt-misc.rst',
  },
]

interface Broken {
  readonly problem: StartProblem
  readonly link: ChainLink
}

/** Problems of the chains of a hook, each with the link they were met at. */
function problemsOf({ closure }: HookFacts, ...whys: readonly StartProblem['why'][]): readonly Broken[] {
  return closure.chains.flatMap(({ problem, links }) => {
    const link = links.at(-1)
    return problem !== null && link !== undefined && whys.includes(problem.why) ? [{ problem, link }] : []
  })
}

function formatKind({ inspected }: ChainLink): string | undefined {
  return inspected.format?.kind
}

function* vacuousPrograms(hook: HookFacts, audit: AuditContext): Iterable<Reported> {
  for (const member of scriptMembers(hook)) {
    const why = vacuous(member, audit)
    if (why !== null) yield { path: member.path, message: `${member.path} ${why}: it always proceeds` }
  }
  const name =
    /(?:^|\/)(true|cat|:)$/.exec(hook.spec.command[0])?.[1] ??
    /(?:^|\/)(true|cat)$/.exec(hook.closure.argv[0] ?? '')?.[1]
  if (name !== undefined) yield { about: name, message: `the program is ${name}, which always proceeds` }
}

function* brokenChains(hook: HookFacts): Iterable<Reported> {
  for (const { problem } of problemsOf(hook, 'interpreter-fails', 'no-interpreter', 'too-deep'))
    yield { path: problem.path, message: `${problemText(problem)} (${problem.errno})` }
  for (const { links, problem } of hook.closure.chains) {
    const bad = links.find(({ role }, at) => at > 0 && role === 'interpreter' && at === links.length - 1)
    if (bad !== undefined && problem !== null && ['no-file', 'not-executable', 'no-format'].includes(problem.why))
      yield {
        path: problem.path,
        message: `the interpreter cannot be started: ${problemText(problem)} (${problem.errno})`,
      }
    for (const { named, inspected } of links.slice(1)) {
      if (named === '' || named.startsWith('/')) continue
      const where = inspected.facts === null ? 'where nothing is now' : `which is ${inspected.facts.path} now`
      yield {
        about: named,
        message: `the interpreter ${JSON.stringify(named)} is relative to the working folder ${hook.cwd}, ${where}`,
      }
    }
  }
}

function* strayBytes(hook: HookFacts, audit: AuditContext): Iterable<Reported> {
  for (const member of scriptMembers(hook)) {
    const { path, inspected } = member
    const { format } = inspected
    if (format?.kind === 'other' && format.before !== null) {
      const what = format.before === 'byte-order-mark' ? 'a byte order mark' : 'blanks'
      yield { path, message: `${path} has ${what} before its "#!": a shell runs it, not the interpreter it names` }
    }
    const ends = lineEnds(member, audit)
    if (ends === 'first')
      yield {
        path,
        message: `the first line of ${path} ends with a carriage return, which becomes part of the interpreter's name`,
      }
    if (ends === 'later')
      yield {
        path,
        severity: 'warn',
        message: `${path} has lines that end with a carriage return, which a shell takes for text`,
      }
  }
}

/** Since Linux 5.1; earlier kernels cut at 127 (execve(2)). */
const LINE_BYTES_MAX = 255
const OLD_LINE_BYTES_MAX = 127

function* firstLines(hook: HookFacts): Iterable<Reported> {
  for (const { path, inspected } of presentMembers(hook)) {
    const { format } = inspected
    if (format?.kind !== 'script') continue
    const { lineBytes, argument, interpreter } = format
    if (lineBytes > LINE_BYTES_MAX)
      yield {
        path,
        message: `the first line of ${path} has ${lineBytes} bytes, over the ${LINE_BYTES_MAX} the kernel reads`,
      }
    else if (lineBytes > OLD_LINE_BYTES_MAX)
      yield {
        path,
        severity: 'warn',
        message: `the first line of ${path} has ${lineBytes} bytes, over the ${OLD_LINE_BYTES_MAX} that kernels before 5.1 read`,
      }
    const words = argument === null ? [] : argument.replace(/\r$/, '').split(/[ \t]+/)
    const split = /(?:^|\/)env$/.test(interpreter) && /^-[iv0]*S|^--split-string/.test(words[0] ?? '')
    if (words.length > 1 && !split)
      yield {
        path,
        about: 'words',
        message: `the first line of ${path} has several words behind ${interpreter}, which are one argument: ${JSON.stringify(argument)}`,
      }
  }
}

function* otherMachines(hook: HookFacts): Iterable<Reported> {
  for (const { problem } of problemsOf(hook, 'foreign-machine'))
    yield { path: problem.path, severity: 'error', message: `${problemText(problem)}: it cannot start here` }
  for (const { inspected, handler } of hook.closure.chains.flatMap(({ links }) => links)) {
    if (handler === null || inspected.facts === null) continue
    const { path } = inspected.facts
    const flags = handler.flags === '' ? '' : `, flags ${handler.flags}`
    yield {
      path,
      message: `${path} starts through the handler ${handler.name} of the kernel: ${handler.interpreter}${flags}`,
    }
  }
}
