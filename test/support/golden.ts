/** Golden files: the whole of a product as text, compared byte by byte. HARNESS_WRITE_GOLDEN=1 writes them, for review. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { projectRoot } from './root.js'

/** The text of `test/golden/NAME`, after writing `actual` there where that was asked for. */
export function golden(name: string, actual: string): string {
  const path = join(projectRoot, 'test', 'golden', name)
  if (process.env.HARNESS_WRITE_GOLDEN === '1') writeFileSync(path, actual)
  return readFileSync(path, 'utf8')
}
