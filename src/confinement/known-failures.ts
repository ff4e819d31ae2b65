/**
 * What bubblewrap, sandbox-exec and we say when a sandbox cannot be built, and what to change there. The words are matched to
 * name the fix, and to know what a weaker boundary can do without; that it failed is known without them.
 */
import {
  FAILURES,
  type FailurePlace,
  type FailureRow,
  NO_FRESH_PROC,
  READ_ONLY_PROC,
  UNKNOWN_FAILURE,
} from './failure-table.js'
import { fixFor } from './fixes.js'

export interface KnownFailure {
  /** Key of the table; `unknown`: no row matches. */
  readonly name: string
  /** Short name of what could not be had. */
  readonly probe: string
  /** Why, in one sentence. */
  readonly cause: string
  readonly fix: string
}

/** A place of which nothing is known. */
const NOWHERE: FailurePlace = {
  engine: 'unknown',
  bwrap: null,
  installHint: 'install bubblewrap with the package manager of this system',
  mountOf: () => null,
}

/** What `text` of a launcher means at `place`. */
export function knownFailure(text: string, place: FailurePlace = NOWHERE): KnownFailure {
  for (const [name, row] of Object.entries(FAILURES)) {
    const match = text.match(row.text)
    if (match !== null) return described(name, row, match, place)
  }
  return described('unknown', UNKNOWN_FAILURE, [''], place)
}

function described(
  name: string,
  { probe, cause, fix }: FailureRow,
  match: RegExpMatchArray,
  place: FailurePlace,
): KnownFailure {
  return {
    name,
    probe,
    cause: typeof cause === 'string' ? cause : cause(match, place),
    fix: fixFor(typeof fix === 'function' ? fix(match, place) : fix, place.engine),
  }
}

/** Said before 0.8; the boundary with the host's /proc is made without that option. */
const NO_DISABLING = /^bwrap: Unknown option --disable-userns$/

/** True where `text` of bubblewrap means that something cannot be had here that bubblewrap-hostproc does without, and nothing else. */
export function hostprocDoesWithout(text: string): boolean {
  return [NO_FRESH_PROC, READ_ONLY_PROC, NO_DISABLING].some(line => line.test(text))
}

/**
 * What bubblewrap says where no user namespace, or no mount in one, can be had by anybody here: by the kernel, by a security
 * module, by the seccomp profile around us, or by capabilities that uid 0 has lost. Whole lines, because paths in other words
 * are a user's.
 */
const NO_NAMESPACES = [
  /^bwrap: No permissions to create (?:a )?new namespace, likely because the kernel does not allow non-privileged user namespaces\..*$/,
  /^bwrap: Creating new namespace failed: (?:Operation not permitted|Function not implemented|Invalid argument)$/,
  /^bwrap: Creating new namespace failed, likely because the kernel does not support user namespaces\..*$/,
  /^bwrap: pivot_root: (?:Operation not permitted|Invalid argument)$/,
  /^bwrap: setting up uid map: (?:Operation not permitted|Permission denied|Read-only file system)$/,
  /^bwrap: loopback: Failed RTM_NEWADDR: (?:Operation not permitted|Permission denied|No child processes)$/,
  /^bwrap: (?:Failed to make \/ slave|unmount old root|Can't set hostname to harness): (?:Operation not permitted|Permission denied)$/,
  /^bwrap: Unexpected capabilities but not setuid, old file caps config\?$/,
] as const

/** Also said where all are in use for the moment. */
const NAMESPACES_USED_UP =
  /^bwrap: Creating new namespace failed: nesting depth or \/proc\/sys\/user\/max_\*_namespaces exceeded \(ENOSPC\)$/

/** A bubblewrap without an option that the boundary is made with: too old, or set-user-id, and so at the next launch too. */
const UNFIT = [
  /^bwrap: Unknown option --(?:size|perms|json-status-fd|ro-bind-data|clearenv|args)$/,
  /^bwrap: (?:The )?--[a-z-]+(?: option)? is not permitted in setuid mode$/,
] as const

/** Whether user namespaces are given out here at all; `unknown` counts as some. */
export type NamespaceRoom = 'some' | 'none' | 'unknown'

/** True where `text` of bubblewrap means that it makes no boundary here, now or later. */
export function meansNoBubblewrap(text: string, room: NamespaceRoom): boolean {
  if (NAMESPACES_USED_UP.test(text)) return room === 'none'
  return [...NO_NAMESPACES, ...UNFIT].some(line => line.test(text))
}
