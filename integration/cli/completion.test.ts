/** What the three shells really offer, each asked in its own way, with the built programs on PATH. */
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { execa } from 'execa'
import t from 'tap'
import { needs } from '../../test/support/needs.js'
import { projectRoot } from '../../test/support/root.js'
import { harness, harnessBin, scratch } from '../support/harness.js'

const CONFIGURATION = `[[profiles]]\nname = "nightly"\nconfine = "auto"\n`

const place = scratch({
  'config/b10x/harness.toml': CONFIGURATION,
  'work/folder/inside.txt': '',
  'work/forms.json': '{}',
  'work/$(touch ran)': '',
})
t.teardown(place.remove)
const at = (name: string) => join(place.path, name)

mkdirSync(at('bin'))
symlinkSync(harnessBin, at('bin/harness'))
symlinkSync(join(dirname(harnessBin), 'hookcheck.cjs'), at('bin/hookcheck'))

const env = {
  PATH: `${at('bin')}:${dirname(process.execPath)}:${process.env.PATH}`,
  HOME: place.path,
  XDG_CONFIG_HOME: at('config'),
  XDG_STATE_HOME: at('state'),
  TERM: 'dumb',
}
const options = { cwd: at('work'), env, reject: false, timeout: 60_000 } as const

type Words = readonly string[]

/** What is offered for each of several lines. */
type Asks = (lines: readonly Words[]) => Promise<string[][]>

const SHELLS: Readonly<Record<'bash' | 'zsh' | 'fish', { place: string; ask: Asks }>> = {
  bash: {
    place: 'harness.bash',
    ask: lines =>
      Promise.all(
        lines.map(async words => {
          // readline takes the words apart at this sign.
          const apart = words.flatMap(word => (word.startsWith('--') ? word.split(/(=)/) : [word]))
          const fixture = join(projectRoot, 'integration/fixtures/complete.bash')
          return offered(await execa('bash', [fixture, at('harness.bash'), ...apart], options))[0] ?? []
        }),
      ),
  },
  zsh: {
    place: 'fpath/_harness',
    ask: async lines => {
      const fixture = join(projectRoot, 'integration/fixtures/complete.zsh')
      const typed = lines.map(words => words.join(' '))
      return offered(await execa('zsh', ['-f', fixture, at('fpath'), ...typed], options))
    },
  },
  fish: {
    place: 'harness.fish',
    ask: async lines => {
      const asked = lines.map(words => `complete -C '${words.join(' ')}'; echo`).join('; ')
      const found = offered(
        await execa('fish', ['--no-config', '-c', `source ${at('harness.fish')}; ${asked}`], options),
      )
      return found.map(texts => texts.map(text => (text.split('\t')[0] ?? '').replace(/^--[a-z-]+=/, '')))
    },
  },
}

/** An empty line stands after the words of each. */
function offered({ stdout, stderr }: { stdout: string; stderr: string }): string[][] {
  t.equal(stderr, '')
  return `${stdout}\n`.split(/(?<=^|\n)\n/).map(block => block.split('\n').filter(line => line !== ''))
}

/** What is typed, and what is offered: all of it, or some of it (and `not`, which is not). */
const CASES: readonly {
  typed: readonly string[]
  all?: readonly string[]
  some?: readonly string[]
  not?: readonly string[]
}[] = [
  { typed: ['harness', 'r'], all: ['run'] },
  { typed: ['harness', 'workflow', ''], some: ['plan', 'run'], not: ['chat'] },
  { typed: ['harness', 'run', '--conf'], all: ['--confine'] },
  { typed: ['harness', 'workflow', 'plan', '--f'], all: ['--flow', '--format'] },
  { typed: ['harness', 'workflow', 'run', '--in'], some: ['--input'] },
  { typed: ['harness', 'exec', '--in'], not: ['--input'] },
  { typed: ['harness', 'run', '--approve', ''], all: ['all', 'auto', 'deny', 'prompt'] },
  { typed: ['harness', 'run', '--confine', 'bubble'], all: ['bubblewrap', 'bubblewrap-hostproc'] },
  { typed: ['harness', 'run', '--confine=land'], all: ['landlock'] },
  { typed: ['harness', 'run', '--provider', 'o'], all: ['ollama', 'openai'] },
  { typed: ['harness', 'run', '-p', ''], all: ['nightly'] },
  { typed: ['harness', 'profiles', 'show', ''], all: ['nightly'] },
  { typed: ['harness', 'sessions', 'show', ''], some: ['latest'] },
  { typed: ['harness', 'completion', ''], all: ['bash', 'fish', 'zsh'] },
  { typed: ['harness', 'run', '--workspace', 'fo'], some: ['folder'], not: ['forms.json'] },
  { typed: ['harness', 'run', '--context', 'fo'], some: ['folder', 'forms.json'] },
  { typed: ['harness', 'check-path', 'folder', 'fo'], some: ['folder', 'forms.json'] },
  { typed: ['harness', 'exec', '--', 'harn'], some: ['harness'] },
  { typed: ['harness', 'exec', '--workspace', '.', '--', 'cat', 'for'], all: ['forms.json'] },
  { typed: ['hookcheck', '--fail-on', ''], all: ['error', 'never', 'warn'] },
  { typed: ['hookcheck', 'for'], all: ['forms.json'] },
]

t.before(async () => {
  mkdirSync(at('fpath'))
  for (const [shell, { place: file }] of Object.entries(SHELLS)) {
    const made = await harness(['completion', shell])
    t.equal(made.status, 0)
    writeFileSync(at(file), made.stdout)
  }
})

for (const [shell, { ask }] of Object.entries(SHELLS) as [keyof typeof SHELLS, { ask: Asks }][])
  t.test(`${shell} completes commands, options, values, names and files`, { skip: needs(shell) }, async t => {
    const answers = await ask(CASES.map(({ typed }) => typed))
    for (const [index, { typed, all, some = [], not = [] }] of CASES.entries()) {
      // A folder is shown with its slash by some.
      const found = [...new Set(answers[index])].map(word => word.replace(/\/$/, ''))
      const line = typed.join(' ')
      if (all !== undefined) t.same(found.sort(), all, line)
      for (const word of some) t.ok(found.includes(word), `${line}: ${word} in ${found.join(' ')}`)
      for (const word of not) t.notOk(found.includes(word), `${line}: not ${word}`)
    }
  })

t.test('a name that a shell would expand is only a name', { skip: needs('bash') }, async t => {
  const name = '$(touch${IFS}ran)'
  const program = at('odd')
  writeFileSync(program, `#!/bin/sh\necho '${name}'\n`, { mode: 0o755 })
  t.same(
    await SHELLS.bash.ask([
      [program, 'run', '--provider', '$'],
      ['harness', 'check-path', '$'],
    ]),
    [[name], ['$(touch ran)']],
  )
  t.throws(() => readFileSync(at('work/ran')), { code: 'ENOENT' })
})
