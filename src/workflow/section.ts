/**
 * A section: entered and left under the operator's hooks, attempted as often as it may be, handing on what it gives. All steps of
 * one attempt share a conversation; an attempt after a failed one begins anew from what earlier sections handed on.
 */
import type { JsonObject } from '../json.js'
import { SectionConversation } from './conversation.js'
import { cross } from './crossing.js'
import type { Group } from './document.js'
import { type Attempted, type SectionEnd, type SectionPlace, walkLayers } from './layers.js'
import { isHalted, sessionName, tell, unkept, type Walking } from './walking.js'

const HALTED: SectionEnd = { kind: 'halted' }
/** Characters of a reason that the next attempt is told and the journal keeps. */
const WHY_CHARS = 4_000

export async function walkSection(walking: Walking, group: Group, place: SectionPlace): Promise<SectionEnd> {
  const known = walking.past.section(place.key)
  if (known !== undefined)
    return known.failed ? { kind: 'failed', why: 'it failed' } : { kind: 'passed', gave: known.gave }
  if (walking.past.wasSkipped(place.key)) return { kind: 'skipped', why: 'it was skipped' }
  let failedBefore: string | null = null
  for (let attempt = 1; ; attempt += 1) {
    const key = `${place.key}.${attempt}`
    const retreat = walking.past.retreat(key)
    if (retreat !== undefined) {
      failedBefore = retreat
      continue
    }
    const came = await attempted(walking, group, { place, attempt, key, failedBefore })
    if (came.kind === 'halted') return HALTED
    if (came.kind === 'barred')
      return attempt === 1
        ? skipped(walking, place, came.why)
        : left(walking, group, { place, attempt: attempt - 1, why: came.why, gave: {} })
    const isLast = attempt >= group.attempts || came.kind === 'broken'
    if (came.kind === 'passed') return left(walking, group, { place, attempt, why: null, gave: came.gave })
    if (isLast) return left(walking, group, { place, attempt, why: came.why, gave: {} })
    failedBefore = came.why
    if (await retreated(walking, group, { place, attempt, key, why: came.why })) return HALTED
  }
}

interface Attempt {
  readonly place: SectionPlace
  readonly attempt: number
  readonly key: string
  readonly failedBefore: string | null
}

type AttemptEnd =
  | { readonly kind: 'passed'; readonly gave: JsonObject }
  | { readonly kind: 'failed'; readonly why: string }
  /** It cannot be mended by another attempt. */
  | { readonly kind: 'broken'; readonly why: string }
  /** The hooks did not let it begin. */
  | { readonly kind: 'barred'; readonly why: string }
  | { readonly kind: 'halted' }

async function attempted(
  walking: Walking,
  group: Group,
  { place, attempt, key, failedBefore }: Attempt,
): Promise<AttemptEnd> {
  const { path } = place
  const of = group.attempts
  if (isHalted(walking)) return { kind: 'halted' }
  const crossing = { path, attempt, of, key }
  const entering = await cross(walking, place, { ...crossing, moment: 'enter' })
  if (entering.kind === 'halted') return entering
  if (entering.kind === 'refused') return { kind: 'barred', why: entering.reason }
  tell(walking, place, { kind: 'group-entered', path, layers: group.layers.length, attempt, of })
  const conversation = new SectionConversation(
    walking.host,
    sessionName(walking.flowId, key),
    walking.past.itemsIn(key),
  )
  let came: Attempted
  try {
    const section = { path, attemptKey: key, attempt, of, gives: group.gives, failedBefore, conversation }
    came = await walkLayers(walking, group, { place, section, walkInner: walkSection })
  } finally {
    const session = conversation.close()
    if (session !== null) tell(walking, place, { kind: 'session', ...session })
  }
  if (came.kind === 'halted') return came
  const verdict = verdictOf(walking, group, place, came)
  const retries = verdict.kind === 'failed' && attempt < of
  const handoff = retries ? {} : came.values
  const leaving = await cross(walking, place, {
    ...crossing,
    moment: 'leave',
    failed: verdict.kind !== 'passed',
    handoff,
  })
  if (leaving.kind === 'halted') return leaving
  // What has failed has failed: a refusal to leave it is told and changes nothing.
  return leaving.kind === 'refused' && verdict.kind === 'passed'
    ? { kind: 'failed', why: `it was not let go: ${leaving.reason}` }
    : verdict
}

/** A section that passed and does not give what it is to give is broken: another attempt is not asked for it. */
function verdictOf(
  walking: Walking,
  { gives }: Group,
  place: SectionPlace,
  { failed, values }: Extract<Attempted, { kind: 'over' }>,
): AttemptEnd {
  if (failed !== null) return { kind: 'failed', why: failed }
  const missing = gives.filter(name => !Object.hasOwn(values, name))
  if (missing.length === 0) return { kind: 'passed', gave: values }
  tell(walking, place, { kind: 'handoff-incomplete', path: place.path, missing })
  return { kind: 'broken', why: `it did not give ${missing.join(', ')}` }
}

async function skipped(walking: Walking, place: SectionPlace, why: string): Promise<SectionEnd> {
  const { path, key: at } = place
  walking.journal.push({ kind: 'skipped', at })
  if (await unkept(walking)) return HALTED
  walking.tally.skipped += 1
  tell(walking, place, { kind: 'node-skipped', path, because: why })
  return { kind: 'skipped', why }
}

/** True where the walk has stopped. */
async function retreated(
  walking: Walking,
  { attempts: of }: Group,
  {
    place,
    attempt,
    key: at,
    why,
  }: { readonly place: SectionPlace; readonly attempt: number; readonly key: string; readonly why: string },
): Promise<boolean> {
  walking.journal.push({ kind: 'retreat', at, why: why.slice(0, WHY_CHARS) })
  if (await unkept(walking)) return true
  walking.tally.retreats += 1
  tell(walking, place, { kind: 'group-repeating', path: place.path, attempt: attempt + 1, of })
  return false
}

interface Left {
  readonly place: SectionPlace
  /** The last one. */
  readonly attempt: number
  /** Null: it passed. */
  readonly why: string | null
  readonly gave: JsonObject
}

async function left(
  walking: Walking,
  { attempts: of, gives }: Group,
  { place, attempt, why, gave }: Left,
): Promise<SectionEnd> {
  const { path, key: at } = place
  const failed = why !== null
  walking.journal.push({ kind: 'left', at, failed, gave })
  if (await unkept(walking)) return HALTED
  const handed = failed || gives.length === 0 ? {} : { gave }
  tell(walking, place, {
    kind: 'group-left',
    path,
    failed,
    ...handed,
    attempts: attempt,
    exhausted: failed && attempt >= of,
  })
  return failed ? { kind: 'failed', why } : { kind: 'passed', gave }
}
