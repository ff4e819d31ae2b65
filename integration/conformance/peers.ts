/**
 * Other sandboxes as backends, for comparison: looked for by a variable or on PATH and never fetched. Each gets what its own
 * documentation names for the same wish: write in the workspace, no network, everything else as it comes.
 */
import { existsSync, mkdtempSync, rmSync, writeFileSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import type { Backend, RunOptions, RunResult } from './backend.js'
import { started } from './broken.js'

export const PEER_NAMES = ['sandbox-runtime', 'codex'] as const
export type PeerName = (typeof PEER_NAMES)[number]

interface Peer {
  /** Names its program: a path, run by Node where it ends in `.js`. */
  readonly variable: string
  /** Its name on PATH. */
  readonly program: string
  /** Programs that it does not start without. */
  readonly wants: readonly string[]
  /** What follows its program; `folder` is a private one, for settings. */
  words(options: RunOptions, folder: string, argv: readonly string[]): readonly string[]
  /** Added to what it inherits. */
  env(folder: string): Readonly<Record<string, string>>
}

const TEMPORARY = ['exclude_slash_tmp', 'exclude_tmpdir_env_var'] as const

const PEERS: Readonly<Record<PeerName, Peer>> = {
  'sandbox-runtime': {
    variable: 'HARNESS_PEER_SANDBOX_RUNTIME',
    program: 'srt',
    wants: ['bwrap', 'socat', 'rg'],
    words({ workspace, writeSubtrees }, folder, argv) {
      const settings = join(folder, 'settings.json')
      const allowWrite = writeSubtrees.map(path => join(workspace, path))
      const network = { allowedDomains: [], deniedDomains: [] }
      writeFileSync(settings, JSON.stringify({ network, filesystem: { denyRead: [], allowWrite, denyWrite: [] } }))
      return ['--settings', settings, ...argv]
    },
    env: () => ({}),
  },
  codex: {
    variable: 'HARNESS_PEER_CODEX',
    program: 'codex',
    wants: [],
    words({ writeSubtrees }, _folder, argv) {
      const mode = writeSubtrees.length === 0 ? 'read-only' : 'workspace-write'
      // As it comes, all temporary folders can be written too, and the attempts are made in one.
      const settings = [`sandbox_mode="${mode}"`, ...TEMPORARY.map(name => `sandbox_workspace_write.${name}=true`)]
      return ['sandbox', ...settings.flatMap(setting => ['-c', setting]), '--', ...argv]
    },
    env: folder => ({ CODEX_HOME: folder }),
  },
}

/** The variables that name peers, as they are set, for the processes that run them. */
export function peerVariables(): Readonly<Record<string, string>> {
  return Object.fromEntries(
    PEER_NAMES.flatMap(name => {
      const words = peerProgram(name)
      return words === null ? [] : [[PEERS[name].variable, words[words.length - 1] ?? '']]
    }),
  )
}

/** The words that start a peer, or null where it is not installed. */
export function peerProgram(name: PeerName): readonly string[] | null {
  const { variable, program } = PEERS[name]
  const named = process.env[variable] ?? onPath(program)
  if (named === null || named === '' || !existsSync(named)) return null
  return named.endsWith('.js') ? [process.execPath, named] : [named]
}

/** The predicate that a comparison with the peer lacks here, for tap's `skip`; false: none. */
export function needsPeer(name: PeerName): false | string {
  const { variable, program, wants } = PEERS[name]
  if (peerProgram(name) === null) return `needs ${name}: ${program} on PATH, or ${variable}=FILE`
  const lacking = wants.filter(one => onPath(one) === null)
  return lacking.length === 0 ? false : `needs ${lacking.join(', ')} for ${name}`
}

function onPath(program: string): string | null {
  const folders = (process.env.PATH ?? '').split(delimiter).filter(folder => folder.startsWith('/'))
  return folders.map(folder => join(folder, program)).find(existsSync) ?? null
}

/** Not below the temporary folder of the system, where one of them makes no helper programs. */
const PRIVATE_PARENT = existsSync('/var/tmp') ? '/var/tmp' : tmpdir()

export function peerBackend(name: PeerName): Backend {
  return {
    name,
    available: () => needsPeer(name),
    async run(argv, options): Promise<RunResult> {
      const words = peerProgram(name)
      if (words === null) throw new Error(`${name} is not installed`)
      const folder = mkdtempSync(join(PRIVATE_PARENT, 'esc-peer-'))
      try {
        const { words: more, env } = PEERS[name]
        const whole = [...words, ...more(options, folder, argv)]
        const all = { ...process.env, ...options.env, ...env(folder) }
        return await started(whole, options, all, { onStart: pid => writeSync(1, `supervisor ${pid}\n`) })
      } finally {
        rmSync(folder, { recursive: true, force: true })
      }
    },
  }
}
