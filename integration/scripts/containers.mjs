/**
 * `npm run test:containers -- [--only TEXT]… [--jobs N] [--quick] [--json FILE] [--record]`: real container engines, started under folders of
 * their own, and a matrix of their options (integration/containers/rows.ts). Takes root, Linux and some minutes; what is missing
 * of Debian's packages is installed, or named.
 *
 * Builds first. Exit status: 0 nothing is wrong, 1 something is, or the sources do not compile.
 */
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { execa } from 'execa'

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..')
const run = args => execa(process.execPath, args, { cwd: root, stdio: 'inherit', reject: false })

const build = await run([join(root, 'integration/scripts/build.mjs')])
if (build.exitCode !== 0) process.exit(1)
const tried = await run([join(root, 'dist/integration/containers/main.js'), ...process.argv.slice(2)])
process.exitCode = tried.exitCode ?? 1
