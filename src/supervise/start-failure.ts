/** Why a program did not start: what the kernel's errno means of this very program, told apart where one errno means several things. */
import { statSync } from 'node:fs'
import { errnoOf } from '../errors.js'
import { judgeProgram, loaderOf, type NotStarted, notStarted } from './program.js'

/** What was to be started. */
interface Started {
  /** Absolute path of the program. */
  readonly file: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly cwd: string
}

type Explain = (plan: Started, errno: string) => NotStarted

/** What a failed start means, by errno of execve(2), chdir(2) and fork(2). */
const EXPLAIN: Readonly<Record<string, Explain>> = {
  ENOENT: (plan, errno) => missingCwd(plan.cwd) ?? missingFile(plan, errno),
  ENOTDIR: (plan, errno) => missingCwd(plan.cwd) ?? missingFile(plan, errno),
  EACCES: (plan, errno) => missingCwd(plan.cwd) ?? judgeProgram(plan.file) ?? denied(plan, errno),
  EPERM: (plan, errno) => judgeProgram(plan.file) ?? denied(plan, errno),
  ENOEXEC: ({ file }, errno) =>
    notStarted('not-executable-format', `${file} is no program for this machine`, { path: file, errno }),
  ETXTBSY: ({ file }, errno) =>
    notStarted('text-busy', `${file} is open for writing: close it, or run a copy`, { path: file, errno }),
  E2BIG: (plan, errno) => tooLong(plan, errno),
}

/** Why `plan` did not start, from the system's error; throws what is none. */
export function startFailure(plan: Started, error: unknown): NotStarted {
  const errno = errnoOf(error)
  if (errno === undefined) throw error
  const known = EXPLAIN[errno]
  if (known !== undefined) return known(plan, errno)
  return notStarted('spawn-failed', `${plan.file} could not be started: ${errno}`, { path: plan.file, errno })
}

/** ENOENT names the program also when only the working folder is gone (case A11). */
function missingCwd(cwd: string): NotStarted | null {
  try {
    if (statSync(cwd).isDirectory()) return null
    return notStarted('cwd-not-a-directory', `the working folder ${cwd} is no folder: name one`, { path: cwd })
  } catch (error) {
    const errno = errnoOf(error)
    if (errno === 'ENOENT')
      return notStarted('cwd-missing', `the working folder ${cwd} does not exist: make it, or name another`, {
        path: cwd,
        errno,
      })
    if (errno === 'ENOTDIR') {
      return notStarted(
        'cwd-not-a-directory',
        `a part of the working folder ${cwd} is no folder: name one that exists`,
        { path: cwd, errno },
      )
    }
    return notStarted(
      'no-permission',
      `the working folder ${cwd} cannot be entered: let this user do that, or name another`,
      { path: cwd, errno },
    )
  }
}

/** The file is there and the kernel says it is not: then it is the loader that the file asks for. */
function missingFile({ file }: Started, errno: string): NotStarted {
  const judged = judgeProgram(file)
  if (judged !== null) return judged
  const loader = loaderOf(file)
  const named = loader ?? 'a program it is started through'
  const message = `${file} needs ${named}, which is not there: install it, or name it where it is`
  return notStarted('interpreter-missing', message, loader === null ? { errno } : { path: loader, errno })
}

function denied({ file, cwd }: Started, errno: string): NotStarted {
  return notStarted('no-permission', `${file} may not be started in ${cwd} under the chosen user`, {
    path: file,
    errno,
  })
}

function tooLong({ file, args, env }: Started, errno: string): NotStarted {
  const bytes = [file, ...args, ...Object.entries(env).map(pair => pair.join('='))]
    .map(word => Buffer.byteLength(word) + 1)
    .reduce((sum, length) => sum + length, 0)
  const message = `arguments and environment of ${file} are ${bytes} bytes together, more than the kernel takes: pass some of it on stdin or in a file`
  return notStarted('argument-list-too-long', message, { errno })
}
