/**
 * What is known of programs by their names: which of them obey files of the project they are pointed at, which use exit
 * status 2 for errors of their own, and which answer no question at all. Data, and how an argv is looked up in it. Pure.
 *
 * Source: the manuals of the tools; exit statuses of grep(1), jq(1), make(1), sh(1) and the argparse module of Python.
 */
import type { NamedCode } from '../hooks/interpreters.js'

export interface ProjectTool {
  /** What of the project it runs or obeys. */
  readonly obeys: string
  /** What helps beside running it inside the boundary. */
  readonly instead?: string
}

const SCRIPTS = 'the scripts of package.json, and .npmrc'
const TARGETS = 'its build file, which is a program'

// biome-ignore format: one tool a line
const PROJECT_TOOLS: ReadonlyMap<string, ProjectTool> = new Map<string, ProjectTool>([
  ...(['npm', 'pnpm', 'yarn', 'bun', 'npx', 'bunx', 'corepack'] as const).map((name): [string, ProjectTool] => [name, { obeys: SCRIPTS }]),
  ...(['make', 'gmake', 'just', 'task', 'rake', 'gradle', 'gradlew', 'mvn', 'mvnw', 'ant', 'sbt', 'cmake', 'ninja', 'bazel', 'meson', 'invoke', 'scons'] as const).map((name): [string, ProjectTool] => [name, { obeys: TARGETS }]),
  ['cargo', { obeys: 'build.rs, .cargo/config.toml and macros' }],
  ['go', { obeys: 'go generate lines, tests and toolchain lines of go.mod' }],
  ...(['tox', 'nox', 'pytest', 'py.test', 'hatch', 'poetry', 'pdm'] as const).map((name): [string, ProjectTool] => [name, { obeys: 'conftest.py, plugins and the project’s own settings' }]),
  ...(['pre-commit', 'lefthook', 'husky', 'lint-staged'] as const).map((name): [string, ProjectTool] => [name, { obeys: 'the commands of its configuration' }]),
  ...(['eslint', 'prettier', 'stylelint', 'jest', 'vitest', 'mocha', 'webpack', 'vite', 'rollup', 'babel', 'ts-node', 'tsx', 'tsc', 'esbuild', 'biome', 'next', 'turbo', 'nx'] as const).map((name): [string, ProjectTool] => [name, { obeys: 'its configuration and plugins, which are code' }]),
  ...(['mypy', 'pylint', 'flake8', 'rubocop', 'phpstan', 'phpunit', 'composer', 'bundle', 'bundler'] as const).map((name): [string, ProjectTool] => [name, { obeys: 'the plugins that its configuration names' }]),
  ...(['terraform', 'tofu', 'ansible', 'ansible-playbook', 'vagrant', 'pulumi', 'packer'] as const).map((name): [string, ProjectTool] => [name, { obeys: 'the project’s own definitions, which run programs' }]),
  ['docker', { obeys: 'Dockerfile and compose files' }],
  ['docker-compose', { obeys: 'compose files' }],
  ['podman', { obeys: 'Containerfile and compose files' }],
  ...(['direnv', 'mise', 'asdf', 'devbox', 'nix', 'nix-shell'] as const).map((name): [string, ProjectTool] => [name, { obeys: 'the project’s environment file, which is code' }]),
  ['git', { obeys: 'the repository’s configuration: core.fsmonitor, hooks, filters and drivers are commands', instead: 'give it -c core.fsmonitor=false -c core.hooksPath=/dev/null and an explicit --git-dir, or read objects with a library' }],
  ['hg', { obeys: 'the hooks and extensions of .hg/hgrc' }],
])

/** Statuses that a program family answers for errors of its own, when it is the hook itself. */
const OWN_TWO: ReadonlyMap<string, string> = new Map([
  ['grep', 'grep ends with 2 at an error, and with 1 where nothing matches'],
  ['egrep', 'grep ends with 2 at an error'],
  ['rg', 'rg ends with 2 at an error'],
  ['jq', 'jq ends with 2 for wrong usage and 5 for bad input'],
  ['make', 'make ends with 2 when a rule fails'],
  ['diff', 'diff ends with 2 at an error'],
  ['cmp', 'cmp ends with 2 at an error'],
  ['ls', 'ls ends with 2 when its argument cannot be read'],
  ['awk', 'awk ends with 2 at a syntax or file error'],
  ['gawk', 'awk ends with 2 at a fatal error'],
  ['mawk', 'awk ends with 2 at a fatal error'],
  ['eslint', 'eslint ends with 2 for a broken configuration'],
  ['prettier', 'prettier ends with 2 when something could not be read'],
  ['stylelint', 'stylelint ends with 2 when a problem was found'],
  ['ruff', 'ruff ends with 2 at an error of its own'],
  ['shellcheck', 'shellcheck ends with 2 when a file could not be read'],
  ['pytest', 'pytest ends with 2 when it was interrupted'],
  ['terraform', 'terraform plan ends with 2 when there are changes'],
  ['curl', 'curl ends with 2 when it cannot be set up'],
])

/** Interpreters that answer 2 for a script that is missing or does not parse. */
const TWO_OF_INTERPRETERS: ReadonlyMap<string, string> = new Map([
  ['python', 'python ends with 2 when the script is missing'],
  ['perl', 'perl ends with 2 when the script is missing'],
  ['dash', 'dash ends with 2 at a syntax error'],
  ['sh', 'sh ends with 2 at a syntax error'],
  ['bash', 'bash ends with 2 at a syntax error'],
])

/** The last component without a version, an ending or a leading dash: `/usr/bin/python3.11` → `python`. */
export function plainName(program: string): string {
  const name = program.split('/').at(-1) ?? ''
  return name.replace(/\.(?:exe|cmd|bat|sh|py|js|cjs|mjs)$/, '').replace(/(?<=[a-z])[\d.]+$/, '')
}

/** The names by which an argv may be known: its program, and what an interpreter is told to run. Wrappers are taken off before. */
export function knownNames(argv: readonly string[], code: NamedCode | null): readonly string[] {
  const names = [plainName(argv[0] ?? '')]
  const module = argv.indexOf('-m')
  if (code?.family === 'python' && code.inline && module > 0)
    names.push((argv[module + 1] ?? '').replace(/[.=].*$/, ''))
  // A script with an ending is somebody's own; one without may be the entry of a package, as in node_modules/.bin.
  const script = code?.script?.split('/').at(-1) ?? ''
  if (script !== '' && !script.includes('.')) names.push(script)
  return names
}

/** The tool of the table that an argv runs; null for none. `ruff` and the like, which read no code, are not in it. */
export function projectTool(
  argv: readonly string[],
  code: NamedCode | null,
): (ProjectTool & { readonly name: string }) | null {
  for (const name of knownNames(argv, code)) {
    const tool = PROJECT_TOOLS.get(name)
    if (tool !== undefined) return { name, ...tool }
  }
  return null
}

/** Why status 2 of this argv may be an accident; null for a program of which nothing is known. */
export function accidentalTwo(argv: readonly string[], code: NamedCode | null): string | null {
  const names = knownNames(argv, code)
  const own = names.map(name => OWN_TWO.get(name)).find(known => known !== undefined)
  return own ?? (code?.script != null ? (TWO_OF_INTERPRETERS.get(names[0] ?? '') ?? null) : null)
}
