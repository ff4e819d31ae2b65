/** What works instead: where a system's error is told, its fix is told too. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { fixFor } from '../src/errors.js'
import { projectRoot } from './support/root.js'

t.test('a fix by errno, and one for every other', async t => {
  const cases: readonly [string, 'read' | 'write', RegExp][] = [
    ['ENOENT', 'read', /one that exists/],
    ['EACCES', 'read', /let this user read it/],
    ['ENOENT', 'write', /make its folder first/],
    ['EACCES', 'write', /a folder that this user may write/],
    ['ENOSPC', 'write', /free some space/],
    ['EUCLEAN', 'read', /can read/],
    ['EUCLEAN', 'write', /may write/],
    ['other', 'read', /can read/],
    ['toString', 'read', /can read/],
  ]
  for (const [errno, asked, says] of cases) t.match(fixFor(errno, asked), says, `${errno} ${asked}`)
})

/** A text that ends with an errno in parentheses says what happened, and not what to do about it. */
const ENDS_WITH_ERRNO = /\(\$\{[\w.]*errno\}\)`/

/** Where the parenthesis closes that was open before `text`. */
function endOfCall(text: string): number {
  let open = 1
  for (let at = 0; at < text.length; at++) {
    if (text[at] === '(') open++
    if (text[at] === ')' && --open === 0) return at
  }
  return text.length
}

t.test('no refusal ends with the errno', async t => {
  const sources = readdirSync(join(projectRoot, 'src'), { recursive: true, encoding: 'utf8' }).filter(name =>
    name.endsWith('.ts'),
  )
  const refusals = sources.flatMap(name =>
    readFileSync(join(projectRoot, 'src', name), 'utf8')
      .split('new Refusal(')
      .slice(1)
      .map(text => ({ name, text: text.slice(0, endOfCall(text)) })),
  )
  t.ok(refusals.length > 150, `${refusals.length} were found`)
  t.strictSame(
    refusals.filter(({ text }) => ENDS_WITH_ERRNO.test(text)).map(({ name }) => name),
    [],
  )
})
