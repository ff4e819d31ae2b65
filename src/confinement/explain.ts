/** A plan in words and as data, without starting anything: what each rule is and where it came from, and the exact recipe. Pure. */
import { Refusal } from '../errors.js'
import type { Json, JsonObject } from '../json.js'
import { ruleText } from '../network/allow-rules.js'
import type { AppliedLimit, BoundaryName, Gap } from '../outcome.js'
import { CACHE_INSIDE } from './cache-folder.js'
import { rightNames } from './landlock-rights.js'
import { landlockText } from './landlock-text.js'
import { limitText } from './limit-units.js'
import { disassembleBytes } from './seccomp-text.js'
import { socketMeaning } from './socket-meanings.js'
import type { HiddenElsewhere, LandedRule, LaunchPlan, Policy } from './types.js'

export interface Explanation {
  /** For a person; ends in a newline. Words and paths with control characters are quoted as JSON. */
  readonly text: string
  /** One object, `version` 1; keys in snake_case. `refusal` is null for a plan, and `argv` and its kin are null for a refusal. */
  readonly json: JsonObject
}

/** Explains `plan`, or why there is none, over the policy that it was made from. */
export function explainPolicy(plan: LaunchPlan | Refusal, policy: Policy): Explanation {
  const sections = plan instanceof Refusal ? refusalSections(plan, policy) : planSections(plan)
  return { text: `${sections.map(renderSection).join('\n')}`, json: explanationJson(plan, policy) }
}

interface Section {
  readonly title: string
  readonly lines: readonly string[]
  /** What is said where there is no line. */
  readonly empty?: string
}

function renderSection({ title, lines, empty = 'none' }: Section): string {
  const body = lines.length === 0 ? [empty] : lines
  return `${title}\n${body.map(line => `  ${line}\n`).join('')}`
}

function refusalSections({ code, message }: Refusal, policy: Policy): Section[] {
  return [{ title: 'refused', lines: [`${code}: ${message}`] }, ...policySections(policy, ['none'])]
}

const NO_NETWORK: Readonly<Partial<Record<BoundaryName, string>>> = {
  landlock: 'none: no loopback and no unix socket either',
  seatbelt: 'none: no loopback either',
}

function networkLines({ boundary, policy: { network } }: LaunchPlan): readonly string[] {
  if (network === null) return [NO_NETWORK[boundary] ?? 'none: a loopback of its own']
  const reached = network.hosts.map(rule => `${ruleText(rule)}  (${word(rule.source)})`)
  return [...reached, 'through a proxy of ours, which looks names up: no resolver is needed inside, and none is shown']
}

function planSections(plan: LaunchPlan): Section[] {
  const { confinement, policy, boundary, identity, file, args } = plan
  return [
    {
      title: 'boundary',
      lines: [boundary, ...(identity === null ? [] : [`as uid ${identity.uid}, gid ${identity.gid}`])],
    },
    { title: 'command', lines: plan.command.map(word) },
    ...policySections(policy, networkLines(plan)),
    { title: 'limits', lines: plan.limits.map(limitLine) },
    { title: 'holds', lines: confinement.applied },
    {
      title: 'does not hold',
      lines: confinement.gaps.map(gapLine),
      empty: 'nothing: every guarantee of this boundary holds',
    },
    { title: 'environment', lines: environmentLines(environmentOf(plan)) },
    ...plan.files.map(({ path, bytes }) => ({ title: `file ${path}`, lines: textOf(bytes).trimEnd().split('\n') })),
    ...(plan.landlock === undefined
      ? [{ title: 'argument list, one word a line', lines: [file, ...args].map(word) }]
      : landlockSections({ ...plan, landlock: plan.landlock })),
    ...recipeSections(plan),
  ]
}

/** bubblewrap gets the command's environment as arguments, the others as their own. */
function environmentOf({ seatbelt, landlock, policy, env }: LaunchPlan): LaunchPlan['env'] {
  return seatbelt === undefined && landlock === undefined ? policy.env : env
}

function landlockSections(plan: Parameters<typeof landlockText>[0]): Section[] {
  const { ruleset, closed, calls } = landlockText(plan, word)
  return [
    { title: 'Landlock ruleset', lines: ruleset },
    { title: 'granted folders in which no name can be made, because they hold what is closed', lines: closed },
    { title: 'system calls of the launcher, each with the answer it must have', lines: calls },
  ]
}

/** What the boundary is made of beside the argument list; the private folder of seatbelt is a stand-in until a launch makes one. */
function recipeSections({ seatbelt, seccomp }: LaunchPlan): Section[] {
  if (seatbelt === undefined) {
    return [{ title: 'system-call filter', lines: disassembleBytes(seccomp).trimEnd().split('\n') }]
  }
  return [
    { title: 'seatbelt profile', lines: seatbelt.text.trimEnd().split('\n') },
    {
      title: 'parameters of the profile',
      lines: Object.entries(seatbelt.parameters).map(([name, path]) => word(`${name}=${path}`)),
    },
  ]
}

function policySections(policy: Policy, network: readonly string[]): Section[] {
  const { programs, watched, selfBinds, hiddenElsewhere } = policy
  return [
    { title: 'workspace', lines: [ruleLine(policy.workspace)] },
    { title: 'readable', lines: policy.reads.map(ruleLine) },
    {
      title: 'writable',
      lines: policy.writes.map(ruleLine),
      empty: 'nothing: the workspace is read-only to processes',
    },
    {
      title: `cache, a write place, shown as ${CACHE_INSIDE}`,
      lines: policy.cache === null ? [] : [ruleLine(policy.cache)],
    },
    {
      title: 'git folders that commits may write, but for what is protected in them',
      lines: policy.gitOpen.map(ruleLine),
      empty: policy.gitCommit ? 'none: there is no repository to open' : 'none',
    },
    ...(policy.gitOwner === null
      ? []
      : [
          {
            title: 'git inside',
            lines: [`uses repositories of uid ${policy.gitOwner} too (safe.directory, in its environment)`],
          },
        ]),
    { title: 'protected inside write grants', lines: policy.protects.map(ruleLine) },
    { title: 'bound on themselves, so that they cannot be renamed', lines: selfBinds.map(word) },
    {
      title: policy.protectStrict
        ? 'watched: absent now, moved aside when they appear (--protect-strict)'
        : 'watched: absent now, reported when they appear, moved aside where git would obey them',
      lines: watched.map(pathLine),
    },
    { title: 'hidden', lines: policy.hides.map(ruleLine) },
    { title: 'hidden, and shown by no other rule or not there', lines: elsewhereLines(hiddenElsewhere) },
    { title: 'programs', lines: programs ?? ['any: the command is the caller’s own'] },
    { title: 'network', lines: network },
    { title: 'sockets of the host that may be reached', lines: policy.sockets.map(socketLine) },
    {
      title: 'driver',
      lines: policy.staged.map(rule => `${word(rule.inside)}: ${ruleLine(rule)}, SHA-256 ${rule.sha256}`),
    },
    {
      title: 'toolchains',
      lines: policy.toolchains.map(({ name, root, source }) => `${name}: ${word(root)}  (${word(source)})`),
    },
    {
      title: 'links made inside',
      lines: policy.links.map(({ path, target, source }) => `${word(path)} -> ${word(target)}  (${word(source)})`),
    },
    { title: 'sandboxes inside', lines: [policy.nesting ? 'may be made (--allow-nesting)' : 'none can be made'] },
    {
      title: 'control files, never inside a write grant',
      lines: policy.controlFiles.map(({ path, what }) => `${word(path)}  (${what})`),
    },
  ]
}

function socketLine(rule: LandedRule): string {
  return `${ruleLine(rule)}: ${socketMeaning(rule.path).what}`
}

function ruleLine({ path, source, type }: LandedRule): string {
  return `${word(path)}  (${type}; ${word(source)})`
}

/** The list of names is long, and most of them are on no machine. */
function elsewhereLines(elsewhere: Policy['hiddenElsewhere']): string[] {
  const named = elsewhere.filter(({ source }) => !source.startsWith('default: secret list'))
  const more = elsewhere.length - named.length
  return [...named.map(pathLine), ...(more === 0 ? [] : [`${more} of the secret list, absent or out of reach`])]
}

function pathLine({ path, source, glob }: HiddenElsewhere): string {
  return `${word(glob === undefined ? path : `${path}/${glob}`)}  (${word(source)})`
}

function limitLine({ name, value, mechanism, why }: AppliedLimit): string {
  return `${name} ${limitText(name, value)}  (${mechanism}${why === undefined ? '' : `: ${why}`})`
}

function gapLine({ guarantee, why }: Gap): string {
  return `${guarantee}: ${word(why)}`
}

function environmentLines(env: Policy['env']): string[] {
  return Object.keys(env)
    .sort()
    .map(name => word(`${name}=${env[name] ?? ''}`))
}

/** A word as it is, or as JSON where it would break the line or steer a terminal. */
function word(text: string): string {
  return text === '' || /[\p{Cc}\p{Cf}\u2028\u2029]/u.test(text)
    ? JSON.stringify(text).replace(/[\u007f-\uffff]/g, escaped)
    : text
}

function escaped(char: string): string {
  return `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`
}

function textOf(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes)
}

function explanationJson(plan: LaunchPlan | Refusal, policy: Policy): JsonObject {
  const refused = plan instanceof Refusal
  return {
    version: 1,
    refusal: refused ? { code: plan.code, message: plan.message, details: plain(plan.details) } : null,
    policy: policyJson(policy),
    environment: { ...(refused ? policy.env : environmentOf(plan)) },
    boundary: refused ? null : plan.boundary,
    identity: refused ? null : plain(plan.identity),
    command: refused ? null : [...plan.command],
    argv: refused ? null : [plan.file, ...plan.args],
    files: refused ? null : plan.files.map(({ path, bytes }) => ({ path, text: textOf(bytes) })),
    seccomp: refused || plan.seatbelt ? null : disassembleBytes(plan.seccomp).trimEnd().split('\n'),
    ...(refused || plan.seatbelt === undefined ? {} : { seatbelt: plain(plan.seatbelt) }),
    ...(refused || plan.landlock === undefined ? {} : { landlock: landlockJson({ ...plan, landlock: plan.landlock }) }),
    limits: refused ? null : plain(plan.limits),
    applied: refused ? null : [...plan.confinement.applied],
    gaps: plain(refused ? policy.reservations : plan.confinement.gaps),
  }
}

function landlockJson(plan: Parameters<typeof landlockText>[0]): JsonObject {
  const { abi, rules, closed } = plan.landlock
  const { calls } = landlockText(plan, path => path)
  return {
    abi,
    rules: rules.map(({ path, type, sets, source }) => ({
      path,
      type,
      rights: [...rightNames(sets, abi, type)],
      source,
    })),
    closed: [...closed],
    calls: [...calls],
  }
}

function policyJson(policy: Policy): JsonObject {
  const { workspace, reads, writes, protects, selfBinds, watched, hides, hiddenElsewhere } = policy
  return {
    workspace: plain(workspace),
    read: plain(reads),
    write: plain(writes),
    git_open: plain(policy.gitOpen),
    git_owner: policy.gitOwner,
    protect: plain(protects),
    bound_on_themselves: [...selfBinds],
    watched: plain(watched),
    protect_strict: policy.protectStrict,
    hide: plain(hides),
    hidden_elsewhere: plain(hiddenElsewhere),
    sockets: policy.sockets.map(rule => ({ ...(plain(rule) as JsonObject), means: socketMeaning(rule.path).what })),
    cache: plain(policy.cache),
    nesting: policy.nesting,
    driver: plain(policy.staged[0] ?? null),
    toolchains: plain(policy.toolchains),
    read_host: policy.readHost,
    network: plain(policy.network?.hosts.map(rule => ({ ...rule, text: ruleText(rule) })) ?? null),
    links: plain(policy.links),
    programs: policy.programs === null ? null : [...policy.programs],
    limits: plain(policy.limits),
    control_files: plain(policy.controlFiles),
  }
}

/** Plain data of ours as JSON: all of it is text, numbers, lists and objects. */
function plain(value: unknown): Json {
  return JSON.parse(JSON.stringify(value)) as Json
}
