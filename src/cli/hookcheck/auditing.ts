/** The audit as the command line asks for it: what is read and gathered for it, and what is taken from and added to its findings. */

import { HOOK_ALLOW_BYTES_MAX } from '../../bounds.js'
import type { HooksTable } from '../../config/document.js'
import { homeOfUid } from '../../confinement/host-texts.js'
import { sha256Of } from '../../digest.js'
import { Refusal } from '../../errors.js'
import { type Audit, auditHooks, CORE_RULES, type Finding, findingOf } from '../../hookcheck/audit.js'
import { compatRule } from '../../hookcheck/compat.js'
import type { Profile } from '../../hookcheck/context.js'
import { deepLinksRule } from '../../hookcheck/deep-links.js'
import { unknownListsRule } from '../../hookcheck/nfs4-lists.js'
import type { Skipped, SuppressedFinding } from '../../hookcheck/report.js'
import type { Rule } from '../../hookcheck/rule.js'
import { environmentRules } from '../../hookcheck/rules-environment.js'
import { MEANING_RULES } from '../../hookcheck/rules-meaning.js'
import { pinRules } from '../../hookcheck/rules-pins.js'
import { PROBE_RULES } from '../../hookcheck/rules-probes.js'
import { type AllowEntry, allowPathOf, parseAllow, suppress } from '../../hookcheck/suppressions.js'
import { askSystem, capabilitiesRule, type SystemAnswers } from '../../hookcheck/system-answers.js'
import { gatherHookHost, type HookHostRequest } from '../../hooks/hook-host.js'
import { type HooksLock, readLock } from '../../hooks/lock.js'
import { openLanded, walkSteps } from '../../hooks/steps.js'
import { judgeWalk, type TrustRules } from '../../hooks/trust.js'
import { assumedRoots, reachOf, type WriteSetRequest } from '../../hooks/write-set.js'
import { isUnseen, realFiles, saysAbsent } from '../../paths/file-view.js'
import { inheritable } from '../../supervise/descriptors.js'
import { temporaryFolder } from '../../supervise/private-folder.js'
import type { Io } from '../io.js'

export interface AuditingRequest {
  /** Absolute. */
  readonly path: string
  readonly bytes: Uint8Array
  /** Null: nobody said. */
  readonly writeSet: WriteSetRequest | null
  readonly profile: Profile
  /** Beginnings of the rules that are asked; empty: all. */
  readonly selected: readonly string[]
  readonly ignored: readonly AllowEntry[]
  readonly compat: boolean
  readonly deep: boolean
  /** What the tools of the system told of an audit before this one. Absent: they were not asked. */
  readonly answers?: SystemAnswers
  /** `[hooks]` of the configuration file, as a run takes it. */
  readonly hooks: HooksTable
  readonly io: Pick<Io, 'env' | 'cwd'>
}

export interface Audited {
  readonly audit: Audit
  readonly rules: readonly Rule[]
  readonly findings: readonly Finding[]
  readonly suppressed: readonly SuppressedFinding[]
  readonly skipped: readonly Skipped[]
  readonly lock: HooksLock | null
  readonly sha256: string
  readonly environment: Readonly<Record<string, string>>
  /** For the probes, which make a private folder of their own. */
  readonly host: Omit<HookHostRequest, 'tmpdir'>
}

/** Every rule, in the order of their numbers. The facts are only needed where they are asked. */
export function allRules(
  facts: Parameters<typeof environmentRules>[0] & Parameters<typeof pinRules>[0] = NO_FACTS,
): readonly Rule[] {
  const rules = [...CORE_RULES, ...environmentRules(facts), ...MEANING_RULES, ...pinRules(facts), ...PROBE_RULES]
  return rules.sort((a, b) => (a.id < b.id ? -1 : 1))
}

const NO_FACTS = {
  inherited: {},
  names: [],
  descriptors: [],
  homeReplaced: null,
  sha256: '',
  lock: null,
  lockProblem: null,
}

export function auditFile(request: AuditingRequest): Audited {
  const { path, bytes, io, profile } = request
  const cwd = io.cwd
  const host: Omit<HookHostRequest, 'tmpdir'> = {
    view: realFiles,
    env: io.env,
    home: homeOf(io.env),
    writeSet: request.writeSet ?? assumedRoots(cwd, realFiles, process.platform),
    cwd,
    path: request.hooks.path,
  }
  // Hooks get a private folder made below this one; an audit makes none.
  const gathered = gatherHookHost({ ...host, tmpdir: temporaryFolder() })
  const environment = gathered.environment(request.hooks.env)
  const lock = readLock(path, realFiles)
  const sha256 = sha256Of(bytes)
  const rules = allRules({
    inherited: io.env,
    names: request.hooks.env,
    descriptors: inheritable(),
    homeReplaced: gathered.homeReplaced,
    sha256,
    lock: lock instanceof Refusal ? null : lock,
    lockProblem: lock instanceof Refusal ? lock.message : null,
  })
  const audit = auditHooks({
    bytes,
    path,
    cwd,
    writeSet: request.writeSet,
    trust: { ...gathered.trust, ...listsOf(request.answers) },
    view: realFiles,
    pathSource:
      host.path === null ? { from: 'inherited', path: io.env.PATH ?? null } : { from: 'listed', entries: host.path },
    environment,
    machine: process,
    profile,
    rules: asked(rules, request),
  })
  const allowed = allowFile(path, audit)
  const entries = [...request.ignored, ...allowed.entries]
  const hooks = new Map(audit.hooks.map(({ spec, gate }) => [spec.index, { name: spec.name, gate }]))
  const { findings, suppressed, problems } = suppress(audit.findings, {
    entries,
    rules,
    hooks,
    today: new Date().toISOString().slice(0, 10),
  })
  const told = [...allowed.problems, ...problems].map(message => suppressionFinding(rules, message, profile))
  return {
    audit,
    rules,
    findings: [...findings, ...told],
    suppressed,
    skipped: [...audit.skipped, ...skippedOf(audit, request.selected), ...(request.answers?.skipped ?? [])],
    lock: lock instanceof Refusal ? null : lock,
    sha256,
    environment,
    host,
  }
}

/** With `--deep` twice: what the tools of the system are asked about is what the first look passed. */
export async function auditDeeply(request: AuditingRequest): Promise<Audited> {
  const audited = auditFile(request)
  if (!request.deep) return audited
  // What starts programs is loaded for these audits alone.
  const { systemTools } = await import('./system-tools.js')
  const answers = await askSystem(audited.audit, systemTools)
  return auditFile({ ...request, answers })
}

/** Lists that could not be read are not lists that grant nothing. */
function listsOf(answers: SystemAnswers | undefined): Pick<TrustRules, 'acl'> {
  if (answers === undefined || answers.skipped.some(({ rule }) => rule === 'HC308')) return {}
  return { acl: path => answers.lists.get(path) ?? null }
}

/** HOME, else the home of the user database, as a run takes it. */
function homeOf(env: NodeJS.ProcessEnv): string | null {
  if (env.HOME !== undefined && env.HOME !== '') return env.HOME
  const file = realFiles.open('/etc/passwd')
  if (isUnseen(file)) return null
  try {
    const text = file.read(0, file.facts.size)
    return isUnseen(text) ? null : homeOfUid(Buffer.from(text).toString('utf8'), process.getuid?.() ?? -1)
  } finally {
    file.close()
  }
}

/** Rules that were not selected keep their texts, for what the reader tells, and ask nothing. */
function asked(rules: readonly Rule[], { selected, compat, deep, answers }: AuditingRequest): readonly Rule[] {
  const isAsked = ({ id }: Rule): boolean =>
    selected.length === 0 || selected.some(beginning => id.startsWith(beginning))
  return rules.map(rule => {
    if (!isAsked(rule)) {
      const { file: _, hook: __, ...texts } = rule
      return texts
    }
    if (compat && rule.id === 'HC103') return compatRule(rule)
    if (answers !== undefined && rule.id === 'HC309') return capabilitiesRule(rule, answers.capabilities)
    if (answers !== undefined && rule.id === 'HC004') return unknownListsRule(rule, answers.unknownLists)
    return deep && rule.id === 'HC307' ? deepLinksRule(rule) : rule
  })
}

function skippedOf({ document, hooks, findings }: Audit, selected: readonly string[]): readonly Skipped[] {
  const judged = new Set(hooks.map(({ spec }) => spec.index))
  const unread =
    document === null
      ? []
      : [...new Set(findings.flatMap(({ hook }) => (hook === null || judged.has(hook) ? [] : [hook])))]
  return [
    ...unread.map(hook => ({ rule: 'HC2xx', reason: `hook ${hook} cannot be read, so nothing was asked about it` })),
    ...(selected.length === 0 ? [] : [{ rule: 'HCxxx', reason: `only ${selected.join(', ')} was asked for` }]),
  ]
}

/** The allow file beside the hooks file, where there is one that can be trusted: nobody else may write away a finding. */
function allowFile(
  hooksPath: string,
  { writeSet, context }: Audit,
): { readonly entries: readonly AllowEntry[]; readonly problems: readonly string[] } {
  const path = allowPathOf(hooksPath)
  const walk = walkSteps(path, '/', realFiles)
  const file = openLanded(walk, realFiles)
  if (isUnseen(file))
    return {
      entries: [],
      problems: saysAbsent(file) ? [] : [`${path} cannot be read (${file.errno}): none of its entries holds`],
    }
  try {
    const reach = reachOf(walk, writeSet)
    if (reach !== null)
      return {
        entries: [],
        problems: [`${path} lies in ${reach.root}, where the agent can write: none of its entries holds`],
      }
    const faults = context === null ? [] : judgeWalk(walk, context.trust).faults
    const [fault] = faults
    if (fault !== undefined)
      return { entries: [], problems: [`${path}: others can change ${fault.facts.path}: none of its entries holds`] }
    const bytes = file.facts.type === 'file' ? file.read(0, HOOK_ALLOW_BYTES_MAX + 1) : { errno: 'EISDIR' }
    if (isUnseen(bytes))
      return { entries: [], problems: [`${path} cannot be read (${bytes.errno}): none of its entries holds`] }
    if (bytes.length > HOOK_ALLOW_BYTES_MAX)
      return {
        entries: [],
        problems: [`${path} has more than ${HOOK_ALLOW_BYTES_MAX} bytes: none of its entries holds`],
      }
    return parseAllow(bytes, path)
  } finally {
    file.close()
  }
}

function suppressionFinding(rules: readonly Rule[], message: string, profile: Profile): Finding {
  return findingOf(ruleOf(rules, 'HC806'), { message, about: message }, null, profile)
}

export function ruleOf(rules: readonly Rule[], id: string): Rule {
  const rule = rules.find(each => each.id === id)
  if (rule === undefined) throw new Error(`there is no rule ${id}`)
  return rule
}
