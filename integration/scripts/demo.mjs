/** `npm run demo`: `harness demo` of this clone, built first where it is not. */
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { execa } from 'execa'

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..')
const harness = join(root, 'dist', 'bin', 'harness.cjs')

if (!existsSync(harness))
  await execa(process.execPath, [join(root, 'integration', 'scripts', 'build.mjs')], { cwd: root, stdio: 'inherit' })
const ran = await execa(process.execPath, [harness, 'demo'], { stdio: 'inherit', reject: false })
process.exitCode = ran.exitCode ?? 1
