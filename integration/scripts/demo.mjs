/**
 * `npm run demo`: the main job on a fresh sample project, with no key, no network and no root. The model is a script
 * (the emulator), everything it does is real: it reads, edits and runs the project's tests inside the boundary.
 *
 * Where no boundary can be had, the same run goes on with the four reading tools and says what would bring the rest.
 */
import { existsSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { execa } from 'execa'
import { dirSync } from 'tmp-promise'

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..')
const harness = join(root, 'dist', 'bin', 'harness.cjs')
const SAFE_PATH = '/usr/local/bin:/usr/bin:/bin'

/** A small project with a bug that its own test finds. */
const SAMPLE = {
  'README.md': '# greet\n\nSays hello. Run the tests with `node --test`.\n',
  'package.json': `${JSON.stringify({ name: 'greet', type: 'module', scripts: { test: 'node --test' } }, null, 2)}\n`,
  'greet.mjs': 'export function greet(name) {\n  return `Hello, ${name}`\n}\n',
  'greet.test.mjs':
    "import assert from 'node:assert/strict'\nimport test from 'node:test'\nimport { greet } from './greet.mjs'\n\n" +
    "test('greets with an exclamation mark', () => {\n  assert.equal(greet('Ada'), 'Hello, Ada!')\n})\n",
}

function sampleWorkspace() {
  const folder = realpathSync(dirSync({ prefix: 'harness-demo', mode: 0o700 }).name)
  for (const [name, text] of Object.entries(SAMPLE)) writeFileSync(join(folder, name), text)
  return folder
}

/** The running node may live below a home folder, which the boundary does not show: its folder is added by name. */
function nodeFlags() {
  const bin = dirname(realpathSync(process.execPath))
  const reach = bin.startsWith('/usr/') ? [] : ['--read', dirname(bin)]
  return [...reach, '--env', `PATH=${bin}:${SAFE_PATH}`]
}

const grants = ['--confine', 'auto', '--allow-program', 'node', '--process-write-subtree', '.', '--yes', ...nodeFlags()]

if (!existsSync(harness)) {
  await execa(process.execPath, [join(root, 'integration', 'scripts', 'build.mjs')], { cwd: root, stdio: 'inherit' })
}
const workspace = sampleWorkspace()
try {
  const probe = await execa(process.execPath, [harness, 'exec', '--workspace', workspace, '--', 'true'], {
    reject: false,
  })
  const confined = probe.exitCode === 0
  if (!confined) {
    process.stderr.write(`${probe.stderr.trim()}\nno boundary here: the demo goes on with the reading tools only\n\n`)
  }
  // The workspace is gone afterwards: there is nothing to go on with.
  const words = ['run', '--provider', 'demo', '--no-session', ...(confined ? grants : []), '--workspace', workspace]
  const input = 'The tests of this project fail. Find out why, fix it and show that they pass.'
  process.stderr.write(`$ harness ${words.join(' ')} --input "${input}"\n\n`)
  const run = await execa(process.execPath, [harness, ...words, '--input', input], { stdio: 'inherit', reject: false })
  process.exitCode = run.exitCode ?? 1
} finally {
  rmSync(workspace, { recursive: true, force: true })
}
