/**
 * An engine's own seccomp profile with the calls allowed that bubblewrap makes in a container, and nothing else changed that
 * matters to a container without capabilities. Pure.
 *
 * Read are the form of Docker and podman, with conditions, and that of the OCI runtime specification (config-linux.md,
 * "Seccomp"), also inside a whole `config.json`, where the filter that an engine has made for one container stands. Written is
 * that of the OCI, because containerd reads it alone: it would take a rule with conditions that it does not know for one
 * without any (containerd, contrib/seccomp, `WithProfile`). Docker, podman and CRI-O read it too.
 */
import { Refusal } from '../errors.js'
import { isCount, isJsonObject, type Json, type JsonObject } from '../json.js'
import type { FilterArch } from './seccomp-bpf.js'

/** Calls that bubblewrap makes and Docker's default filter refuses, found by taking one away at a time. */
export const NESTED_CALLS: readonly string[] = ['clone', 'unshare', 'mount', 'umount2', 'pivot_root']

export interface SeccompProfile {
  readonly defaultAction: string
  readonly defaultErrnoRet?: number
  readonly architectures: readonly string[]
  readonly flags?: readonly string[]
  readonly syscalls: readonly SeccompRule[]
}

interface SeccompRule {
  readonly names: readonly string[]
  readonly action: string
  readonly errnoRet?: number
  readonly args?: readonly Json[]
}

/** The processor in libseccomp's words, and in those of Go, in which engines name it. */
const PROCESSORS: Readonly<Record<FilterArch, { readonly own: string; readonly engine: string }>> = {
  x86_64: { own: 'SCMP_ARCH_X86_64', engine: 'amd64' },
  aarch64: { own: 'SCMP_ARCH_AARCH64', engine: 'arm64' },
}

const ALLOW = 'SCMP_ACT_ALLOW'

/** podman writes errors by their names too; what is not here is refused rather than guessed. */
const ERRORS: Readonly<Record<string, number>> = { EPERM: 1, EACCES: 13, EINVAL: 22, ENOSYS: 38 }

/** No kernel below it has a boundary of ours in a container: what a rule says of older ones is decided. */
const KERNEL_LEAST = [5, 13] as const

interface Reading {
  readonly arch: FilterArch
  readonly problem: (place: string, why: string) => Refusal
}

/**
 * The profile for a container without capabilities (`--cap-drop=ALL`) on `arch`. `file` names the document in refusals. Throws
 * `bad-document` where it is no profile, or says what is not known here.
 */
export function nestedSeccompProfile(
  document: Json,
  { arch, file }: { arch: FilterArch; file: string },
): SeccompProfile {
  const problem = (place: string, why: string) =>
    new Refusal('bad-document', { file, place }, `${file} is no seccomp profile of a container engine: ${place} ${why}`)
  const reading: Reading = { arch, problem }
  const profile = profileIn(document, reading)
  const { defaultAction, syscalls } = profile
  if (typeof defaultAction !== 'string') throw problem('/defaultAction', 'is missing or no text')
  if (!Array.isArray(syscalls)) throw problem('/syscalls', 'is missing or no list')
  const architectures = architecturesOf(profile, reading)
  const defaultErrno = errnoOf(profile, ['defaultErrnoRet', 'defaultErrno'], '', reading)
  const rules = (syscalls as readonly Json[]).flatMap((entry, index) => ruleOf(entry, `/syscalls/${index}`, reading))
  return {
    defaultAction,
    ...(defaultErrno === undefined ? {} : { defaultErrnoRet: defaultErrno }),
    architectures,
    ...(profile.flags === undefined ? {} : { flags: texts(profile.flags, '/flags', reading) }),
    syscalls: [...rules, { names: NESTED_CALLS, action: ALLOW }],
  }
}

/** A profile is the document, or stands in the `config.json` of a container. */
function profileIn(document: Json, { problem }: Reading): JsonObject {
  if (!isJsonObject(document)) throw problem('/', 'is no object')
  const { linux } = document
  if (linux === undefined) return document
  if (!isJsonObject(linux) || !isJsonObject(linux.seccomp))
    throw problem('/linux/seccomp', 'is missing: this container has no filter')
  return linux.seccomp
}

/** Of this processor alone: libseccomp refuses a filter for processors of two byte orders. */
function architecturesOf({ archMap, architectures }: JsonObject, reading: Reading): readonly string[] {
  const { own } = PROCESSORS[reading.arch]
  const missing = () => reading.problem('/architectures', `does not name ${own}, the processor of this machine`)
  if (Array.isArray(archMap)) {
    const entry = (archMap as readonly Json[]).find(item => isJsonObject(item) && item.architecture === own)
    if (!isJsonObject(entry)) throw missing()
    return [own, ...texts(entry.subArchitectures ?? [], '/archMap', reading)]
  }
  const named = texts(architectures ?? [], '/architectures', reading)
  if (!named.includes(own)) throw missing()
  return named
}

/** One rule, or none: where it speaks of calls that are ours alone, of another processor, or of a capability that is not there. */
function ruleOf(entry: Json, place: string, reading: Reading): SeccompRule[] {
  if (!isJsonObject(entry)) throw reading.problem(place, 'is no object')
  const { name, names, action, args, includes, excludes } = entry
  if (typeof action !== 'string') throw reading.problem(`${place}/action`, 'is missing or no text')
  const all = texts(names ?? (typeof name === 'string' ? [name] : null), `${place}/names`, reading)
  const kept = all.filter(call => !NESTED_CALLS.includes(call))
  if (kept.length === 0 || !applies({ includes, excludes }, action, place, reading)) return []
  const tests = testsOf(args ?? [], `${place}/args`, reading)
  const errno = errnoOf(entry, ['errnoRet', 'errno'], place, reading)
  return [
    {
      names: kept,
      action,
      ...(errno === undefined ? {} : { errnoRet: errno }),
      ...(tests.length === 0 ? {} : { args: tests }),
    },
  ]
}

/** They are written as they were read, so a number that no double holds would be another one. */
function testsOf(args: Json, place: string, { problem }: Reading): readonly Json[] {
  if (!Array.isArray(args)) throw problem(place, 'is no list')
  for (const test of args as readonly Json[])
    if (!isJsonObject(test) || Object.values(test).some(value => typeof value === 'number' && !isCount(value)))
      throw problem(place, 'has a test that is no object, or a number that cannot be written again')
  return args as readonly Json[]
}

type Conditions = Readonly<Record<'includes' | 'excludes', Json | undefined>>

/**
 * Whether all of `includes` and none of `excludes` is so. What is not known is decided against the call: a rule that allows is
 * left out, one that refuses stays.
 */
function applies({ includes, excludes }: Conditions, action: string, place: string, reading: Reading): boolean {
  const parts = (side: Json | undefined, name: string) =>
    side === undefined || side === null ? [] : Object.values(conditionOf(side, `${place}/${name}`, reading))
  const refuses = action !== ALLOW
  return (
    parts(includes, 'includes').every(known => known ?? refuses) &&
    !parts(excludes, 'excludes').some(known => known ?? !refuses)
  )
}

/** Of each part whether it is so here; null: not known. Absent: nothing is said of it. */
interface Condition {
  readonly caps?: boolean
  readonly arches?: boolean
  readonly minKernel?: boolean | null
}

function conditionOf(side: Json, place: string, reading: Reading): Condition {
  if (!isJsonObject(side)) throw reading.problem(place, 'is no object')
  const { caps = [], arches = [], minKernel, ...rest } = side
  const [unknown] = Object.keys(rest)
  if (unknown !== undefined) throw reading.problem(`${place}/${unknown}`, 'is a condition that is not known here')
  const capabilities = texts(caps, `${place}/caps`, reading)
  const processors = texts(arches, `${place}/arches`, reading)
  return {
    ...(capabilities.length === 0 ? {} : { caps: false }),
    ...(processors.length === 0 ? {} : { arches: processors.includes(PROCESSORS[reading.arch].engine) }),
    ...(minKernel === undefined ? {} : { minKernel: isOld(minKernel, `${place}/minKernel`, reading) ? true : null }),
  }
}

/** Whether every kernel that counts here has reached `version`. */
function isOld(version: Json, place: string, { problem }: Reading): boolean {
  const numbers = typeof version === 'string' ? /^(\d+)\.(\d+)$/.exec(version) : null
  if (numbers === null) throw problem(place, 'is no version of a kernel')
  const [major, minor] = [Number(numbers[1]), Number(numbers[2])]
  return major < KERNEL_LEAST[0] || (major === KERNEL_LEAST[0] && minor <= KERNEL_LEAST[1])
}

function errnoOf(
  entry: JsonObject,
  [byNumber, byName]: readonly [string, string],
  place: string,
  { problem }: Reading,
): number | undefined {
  const [number, name] = [entry[byNumber], entry[byName]]
  if (number !== undefined && number !== null) {
    if (typeof number !== 'number') throw problem(`${place}/${byNumber}`, 'is no number')
    return number
  }
  if (name === undefined || name === null || name === '') return undefined
  const known = typeof name === 'string' ? ERRORS[name] : undefined
  if (known === undefined) throw problem(`${place}/${byName}`, 'names an error that is not known here')
  return known
}

function texts(value: Json, place: string, { problem }: Reading): readonly string[] {
  if (value === null) return []
  if (!Array.isArray(value) || value.some(item => typeof item !== 'string')) throw problem(place, 'is no list of texts')
  return value as readonly string[]
}
