import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { execa } from 'execa'
import t from 'tap'
import { COMMANDS } from '../../src/cli/commands-table.js'
import { flagsOf } from '../../src/cli/flags.js'
import { manualPages } from '../../src/cli/manual.js'
import { golden } from '../support/golden.js'
import { needs } from '../support/needs.js'
import { projectRoot } from '../support/root.js'

const pages = manualPages({ version: '1.2.3', date: '2026-01-02' })

t.test('the manifest names every page, in the order in which they are made', async t => {
  const { man } = JSON.parse(readFileSync(join(projectRoot, 'package.json'), 'utf8')) as { man: string[] }
  t.strictSame(
    man,
    [...pages.keys()].map(name => `dist/man/${name}`),
  )
})

t.test('a page is what it was: the whole of one', async t => {
  const page = pages.get('harness-check-path.1') ?? ''
  t.equal(page, golden('harness-check-path.1', page))
})

t.test('every command and every option that is built has its place, and no other', async t => {
  const program = pages.get('harness.1') ?? ''
  for (const { name } of COMMANDS) {
    const page = pages.get(`harness-${name}.1`) ?? ''
    t.ok(program.includes(`\\fBharness\\-${name.replace(/-/g, '\\-')}\\fR(1)`), name)
    for (const flag of flagsOf(name)) {
      const typed = new RegExp(`^\\\\fB(\\\\-\\w, )?${flag.name.replace(/-/g, '\\\\-')}\\\\fR`, 'm')
      t.equal(typed.test(page), flag.built, `${name} ${flag.name}`)
    }
  }
})

t.test('mandoc has nothing to say', { skip: needs('mandoc') }, async t => {
  const folder = t.testdir({ bad: '.TH BAD\n.XX\n' })
  mkdirSync(join(folder, 'man'))
  const files = [...pages].map(([name, text]) => {
    writeFileSync(join(folder, 'man', name), text)
    return join(folder, 'man', name)
  })
  const lint = (paths: readonly string[]) =>
    execa('mandoc', ['-T', 'lint', '-W', 'warning', ...paths], { reject: false })
  t.match(await lint(files), { exitCode: 0, stdout: '' })
  t.match(await lint([join(folder, 'bad')]), { stdout: /unknown macro/ }, 'and it does where something is wrong')
  const shown = await execa('mandoc', ['-T', 'ascii', join(folder, 'man', 'harness-exec.1')])
  t.match(
    shown.stdout.replace(/.\x08/g, ''),
    /^ +--outcome-file PATH$/m,
    'an option is typed with the minus of a keyboard',
  )
})
