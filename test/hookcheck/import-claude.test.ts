/** A hooks configuration of Claude Code as people write it → our hooks file, with everything named that was not carried over. */
import { execFileSync } from 'node:child_process'
import fc from 'fast-check'
import t from 'tap'
import { matchTools } from '../../src/hookcheck/claude-names.js'
import { importClaude } from '../../src/hookcheck/import-claude.js'
import type { ImportPlaces } from '../../src/hookcheck/import-command.js'
import { splitShellLine } from '../../src/hookcheck/shell-line.js'
import { parseHooks } from '../../src/hooks/document.js'
import type { Json, JsonObject } from '../../src/json.js'

const PLACES: ImportPlaces = {
  pluginRoot: '/opt/My Plugins/p 1',
  home: '/home/ops',
  programs: '/home/ops/.config/b10x/hooks',
  file: '/opt/My Plugins/p 1/hooks/hooks.json',
}

const expand = (name: string): string | null => ({ ROOT: '/a b', HOME: '/home/ops' })[name] ?? null

t.test('a line that is only words', async t => {
  const cases: readonly [line: string, words: readonly string[]][] = [
    ['python3 x.py', ['python3', 'x.py']],
    ['  a\t b  ', ['a', 'b']],
    [`a 'b c' "d e" f\\ g`, ['a', 'b c', 'd e', 'f g']],
    [`a "b\\"c\\\\d\\e" '' ""`, ['a', 'b"c\\d\\e', '', '']],
    ['"$ROOT"/bin/x', ['/a b/bin/x']],
    ['$ROOT/x ${ROOT}/y', ['/a b/x', '/a b/y']],
    ['x "${ROOT:-.}/y"', ['x', '/a b/y']],
    ['~/bin/x a~b', ['/home/ops/bin/x', 'a~b']],
    ['echo "cost: 5$"', ['echo', 'cost: 5$']],
    [`node -e "const s='x';require(s)"`, ['node', '-e', "const s='x';require(s)"]],
    ['a b#c', ['a', 'b#c']],
  ]
  for (const [line, words] of cases) {
    const split = splitShellLine(line, expand)
    t.strictSame(split.kind === 'words' ? split.words.map(({ text }) => text) : split, words, line)
  }
})

t.test('a line that only a shell can run says why', async t => {
  const cases: readonly [line: string, why: RegExp][] = [
    ['a | b', /pipe/],
    ['a && b', /&/],
    ['a; b', /several commands/],
    ['a > b', /redirects output/],
    ['a 2>/dev/null', /redirects output/],
    ['a < b', /redirects input/],
    ['(a)', /subshell/],
    ['a $(b)', /substitutes/],
    ['a "$(b)"', /substitutes/],
    ['a `b`', /substitutes/],
    ['a "`b`"', /substitutes/],
    ['a *.ts', /glob/],
    ['a {b,c}', /braces/],
    ['a $OTHER', /\$OTHER/],
    ['a "${OTHER}"', /\$OTHER/],
    ['a "${ROOT%x}"', /expands/],
    ['a "$1"', /expands \$1/],
    ['a "$@"', /expands/],
    ['a ~other/x', /expands ~/],
    ['a # b', /comment/],
    ['X=1 a', /sets a variable/],
    ['cd x', /word of the shell/],
    ['[[ -f x ]]', /glob/],
    ['if a', /word of the shell/],
    ["a 'b", /never closed/],
    ['a "b', /never closed/],
    ['a \\', /backslash/],
    ['a\nb', /several lines/],
    ['', /empty/],
    ['echo a$', /expands/],
  ]
  for (const [line, why] of cases) t.match(splitShellLine(line, expand), { kind: 'shell', why }, line)
})

t.test('what is taken apart means what a shell would make of it', async () => {
  const text = fc.string({ unit: fc.constantFrom(...'ab \t\'"\\$#~=-/.{}'.split('')), maxLength: 12 })
  const shell = (line: string): string[] | null => {
    try {
      const out = execFileSync('/bin/sh', ['-c', `printf '%s\\0' ${line}`], {
        env: {},
        stdio: ['ignore', 'pipe', 'ignore'],
      })
      return out.toString().split('\0').slice(0, -1)
    } catch {
      return null
    }
  }
  fc.assert(
    fc.property(text, line => {
      const split = splitShellLine(`x ${line}`, () => null)
      if (split.kind === 'shell') return true
      const [, ...words] = split.words.map(word => word.text)
      const found = shell(line)
      return words.length === 0 || (found !== null && JSON.stringify(found) === JSON.stringify(words))
    }),
    { numRuns: 300 },
  )
})

t.test('matchers (E16 E18)', async t => {
  const cases: readonly [matcher: string, tools: readonly string[] | null, note?: RegExp][] = [
    ['', null],
    ['*', null],
    ['.*', null],
    ['Bash', ['run']],
    ['bash', [], /case: Bash\?/],
    ['Bash|Edit', ['run', 'file_edit']],
    ['Write, Edit ,MultiEdit', ['file_write', 'file_edit']],
    ['Task', ['delegate']],
    ['WebFetch', [], /does not exist here/],
    ['mcp__memory__save', [], /does not exist here/],
    ['^mcp__', [], /pattern.*none of ours/],
    ['Edit.*', ['file_edit'], /pattern.*file_edit/],
    ['Notebook.*|Read', ['file_read'], /pattern/],
    ['^(Write|Edit)$', ['file_write', 'file_edit'], /pattern/],
  ]
  for (const [matcher, tools, note] of cases) {
    const matched = await matchTools(matcher)
    t.strictSame('tools' in matched ? matched.tools : matched, tools, matcher)
    const notes = 'tools' in matched ? matched.notes.join('\n') : ''
    if (note === undefined) t.equal(notes, '', matcher)
    else t.match(notes, note, matcher)
  }
  for (const bad of ['Bash(', '(?=Bash)', '[']) t.match(await matchTools(bad), { refused: /cannot be read/ }, bad)
})

const one = (event: string, hook: Json, matcher?: string): JsonObject => ({
  hooks: { [event]: [{ ...(matcher === undefined ? {} : { matcher }), hooks: [hook] }] },
})
const command = (line: string, more = {}): Json => ({ type: 'command', command: line, ...more })

async function imported(root: JsonObject, places = PLACES) {
  const { hooks, notes } = await importClaude(root, places)
  const text = JSON.stringify({ version: 1, hooks })
  const { document, problems } = parseHooks(Buffer.from(text), '/h/hooks.json')
  if (document === null || problems.length > 0)
    throw new Error(`what was written is no hooks file: ${JSON.stringify(problems)}`)
  const said = notes.filter(({ where }) => where !== '').map(({ kind, where, text }) => `${kind} ${where}: ${text}`)
  return { hooks, notes, said }
}

t.test('hooks that correspond', async t => {
  const { hooks, said } = await imported(
    one('PreToolUse', command('/opt/ops/guard.py --strict', { timeout: 10 }), 'Bash|Write'),
  )
  t.strictSame(hooks, [
    {
      name: 'guard',
      on: 'before-call',
      tools: ['run', 'file_write'],
      command: ['/opt/ops/guard.py', '--strict'],
      'timeout-ms': 10_000,
    },
  ])
  t.equal(said.length, 1, 'the unit of the timeout is named')
  t.match(said[0], /timeout 10 is in seconds: written as timeout-ms 10000/)
  const stop = await imported(one('Stop', command('/opt/done'), 'x'))
  t.strictSame(stop.hooks, [{ name: 'done', on: 'stop', command: ['/opt/done'] }])
  t.match(stop.said, [/matcher means nothing/])
  t.match((await imported(one('PostToolUseFailure', command('/opt/f')))).said, [/also runs after calls that went well/])
})

t.test('what has no counterpart is named, and nothing else is lost with it', async t => {
  const root: JsonObject = {
    hooks: {
      PreToolUse: [
        'nothing',
        { matcher: 'Bash(', hooks: [command('/opt/a')] },
        { matcher: 'WebFetch', hooks: [command('/opt/b')] },
        {
          matcher: 'Bash',
          hooks: [{ type: 'prompt', prompt: 'is it safe?' }, { type: 'http', url: 'http://x' }, command(''), 7],
        },
        {
          matcher: 'Bash',
          hooks: [command('/opt/kept', { async: true, if: 'Bash(git *)', once: true, odd: 1, statusMessage: 's' })],
        },
        { matcher: 7, hooks: [] },
        { matcher: 'Bash' },
      ],
      SessionStart: [{ hooks: [command('/opt/c'), command('/opt/d')] }],
      UserPromptSubmit: [{ hooks: [command('/opt/e')] }],
      PreCompact: [],
      WorktreeCreate: [],
      preToolUse: [{ command: './x' }],
      Stop: 'no list',
    },
  }
  const { hooks, said } = await imported(root)
  t.strictSame(
    hooks.map(({ name }) => name),
    ['kept'],
  )
  const all = said.join('\n')
  for (const text of [
    /left-out PreToolUse\[1\]/,
    /left-out PreToolUse\[2\].*cannot be read/,
    /left-out PreToolUse\[3\].*no tool here/,
    /left-out PreToolUse\[4\]\.hooks\[1\].*type prompt/,
    /left-out PreToolUse\[4\]\.hooks\[2\].*type http/,
    /left-out PreToolUse\[4\]\.hooks\[3\].*no command/,
    /left-out PreToolUse\[4\]\.hooks\[4\]/,
    /changed PreToolUse\[5\]\.hooks\[1\]: async/,
    /condition on the arguments/,
    /once has no counterpart/,
    /the key "odd"/,
    /left-out PreToolUse\[6\].*no string/,
    /left-out PreToolUse\[7\]\.hooks.*list/,
    /left-out SessionStart.*2 hooks/,
    /left-out UserPromptSubmit.*1 hook\)/,
    /left-out PreCompact/,
    /left-out WorktreeCreate/,
    /left-out preToolUse.*did you mean PreToolUse/,
    /left-out Stop.*list/,
  ])
    t.match(all, text)
})

t.test('commands', async t => {
  const argvOf = async (line: string, more = {}, places = PLACES) => {
    const { hooks, notes } = await imported(one('PreToolUse', command(line, more)), places)
    return { argv: hooks[0]?.command, notes: notes.filter(({ where }) => where !== '') }
  }
  const rooted = await argvOf('bash ${CLAUDE_PLUGIN_ROOT}/hooks/x.sh')
  t.strictSame(rooted.argv, ['bash', '/opt/My Plugins/p 1/hooks/x.sh'], 'one word, whatever its spaces')
  t.match(rooted.notes, [{ kind: 'changed', text: /written out as .*split it at its spaces/ }])
  const quoted = await argvOf('"${CLAUDE_PLUGIN_ROOT}"/bin/run.sh name')
  t.strictSame(quoted.argv, ['/opt/My Plugins/p 1/bin/run.sh', 'name'])
  t.notMatch(quoted.notes[0]?.text, /split/)
  const fallback = await argvOf('bash "${CLAUDE_PLUGIN_ROOT:-.}/hooks/y.sh"')
  t.strictSame(fallback.argv, ['bash', '/opt/My Plugins/p 1/hooks/y.sh'])
  t.match(fallback.notes.map(({ text }) => text).join('\n'), /would have taken "\.", a place in the project/)
  const unset = await argvOf('bash "${CLAUDE_PLUGIN_ROOT:-.}/hooks/y.sh"', {}, { ...PLACES, pluginRoot: null })
  t.match(unset, {
    argv: ['/home/ops/.config/b10x/hooks/y.sh'],
    notes: [{ kind: 'by-hand', text: /expands \$CLAUDE_PLUGIN_ROOT/ }],
  })

  const project = await argvOf('"$CLAUDE_PROJECT_DIR"/.claude/hooks/check.sh')
  t.match(project, {
    argv: ['/home/ops/.config/b10x/hooks/check.sh'],
    notes: [{ kind: 'by-hand', text: /read <project>\/\.claude\/hooks\/check\.sh and copy it to / }],
  })
  for (const line of [
    'python3 .claude/hooks/check.py',
    './.claude/hooks/check.py',
    'python3 $CLAUDE_PROJECT_DIR/check.py',
  ])
    t.match((await argvOf(line)).argv?.at(-1), '/home/ops/.config/b10x/hooks/check.py', line)
  t.match((await argvOf('lint "$CLAUDE_PROJECT_DIR"')).notes, [{ kind: 'by-hand', text: /names the project/ }])

  const line = `jq -r '.tool_input.command' | grep -q rm && { echo "no $CLAUDE_PROJECT_DIR" >&2; exit 2; }`
  const shell = await argvOf(line)
  t.strictSame(shell.argv, ['/home/ops/.config/b10x/hooks/pre-tool-use.sh'])
  t.match(shell.notes, [{ kind: 'by-hand', text: /only a shell can run it: it is a pipe/ }])
  const file = shell.notes[0]?.file
  t.equal(file?.path, '/home/ops/.config/b10x/hooks/pre-tool-use.sh')
  t.equal(file?.text.split('\n')[0], '#!/bin/sh')
  t.ok(file?.text.includes(line), 'the line stands in the wrapper as it was')
  t.match(file?.text, /# CLAUDE_PROJECT_DIR is not set here/)
  t.match((await argvOf('[[ -f x ]] || exit 0')).notes[0]?.file?.text, /^#!\/bin\/bash\n/)
  t.match(
    (await argvOf('cat "${CLAUDE_PLUGIN_ROOT}"/a | x')).notes[0]?.file?.text,
    /\nCLAUDE_PLUGIN_ROOT='\/opt\/My Plugins\/p 1'\n/,
  )

  const direct = await argvOf('node', { args: ['${CLAUDE_PLUGIN_ROOT}/x.js', 'a b', '$HOME | x'] })
  t.strictSame(direct.argv, ['node', '/opt/My Plugins/p 1/x.js', 'a b', '$HOME | x'], 'args are words as they are')
  for (const { argv } of [shell, project, rooted, unset]) t.notOk(argv?.includes('-c'), 'never a shell in silence')
})

t.test('timeouts', async t => {
  const at = async (timeout: Json) =>
    (await imported(one('Stop', command('/opt/x', { timeout })))).hooks[0]?.['timeout-ms']
  t.equal(await at(1.5), 1_500)
  t.equal(await at(5_000), 600_000, 'milliseconds, written where seconds are meant')
  t.equal(await at(0.01), 100)
  for (const bad of [0, -1, '10', null, true]) t.equal(await at(bad), undefined, String(bad))
})

t.test('names are unique and legal', async t => {
  const hooks = [
    command('/a/My_Guard.sh'),
    command('/b/my-guard.sh'),
    command('/a/b | c'),
    command('/a/b | d'),
    command(`/x/${'long'.repeat(40)}`),
    command(`/y/${'long'.repeat(40)}`),
    command('/x/...'),
  ]
  const names = (await imported({ hooks: { Stop: [{ hooks }] } })).hooks.map(({ name }) => name)
  t.equal(new Set(names).size, hooks.length)
  t.strictSame(names.slice(0, 4), ['my-guard', 'my-guard-2', 'stop', 'stop-2'])
})

t.test('where the hooks stand', async t => {
  const event = { Stop: [{ hooks: [command('/x')] }] }
  t.equal((await imported(event)).hooks.length, 1, 'the events alone')
  t.match((await importClaude({ name: 'p', hooks: './hooks/hooks.json' }, PLACES)).notes, [
    { text: /names other files/ },
  ])
  t.match(
    (await importClaude({ hooks: event, disableAllHooks: true }, PLACES)).notes.map(({ text }) => text).join(),
    /disableAllHooks/,
  )
  for (const nothing of [{}, { theme: 'dark' }, { name: 'plugin', version: '1' }, { hooks: {} }])
    t.strictSame(await importClaude(nothing, PLACES), { hooks: [], notes: [] })
  t.match((await importClaude({ hooks: 7 }, PLACES)).notes, [{ kind: 'left-out' }])
})

t.test('any document is answered', async () => {
  const events = fc.dictionary(fc.constantFrom('PreToolUse', 'Stop', 'SessionStart', 'x'), fc.jsonValue())
  await fc.assert(
    fc.asyncProperty(fc.oneof(fc.dictionary(fc.string(), fc.jsonValue()), fc.record({ hooks: events })), async root => {
      await imported(root as JsonObject)
    }),
    { numRuns: 300 },
  )
})
