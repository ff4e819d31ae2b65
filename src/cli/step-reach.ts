/**
 * What a step of a flow may reach: the run's tools, under its scope. File tools ask the scope as a second layer; processes get
 * write only in the folders that the scope opens whole, in a boundary of the step's own (decisions 48).
 */
import { join } from 'node:path'
import type { Boundary } from '../confinement/boundary.js'
import { Refusal } from '../errors.js'
import type { Emit } from '../events.js'
import { documentTools } from '../loop/document-tools.js'
import { withOwnedTools } from '../loop/owned-tools.js'
import { land } from '../paths/resolve.js'
import { shown } from '../paths/walk.js'
import { vainRules } from '../paths/write-scope.js'
import { makeToolPort } from '../tools/port-local.js'
import type { OpenedStep } from '../workflow/ports.js'
import { processFolders, scopeLayer } from '../workflow/write-set.js'
import { opened, openOrClosed, type Surroundings } from './surroundings.js'

/** A boundary that several steps may stand in at one time. */
interface Narrow {
  readonly boundary: Promise<Boundary>
  /** Null until it stands. */
  standing: Boundary | null
  users: number
}

export class StepReach {
  readonly #narrow = new Map<string, Narrow>()
  #opened = 0

  constructor(private readonly surroundings: Surroundings) {}

  /** Throws the refusal of a boundary that cannot be had. */
  async open(scope: readonly string[], emit: Emit): Promise<OpenedStep> {
    const { opening, boundary, tools } = this.surroundings
    const vain = vainRules(scope)
    if (scope.length === 0 || opening === null) return { tools, warnings: vain, close: async () => [] }
    const granted = opening.request.writeSubtrees
    const usable = this.#usable(processFolders(scope, granted))
    const { folders } = usable
    const warnings = [...vain, ...usable.warnings]
    const isWhole = JSON.stringify(folders) === JSON.stringify(granted) && (opening.request.grants ?? []).length === 0
    if (isWhole) return { tools: this.#tools(scope, boundary, folders), warnings, close: async () => [] }
    const { boundary: own, release } = await this.#hold(folders, emit)
    return { tools: this.#tools(scope, own, folders), warnings, close: release }
  }

  /** Looks through what steps that run now may write, for what was planted there. */
  lookAround(): void {
    for (const { standing } of this.#narrow.values()) standing?.verify()
  }

  /** A folder that is not there cannot be granted, and one that is reached through a link is another one. */
  #usable(folders: readonly string[]): { readonly folders: readonly string[]; readonly warnings: readonly string[] } {
    const { path } = this.surroundings.reach.workspace
    const judged = folders.map(folder => {
      const landing = land(folder, { cwd: path })
      const there = folder === '.' ? path : join(path, folder)
      if (landing instanceof Refusal) return { folder, why: landing.message }
      if (!landing.exists || landing.type !== 'folder') return { folder, why: 'it is no folder yet' }
      return { folder, why: landing.landed === there ? null : `it leads to ${shown(landing.landed)}` }
    })
    return {
      folders: judged.flatMap(({ folder, why }) => (why === null ? [folder] : [])),
      warnings: judged.flatMap(({ folder, why }) =>
        why === null ? [] : [`programs of this step cannot write ${shown(folder)}, which its scope opens: ${why}`],
      ),
    }
  }

  #tools(scope: readonly string[], boundary: Boundary | null, folders: readonly string[]): OpenedStep['tools'] {
    const { reach, programs, tools, documents } = this.surroundings
    const port = makeToolPort({
      surface: tools.surface,
      reach: { ...reach, writeScopeLayers: [...reach.writeScopeLayers, scopeLayer(scope)] },
      boundary: openOrClosed(boundary, folders),
      programs,
    })
    return withOwnedTools(port, documentTools(documents))
  }

  async #hold(folders: readonly string[], emit: Emit): Promise<{ boundary: Boundary; release: OpenedStep['close'] }> {
    const key = JSON.stringify(folders)
    const narrow = this.#narrow.get(key) ?? this.#make(folders, emit)
    this.#narrow.set(key, narrow)
    narrow.users += 1
    const release = async (): Promise<readonly string[]> => {
      narrow.users -= 1
      if (narrow.users > 0) return []
      this.#narrow.delete(key)
      const own = await narrow.boundary.catch(() => null)
      const lines = own?.verify() ?? []
      await own?.close()
      return lines
    }
    try {
      narrow.standing = await narrow.boundary
      return { boundary: narrow.standing, release }
    } catch (error) {
      await release()
      throw error
    }
  }

  /** Never more than the run's: what it grants beside folders (git) is no part of a scope. */
  #make(writeSubtrees: readonly string[], onEvent: Emit): Narrow {
    const { opening } = this.surroundings
    if (opening === null) throw new Error('a step was narrowed where nothing is launched')
    this.#opened += 1
    const request = { ...opening.request, writeSubtrees, grants: [] }
    const runId = `${opening.runId}-scope${this.#opened}`
    return { boundary: opened({ ...opening, request, runId, onEvent }), standing: null, users: 0 }
  }
}
