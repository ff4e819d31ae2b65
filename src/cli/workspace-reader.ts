/** Reads small files of the workspace the way the file tools do: where the path lands, and only inside. */
import { Refusal } from '../errors.js'
import { readGuardedFile } from '../paths/guarded-file.js'
import { componentsBelow, type LandedPlace, land } from '../paths/resolve.js'

/** The first `bytesMax` bytes of a file named relative to the workspace, or why not. */
export type WorkspaceReader = (name: string, bytesMax: number) => Buffer | Refusal

export function workspaceReader(root: LandedPlace): WorkspaceReader {
  return (name, bytesMax) => {
    const landing = land(name, { cwd: root.path })
    if (landing instanceof Refusal) return landing
    const components = componentsBelow(landing, root)
    if (components !== null) return readGuardedFile({ root, components }, bytesMax)
    const details = { path: name, landed: landing.landed, roots: [root.path] }
    return new Refusal('outside-roots', details, `${name} lands outside the workspace`)
  }
}
