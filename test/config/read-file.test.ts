/** The configuration file on disk: whose it is, what it is, and that nobody waits for it. */
import { execFileSync } from 'node:child_process'
import { chmodSync, chownSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { CONFIG_BYTES_MAX } from '../../src/bounds.js'
import { readConfigFile } from '../../src/config/read-file.js'
import { isRefusal } from '../../src/errors.js'
import { realFiles } from '../../src/paths/file-view.js'
import { needs } from '../support/needs.js'
import { scratch } from '../support/scratch.js'

function outcome(path: string): string {
  try {
    const bytes = readConfigFile(path, realFiles)
    return bytes === null ? 'none' : Buffer.from(bytes).toString()
  } catch (error) {
    if (isRefusal(error)) return `${error.code}: ${error.message}`
    throw error
  }
}

function place(t: Test): { readonly folder: string; readonly file: string } {
  const folder = join(scratch(t), 'b10x')
  mkdirSync(folder, { mode: 0o755 })
  const file = join(folder, 'harness.toml')
  writeFileSync(file, 'x', { mode: 0o644 })
  return { folder, file }
}

t.test('absent is fine, ours is read', async t => {
  const { folder, file } = place(t)
  t.equal(outcome(file), 'x')
  rmSync(file)
  t.equal(outcome(file), 'none')
  rmSync(folder, { recursive: true })
  t.equal(outcome(file), 'none')
  t.equal(outcome('/dev/null/b10x/harness.toml'), 'none')
})

t.test('what others can write is refused, with the fix', async t => {
  for (const mode of [0o666, 0o646, 0o602]) {
    const { file } = place(t)
    chmodSync(file, mode)
    t.match(outcome(file), new RegExp(`^config-unsafe: .*${file} may be written by everyone; chmod go-w ${file}`))
  }
  const { folder, file } = place(t)
  chmodSync(folder, 0o777)
  t.match(outcome(file), new RegExp(`^config-unsafe: .*${folder} may be written by everyone; chmod go-w ${folder}`))
  chmodSync(folder, 0o1777)
  t.equal(outcome(file), 'x', 'a sticky folder leaves our names alone')
})

t.test('what belongs to somebody else is refused', { skip: needs('root') }, async t => {
  const { folder, file } = place(t)
  chownSync(file, 1234, 1234)
  t.match(outcome(file), /^config-unsafe: .*belongs to uid 1234/)
  chownSync(file, 0, 0)
  chownSync(folder, 1234, 1234)
  t.match(outcome(file), /^config-unsafe: .*belongs to uid 1234/)
  chownSync(folder, 0, 1234)
  chmodSync(folder, 0o775)
  t.match(outcome(file), /^config-unsafe: .*may be written by group 1234/)
})

t.test('links are followed and judged on their way', async t => {
  const { folder, file } = place(t)
  const real = join(folder, 'real.toml')
  writeFileSync(real, 'y')
  rmSync(file)
  symlinkSync('real.toml', file)
  t.equal(outcome(file), 'y')
  chmodSync(real, 0o666)
  t.match(outcome(file), /^config-unsafe: .*real\.toml may be written/)
  rmSync(real)
  t.match(outcome(file), /^file-unreadable: .*its link .* leads to .*real\.toml, which does not exist/)
  rmSync(file)
  symlinkSync('harness.toml', file)
  t.match(outcome(file), /^file-unreadable: .*ELOOP/)
})

t.test('no plain file, and too much of one', async t => {
  const { folder, file } = place(t)
  writeFileSync(file, 'x'.repeat(CONFIG_BYTES_MAX))
  t.equal(outcome(file).length, CONFIG_BYTES_MAX)
  writeFileSync(file, 'x'.repeat(CONFIG_BYTES_MAX + 1))
  t.match(outcome(file), /^too-large: /)
  rmSync(file)
  mkdirSync(file)
  t.match(outcome(file), /^not-a-file: .* is a folder/)
  execFileSync('mkfifo', [join(folder, 'fifo')])
  t.match(outcome(join(folder, 'fifo')), /^not-a-file: /)
})

t.test('unreadable is not absent', { skip: needs('not-root') }, async t => {
  const { folder, file } = place(t)
  chmodSync(file, 0)
  t.match(outcome(file), /^file-unreadable: .*EACCES.*unknown is not absent/)
  chmodSync(folder, 0)
  t.match(outcome(file), /^file-unreadable: .*EACCES/)
  chmodSync(folder, 0o755)
})
