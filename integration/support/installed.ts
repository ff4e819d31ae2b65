/** The package as people get it: packed, and unpacked where somebody's project is. Dependencies are linked from this checkout. */
import { mkdirSync, readdirSync, statSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { execa } from 'execa'
import { projectRoot } from '../../test/support/root.js'

const NAME = 'b10x-harness'

export interface Installation {
  /** The package's own folder. */
  readonly package: string
  /** Bytes of the tarball. */
  readonly packed: number
  readonly bin: (program: 'harness' | 'hookcheck') => string
}

/**
 * Installs into `project`, absolute, as npm does; `linked`: as pnpm does, where `node_modules` holds a link to a store, with the
 * dependencies beside the package there. Names in `without` are not installed.
 */
export async function installInto(
  project: string,
  { linked = false, without = [] }: { linked?: boolean; without?: readonly string[] } = {},
): Promise<Installation> {
  const modules = linked ? join(project, 'node_modules', '.store', NAME, 'node_modules') : join(project, 'node_modules')
  const own = join(modules, NAME)
  mkdirSync(own, { recursive: true })
  await execa('npm', ['pack', '--ignore-scripts', '--pack-destination', project], { cwd: projectRoot })
  const tarball = join(project, readdirSync(project).find(name => name.endsWith('.tgz')) ?? '')
  await execa('tar', ['-xzf', tarball, '-C', own, '--strip-components=1'])
  for (const name of readdirSync(join(projectRoot, 'node_modules')))
    if (!name.startsWith('.') && name !== NAME && !without.includes(name))
      symlinkSync(join(projectRoot, 'node_modules', name), join(modules, name))
  if (linked) symlinkSync(own, join(project, 'node_modules', NAME))
  return {
    package: own,
    packed: statSync(tarball).size,
    bin: program => join(project, 'node_modules', NAME, 'dist', 'bin', `${program}.cjs`),
  }
}
