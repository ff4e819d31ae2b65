/** HC601 to HC605: the working folder, and what the arguments lead to. */
import { dirname } from 'node:path'
import type { Family, NamedCode } from '../hooks/interpreters.js'
import { mayBeCreated } from '../hooks/path-scrub.js'
import { nameOf } from '../hooks/wrappers.js'
import { isUnseen } from '../paths/file-view.js'
import { type AuditContext, type HookFacts, unseenEnd } from './context.js'
import { faultText } from './fault-text.js'
import { perAudit } from './per-audit.js'
import type { Reported } from './rule.js'
import { scriptOf, toolsOf } from './script-facts.js'
import { projectTool } from './tool-programs.js'

export function* workingFolder({ cwd, spec }: HookFacts, { walk, reach, once }: AuditContext): Iterable<Reported> {
  const place = spec.places.get('cwd')
  const at = { path: cwd, ...(place === undefined ? {} : { place }) }
  const to = walk(cwd)
  const unseen = unseenEnd(to)
  if (unseen !== null)
    yield { ...at, step: unseen.path, message: `the working folder ${cwd} cannot be looked at (${unseen.errno})` }
  else if (to.end.kind !== 'landed')
    yield {
      ...at,
      message: `the working folder ${cwd} does not exist: the start fails with ENOENT, as if the program were missing`,
    }
  else if (to.end.facts.type !== 'folder')
    yield { ...at, message: `the working folder ${cwd} is a ${to.end.facts.type}` }
  else {
    const enter = once.mayExecute(to.end.facts.path)
    if (isUnseen(enter)) yield { ...at, message: `the working folder ${cwd} may not be entered (${enter.errno})` }
  }
  const found = reach(to)
  if (found === null) return
  const link = found.path === cwd ? '' : `, through ${found.path}`
  yield {
    ...at,
    step: found.path,
    message: `the working folder ${cwd} lies in ${found.root}${link}, where the agent can write, remove and plant (${found.source})`,
  }
}

type Loads = (code: NamedCode, has: (form: RegExp) => boolean, argv: readonly string[]) => string | null

const byOption =
  (form: RegExp, what: string): Loads =>
  (_, has) =>
    has(form) ? what : null

const ofNode: Loads = ({ family, inline }, _, argv) => {
  if (inline) return `${family} resolves what inline code requires from there`
  const name = relativeModule(argv)
  return name === null ? null : `${family} loads ${name} from there`
}

const ofPython: Loads = ({ inline, script }, has) => {
  if ((!inline && script !== null) || has(/^-[a-zA-Z]*[IP][a-zA-Z]*$/)) return null
  const how = inline ? '-c or -m' : 'a program on stdin'
  return `python looks for modules there first with ${how} (before 3.11 also with PYTHONSAFEPATH)`
}

/** What an interpreter loads from its working folder, by family. */
const LOADS: Readonly<Partial<Record<Family, Loads>>> = {
  python: ofPython,
  node: ofNode,
  bun: ofNode,
  ruby: byOption(/^-I\.|^-r\.\//, 'ruby is told to look for libraries there'),
  perl: byOption(/^-I\./, 'perl is told to look for modules there'),
  php: () => 'php has "." in its include_path by default',
  lua: () => 'lua looks for ./?.lua by default',
  java: (_, has) =>
    has(/^-jar$|^-(?:cp|classpath|-class-path|p|-module-path)(?:=|$)/)
      ? null
      : 'java without a class path takes classes from there',
}

/** What is loaded from the working folder by the way an interpreter is started; null for nothing. */
function loadedFromCwd(code: NamedCode | null, argv: readonly string[]): string | null {
  const has = (form: RegExp): boolean => argv.slice(1).some(word => form.test(word))
  return code === null ? null : (LOADS[code.family]?.(code, has, argv) ?? null)
}

/** A bare or relative name behind --require or --import. */
function relativeModule(argv: readonly string[]): string | null {
  for (const [at, word] of argv.entries()) {
    const option = /^(?:-r|--require|--import|--loader|--experimental-loader)(?:=(.*))?$/.exec(word)
    if (option === null) continue
    const name = option[1] ?? argv[at + 1] ?? ''
    if (name !== '' && !name.startsWith('/') && !name.startsWith('node:') && !name.startsWith('file:')) return name
  }
  return null
}

export function* modulesOfCwd({ cwd, closure }: HookFacts, { walk, reach }: AuditContext): Iterable<Reported> {
  const what = loadedFromCwd(closure.code, closure.argv)
  if (what === null) return
  const found = reach(walk(cwd))
  const where = found === null ? '' : `, and the agent can write there (${found.source})`
  yield {
    path: cwd,
    severity: found === null ? 'info' : 'error',
    message: `${what}: the working folder is ${cwd}${where}`,
  }
}

export function* projectTools(hook: HookFacts, audit: AuditContext): Iterable<Reported> {
  const { closure, cwd } = hook
  const tool = projectTool(closure.argv, closure.code)
  if (tool === null) return yield* toolsOfScript(hook, audit)
  const pointed = [cwd, ...argumentPaths(hook)].find(path => audit.reach(audit.walk(path)) !== null)
  const where = pointed === undefined ? '' : `; it is pointed at ${pointed}, which the agent writes`
  const message = `${tool.name} obeys ${tool.obeys}${where}`
  const fix = tool.instead === undefined ? {} : { fix: tool.instead }
  yield {
    about: tool.name,
    ...(pointed === undefined ? {} : { path: pointed }),
    severity: pointed === undefined ? 'warn' : 'error',
    message,
    ...fix,
  }
}

/** Where a script points a tool cannot be told, so that it names one is a warning and no more. */
function* toolsOfScript(hook: HookFacts, audit: AuditContext): Iterable<Reported> {
  for (const name of toolsOf(hook, audit)) {
    const tool = projectTool([name], null)
    if (tool === null) continue
    const message = `the script calls ${name}, which obeys ${tool.obeys}: in the workspace those are the agent's`
    yield { about: `calls ${name}`, message, ...(tool.instead === undefined ? {} : { fix: tool.instead }) }
  }
}

/** Absolute paths that stand in the arguments, also behind "=". Relative ones are looked up in the working folder. */
function argumentPaths({ spec, cwd }: HookFacts): readonly string[] {
  return spec.command.slice(1).flatMap(word => {
    const values = [word, ...(word.includes('=') ? [word.slice(word.indexOf('=') + 1)] : [])]
    return values.flatMap(value => {
      if (value.startsWith('/')) return [value]
      return /^\.{1,2}\//.test(value) || (value.includes('/') && !value.includes('://')) ? [`${cwd}/${value}`] : []
    })
  })
}

/** Folders beside or above a script in which a planted name would be loaded. */
export function* neighbours(hook: HookFacts, audit: AuditContext): Iterable<Reported> {
  const script = scriptOf(hook)
  const family = hook.closure.code?.family
  if (script !== undefined && script.facts !== null && family !== undefined) {
    const folder = dirname(script.path)
    if (family === 'python')
      yield* searched(
        folder,
        `a module planted there is loaded in the place of one that ${nameOf(script.path)} imports`,
        audit,
      )
    if (family === 'node' || family === 'bun') yield* nodeNeighbours(audit, folder)
  }
  for (const { path, role } of hook.closure.members) {
    if (role === 'interpreter' || role === 'program') yield* pythonPrefix(path, audit)
  }
}

function* searched(folder: string, why: string, { walk, judge, reach, ids }: AuditContext): Iterable<Reported> {
  const to = walk(folder)
  const found = reach(to)
  if (found !== null)
    yield {
      path: folder,
      message: `${folder} lies in ${found.root}, where the agent can write (${found.source}): ${why}`,
    }
  const last = to.end.kind === 'landed' ? to.end.facts.path : folder
  // What is wrong with the folders above is told by HC302 and HC303.
  for (const fault of judge(to, 'searched').faults.filter(({ facts }) => facts.path === last))
    yield { path: folder, step: fault.facts.path, message: `${faultText(fault, ids)}: ${why}` }
}

/** Node looks for node_modules in every folder above a script, and for package.json up to the first that exists. */
const nodeNeighbours = perAudit((audit, folder: string): readonly Reported[] => {
  const { walk, trust, writeSet, once } = audit
  const found: Reported[] = []
  let typed = false
  for (let at = folder; ; at = dirname(at)) {
    const base = at === '/' ? '' : at
    const to = walk(`${base}/node_modules`)
    if (to.end.kind === 'landed')
      found.push(...searched(`${base}/node_modules`, 'a package planted there is loaded', audit))
    else if (mayBeCreated(to, trust, writeSet))
      found.push(absent(`${base}/node_modules`, at, 'what the script requires by name is looked up there'))
    const manifest = `${base}/package.json`
    const isThere = !isUnseen(once.lstat(manifest))
    if (!typed && !isThere && mayBeCreated(walk(manifest), trust, writeSet))
      found.push(absent(manifest, at, 'it decides how the script is read'))
    typed ||= isThere
    if (at === '/') return found
  }
})

function absent(path: string, step: string, why: string): Reported {
  return { path, step, message: `${path} does not exist, and others or the agent can make it: ${why}` }
}

/** A pyvenv.cfg beside an interpreter, or one folder up, moves where Python looks for everything. */
function* pythonPrefix(path: string, audit: AuditContext): Iterable<Reported> {
  if (!/^python[\d.]*$/.test(nameOf(path))) return
  for (const folder of [dirname(path), dirname(dirname(path))]) {
    const config = `${folder === '/' ? '' : folder}/pyvenv.cfg`
    if (isUnseen(audit.once.lstat(config))) continue
    const to = audit.walk(config)
    const found = audit.reach(to)
    if (found !== null)
      yield {
        path: config,
        message: `${config} decides where Python looks for modules, and lies in ${found.root}, where the agent can write`,
      }
    for (const fault of audit.judge(to).faults)
      yield {
        path: config,
        step: fault.facts.path,
        message: `${faultText(fault, audit.ids)}: it decides where Python looks for modules`,
      }
  }
}

const SECRETS: readonly (readonly [form: RegExp, what: string])[] = [
  [/-----BEGIN [A-Z ]*PRIVATE KEY-----/, 'a private key'],
  [
    /\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|xox[abpr]-[\w-]{10,}|AKIA[0-9A-Z]{16}|AIza[\w-]{30,}|sk-[\w-]{20,}|npm_[A-Za-z0-9]{30,})/,
    'a token',
  ],
  [/^--?(?:password|passwd|pass|token|secret|api[-_]?key)=./i, 'a password'],
  [/^Authorization:\s*\S/i, 'a credential'],
  [/^[a-z][a-z0-9+.-]*:\/\/[^/@\s:]+:[^/@\s]+@/i, 'a password in an address'],
]

export function* dataArguments(hook: HookFacts, { walk, reach, once }: AuditContext): Iterable<Reported> {
  const { spec, closure } = hook
  for (const [at, word] of spec.command.entries()) {
    if (at === 0) continue
    const secret = SECRETS.find(([form]) => form.test(word))
    if (secret !== undefined)
      yield {
        about: `word ${at + 1}`,
        message: `word ${at + 1} of the command looks like ${secret[1]}; every user of the machine can read it while the hook runs`,
      }
  }
  const code = new Set(closure.members.flatMap(({ path, named }) => [path, named]))
  for (const path of new Set(argumentPaths(hook))) {
    const to = walk(path)
    if (code.has(path) || (to.end.kind === 'landed' && code.has(to.end.facts.path)) || isUnseen(once.lstat(path)))
      continue
    const found = reach(to)
    if (found !== null)
      yield {
        path,
        step: found.path,
        message: `the argument ${path} lies in ${found.root}, where the agent can write (${found.source})`,
      }
  }
}
