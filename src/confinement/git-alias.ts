/**
 * Whether an alias of git does no more than a plain command of every day. Everything else counts as a program: `!cmd`, but
 * also `grep -Ocmd`, `rebase -x cmd`, `--exec-path=dir pull`, `config core.pager cmd`, `log --output=file` (git-config(1), "alias.*").
 */

/** None of them takes a program as a plain word. */
const COMMANDS: ReadonlySet<string> = new Set([
  ...[
    'add',
    'blame',
    'branch',
    'checkout',
    'cherry-pick',
    'commit',
    'describe',
    'diff',
    'fetch',
    'log',
    'merge',
    'pull',
  ],
  ...['push', 'rebase', 'reflog', 'reset', 'restore', 'rev-parse', 'revert', 'shortlog', 'show', 'stash', 'status'],
  ...['switch', 'tag'],
])

/** Of any of those commands, none of these runs, reads or writes a file that it names. */
const OPTIONS =
  /^(?:-[abdmnpquvw]+|-sb?|-\d+|--(?:all|abbrev-commit|amend|cached|color|continue|decorate|ff-only|graph|hard|name-only|name-status|no-edit|no-ff|oneline|prune|rebase|short|soft|staged|stat|summary|tags)|--(?:date|pretty)=[a-z]+)$/

/** A revision or a name. A slash could lead to a file or to another repository. */
const WORD = /^[\w@^~.:][\w@^~.:-]*$/

/** `value` is what stands behind `alias.NAME =`. */
export function isPlainAlias(value: string): boolean {
  const [command = '', ...rest] = value.split(/[ \t]+/)
  return COMMANDS.has(command) && rest.every(word => OPTIONS.test(word) || WORD.test(word))
}
