/** One reader for each key of the hooks file: its type, its range, and the rule a violation falls under. Pure. */

import { isAbsolute } from 'node:path'
import {
  ARGUMENT_BYTES_MAX,
  HOOK_ENV_NAMES_MAX,
  HOOK_TIMEOUT_MS_MAX,
  HOOK_TIMEOUT_MS_MIN,
  PATH_BYTES_MAX,
} from '../bounds.js'
import { quoted } from '../json.js'
import { refusedName, VARIABLE } from './environment-names.js'
import { DIGEST, type DocumentRule, HOOK_POINTS } from './hook-spec.js'
import { nearest } from './nearest.js'
import { kindOf, type Placed } from './strict-json.js'

type Report = (rule: DocumentRule, message: string, nearest?: string) => void

/** Returns the value; what it returns after a report is not used. */
type Reader = (value: Placed, report: Report) => unknown

export type HookKey =
  | 'on'
  | 'tools'
  | 'command'
  | 'name'
  | 'timeout-ms'
  | 'cwd'
  | 'env'
  | 'digest'
  | '$schema'
  | 'description'

const NAME = /^[a-z0-9][a-z0-9-]{0,47}$/
/** A lone surrogate: it has no UTF-8, so the program would get another word than the one that stands here. */
const LONE = /\p{Surrogate}/u

/** A string of any content that nothing is done with. */
function remark(key: string): Reader {
  return (value, report) => {
    if (value.kind !== 'string') report('HC103', `"${key}" is ${kindOf(value)}, not a string`)
  }
}

const version: Reader = (value, report) => {
  if (value.kind === 'number' && value.value === 1) return
  const given = value.kind === 'number' || value.kind === 'string' ? JSON.stringify(value.value) : kindOf(value)
  report('HC102', `"version" is ${given}: this program reads version 1 (the number)`)
}

const hooks: Reader = (value, report) => {
  if (value.kind !== 'array') report('HC103', `"hooks" is ${kindOf(value)}, not a list`)
}

const on: Reader = (value, report) => {
  const word = value.kind === 'string' ? value.value : null
  const point = HOOK_POINTS.find(known => known === word)
  if (point !== undefined) return point
  const near = word === null ? null : nearest(word, HOOK_POINTS)
  const given = word === null ? kindOf(value) : quoted(word)
  const meant = near === null ? '' : `, did you mean ${near}?`
  return report(
    'HC104',
    `"on" is ${given}: version 1, which this program reads, knows ${HOOK_POINTS.join(', ')}${meant}`,
    near ?? undefined,
  )
}

/** The words of a list of strings, or null after a report. */
function words(value: Placed, report: (message: string) => void, key: string): string[] | null {
  if (value.kind !== 'array') {
    report(`"${key}" is ${kindOf(value)}, not a list of strings`)
    return null
  }
  const found: string[] = []
  for (const item of value.items) {
    if (item.kind !== 'string') {
      report(`"${key}" holds ${kindOf(item)} where a string is needed`)
      return null
    }
    found.push(item.value)
  }
  return found
}

const tools: Reader = (value, report) => {
  const names = words(value, message => report('HC701', message), 'tools')
  if (names === null) return
  if (names.length === 0)
    report('HC701', '"tools" is empty, so the hook would never run: leave the key out for every tool')
  if (names.includes('')) report('HC701', '"tools" holds an empty name, which no tool has')
  return names
}

const command: Reader = (value, report) => {
  const say = (message: string): void => report('HC201', message)
  if (value.kind === 'string')
    return say('"command" is a string: write a list of arguments, for no shell takes it apart')
  const argv = words(value, say, 'command')
  if (argv === null) return
  const [program] = argv
  if (program === undefined) return say('"command" is empty: name a program')
  if (program === '') return say('"command" begins with an empty word: name a program')
  for (const [index, word] of argv.entries()) {
    const why = misfit(word)
    if (why !== null) return say(`"command" word ${index + 1} ${why}`)
  }
  return argv
}

/** Why no program could be given this word. */
function misfit(word: string): string | null {
  if (word.includes('\0')) return 'holds a NUL, which no program can be given'
  if (LONE.test(word)) return 'holds half a surrogate pair, which has no UTF-8'
  const bytes = Buffer.byteLength(word)
  return bytes > ARGUMENT_BYTES_MAX ? `has ${bytes} bytes, and the kernel takes ${ARGUMENT_BYTES_MAX}` : null
}

const name: Reader = (value, report) => {
  if (value.kind === 'string' && NAME.test(value.value)) return value.value
  return report('HC103', '"name" is 1 to 48 lower-case letters, digits and -, beginning with a letter or digit')
}

const timeout: Reader = (value, report) => {
  const ms = value.kind === 'number' ? value.value : Number.NaN
  if (Number.isInteger(ms) && ms >= HOOK_TIMEOUT_MS_MIN && ms <= HOOK_TIMEOUT_MS_MAX) return ms
  const given = value.kind === 'number' ? String(ms) : kindOf(value)
  const range = `${HOOK_TIMEOUT_MS_MIN} to ${HOOK_TIMEOUT_MS_MAX}`
  return report('HC702', `"timeout-ms" is ${given}: give a whole number of milliseconds from ${range}`)
}

const cwd: Reader = (value, report) => {
  if (value.kind === 'string' && isPath(value.value)) return value.value
  return report('HC601', '"cwd" is an absolute path: relative to what would depend on who starts the run')
}

function isPath(path: string): boolean {
  return isAbsolute(path) && misfit(path) === null && Buffer.byteLength(path) <= PATH_BYTES_MAX
}

const env: Reader = (value, report) => {
  const names = words(value, message => report('HC103', message), 'env')
  if (names === null) return
  if (names.length > HOOK_ENV_NAMES_MAX)
    report('HC103', `"env" holds ${names.length} names, over ${HOOK_ENV_NAMES_MAX}`)
  for (const variable of names) {
    const shown = quoted(variable)
    const why = VARIABLE.test(variable) ? refusedName(variable) : null
    if (!VARIABLE.test(variable))
      report('HC103', `"env" holds ${shown}, which is no name of a variable; values are not set here`)
    else if (why !== null) report('HC504', `"env" lets ${shown} through: ${why}`)
  }
  return names
}

const digest: Reader = (value, report) => {
  const say = (message: string): void => report('HC803', message)
  if (value.kind === 'string') {
    if (!DIGEST.test(value.value)) say('"digest" is "sha256:" and 64 lower-case hex digits')
    return value.value
  }
  if (value.kind !== 'object')
    return say(`"digest" is ${kindOf(value)}: write a string, or an object of digests by absolute path`)
  if (value.members.length === 0) return say('"digest" is empty, so it would pin nothing: leave it out')
  // Without a prototype: the paths are names from outside.
  const pins: Record<string, string> = Object.create(null) as Record<string, string>
  for (const { name: path, value: sum } of value.members) {
    if (!isPath(path)) say(`"digest" names ${quoted(path)}, which is no absolute path`)
    if (sum.kind !== 'string' || !DIGEST.test(sum.value))
      say(`"digest" of ${quoted(path)} is "sha256:" and 64 lower-case hex digits`)
    else pins[path] = sum.value
  }
  return pins
}

const REMARKS = [
  ['$schema', remark('$schema')],
  ['description', remark('description')],
] as const

export const TOP_KEYS: ReadonlyMap<string, Reader> = new Map([['version', version], ['hooks', hooks], ...REMARKS])

export const HOOK_KEYS: ReadonlyMap<string, Reader> = new Map<HookKey, Reader>([
  ['on', on],
  ['tools', tools],
  ['command', command],
  ['name', name],
  ['timeout-ms', timeout],
  ['cwd', cwd],
  ['env', env],
  ['digest', digest],
  ...REMARKS,
])
