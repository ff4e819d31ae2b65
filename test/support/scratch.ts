/** A private folder for one test, on disk, gone afterwards. */
import { chmodSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** The landed path of a new empty folder, which every user may enter. */
export function scratch(t: { teardown(undo: () => void): void }): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'harness-test-')))
  chmodSync(folder, 0o755)
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}
