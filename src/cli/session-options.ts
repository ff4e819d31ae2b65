/**
 * Where sessions are, and the session of a run: a new one, or the one that `--resume` names. The folder decides what a later
 * run is told, so it lies where nothing of this run can write.
 */
import { join, resolve } from 'node:path'
import { Refusal } from '../errors.js'
import { controlFileWithin, indexControlFiles } from '../paths/control-files.js'
import { isWithin, type LandedPlace, landPlace } from '../paths/resolve.js'
import { shown } from '../paths/walk.js'
import { isOfFlow } from '../session/ids.js'
import { type DamagedSession, listSessions, type SessionSummary } from '../session/list.js'
import type { SessionFacts } from '../session/records.js'
import { type Session, sessionFacts } from '../session/session.js'
import { newSession, opened, resumeSession } from '../session/store.js'
import type { Io } from './io.js'
import { baseFolder } from './own-folders.js'
import type { Given } from './parse.js'
import type { ModelChoice } from './provider-options.js'
import { escapeLines } from './terminal-text.js'

/** Absolute: `--session-dir`, else `$XDG_STATE_HOME/b10x-harness/sessions` or what stands in for it. Refuses without a home. */
export function sessionFolder(given: Given, io: Pick<Io, 'env' | 'cwd'>): string {
  const named = given.one('--session-dir')
  if (named !== undefined) return resolve(io.cwd, named)
  const base = baseFolder(io.env, 'XDG_STATE_HOME')
  if (base !== null) return join(base.path, base.below, 'b10x-harness', 'sessions')
  const why = 'neither XDG_STATE_HOME nor HOME names a folder'
  throw new Refusal(
    'session-unusable',
    { path: '', why },
    `there is no place for sessions: ${why}; give --session-dir PATH, or --no-session`,
  )
}

export interface SessionSeams {
  readonly given: Given
  readonly io: Pick<Io, 'env' | 'cwd' | 'err'>
  readonly choice: Pick<ModelChoice, 'wire' | 'model' | 'baseUrl'>
  readonly workspace: LandedPlace
}

/** Null under `--no-session`. Throws the refusal of a folder or a session that cannot be used. */
export function openRunSession({ given, io, choice, workspace }: SessionSeams): Session | null {
  if (given.has('--no-session')) return null
  const folder = guardedFolder(given, io, workspace)
  const facts = sessionFacts({ ...choice, workspace: workspace.path })
  const asked = given.one('--resume')
  const session = asked === undefined ? newSession(folder, facts) : resumed(folder, asked, facts, io)
  if (session instanceof Refusal) throw withWayOut(session, asked)
  for (const { code, message } of session.notes) warnOfSession(io, message, code)
  return session
}

/** The session folder, which nothing of this run may write. Throws where it may. */
export function guardedFolder(given: Given, io: Pick<Io, 'env' | 'cwd'>, workspace: LandedPlace): string {
  const folder = sessionFolder(given, io)
  refuseWritable(folder, [workspace, ...grantsOf(given, workspace)])
  return folder
}

/** A warning of sessions is on stderr alone: the record is not what keeps them (contract §3). */
export function warnOfSession(io: Pick<Io, 'err'>, message: string, code = 'session'): void {
  io.err.write(`warning [${code}] ${escapeLines(message)}\n`)
}

/** Writes what is left, and says what could not be kept. */
export function closeSession(session: Session | null, io: Pick<Io, 'err'>): void {
  const refusal = session?.close() ?? null
  if (refusal !== null) warnOfSession(io, refusal.message)
}

/** A run that cannot keep a session can go without one, if that is meant. */
function withWayOut(refusal: Refusal, asked: string | undefined): Refusal {
  if (asked !== undefined) return refusal
  const text = `${refusal.message}; --session-dir PATH names another folder for sessions, --no-session files none`
  return new Refusal(refusal.code, refusal.details, text)
}

function grantsOf(given: Given, workspace: LandedPlace): LandedPlace[] {
  return given.all('--process-write-subtree').flatMap(path => {
    const place = landPlace(path, { cwd: workspace.path })
    return place instanceof Refusal ? [] : [place]
  })
}

function refuseWritable(path: string, places: readonly LandedPlace[]): void {
  const what = 'the session folder'
  const index = indexControlFiles([{ path, what }], '/')
  if (index instanceof Refusal) throw index
  const inside = places.find(place => controlFileWithin(index, place, []) !== null)
  if (inside === undefined) return
  const how = index.paths.some(control => isWithin(control.path, inside.path)) ? 'lies in' : 'holds'
  throw new Refusal(
    'control-file-inside',
    { folder: inside.path, file: path, what },
    `${what} ${shown(path)} ${how} ${shown(inside.path)}, which the agent may write: give --session-dir PATH outside of it, or --no-session`,
  )
}

function resumed(folder: string, asked: string, facts: SessionFacts, io: Pick<Io, 'err'>): Session | Refusal {
  if (asked !== 'latest') return resumeSession(folder, asked, facts)
  const { sessions, damaged } = candidates(folder)
  for (const one of damaged) warnOfDamage(io, one)
  for (const { id, path } of sessions) {
    const session = resumeSession(folder, id, facts)
    if (!isDamaged(session)) return session
    warnOfDamage(io, { path, why: session.message })
  }
  const why = 'holds no session to go on with'
  return new Refusal(
    'session-unusable',
    { path: folder, why },
    `${shown(folder)} ${why}: leave --resume out to begin one`,
  )
}

function isDamaged(came: Session | Refusal): came is Refusal<'session-unusable'> {
  return came instanceof Refusal && 'line' in came.details
}

/** The operator's own sessions, latest first: those of delegates and of sections belong to others. */
export function candidates(path: string): {
  readonly sessions: readonly SessionSummary[]
  readonly damaged: readonly DamagedSession[]
} {
  const folder = opened(path, 'null')
  if (folder instanceof Refusal) throw folder
  try {
    const { sessions, damaged } = listSessions(folder, id => !isOfFlow(id))
    return { sessions: sessions.filter(({ parent }) => parent === null), damaged }
  } finally {
    folder.close()
  }
}

export function warnOfDamage(io: Pick<Io, 'err'>, { path, why }: DamagedSession): void {
  warnOfSession(io, `${shown(path)} is skipped: ${why}`)
}
