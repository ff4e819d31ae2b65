/**
 * A line that another client hands to a shell → the words of an argv, where the line is nothing but words; otherwise why
 * only a shell could run it. Nothing is guessed: what a shell would expand, split or redirect is never turned into a word.
 *
 * Quoting as POSIX XCU 2.2 has it. A few variables whose value is known are written out, always as part of one word:
 * a shell would split an unquoted one at a space in its value, and that splitting was never meant. Pure.
 */

/** What a variable stands for; null: not known here. */
export type Expand = (name: string) => string | null

/** `variables`: the names that were written out in it. `fallback`: the text after `:-`, where one was given. */
export interface ShellWord {
  readonly text: string
  readonly variables: readonly string[]
  readonly fallback: string | null
  /** A variable stood outside quotes: a shell would have split its value. */
  readonly unquoted: boolean
}

export type ShellLine =
  | { readonly kind: 'words'; readonly words: readonly ShellWord[] }
  /** `why` continues "only a shell can run it: ". */
  | { readonly kind: 'shell'; readonly why: string }

/** Words that are commands only inside a shell, or its grammar. */
const SHELL_ONLY = new Set(
  '! . : [[ alias bg break builtin case cd command continue declare do done elif else esac eval exec exit export fc fg fi for function getopts hash if jobs let local mapfile popd pushd read readonly return select set shift shopt source then time times trap type typeset ulimit umask unalias unset until wait while { }'.split(
    ' ',
  ),
)

const META: Readonly<Record<string, string>> = {
  '|': 'it is a pipe',
  '&': 'it uses &',
  ';': 'it holds several commands',
  '<': 'it redirects input',
  '>': 'it redirects output',
  '(': 'it opens a subshell',
  ')': 'it opens a subshell',
  '`': 'it substitutes a command',
  '\n': 'it holds several lines',
  '*': 'it expands a glob',
  '?': 'it expands a glob',
  '[': 'it expands a glob',
  '{': 'it expands braces',
}

class OnlyShell extends Error {}

/** Splits `line`. `expand` answers the variables whose value is known. */
export function splitShellLine(line: string, expand: Expand): ShellLine {
  try {
    const words = new Splitter(line.trim(), expand).words()
    const [first] = words
    if (first === undefined) return { kind: 'shell', why: 'it is empty' }
    if (/^[A-Za-z_][A-Za-z0-9_]*\+?=/.test(first.text)) throw new OnlyShell('it sets a variable')
    if (SHELL_ONLY.has(first.text)) throw new OnlyShell(`${first.text} is a word of the shell, not a program`)
    return { kind: 'words', words }
  } catch (error) {
    if (!(error instanceof OnlyShell)) throw error
    return { kind: 'shell', why: error.message }
  }
}

class Splitter {
  private at = 0
  private readonly done: ShellWord[] = []
  private text: string | null = null
  private variables: string[] = []
  private fallback: string | null = null
  private unquoted = false

  constructor(
    private readonly line: string,
    private readonly expand: Expand,
  ) {}

  words(): ShellWord[] {
    while (this.at < this.line.length) this.step(this.line.charAt(this.at))
    this.endWord()
    return this.done
  }

  private step(char: string): void {
    const why = META[char]
    if (why !== undefined) throw new OnlyShell(why)
    const starts = this.text === null
    if (starts && char === '#') throw new OnlyShell('it holds a comment')
    if (char === ' ' || char === '\t') this.space()
    else if (char === "'") this.add(this.upTo("'"))
    else if (char === '"') this.doubleQuoted()
    else if (char === '$') this.variable('unquoted')
    else if (char === '\\') this.escaped()
    else if (starts && char === '~') this.home()
    else this.plain(char)
  }

  private plain(char: string): void {
    this.at += 1
    this.add(char)
  }

  private space(): void {
    this.at += 1
    this.endWord()
  }

  private add(text: string): void {
    this.text = (this.text ?? '') + text
  }

  private endWord(): void {
    if (this.text === null) return
    const { text, variables, fallback, unquoted } = this
    this.done.push({ text, variables, fallback, unquoted })
    this.text = null
    this.variables = []
    this.fallback = null
    this.unquoted = false
  }

  /** The text after the opening quote at `at`, which ends at the next `quote`. */
  private upTo(quote: string): string {
    const end = this.line.indexOf(quote, this.at + 1)
    if (end === -1) throw new OnlyShell(`a ${quote} is never closed`)
    const text = this.line.slice(this.at + 1, end)
    this.at = end + 1
    return text
  }

  private escaped(): void {
    const next = this.line.charAt(this.at + 1)
    if (next === '') throw new OnlyShell('it ends with a backslash')
    this.at += 2
    // A backslash before a line end joins the lines.
    if (next !== '\n') this.add(next)
  }

  private doubleQuoted(): void {
    this.at += 1
    this.add('')
    for (;;) {
      const char = this.line.charAt(this.at)
      if (char === '') throw new OnlyShell('a " is never closed')
      if (char === '"') break
      if (char === '`') throw new OnlyShell('it substitutes a command')
      if (char === '$' && /[A-Za-z_{(0-9@*#?$!-]/.test(this.line.charAt(this.at + 1))) {
        this.variable('quoted')
        continue
      }
      const next = this.line.charAt(this.at + 1)
      const isEscape = char === '\\' && '$`"\\\n'.includes(next) && next !== ''
      if (isEscape) this.at += 1
      if (!isEscape || next !== '\n') this.add(this.line.charAt(this.at))
      this.at += 1
    }
    this.at += 1
  }

  /** `$NAME`, `${NAME}` or `${NAME:-text}` at `at`. */
  private variable(where: 'quoted' | 'unquoted'): void {
    const rest = this.line.slice(this.at)
    if (rest.startsWith('$(')) throw new OnlyShell('it substitutes a command')
    const match = /^\$(?:([A-Za-z_][A-Za-z0-9_]*)|\{([A-Za-z_][A-Za-z0-9_]*)(?::?-([^}$`"'\\]*))?\})/.exec(rest)
    if (match === null) throw new OnlyShell(`it expands ${rest.slice(0, 12)}`)
    const name = match[1] ?? match[2] ?? ''
    const value = this.expand(name)
    if (value === null) throw new OnlyShell(`it expands $${name}`)
    this.at += match[0].length
    this.variables.push(name)
    this.fallback ??= match[3] ?? null
    if (where === 'unquoted') this.unquoted = true
    this.add(value)
  }

  /** `~` or `~/…` at the start of a word. */
  private home(): void {
    const isOwn = /^~(?:[/ \t]|$)/.test(this.line.slice(this.at))
    const home = isOwn ? this.expand('HOME') : null
    if (home === null) throw new OnlyShell('it expands ~')
    this.at += 1
    this.variables.push('HOME')
    this.add(home)
  }
}
