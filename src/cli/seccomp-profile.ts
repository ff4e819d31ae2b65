/** `harness doctor --seccomp-profile BASE`: an engine's profile with what bubblewrap needs, on stdout. Nothing is tried. */
import { resolve } from 'node:path'
import { FILTER_ARCHES } from '../confinement/seccomp-bpf.js'
import { nestedSeccompProfile } from '../confinement/seccomp-profile.js'
import { Refusal } from '../errors.js'
import { parsedOrNull } from '../json.js'
import type { Io } from './io.js'
import { printJson } from './print.js'
import { readText } from './run-options.js'
import { oneLine } from './terminal-text.js'

/** Answers 0. Throws `file-unreadable`, `too-large`, `bad-document`, and `architecture-unsupported` where no boundary of Linux is built. */
export function printSeccompProfile(base: string, io: Io): number {
  const arch = FILTER_ARCHES[process.arch]
  if (arch === undefined)
    throw new Refusal(
      'architecture-unsupported',
      { arch: process.arch },
      `--seccomp-profile: there is no boundary for ${process.arch}`,
    )
  const document = parsedOrNull(readText(resolve(io.cwd, base), '--seccomp-profile'))
  const profile = nestedSeccompProfile(document, { arch, file: oneLine(base, 4_096) })
  printJson(io, `${JSON.stringify(profile, null, 2)}\n`)
  return 0
}
