/** The boundary of `harness exec`, started as its users start it. */
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { needs } from '../../test/support/needs.js'
import { needsPrivilege, PRIVILEGES } from '../conformance/scene.js'
import { holdsItsRow } from './holds.js'

const TIMEOUT_MS = 120_000
t.setTimeout(3 * TIMEOUT_MS)

const built = existsSync(join(dirname(fileURLToPath(import.meta.url)), '../../bin/harness.cjs'))
const mustRun = process.env.HARNESS_MUST_CONFINE === '1'
const program = built || mustRun ? false : 'needs the built command line'
const lacking = needs('linux', 'bubblewrap', 'perl', 'git') || program

for (const privilege of PRIVILEGES) {
  const skip = lacking || needsPrivilege(privilege)
  t.test(`bubblewrap, by harness exec, ${privilege}`, { skip, timeout: TIMEOUT_MS }, t =>
    holdsItsRow(t, { backend: 'cli', boundary: 'bubblewrap', privilege }),
  )
}

// One kind of user shows that the command line reaches this boundary as the library does.
const withoutLandlock = needs('linux', 'landlock-6', 'perl', 'git') || program
t.test('landlock, by harness exec, user', { skip: withoutLandlock, timeout: TIMEOUT_MS }, t =>
  holdsItsRow(t, { backend: 'cli-landlock', boundary: 'landlock', privilege: 'user' }),
)
