/** The run's tools on this machine: the catalogue that its boundary allows, each entry joined to what does it. */
import type { Boundary } from '../confinement/boundary.js'
import { type Catalogue, catalogue } from '../tools/catalogue.js'
import { dirList, fileEdit, fileRead, fileWrite } from '../tools/files.js'
import type { FileReach } from '../tools/folders.js'
import type { ToolPort } from '../tools/port.js'
import { toolPort } from '../tools/port-local.js'
import { refuseProgram, runProgram } from '../tools/run.js'
import { find, search } from '../tools/search.js'

export interface ToolsetOptions {
  readonly surface: 'flat' | 'verbs'
  readonly reach: FileReach
  readonly boundary: Boundary | null
  readonly programs: readonly string[]
  /** Write grants as the operator spelled them, for hints. */
  readonly writes: readonly string[]
}

export interface Toolset {
  readonly port: ToolPort
  readonly catalogue: Catalogue
}

export function toolset({ surface, reach, boundary, programs, writes }: ToolsetOptions): Toolset {
  const offered = catalogue({
    workspace: boundary === null ? { kind: 'closed', why: 'no boundary: confinement is off (--confine auto)' } : { kind: 'open' },
    programs,
  })
  const port = toolPort({
    surface,
    catalogue: offered,
    handlers: {
      file_read: { run: args => fileRead(args, reach) },
      dir_list: { run: args => dirList(args, reach) },
      search: { run: (args, { signal }) => search(args, reach, signal) },
      find: { run: (args, { signal }) => find(args, reach, signal) },
      file_write: { run: args => fileWrite(args, reach) },
      file_edit: { run: args => fileEdit(args, reach) },
      ...(boundary === null ? {} : { run: runHandler(boundary, programs, writes) }),
    },
  })
  return { port, catalogue: offered }
}

function runHandler(boundary: Boundary, programs: readonly string[], writes: readonly string[]) {
  const tool = {
    launcher: boundary,
    programs,
    wallMs: boundary.policy.limits.wall,
    hints: { writes, network: 'none' as const },
  }
  return {
    first: (args: Parameters<typeof runProgram>[1]) => refuseProgram(args, programs),
    run: (args: Parameters<typeof runProgram>[1], context: Parameters<typeof runProgram>[2]) => runProgram(tool, args, context),
  }
}
