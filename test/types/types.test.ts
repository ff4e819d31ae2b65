/** What must not compile: each file under `fail/` has exactly one error, where the promise is broken. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import ts from 'typescript'
import { projectRoot } from '../support/root.js'

const folder = join(projectRoot, 'test', 'types', 'fail')
const files = readdirSync(folder).map(name => join(folder, name))

const config = ts.readConfigFile(join(projectRoot, 'tsconfig.json'), ts.sys.readFile)
const { options } = ts.parseJsonConfigFileContent(config.config, ts.sys, projectRoot)

t.test('each is refused by the compiler, and for one reason', async t => {
  const program = ts.createProgram(files, { ...options, noEmit: true })
  t.ok(files.length >= 5)
  for (const file of files) {
    const source = program.getSourceFile(file)
    const found = ts.getPreEmitDiagnostics(program, source)
    t.equal(
      found.length,
      1,
      `${file}: ${found.map(one => ts.flattenDiagnosticMessageText(one.messageText, ' ')).join('; ')}`,
    )
  }
})
