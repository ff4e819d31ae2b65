/** What one entry of the hooks file says, read and valid, and what can be wrong with one. Data only. */
import type { Place } from './strict-json.js'

export type { Place } from './strict-json.js'

export type HookPoint = 'before-call' | 'after-call' | 'stop' | 'transition'
export const HOOK_POINTS: readonly HookPoint[] = ['before-call', 'after-call', 'stop', 'transition']

/** How a file is pinned: of its bytes. */
export const DIGEST = /^sha256:[0-9a-f]{64}$/

/** One entry of the file. Keys that are absent there are null, or empty where they are lists. */
export interface HookSpec {
  /** 1-based. */
  readonly index: number
  readonly name: string | null
  readonly on: HookPoint
  /** Exact entry names; null: every tool. Only at `before-call` and `after-call`. */
  readonly tools: readonly string[] | null
  readonly command: readonly [string, ...string[]]
  /** 100 to 600 000. */
  readonly timeoutMs: number | null
  /** Absolute. */
  readonly cwd: string | null
  /** Names of variables that are passed on beside the constructed environment. */
  readonly env: readonly string[]
  /** {@link DIGEST} of the resolved argv[0], or digests by absolute path of members of the closure. */
  readonly digest: null | string | Readonly<Record<string, string>>
  /** Of the entry. */
  readonly place: Place
  /** By key. */
  readonly places: ReadonlyMap<string, Place>
}

export interface HooksDocument {
  /** Absolute. */
  readonly path: string
  /** The folder of `path`: where hooks run unless `cwd` says otherwise. */
  readonly folder: string
  /** Hex, of the bytes that were parsed. */
  readonly sha256: string
  readonly hooks: readonly HookSpec[]
}

/** Rules of hookcheck that the reader itself can tell a violation of. */
export type DocumentRule =
  | 'HC101'
  | 'HC102'
  | 'HC103'
  | 'HC104'
  | 'HC201'
  | 'HC504'
  | 'HC601'
  | 'HC701'
  | 'HC702'
  | 'HC803'

export interface DocumentProblem {
  readonly rule: DocumentRule
  /** Without the file and the position, which stand beside it. */
  readonly message: string
  readonly place: Place | null
  /** 1-based position of the hook; null: the file as a whole. */
  readonly hook: number | null
  /** What was most likely meant by an unknown word. */
  readonly nearest?: string
}
