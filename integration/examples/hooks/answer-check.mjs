/**
 * stop: an answer in prose says how it was verified, one that is data (`--output-schema`) holds no placeholder, which no schema can
 * tell from a value. One continuation is asked for; an answer that still does not is let go, and whoever reads the record
 * sees that it was asked.
 */
import { readFileSync } from 'node:fs'

const PLACEHOLDER = /"(?:todo|tbd|n\/a|\.{3}|placeholder|string|lorem ipsum[^"]*|your [\w ]+ here)"(?!\s*:)/i

function wanting(text) {
  if (/^\s*[[{]/.test(text)) {
    const [found] = PLACEHOLDER.exec(text) ?? []
    return found && `The answer holds the placeholder ${found}: put what you found in its place.`
  }
  if (/^Verified: \S/m.test(text)) return undefined
  return 'Say in a line that begins with "Verified:" what you ran or read to check the result; check it now if you have not.'
}

const { text, continuations } = JSON.parse(readFileSync(0, 'utf8'))
const reason = continuations === 0 ? wanting(text) : undefined
if (reason !== undefined) {
  console.log(JSON.stringify({ reason }))
  process.exitCode = 2
}
