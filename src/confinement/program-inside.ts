/**
 * Which file a command's first word means inside the boundary, decided before anything starts.
 *
 * The folder is landed and the last component kept as found: programs that serve many names (busybox, clang, rustup, a
 * Python environment) look at the name they were started under. Links on the way are followed again inside, over the
 * same binds; where one of them is not shown there, the landed file itself is what runs.
 */
import { statSync } from 'node:fs'
import { basename, dirname, isAbsolute, join } from 'node:path'
import { Refusal } from '../errors.js'
import { isWithin, type Landing, land } from '../paths/resolve.js'
import { judgeProgram, type NotStarted } from '../supervise/program.js'
import { isVisible } from './policy-reach.js'
import type { HostFacts, Policy } from './types.js'

export interface ProgramRequest {
  /** The first word of the command. */
  readonly name: string
  /** Working folder inside, absolute and landed. */
  readonly cwd: string
  readonly policy: Policy
  readonly facts: HostFacts
}

/**
 * The absolute path that runs. Refuses `program-not-allowed`, `program-missing` (127 for `exec`), `program-not-visible`
 * and `program-not-executable` (126).
 */
export function programInside({ name, cwd, policy, facts }: ProgramRequest): string | Refusal {
  if (policy.programs !== null && !policy.programs.includes(name)) return notAllowed(name, policy.programs)
  if (name === '') return missing(name, [])
  if (name.includes('/')) return judge(isAbsolute(name) ? name : join(cwd, name), { name, cwd, policy, facts })
  const folders = (policy.env.PATH ?? '').split(':').filter(isAbsolute)
  let refused: Refusal | null = null
  for (const folder of folders) {
    if (isNowhere(join(folder, name))) continue
    const found = judge(join(folder, name), { name, cwd, policy, facts })
    if (typeof found === 'string') return found
    if (found.code !== 'program-missing') refused ??= found
  }
  return refused ?? missing(name, folders)
}

/** One look instead of a walk: most folders of a PATH do not hold the program. What cannot be looked at is judged. */
function isNowhere(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false }) === undefined
  } catch {
    return false
  }
}

function judge(asked: string, request: ProgramRequest): string | Refusal {
  const { name, policy, facts } = request
  const path = outside(asked, policy)
  const staged = policy.staged.find(({ inside }) => inside === path)
  if (staged !== undefined) {
    const verdict = judgeProgram(staged.path)
    return verdict === null ? staged.inside : notExecutable(name, staged.path, verdict)
  }
  const landing = land(path, { cwd: '/' })
  if (landing instanceof Refusal || !landing.exists) return missing(name, [path])
  if (landing.type === 'folder') {
    const details = { program: name, landed: landing.landed, is: 'folder' }
    return new Refusal('program-not-executable', details, `${name} cannot be started: it is a folder; name a program`)
  }
  if (!isVisible(landing.landed, policy, facts)) return notVisible(name, landing)
  const verdict = judgeProgram(landing.landed)
  if (verdict === null) return runnablePath(path, landing, policy, facts)
  if (verdict.code === 'program-missing') return missing(name, [path])
  return notExecutable(name, landing.landed, verdict)
}

/** A path through one of the links that the boundary makes inside, as it is outside. */
function outside(path: string, { links }: Policy): string {
  const link = links.find(each => isWithin(path, each.path))
  return link === undefined ? path : `${link.target}${path.slice(link.path.length)}`
}

function notExecutable(program: string, landed: string, verdict: NotStarted): Refusal {
  const details = { program, landed, is: verdict.code }
  return new Refusal('program-not-executable', details, `${program} cannot be started: ${verdict.message}`)
}

function runnablePath(path: string, landing: Landing, policy: Policy, facts: HostFacts): string {
  if (landing.links.length === 0) return landing.landed
  const folder = land(dirname(path), { cwd: '/' })
  if (folder instanceof Refusal || !landing.links.every(link => isShownInside(link.path, policy, facts)))
    return landing.landed
  const kept = join(folder.landed, basename(path))
  return isVisible(kept, policy, facts) ? kept : landing.landed
}

/** Links of the system root (`/bin`) are made again inside. */
function isShownInside(link: string, policy: Policy, facts: HostFacts): boolean {
  return facts.systemRoots.some(root => root.path === link) || isVisible(link, policy, facts)
}

function notAllowed(program: string, allowed: readonly string[]): Refusal {
  const instead = allowed.length === 0 ? 'no program is allowed: add --allow-program' : `allowed: ${allowed.join(', ')}`
  return new Refusal('program-not-allowed', { program, allowed }, `${program} may not be started; ${instead}`)
}

function missing(program: string, searched: readonly string[]): Refusal {
  if (program.includes('/')) {
    return new Refusal(
      'program-missing',
      { program, searched },
      `there is no program ${JSON.stringify(program)}: name one that is there`,
    )
  }
  const where = searched.length === 0 ? 'an empty PATH' : searched.join(':')
  return new Refusal(
    'program-missing',
    { program, searched },
    `there is no program ${JSON.stringify(program)} in ${where}: install it, or name its path`,
  )
}

function notVisible(program: string, { landed }: Landing): Refusal {
  const text = `${program} is at ${landed}, which is not shown inside: add --read ${dirname(landed)}`
  return new Refusal('program-not-visible', { program, landed }, text)
}
