/** The sample project of `harness demo`: a program with a bug that its own test finds, made for the built-in scenario. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const FILES = {
  'README.md': '# greet\n\nSays hello. Run the tests with `node --test`.\n',
  'package.json': `${JSON.stringify({ name: 'greet', type: 'module', scripts: { test: 'node --test' } }, null, 2)}\n`,
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the text of the sample program
  'greet.mjs': 'export function greet(name) {\n  return `Hello, ${name}`\n}\n',
  'greet.test.mjs':
    "import assert from 'node:assert/strict'\nimport test from 'node:test'\nimport { greet } from './greet.mjs'\n\n" +
    "test('greets with an exclamation mark', () => {\n  assert.equal(greet('Ada'), 'Hello, Ada!')\n})\n",
} as const

/** Makes it as the folder `greet` in `parent`, which is ours alone, and answers its path. */
export function makeSample(parent: string): string {
  const folder = join(parent, 'greet')
  mkdirSync(folder, { mode: 0o700 })
  for (const [name, text] of Object.entries(FILES)) writeFileSync(join(folder, name), text, { flag: 'wx' })
  return folder
}
