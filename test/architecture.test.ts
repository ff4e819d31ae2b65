/** The layers point one way, one file spawns, one file asks what the host is, and files stay readable. */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize, relative } from 'node:path'
import t from 'tap'
import { projectRoot } from './support/root.js'

const src = join(projectRoot, 'src')

/** Groups from left to right: a folder imports from itself and from groups to its left (decisions 50). */
const ORDER: readonly (readonly string[])[] = [
  ['errors', 'bounds', 'events', 'flow-events', 'outcome', 'json', 'yaml-text', 'random', 'digest'],
  ['paths'],
  ['supervise'],
  ['network'],
  ['confinement'],
  ['hooks', 'tools', 'wires'],
  ['loop', 'hookcheck', 'emulator'],
  ['session', 'config', 'report'],
  ['workflow'],
  ['cli'],
]

/** Who may import a module that reaches out of the process. Everything else goes through that file. */
const DOORS: Readonly<Record<string, readonly string[]>> = {
  'node:child_process': ['supervise/spawn.ts'],
  execa: ['supervise/helper.ts'],
  'node:os': [
    'confinement/host-facts.ts',
    'supervise/private-folder.ts',
    'supervise/unnamed-file.ts',
    'cli/signal-numbers.ts',
  ],
  'node:worker_threads': [],
  'node:cluster': [],
}

/**
 * What starts a process, and who may ask for it. A command of a model or of an operator comes to be through `launch` alone,
 * which takes a verdict of the folder checker (decisions 37); the rest are programs of ours and hooks, which no boundary holds.
 */
const STARTERS: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  'confinement/launch.ts': { launch: ['confinement/boundary.ts', 'index.ts'] },
  'confinement/seatbelt-launch.ts': { launchSeatbelt: ['confinement/launch.ts'] },
  'confinement/landlock-launch.ts': { launchLandlock: ['confinement/launch.ts'] },
  'paths/launch-folders.ts': { checkLaunchFolders: ['confinement/boundary.ts', 'index.ts'] },
  'supervise/spawn.ts': {
    start: [
      'confinement/landlock-launch.ts',
      'confinement/landlock-start.ts',
      'confinement/launch.ts',
      'confinement/seatbelt-launch.ts',
      'supervise/host-launch.ts',
    ],
    runInSilence: ['supervise/shared-fifos.ts'],
    startBeside: ['supervise/guardian.ts'],
    runToEnd: ['cli/hookcheck/system-tools.ts', 'supervise/shared-fifos.ts', 'supervise/swept-tree.ts'],
    runOnTerminal: ['cli/exec-terminal.ts'],
    judgeWords: ['supervise/host-namespace.ts'],
  },
  'supervise/helper.ts': { helperOutput: ['cli/commands/doctor.ts'], startHelper: ['cli/commands/doctor.ts'] },
  'supervise/host-launch.ts': {
    launchHost: ['cli/hookcheck/probing.ts', 'confinement/hook-reap.ts', 'hooks/run.ts'],
    hostConfinement: ['hooks/run.ts'],
  },
}

/** Lines: a file past this wants splitting. Lower it when the longest file shrinks; never raise it. */
const LINES_MAX = 300

interface Source {
  readonly file: string
  readonly text: string
  readonly imports: readonly string[]
}

const IMPORT = /(?:^|\n)\s*(?:import|export)\s[^'"]*?from\s+'([^']+)'|import\('([^']+)'\)|(?:^|\n)import\s+'([^']+)'/g

const sources: readonly Source[] = readdirSync(src, { recursive: true })
  .map(String)
  .filter(name => name.endsWith('.ts'))
  .sort()
  .map(file => {
    const text = readFileSync(join(src, file), 'utf8')
    const imports = [...text.matchAll(IMPORT)].map(match => match[1] ?? match[2] ?? match[3] ?? '')
    return { file, text, imports }
  })

function groupOf(file: string): number {
  const name = file.split('/')[0]?.replace(/\.ts$/, '') ?? ''
  return ORDER.findIndex(group => group.includes(name))
}

function target(file: string, specifier: string): string {
  return normalize(join(dirname(file), specifier)).replace(/\.js$/, '.ts')
}

t.test('imports point leftwards only', async t => {
  t.ok(sources.length > 30, 'the sources were found')
  for (const { file, imports } of sources) {
    if (file === 'index.ts') continue
    const own = groupOf(file)
    t.ok(own >= 0, `${file} belongs to a group`)
    for (const specifier of imports.filter(name => name.startsWith('.'))) {
      const to = target(file, specifier)
      if (to.startsWith('..')) continue
      const sameFolder = dirname(to).split('/')[0] === dirname(file).split('/')[0]
      const there = groupOf(to)
      if (!(sameFolder || there < own || own === 0)) t.fail(`${file} imports ${to}, which is not to its left`)
    }
  }
})

t.test('no import cycles', async t => {
  const graph = new Map(
    sources.map(({ file, imports }) => [
      file,
      imports.filter(name => name.startsWith('.')).map(name => target(file, name)),
    ]),
  )
  const done = new Set<string>()
  const visit = (file: string, path: readonly string[]): void => {
    if (path.includes(file)) return void t.fail(`cycle: ${[...path.slice(path.indexOf(file)), file].join(' -> ')}`)
    if (done.has(file)) return
    for (const next of graph.get(file) ?? []) visit(next, [...path, file])
    done.add(file)
  }
  for (const file of graph.keys()) visit(file, [])
  t.equal(done.size >= sources.length, true)
})

t.test('what reaches out of the process has one door', async t => {
  for (const [module, allowed] of Object.entries(DOORS)) {
    const users = sources.filter(({ imports }) => imports.includes(module)).map(({ file }) => file)
    t.strictSame(
      users.filter(file => !allowed.includes(file)),
      [],
      `${module} is imported by ${allowed.join(', ') || 'nobody'} only`,
    )
  }
})

/** Names that a file takes from the module `from`, types left out; a re-export takes it too. */
function namesFrom({ file, text }: Source, from: string): readonly string[] {
  return [...text.matchAll(/(?:^|\n)(?:import|export) (?!type)\{([^}]*)\} from '([^']+)'/g)].flatMap(
    ([, names = '', module = '']) =>
      target(file, module) === from
        ? names
            .split(',')
            .map(name => name.trim().split(' as ')[0] ?? '')
            .filter(name => name !== '' && !name.startsWith('type '))
        : [],
  )
}

t.test('what starts a process is asked for by those who may', async t => {
  const isStarter = (file: string): boolean =>
    file in STARTERS || /^(?:confinement\/[a-z-]*launch|supervise\/(?:spawn|helper|host-launch))\.ts$/.test(file)
  for (const { file, text } of sources.filter(source => isStarter(source.file))) {
    const exported = [...text.matchAll(/(?:^|\n)export (?:async )?function (\w+)/g)].map(([, name = '']) => name)
    const told = STARTERS[file] ?? {}
    const starting = exported.filter(name => /^(?:launch|start|run|check|helper)/.test(name))
    t.strictSame(
      starting.filter(name => !(name in told)),
      [],
      `${file}: who may ask for each is told`,
    )
    for (const [name, allowed] of Object.entries(told)) {
      const askers = sources.filter(source => namesFrom(source, file).includes(name)).map(source => source.file)
      t.strictSame(askers.sort(), [...allowed].sort(), `${name} of ${file}`)
    }
  }
  const whole = sources.filter(({ file, text }) =>
    [...text.matchAll(/(?:import|export) \* (?:as \w+ )?from '([^']+)'|import\('([^']+)'\)/g)].some(([, one, two]) =>
      isStarter(target(file, one ?? two ?? '')),
    ),
  )
  t.strictSame(
    whole.map(({ file }) => file),
    [],
    'nobody takes one of these modules whole',
  )
  const makers = sources.filter(({ text }) => /new LaunchFolders\(/.test(text)).map(({ file }) => file)
  t.strictSame(makers, ['paths/launch-folders.ts'], 'a verdict is made by the checker')
})

t.test('only the command line exits, and nobody writes past its sinks', async t => {
  const exits = sources.filter(({ text }) => /process\.exit\(/.test(text)).map(({ file }) => file)
  t.strictSame(
    exits.filter(file => !file.startsWith('cli/')),
    [],
    'process.exit is called in cli/ only',
  )
  const writers = sources
    .filter(({ file, text }) => !file.startsWith('cli/boot/') && /process\.(stdout|stderr)\.write|console\./.test(text))
    .map(({ file }) => file)
  t.strictSame(writers, [], 'stdout and stderr are written by cli/output.ts only')
})

t.test('every file says what it owns and stays short', async t => {
  for (const { file, text } of sources) {
    if (!text.startsWith('/**')) t.fail(`${file} has no header`)
    const lines = text.split('\n').length
    if (lines > LINES_MAX) t.fail(`${file} has ${lines} lines, more than ${LINES_MAX}`)
  }
  t.pass(`${sources.length} files read`)
})

t.test('no folder has an inner barrel or a utils file', async t => {
  const bad = sources.filter(({ file }) => /\/index\.ts$|utils?\.ts$|helpers\.ts$/.test(file)).map(({ file }) => file)
  t.strictSame(bad, [], relative(projectRoot, src))
})
