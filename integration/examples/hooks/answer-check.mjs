/**
 * stop: an answer says how it was verified. One continuation is asked for; an answer that still does not is let go, and
 * whoever reads the record sees that it was asked.
 */
import { readFileSync } from 'node:fs'

const { text, continuations } = JSON.parse(readFileSync(0, 'utf8'))
if (continuations === 0 && !/^Verified: \S/m.test(text)) {
  const reason =
    'Say in a line that begins with "Verified:" what you ran or read to check the result; check it now if you have not.'
  console.log(JSON.stringify({ reason }))
  process.exitCode = 2
}
