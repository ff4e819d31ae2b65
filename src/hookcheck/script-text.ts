/**
 * What a hook script does with failure, read from its text: places where an error becomes "go on", a status 1 that was
 * meant to block, and answers in the dialect of another client. Heuristics over lines, so they only ever warn. Pure.
 */

export type ScriptFamily = 'shell' | 'node' | 'python' | 'other'

export interface ScriptRemark {
  /** 1-based. */
  readonly line: number
  /** What stands there, and what it means here. */
  readonly what: string
}

interface Pattern {
  readonly form: RegExp
  readonly what: string
}

const SWALLOWS: Readonly<Record<ScriptFamily, readonly Pattern[]>> = {
  shell: [
    { form: /\|\|[ \t]*(?:true|:)(?=[ \t]*(?:$|[;&|#)}]))/, what: 'a failure before "|| true" is forgotten' },
    { form: /\|\|[ \t]*(?:exit|return)[ \t]+0\b/, what: 'a failure before "|| exit 0" lets the call through' },
    { form: /^[ \t]*set[ \t]+\+[a-z]*e/, what: '"set +e" goes on after a failure' },
    { form: /\btrap[ \t]+(['"])[^'"]*\bexit[ \t]+0\b/, what: 'a trap ends with 0, whatever went wrong' },
  ],
  node: [
    { form: /\bcatch\b[^{]{0,80}\{[^}]{0,400}process\.exit\(\s{0,4}0?\s{0,4}\)/, what: 'a caught error ends with 0' },
    { form: /uncaughtException[\s\S]{0,160}?process\.exit\(\s{0,4}0?\s{0,4}\)/, what: 'an uncaught error ends with 0' },
    {
      form: /\.catch\(\s{0,4}(?:\(\w{0,40}\)|\w{1,40})\s{0,4}=>\s{0,4}(?:\{[^}]{0,400})?process\.exit\(\s{0,4}0?\s{0,4}\)/,
      what: 'a rejected promise ends with 0',
    },
  ],
  python: [
    { form: /^[ \t]*except\b[^\n]*:[ \t]*(?:\n[ \t]+)?pass\b/, what: 'an exception is forgotten' },
    {
      form: /^[ \t]*except\b[^\n]*:[ \t]*(?:\n[ \t]+[^\n]*){0,3}?\n?[ \t]*(?:sys\.)?exit\([ \t]*0?[ \t]*\)/,
      what: 'an exception ends with 0',
    },
  ],
  other: [],
}

/** Places where an error is turned into "go on", in the order of the lines. */
export function swallowedFailures(text: string, family: ScriptFamily): readonly ScriptRemark[] {
  const code = withoutComments(text, family)
  const found = SWALLOWS[family].flatMap(pattern => matches(code, pattern))
  const last = family === 'shell' ? endsWithZero(code) : []
  const unchecked = family === 'shell' ? neverStops(code) : []
  return [...found, ...last, ...unchecked].sort((a, b) => a.line - b.line)
}

const EXIT_ONE: Readonly<Record<ScriptFamily, RegExp>> = {
  shell: /\b(?:exit|return)[ \t]+1\b/,
  node: /process\.exit\([ \t]*1[ \t]*\)|process\.exitCode[ \t]*=[ \t]*1\b/,
  python: /\bexit\([ \t]*1[ \t]*\)|\bSystemExit\([ \t]*1[ \t]*\)/,
  other: /(?!)/,
}

const EXIT_TWO: Readonly<Record<ScriptFamily, RegExp>> = {
  shell: /\b(?:exit|return)[ \t]+(?:2\b|["']?\$)/,
  node: /process\.exit\([ \t]*(?:2|[A-Za-z_])|process\.exitCode[ \t]*=[ \t]*(?:2|[A-Za-z_])/,
  python: /\bexit\([ \t]*(?:2|[A-Za-z_])|\bSystemExit\([ \t]*(?:2|[A-Za-z_])/,
  other: /(?!)/,
}

/** The first `exit 1` of a script that never ends with 2: meant to block, it is a failed hook here. */
export function blocksWithOne(text: string, family: ScriptFamily): ScriptRemark | null {
  const code = withoutComments(text, family)
  if (EXIT_TWO[family].test(code)) return null
  const [first] = matches(code, { form: EXIT_ONE[family], what: '' })
  return first ?? null
}

const DIALECTS: readonly Pattern[] = [
  { form: /permissionDecision|hookSpecificOutput/, what: 'answers with permissionDecision' },
  { form: /["']?decision["']?[ \t]*[:=][ \t]*\\?["'](?:block|approve|deny|allow)/, what: 'answers with decision' },
  { form: /["']continue["'][ \t]*:[ \t]*(?:false|False)/, what: 'answers with continue: false' },
  { form: /["']permission["'][ \t]*:[ \t]*["'](?:deny|allow|ask)/, what: 'answers with permission' },
  { form: /\btool_input\b|\btool_name\b/, what: 'reads tool_name or tool_input' },
  { form: /\bCLAUDE_(?:PROJECT_DIR|PLUGIN_ROOT|ENV_FILE|TOOL_INPUT)\b/, what: 'uses a CLAUDE_* variable' },
  { form: /\bhook_event_name\b/, what: 'reads hook_event_name' },
]

/** What a script says or reads that another client understands and this one does not; one remark of each kind. */
export function foreignDialect(text: string): readonly ScriptRemark[] {
  return DIALECTS.flatMap(pattern => matches(text, pattern).slice(0, 1)).sort((a, b) => a.line - b.line)
}

/** A script is told of at most so often: what comes after is of the same kind. */
const REMARKS_MAX = 20

function matches(text: string, { form, what }: Pattern): ScriptRemark[] {
  const all = new RegExp(form.source, `gm${form.flags.replace(/[gm]/g, '')}`)
  const found: ScriptRemark[] = []
  let [line, at] = [1, 0]
  for (const match of text.matchAll(all)) {
    for (let next = text.indexOf('\n', at); next !== -1 && next < match.index; next = text.indexOf('\n', at)) {
      line += 1
      at = next + 1
    }
    found.push({ line, what })
    if (found.length === REMARKS_MAX) break
  }
  return found
}

/** Whole-line comments only: taking `#` and `//` out of the middle of a line would need a parser for each language. */
function withoutComments(text: string, family: ScriptFamily): string {
  const comment = family === 'node' ? /^[ \t]*\/\/.*$/gm : /^[ \t]*#(?!!).*$/gm
  return text.replace(comment, '')
}

/** The last command of the script is `exit 0`, and nothing before it stops the script at a failure. */
function endsWithZero(code: string): ScriptRemark[] {
  const lines = code.split('\n')
  const last = lines.findLastIndex(line => line.trim() !== '')
  if (last < 1 || !/^[ \t]*exit[ \t]+0[ \t]*;?[ \t]*$/.test(lines[last] ?? '') || stopsAtFailure(code)) return []
  return [{ line: last + 1, what: 'it ends with "exit 0" whatever happened before' }]
}

function stopsAtFailure(code: string): boolean {
  return /^[ \t]*set[ \t]+-[a-z]*e|^[ \t]*set[ \t]+-o[ \t]+errexit|^#![^\n]*\s-[a-z]*e/m.test(code)
}

/** A parser is called, its failure is checked nowhere, and the script does not stop by itself. */
function neverStops(code: string): ScriptRemark[] {
  if (stopsAtFailure(code)) return []
  const [call] = matches(code, {
    form: /^(?![ \t]*(?:if|while|until)\b)[^\n|&]*[=(|][ \t]{0,4}"?\$?\(?[ \t]{0,4}jq\b[^\n]*$/,
    what: '',
  })
  if (call === undefined) return []
  const line = code.split('\n')[call.line - 1] ?? ''
  if (/\|\||&&/.test(line)) return []
  return [{ line: call.line, what: 'jq is called without "set -e": when it fails the script goes on with nothing' }]
}

/** Tools of the system that scripts name without a path, and that a shim may stand before. */
const COMMON =
  'awk basename cat chmod cp curl cut date dirname env find git grep head jq ls mkdir mktemp mv node npm perl python python3 readlink realpath rm ruby sed sh sort tail tee tr uname wc xargs'
const COMMON_FORM = new RegExp(
  `(?:^|[|;&(\`]|\\$\\(|\\b(?:then|do|else|if|while|until|exec|command)\\s)[ \\t]*(${COMMON.replaceAll(' ', '|')})(?=\\s|$)`,
  'gm',
)

/** Which of them stand where a shell looks for a command; empty for a text that is no shell script. */
export function commonToolsIn(text: string): readonly string[] {
  if (!/^#![^\n]*\b(?:ba|da|z|k)?sh\b/.test(text)) return []
  const code = withoutComments(text, 'shell')
  return [...new Set([...code.matchAll(COMMON_FORM)].map(match => match[1] ?? ''))].sort()
}
