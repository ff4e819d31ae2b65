/** Where the project's own files are, whatever folder the compiled test stands in. */
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

function findRoot(from: string): string {
  if (existsSync(join(from, 'package.json'))) return from
  const parent = dirname(from)
  if (parent === from) throw new Error('no package.json above the test files')
  return findRoot(parent)
}

export const projectRoot = findRoot(dirname(fileURLToPath(import.meta.url)))
