/** One pattern over one line at a time: plain text, or a regular expression of the RE2 dialect in linear time. */
import { REGEX_PROGRAM_MAX } from '../bounds.js'
import { bad } from './call-arguments.js'

export interface LineMatcher {
  /** False only when no line of these bytes can match. */
  mayMatch(bytes: Buffer): boolean
  matches(line: string): boolean
}

/** Case-sensitive. Throws `bad-arguments` for an empty pattern or one with a line end, which no line holds. */
export function plainMatcher(pattern: string): LineMatcher {
  if (pattern === '') throw bad('pattern', 'pattern is empty: give the text to look for')
  if (/[\r\n]/.test(pattern)) {
    throw bad('pattern', 'pattern holds a line end, and lines are matched one by one: look for one line of it')
  }
  const wanted = Buffer.from(pattern, 'utf8')
  return { mayMatch: bytes => bytes.includes(wanted), matches: line => line.includes(pattern) }
}

/** Throws `bad-arguments` with the engine's reason for a pattern that does not compile, or compiles too large. */
export async function regexMatcher(pattern: string): Promise<LineMatcher> {
  if (pattern === '') throw bad('pattern', 'pattern is empty: give the expression to look for')
  const { RE2JS, RE2JSException } = await import('re2js')
  try {
    const regex = RE2JS.compile(pattern)
    if (regex.programSize() > REGEX_PROGRAM_MAX) {
      throw bad('pattern', `the regular expression compiles to more than ${REGEX_PROGRAM_MAX} steps: make it smaller`)
    }
    return { mayMatch: () => true, matches: line => regex.test(line) }
  } catch (error) {
    if (!(error instanceof RE2JSException)) throw error
    throw bad('pattern', `the regular expression does not compile (RE2 dialect): ${error.message}`)
  }
}
