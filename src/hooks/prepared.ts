/** A hook as it will be started: everything looked up and judged once, before the run begins. Data only. */
import type { HookPoint } from './hook-spec.js'

export interface PreparedHook {
  /** As in the file, else `hook-N` by its position. */
  readonly name: string
  readonly on: HookPoint
  /** Exact entry names; null: every tool. */
  readonly tools: readonly string[] | null
  /** `command[0]` as written, for the record. */
  readonly command0: string
  /** Absolute, before links: multi-call programs and virtual environments go by it. */
  readonly argv0: string
  readonly args: readonly string[]
  /** Absolute. */
  readonly cwd: string
  /** The hook's own; null: the consultation's. */
  readonly timeoutMs: number | null
  /** Complete but for the variables of one launch. */
  readonly env: Readonly<Record<string, string>>
  /** Looks again, right before a start, at what was judged. */
  readonly ready: () => ReadyProgram | { readonly fault: string }
}

/** What may be started now. */
export interface ReadyProgram {
  /** Landed, or the name of a descriptor of ours that leads to the judged file. */
  readonly file: string
  /** Once the program has been started and has ended. */
  readonly release: () => void
}
