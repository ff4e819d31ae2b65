/** HC501 to HC507: the PATH that hooks get, the variables that are added, HOME and TMPDIR, descriptors. */
import { classOf, type NameClass, runsAsFunction } from '../hooks/environment-names.js'
import type { Dropped, DropReason } from '../hooks/path-scrub.js'
import type { Match, Resolution } from '../hooks/program.js'
import { STICKY, WORLD_WRITE } from '../hooks/trust.js'
import { isUnseen } from '../paths/file-view.js'
import { type AuditContext, type HookFacts, unseenEnd } from './context.js'
import { faultText } from './fault-text.js'
import type { Reported } from './rule.js'
import { toolsOf } from './script-facts.js'

/** Entries of the operator's PATH that were left out; what the platform's default holds is nobody's to mend. */
export function* droppedEntries(rule: 'HC501' | 'HC502', { path, ids }: AuditContext): Iterable<Reported> {
  for (const dropped of path.dropped.filter(({ ours }) => !ours)) {
    if (dropped.rule === rule) yield { path: dropped.entry, message: droppedText(dropped, ids) }
    else if (rule === 'HC502' && dropped.rule === null && dropped.why.kind === 'missing')
      yield { path: dropped.entry, severity: 'info', message: droppedText(dropped, ids) }
  }
}

export function droppedText({ entry, why }: Pick<Dropped, 'entry' | 'why'>, ids: AuditContext['ids']): string {
  return `the PATH entry ${JSON.stringify(entry)} is left out: ${reasonText(why, ids)}`
}

export function reasonText(why: DropReason, ids: AuditContext['ids']): string {
  switch (why.kind) {
    case 'not-absolute':
      return why.what
    case 'missing':
      return `there is no ${why.path}${why.creatable ? ', and others can make it' : ''}`
    case 'not-a-folder':
      return `${why.path} is no folder`
    case 'unseen':
      return `${why.path} cannot be looked at (${why.errno})`
    case 'changeable':
      return why.faults.map(fault => faultText(fault, ids)).join('; ')
    case 'in-write-set':
      return `it lies in ${why.reach.root}, where the agent can write (${why.reach.source})`
    case 'holds-write-root':
      return `${why.root}, where the agent can write, lies in it`
    case 'double':
      return `it is ${why.of} again`
  }
}

/** Names with more than one match; a warning where one of ours comes before one of root's. */
export function* shadowed(hook: HookFacts, audit: AuditContext): Iterable<Reported> {
  const { resolution, lookUps } = hook.closure
  const found: readonly Resolution[] = [resolution, ...lookUps.map(lookUp => lookUp.resolution)]
  for (const { matches } of found) yield* shadowing(matches, audit)
  for (const name of toolsOf(hook, audit)) yield* shadowing(matchesOf(name, audit), audit)
}

/** Where a name stands in the PATH of hooks, the first of them taken. */
function matchesOf(name: string, { path, host }: AuditContext): readonly Match[] {
  const at = path.path.split(':').map(folder => `${folder}/${name}`)
  return at
    .filter(candidate => host.inspect(candidate, '/').facts !== null)
    .map((candidate, index) => ({ path: candidate, verdict: index === 0 ? 'taken' : 'shadowed', problem: null }))
}

function* shadowing(matches: readonly Match[], { once, ids }: AuditContext): Iterable<Reported> {
  const [taken, other] = [
    matches.find(({ verdict }) => verdict === 'taken'),
    matches.find(({ verdict }) => verdict === 'shadowed'),
  ]
  if (taken === undefined || other === undefined) return
  const ownerOf = (path: string): number | null => {
    const facts = once.lstat(path)
    return isUnseen(facts) ? null : facts.uid
  }
  const own = ids.uid !== 0 && ownerOf(taken.path) === ids.uid && ownerOf(other.path) === 0
  const rest = matches.filter(({ verdict }) => verdict === 'shadowed').map(({ path }) => path)
  const message = `${taken.path} is taken before ${rest.join(', ')}${own ? ', and it is yours where those are of root' : ''}`
  yield { path: taken.path, severity: own ? 'warn' : 'info', message }
}

/** Our own environment, of which hooks get the names that they add. */
export type Inherited = Readonly<Record<string, string | undefined>>

export function* functionValues({ spec }: HookFacts, inherited: Inherited): Iterable<Reported> {
  for (const name of spec.env) {
    const value = inherited[name]
    if (value === undefined || !runsAsFunction(value)) continue
    const message = `the value of ${name} begins "() {", which an old shell takes for a function and runs; it is not passed on`
    yield { about: name, message, ...placeOf(spec) }
  }
}

/** Variables of class A that the command itself sets, by `env` or a first line: the operator's word, unless it leads to the agent. */
export function* assignedVariables({ closure, cwd }: HookFacts, { walk, reach }: AuditContext): Iterable<Reported> {
  for (const word of closure.assigned) {
    const [name = ''] = word.split('=', 1)
    if (classOf(name) !== 'A') continue
    const value = word.slice(name.length + 1)
    const places = value.split(/[\s:,;=]+/).filter(part => part.includes('/'))
    const [found] = places.flatMap(part => reach(walk(part.startsWith('/') ? part : `${cwd}/${part}`)) ?? [])
    const where =
      found === undefined ? '' : `; its value leads into ${found.root}, where the agent can write (${found.source})`
    const message = `the command sets ${name}, which makes programs load or run code${where}`
    const fix = 'name the code in the command itself, where it is judged and pinned'
    yield { about: `set ${name}`, severity: found === undefined ? 'warn' : 'error', message, fix }
  }
}

/** Of `[hooks] env`. Names that no hook is given refuse the configuration file where it is read. */
export function* riskyNames(names: readonly string[]): Iterable<Reported> {
  for (const name of names) {
    const what = CLASS_TEXTS[classOf(name) ?? 'A']
    if (what !== undefined) yield { about: name, message: `[hooks] env lets ${name} through, which ${what}` }
  }
}

const CLASS_TEXTS: Readonly<Partial<Record<NameClass, string>>> = {
  B: 'redirects configuration, trust or traffic',
  C: 'looks like a credential',
}

export function* addedNames(
  { spec }: HookFacts,
  { walk, reach }: AuditContext,
  inherited: Inherited,
): Iterable<Reported> {
  for (const name of spec.env) {
    const what = CLASS_TEXTS[classOf(name) ?? 'A']
    if (what !== undefined)
      yield { about: name, message: `"env" lets ${name} through, which ${what}`, ...placeOf(spec) }
    for (const path of (inherited[name] ?? '').split(':').filter(part => part.startsWith('/'))) {
      const found = reach(walk(path))
      if (found === null) continue
      const message = `the value of ${name} names ${path}, which lies in ${found.root}, where the agent can write (${found.source})`
      yield { about: name, path, message, ...placeOf(spec) }
    }
  }
}

function placeOf({ places }: HookFacts['spec']): Pick<Reported, 'place'> {
  const place = places.get('env')
  return place === undefined ? {} : { place }
}

/** HOME as hooks would get it, and the folder in which their private TMPDIR is made. */
export function* homes(audit: AuditContext, replaced: string | null): Iterable<Reported> {
  const { HOME, TMPDIR } = audit.environment
  if (replaced !== null)
    yield { about: 'HOME', message: `hooks get an empty private folder as HOME, because ${replaced}` }
  else if (HOME !== undefined) yield* home('HOME', HOME, audit)
  // A write set that is only assumed holds the system's temporary folders, and says nothing about them.
  if (TMPDIR !== undefined && audit.writeSet.origin === 'given') yield* home('TMPDIR', TMPDIR, audit)
}

function* home(name: string, path: string, { walk, reach, ids }: AuditContext): Iterable<Reported> {
  if (!path.startsWith('/')) {
    yield { about: name, message: `${name} is ${JSON.stringify(path)}, which is not absolute` }
    return
  }
  const to = walk(path)
  const found = reach(to)
  if (found !== null) {
    const message = `${name} (${path}) lies in ${found.root}, where the agent can write (${found.source})`
    yield { about: name, path, severity: 'error', message }
    return
  }
  const { end } = to
  if (end.kind !== 'landed') {
    const unseen = unseenEnd(to)
    yield {
      about: name,
      path,
      message:
        unseen === null
          ? `${name} (${path}) does not exist`
          : `${name} (${path}) cannot be looked at (${unseen.errno})`,
    }
    return
  }
  const { facts } = end
  if (facts.type !== 'folder')
    yield { about: name, path, message: `${name} (${path}) is a ${facts.type}, not a folder` }
  else if (name === 'HOME' && facts.uid !== ids.uid && facts.uid !== 0)
    yield { about: name, path, message: `${name} (${path}) belongs to uid ${facts.uid}` }
  else if ((facts.mode & WORLD_WRITE) !== 0 && (facts.mode & STICKY) === 0)
    yield { about: name, path, message: `${name} (${path}) can be written by everybody, without a sticky bit` }
}

export function* descriptors(open: readonly number[]): Iterable<Reported> {
  if (open.length === 0) return
  yield {
    about: 'descriptors',
    message: `this program was started with descriptors that what it starts would inherit: ${open.join(', ')}`,
  }
}
