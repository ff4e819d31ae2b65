/**
 * All processes that can be seen, with what a left-over is known by: from /proc on Linux, from ps(1) where there is none.
 * A list is a moment: by the time it is used a process may be gone and its number somebody else's, so whoever signals asks
 * for the start time again.
 */
import { environmentOf, isAlive, processIds, processState } from './processes.js'

export interface ListedProcess {
  readonly pid: number
  readonly parent: number
  readonly group: number
  /** With pid and boot id it names one process; comparable only with another of the same lister. */
  readonly startTime: string
  /** False for what has ended and is not reaped. */
  readonly alive: boolean
  /** The value of a variable in the environment it was started with; null where it has none or hides it. */
  variable(name: string): string | null
}

/** Never rejects for a single process that cannot be read; rejects where nothing can be listed. */
export type ProcessLister = () => Promise<readonly ListedProcess[]>

/** Linux (proc_pid_stat(5), proc_pid_environ(5)). */
export const procLister: ProcessLister = () =>
  Promise.resolve(
    processIds().flatMap(pid => {
      const state = processState(pid)
      if (state === null) return []
      const { parent, group, startTime } = state
      return [
        {
          pid,
          parent,
          group,
          startTime,
          alive: isAlive(state),
          variable: name => valueIn(environmentOf(pid)?.split('\0'), name),
        },
      ]
    }),
  )

function valueIn(entries: readonly string[] | undefined, name: string): string | null {
  const found = entries?.find(entry => entry.startsWith(`${name}=`))
  return found?.slice(name.length + 1) ?? null
}

/** Each column by an option of its own: in BSD's ps everything after a `=` is a heading (ps(1)). */
const COLUMNS = ['pid', 'ppid', 'pgid', 'stat', 'lstart', 'command'].flatMap(name => ['-o', `${name}=`])

/**
 * Words for ps(1) of macOS: all processes, untruncated, with their environment behind the command (`-E`). Programs of the
 * system hide theirs where System Integrity Protection is on, so they are found by their group alone.
 */
export const PS_WORDS: readonly string[] = ['-axEww', ...COLUMNS]

/** A lister that runs ps(1) with {@link PS_WORDS} in the C locale and reads what it says. */
export function psLister(run: (words: readonly string[]) => Promise<string>): ProcessLister {
  return async () => parsePs(await run(PS_WORDS))
}

const ROW = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(\S+)\s+(\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4})(?: (.*))?$/

/**
 * Rows of ps(1); lines that are none belong to a command with line ends in it, and are taken to it. A command line that
 * holds `NAME=VALUE` cannot be told from an environment that does, so only values that nobody can guess mean anything.
 */
export function parsePs(text: string): ListedProcess[] {
  const rows: { match: RegExpExecArray; words: string }[] = []
  for (const line of text.split('\n')) {
    const match = ROW.exec(line)
    const last = rows.at(-1)
    if (match !== null) rows.push({ match, words: match[6] ?? '' })
    else if (last !== undefined) last.words += ` ${line}`
  }
  return rows.map(({ match: [, pid, parent, group, state, startTime = ''], words }) => ({
    pid: Number(pid),
    parent: Number(parent),
    group: Number(group),
    startTime,
    alive: !state?.startsWith('Z'),
    variable: name => valueIn(words.split(' '), name),
  }))
}
