/**
 * The operator's hooks of a run: the file read, every hook found and judged where it lies, the rest of the run told what
 * must not be written. What cannot be trusted refuses here, before anything is opened.
 */
import { mkdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { cachePlace } from '../confinement/cache-folder.js'
import type { ControlFile, HostFacts, PolicyRequest } from '../confinement/types.js'
import { Refusal } from '../errors.js'
import type { HarnessEvent, StartedEvent } from '../events.js'
import { auditForStart, type Finding, refusing } from '../hookcheck/audit.js'
import { isGate } from '../hookcheck/context.js'
import { deadTools } from '../hookcheck/meaning-checks.js'
import type { HooksDocument } from '../hooks/document.js'
import { refusedName, VARIABLE } from '../hooks/environment-names.js'
import { gatherHookHost, type HookHost } from '../hooks/hook-host.js'
import { loadHooks } from '../hooks/load.js'
import { lockMismatch, lockPathOf, readLock } from '../hooks/lock.js'
import type { DropReason, ScrubbedPath } from '../hooks/path-scrub.js'
import type { HookPort } from '../hooks/port.js'
import { type PreparedHooks, prepareHooks, type Unstartable } from '../hooks/prepare.js'
import { hookPort } from '../hooks/run.js'
import type { WriteSetRequest } from '../hooks/write-set.js'
import { realFiles } from '../paths/file-view.js'
import { PrivateFolder } from '../supervise/private-folder.js'
import { HOOK_FLAGS } from './flag-rows/hooks.js'
import type { CommandName } from './flags.js'
import { openHookLaunches } from './hook-launches.js'
import type { Io } from './io.js'
import type { Given } from './parse.js'
import { credentialVariables } from './provider-options.js'

export interface RunHooks {
  /** The hooks file, its lock and the code of every hook. */
  readonly controlFiles: readonly ControlFile[]
  readonly pathScrubbed: StartedEvent['path_scrubbed']
  /** For the record, once the run has started. */
  readonly warnings: readonly Extract<HarnessEvent, { kind: 'warning' }>[]
  /**
   * `workspace`: landed. `sessionId`: null where no session is filed. `beforeEach`, where there is one, is asked right before each
   * program is started: a hook may use git or read settings where a command has just written.
   */
  port(workspace: string, sessionId: string | null, beforeEach?: () => void): HookPort
  /** Removes the private folder and the record of what runs. */
  close(): void
}

export interface HookSeams {
  readonly command: CommandName
  readonly given: Given
  readonly io: Pick<Io, 'env' | 'cwd' | 'kill'>
  readonly facts: Pick<HostFacts, 'home' | 'pid1WithoutInit' | 'bwrap' | 'installHint'>
  readonly request: Pick<PolicyRequest, 'workspace' | 'writeSubtrees' | 'cache' | 'cacheFolder'>
  readonly runId: string
}

/** Null without `--hooks`. Throws the refusal of the first thing that is wrong. */
export async function openHooks(seams: HookSeams): Promise<RunHooks | null> {
  const { command, given, io, facts, request, runId } = seams
  const named = given.one('--hooks')
  if (named === undefined) return refuseStray(given)
  const document = unrefused(loadHooks(resolve(io.cwd, named)))
  const settings = given.configuration.hooks
  const reap = (given.one('--hook-reap') ?? settings.reap) === 'namespace' ? 'namespace' : 'group'
  if (facts.pid1WithoutInit && reap === 'group' && document.hooks.length > 0) throw needsInit()
  const names = [...settings.env, ...given.all('--hook-env')]
  refuseNames(document, given, credentialVariables(given))
  const writeSet = writeSetOf(request)
  const folder = PrivateFolder.make({ outside: writeSet.roots.map(({ path }) => path) })
  try {
    mkdirSync(join(folder.path, 'home'), { mode: 0o700 })
    const host = gatherHookHost({
      ...{ view: realFiles, env: io.env, home: facts.home, tmpdir: folder.path },
      ...{ writeSet, cwd: io.cwd, path: settings.path },
    })
    const lock = unrefused(readLock(document.path, realFiles))
    const mismatch = lock === null ? null : lockMismatch(lock, document)
    if (mismatch !== null) throw mismatch
    const prepared = prepareHooks({ document, host, lock, names, reap })
    const judgements = [
      ...judged(document, host, { ...prepared, names }, given.has('--hooks-unchecked')),
      ...homeWarning(host),
      ...neverAsked(document, command),
    ]
    const launches = { count: 0 }
    const { warnings, close, ...held } = await openHookLaunches({ env: io.env, facts, reap, runId })
    return {
      controlFiles: controlFilesOf(document, prepared),
      pathScrubbed: scrubbed(host.path),
      warnings: [...judgements, ...warnings],
      port: (workspace, sessionId, beforeEach) =>
        hookPort({
          hooks: prepared.hooks,
          run: { runId, sessionId, workspace },
          timeoutMs: settings.timeoutMs,
          reap,
          held,
          launches,
          kill: () => io.kill,
          ...(beforeEach === undefined ? {} : { beforeEach }),
        }),
      close() {
        close()
        folder.remove()
      },
    }
  } catch (error) {
    folder.remove()
    throw error
  }
}

/** An option about hooks without hooks would be a promise about nothing. */
function refuseStray(given: Given): null {
  const flag = HOOK_FLAGS.find(({ name }) => given.isTyped(name))
  if (flag === undefined) return null
  throw new Refusal('bad-arguments', { argument: flag.name }, `${flag.name} needs --hooks FILE`)
}

function unrefused<Value>(value: Value | Refusal): Value {
  if (value instanceof Refusal) throw value
  return value
}

function needsInit(): Refusal {
  const text =
    'this process is pid 1 and no init, so nothing would reap what hooks leave behind: start it under an init (tini, docker run --init), or add --hook-reap namespace'
  return new Refusal('hooks-need-init', {}, text)
}

/** Names that no hook is given, whoever asks: what loads code, what is ours, and the credentials of the run. */
function refuseNames({ path, hooks }: HooksDocument, given: Given, credentials: ReadonlySet<string>): void {
  const whyNot = (name: string): string | null =>
    credentials.has(name) ? 'it holds a credential of the model endpoint, which no hook is given' : refusedName(name)
  const { file, hooks: settings } = given.configuration
  const named = [
    ...settings.env.map(name => ({ name, by: `[hooks] env of ${file ?? ''}` })),
    ...given.all('--hook-env').map(name => ({ name, by: given.told('--hook-env') })),
  ]
  for (const { name, by } of named) {
    const why = VARIABLE.test(name) ? whyNot(name) : 'write the name of a variable, without a value'
    if (why !== null) throw envRefused(name, by, `${by} ${JSON.stringify(name)}: ${why}`)
  }
  for (const { index, env, places } of hooks) {
    const name = env.find(one => whyNot(one) !== null)
    if (name === undefined) continue
    const at = places.get('env')
    const place = at === undefined ? '' : `:${at.line}:${at.column}`
    throw envRefused(name, path, `${path}${place}: hook ${index}: "env" lets ${name} through: ${whyNot(name)}`)
  }
}

function envRefused(variable: string, source: string, message: string): Refusal {
  return new Refusal('hook-env-refused', { variable, source }, message)
}

/** The workspace even where nothing is written in this run: what lies there is no program of the operator's. */
function writeSetOf(request: HookSeams['request']): WriteSetRequest {
  const { workspace, writeSubtrees } = request
  const cache = cachePlace(request)
  const grants = writeSubtrees.map(path => ({
    path: resolve(workspace, path),
    source: `--process-write-subtree ${path}`,
  }))
  return {
    origin: 'given',
    roots: [{ path: workspace, source: '--workspace' }, ...grants, ...(cache === null ? [] : [cache])],
    held: [],
  }
}

/** Refuses what must not run; what may, and is worth a word, as warnings. */
function judged(
  document: HooksDocument,
  host: HookHost,
  { unstartable, names }: Pick<PreparedHooks, 'unstartable'> & { readonly names: readonly string[] },
  unchecked: boolean,
): RunHooks['warnings'] {
  const audited = auditForStart({ document, ...host, environment: host.environment(names) })
  const found = refusing(audited)
  const refuses = (hook: number | null): boolean => hook === null || gates.has(hook)
  const gates = new Set(document.hooks.filter(isGate).map(({ index }) => index))
  const faults = [
    ...found
      .filter(({ hook, rule }) => refuses(hook) || !OF_STARTING.test(rule))
      .map(finding => faultOf(document, finding)),
    ...unstartable.filter(({ hook }) => refuses(hook)).map(one => faultOfStart(document, one)),
  ]
  const [first] = faults
  if (first !== undefined && !unchecked) throw first
  return [
    ...faults.slice(0, TOLD_MAX).map(({ message }) => warning('hooks-unchecked', `--hooks-unchecked: ${message}`)),
    ...audited
      .filter(({ rule, hook }) => rule === VACUOUS && refuses(hook))
      .map(({ hook, message }) => warning('hook-vacuous', `hook ${hook}: ${message}: it says yes to everything`)),
    ...unstartable
      .filter(({ hook }) => !refuses(hook))
      .map(({ name, why }) => warning('hook-unstartable', `hook ${name} will fail wherever it is asked: ${why}`)),
  ]
}

/** Rules about whether a program starts. At a point that does not decide over a call it fails when it is asked, and that is said. */
const OF_STARTING = /^HC(?:2\d\d|40[1-6]|408)$/
/** A gate that was emptied proceeds always. It is told and not refused, because one that says yes may be meant. */
const VACUOUS = 'HC402'
/** Of 10 000 hooks in one wrong folder a few are enough. */
const TOLD_MAX = 20

function faultOf({ path: file }: HooksDocument, { rule, hook, path, message, fix, line, column }: Finding): Refusal {
  const at = line === undefined ? '' : `:${line}:${column ?? 1}`
  const which = hook === null ? '' : `hook ${hook}: `
  const text = `${file}${at}: ${which}${message} [${rule}]; ${fix}; --hooks-unchecked runs it all the same, on record`
  return new Refusal('hook-unsafe', { file, hook, rule, path: path ?? null }, text)
}

function faultOfStart({ path: file }: HooksDocument, { hook, rule, why }: Unstartable): Refusal {
  const text = `${file}: hook ${hook} would never start, so nothing it decides about could happen: ${why} [${rule}]`
  return new Refusal('hook-unsafe', { file, hook, rule, path: null }, text)
}

function warning(code: RunHooks['warnings'][number]['code'], message: string): RunHooks['warnings'][number] {
  return { kind: 'warning', code, message }
}

function homeWarning({ homeReplaced }: HookHost): RunHooks['warnings'] {
  if (homeReplaced === null) return []
  return [warning('hook-home-replaced', `hooks get an empty private folder as HOME: ${homeReplaced}`)]
}

/** Names are not checked by a refusal, because a later version may have more of them; a gate that is never asked is told. */
function neverAsked({ hooks }: HooksDocument, command: CommandName): RunHooks['warnings'] {
  const told = hooks.flatMap(spec =>
    spec.on === 'transition' && command !== 'workflow-run'
      ? [`hook ${spec.index} is at transition, which only a workflow crosses: nobody asks it in this run`]
      : [...deadTools({ spec })].map(({ message }) => `hook ${spec.index}: ${message}`),
  )
  return told.slice(0, TOLD_MAX).map(text => warning('hook-never-asked', text))
}

function controlFilesOf({ path }: HooksDocument, { controlFiles }: PreparedHooks): readonly ControlFile[] {
  return [
    { path, what: 'the hooks file (--hooks)' },
    { path: lockPathOf(path), what: 'the lock of the hooks file' },
    ...controlFiles,
  ]
}

function scrubbed({ dropped }: ScrubbedPath): StartedEvent['path_scrubbed'] {
  return dropped.filter(({ ours }) => !ours).map(({ entry, why }) => ({ entry, why: whyDropped(why) }))
}

function whyDropped(why: DropReason): string {
  switch (why.kind) {
    case 'not-absolute':
      return why.what
    case 'missing':
      return why.creatable ? `${why.path} does not exist and others could make it` : `${why.path} does not exist`
    case 'not-a-folder':
      return `${why.path} is no folder`
    case 'unseen':
      return `${why.path} cannot be looked at (${why.errno})`
    case 'changeable':
      return `others can change ${why.faults.map(({ facts }) => facts.path).join(', ')}`
    case 'in-write-set':
      return `it lies in ${why.reach.root}, which the agent can write (${why.reach.source})`
    case 'holds-write-root':
      return `it holds ${why.root}, which the agent can write`
    case 'double':
      return `it is ${why.of} again`
  }
}
