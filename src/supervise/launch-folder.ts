/** HOME and the folder for temporary files of one launch, on the disk, where no mount can be made for them. */
import { chmodSync, chownSync, mkdirSync } from 'node:fs'
import { PrivateFolder } from './private-folder.js'
import { removeTree } from './remove-tree.js'

export interface LaunchFolder {
  /** Landed; holds `home` and `tmp`, each mode 0700. */
  readonly path: string
  /** Once nothing of the launch is alive. */
  remove(): void
}

/** Where the folders of launches are: passed through by the user of a launch, but not listed, where that is not us. */
const shared = new Map<'own' | 'other', PrivateFolder>()

/**
 * Makes one in a folder of this process. `owner`: whom its content belongs to; null: us. Throws what `PrivateFolder.make` throws
 * and the system's errors.
 */
export function launchFolder(
  outside: readonly string[],
  owner: { readonly uid: number; readonly gid: number } | null,
): LaunchFolder {
  const kind = owner === null ? 'own' : 'other'
  const parent = shared.get(kind) ?? PrivateFolder.make({ outside })
  shared.set(kind, parent)
  if (kind === 'other') chmodSync(parent.path, 0o711)
  const path = parent.fresh('launch')
  for (const folder of [path, `${path}/home`, `${path}/tmp`]) {
    mkdirSync(folder, { mode: 0o700 })
    if (owner !== null) chownSync(folder, owner.uid, owner.gid)
  }
  return { path, remove: () => removeTree(path) }
}
