/** The tools of the system that `--deep` asks. A file of its own, because what starts programs is loaded for those audits alone. */
import type { SystemTools } from '../../hookcheck/system-answers.js'
import { findProgram } from '../../supervise/program.js'
import { runToEnd } from '../../supervise/spawn.js'

const FOLDERS = ['/usr/sbin', '/sbin', '/usr/bin', '/bin']

export const systemTools: SystemTools = {
  platform: process.platform,
  find(name) {
    const found = findProgram(name, FOLDERS)
    return typeof found === 'string' ? found : null
  },
  run: runToEnd,
}
