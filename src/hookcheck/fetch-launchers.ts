/** HC206: commands that fetch what they run. Which words make one, by the name of the program. Data and a look-up. */
import type { Closure } from '../hooks/closure.js'
import { nameOf } from '../hooks/wrappers.js'
import type { Reported } from './rule.js'

/** Null: not one. Else what it does. */
type Reading = (words: readonly string[]) => string | null

const REGISTRY = 'runs a package that it fetches where none is installed'
const has = (words: readonly string[], ...wanted: readonly string[]): boolean =>
  words.some(word => wanted.includes(word))
const first = (words: readonly string[]): string | undefined => words.find(word => !word.startsWith('-'))
const verb =
  (...wanted: readonly string[]): Reading =>
  words =>
    wanted.includes(first(words) ?? '') ? REGISTRY : null
const always: Reading = () => REGISTRY

/** An image by its digest is the same everywhere; by its name it is whatever the registry says. */
const image: Reading = words =>
  has(words, 'run') && !words.some(word => /@sha256:[0-9a-f]{64}/.test(word))
    ? 'runs an image by a name that can be moved'
    : null

const LAUNCHERS: Readonly<Record<string, Reading>> = {
  npx: always,
  bunx: always,
  pnpx: always,
  uvx: always,
  npm: verb('exec', 'x'),
  pnpm: verb('dlx'),
  yarn: verb('dlx'),
  bun: verb('x'),
  pipx: verb('run'),
  uv: words =>
    first(words) === 'run' && words.some(word => /^https?:|^--with/.test(word)) ? 'runs what it fetches' : null,
  go: words =>
    first(words) === 'run' && words.some(word => /@/.test(word)) ? 'builds and runs a module that it fetches' : null,
  deno: words => (words.some(word => /^(?:https?|npm|jsr):/.test(word)) ? 'runs a module that it fetches' : null),
  nix: words => (['run', 'shell', 'develop'].includes(first(words) ?? '') ? 'builds or fetches what it runs' : null),
  docker: image,
  podman: image,
}

const PIPED =
  /\b(?:curl|wget)\b[^|;&]{0,400}\|\s{0,8}(?:\S{0,80}\/)?(?:sudo\s+)?(?:env\s+)?(?:ba|da|z|k)?sh\b|\b(?:curl|wget)\b[^|;&]{0,400}\|\s{0,8}(?:\S{0,80}\/)?(?:python|node|perl|ruby)/

/** Findings for the command and for what wrappers around it start. */
export function* fetched(command: readonly string[], { argv, lookUps }: Closure): Iterable<Reported> {
  const told = new Set<string>()
  for (const words of [command, argv, ...lookUps.map(({ word }) => [word, ...after(command, word)])]) {
    const name = nameOf(words[0] ?? '')
    const what = Object.hasOwn(LAUNCHERS, name) ? (LAUNCHERS[name]?.(words.slice(1)) ?? null) : null
    if (what === null || told.has(name)) continue
    told.add(name)
    yield { about: name, message: `${name} ${what}` }
  }
  // Most words have no pipe, and an expression as long as this is compiled with its first use.
  if (command.some(word => word.includes('|') && PIPED.test(word)))
    yield { about: 'pipe', message: 'what was fetched is piped into an interpreter' }
}

function after(command: readonly string[], word: string): readonly string[] {
  const at = command.indexOf(word)
  return at < 0 ? [] : command.slice(at + 1)
}
