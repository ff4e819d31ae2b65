/** The library's boundary against everything that is tried, for every kind of user that this machine can show. */
import t from 'tap'
import { needs } from '../../test/support/needs.js'
import { needsPrivilege, PRIVILEGES } from '../conformance/scene.js'
import { holdsItsRow } from './holds.js'

const TIMEOUT_MS = 120_000
t.setTimeout(3 * TIMEOUT_MS)

const lacking = needs('linux', 'bubblewrap', 'perl', 'git')

for (const privilege of PRIVILEGES) {
  const skip = lacking || needsPrivilege(privilege)
  t.test(`bubblewrap, by the library, ${privilege}`, { skip, timeout: TIMEOUT_MS }, t =>
    holdsItsRow(t, { backend: 'library', boundary: 'bubblewrap', privilege }),
  )
  // The weaker rung differs in how /proc is shown, not in how trees end: two checks show that its pid namespace works.
  t.test(`bubblewrap-hostproc, by the library, ${privilege}`, { skip, timeout: TIMEOUT_MS }, t =>
    holdsItsRow(t, {
      backend: 'library-hostproc',
      boundary: 'bubblewrap-hostproc',
      privilege,
      trees: ['daemon', 'kill'],
    }),
  )
  const grouped = privilege === 'user' ? false : needs('control-group')
  const without = needs('linux', 'landlock-6', 'perl', 'git') || needsPrivilege(privilege) || grouped
  t.test(`landlock, by the library, ${privilege}`, { skip: without, timeout: TIMEOUT_MS }, t =>
    holdsItsRow(t, { backend: 'library-landlock', boundary: 'landlock', privilege }),
  )
}
