/**
 * `harness doctor`: every guarantee tried for real on this machine. 0 everything asked for holds, 2 some of it does not,
 * 1 could not check.
 */
import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { doctor as examine } from '../../confinement/doctor/doctor.js'
import { DOCTOR_STATUS } from '../../confinement/doctor/report.js'
import type { StartSupervisor } from '../../confinement/doctor/stages.js'
import { describeHost, readHostFacts } from '../../confinement/host-facts.js'
import { Refusal } from '../../errors.js'
import { landPlace } from '../../paths/resolve.js'
import { closeInherited } from '../../supervise/descriptors.js'
import { helperOutput, startHelper } from '../../supervise/helper.js'
import { confineChoice, requestOf } from '../confinement-options.js'
import { doctorText } from '../doctor-text.js'
import type { Io } from '../io.js'
import type { Given } from '../parse.js'
import { printJson } from '../print.js'
import { wantsColor } from '../render.js'
import { printSeccompProfile } from '../seccomp-profile.js'
import type { Invocation } from './invocation.js'

export async function doctor({ given }: Invocation, io: Io): Promise<number> {
  const base = given.one('--seccomp-profile')
  if (base !== undefined) return printSeccompProfile(base, io)
  closeInherited()
  io.handleSignals()
  const confine = confineChoice('doctor', given)
  const request = requestOf(given, io, null)
  const workspace = landPlace(request.workspace, { cwd: io.cwd })
  if (workspace instanceof Refusal) throw workspace
  const facts = await describeHost(await readHostFacts({ cgroupRoot: request.cgroupRoot }), async (file, args) => {
    const said = await helperOutput(file, args)
    return said?.toString() ?? null
  })
  const { limits, cgroupRoot, containerUid } = request
  const report = await examine({
    confine: confine === 'off' ? 'auto' : confine,
    facts,
    workspace: workspace.path,
    asked: {
      limits,
      ...(cgroupRoot === undefined ? {} : { cgroupRoot }),
      ...(containerUid === undefined ? {} : { containerUid }),
    },
    policy: { request, asked: asksForPolicy(given) },
    quick: given.has('--quick'),
    wants: {
      tty: given.has('--tty'),
      reapNamespace: given.one('--hook-reap') === 'namespace',
      cgroupRoot: cgroupRoot !== undefined,
    },
    node: process.execPath,
    helper: helperOutput,
    startSupervisor: startOurselves(io),
    stop: io.stop,
  })
  if (given.has('--json')) printJson(io, `${JSON.stringify(report)}\n`)
  // Every word from outside is escaped in it, so that colours are the only controls.
  else io.out.write(doctorText(report, wantsColor(io.env, io.stdoutIsTerminal)))
  const signal = io.stoppedBy()
  if (signal === null) return DOCTOR_STATUS[report.verdict]
  io.err.write(`stopped by ${signal}: what had not been tried is unknown\n`)
  return DOCTOR_STATUS.unknown
}

/** What names folders, hosts or sockets: without any of it nothing of the policy was asked for. */
const POLICY_FLAGS = [
  ...[
    '--read',
    '--hide',
    '--unprotect',
    '--process-write-subtree',
    '--env',
    '--read-host',
    '--cache',
    '--allow-nesting',
  ],
  ...['--allow-host', '--allow-socket', '--grant', '--protect-strict', '--driver', '--toolchain', '--toolchain-spec'],
] as const

function asksForPolicy(given: Given): boolean {
  return given.isTyped('--workspace') || POLICY_FLAGS.some(flag => given.has(flag))
}

/** A second one of this program, by the node that runs this one. */
function startOurselves({ installation }: Io): StartSupervisor {
  const program = join(installation, 'harness.cjs')
  return ({ words, stdout, third, env }) => {
    const fd = openSync(third, 'r+')
    try {
      return startHelper({ file: process.execPath, args: [program, ...words], env, stdout, third: fd })
    } finally {
      closeSync(fd)
    }
  }
}
