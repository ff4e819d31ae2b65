/** What may be reached, and by which boundary it is held. */
import { built, CONFINED, type CommandName, type Flag, LAUNCHING, MODEL, planned, repeat } from './row.js'

const JUDGED: readonly CommandName[] = [...CONFINED, 'check-path']

export const CONFINEMENT_FLAGS: readonly Flag[] = [
  ...built(LAUNCHING, [['--workspace', 'DIR', 'the folder the run is about', { fallback: '.' }]]),
  ...built(
    [...LAUNCHING, 'hookcheck'],
    [
      ['--read', 'PATH', 'further readable path', repeat],
      ['--hide', 'PATH|GLOB', 'hide a path, or what a pattern of * ? ** [a-z] {a,b} names', repeat],
      ['--unprotect', 'NAME', 'lift the protection of one name, recorded', repeat],
      ['--process-write-subtree', 'DIR', 'let processes write DIR of the workspace (. for all of it)', repeat],
    ],
  ),
  ...built(CONFINED, [
    [
      '--confine',
      'BOUNDARY',
      'auto: the strongest boundary that holds here; native: the strongest or none; bubblewrap, bubblewrap-hostproc, landlock, seatbelt (macOS) or container by name; off (default: auto on exec, explain and doctor, off on the others)',
    ],
    ['--substrate-embedded', null, 'same as --confine native'],
    ['--container-uid', 'N', 'with --confine container: run commands as this user (we have to be uid 0)'],
  ]),
  // check-path starts nothing and takes them all the same: one line of options says what a run may and what it would be told.
  ...built(JUDGED, [
    ['--env', 'NAME=VALUE', 'set a variable inside the boundary', repeat],
    [
      '--limit',
      'NAME=VALUE',
      'wall, memory, pids, file-size, cpu, open-files, output-total; e.g. memory=512MiB, wall=30s',
      repeat,
    ],
    ['--cgroup-root', 'PATH', 'a delegated cgroup v2 folder for the limits'],
    ['--grant', 'git-commit', 'let git commit inside: its settings and hooks stay covered', repeat],
    ['--protect-strict', null, 'move aside every protected name that appears, not only what git would execute'],
    ['--read-host', null, 'show the whole host read-only, without the secrets of known names'],
    ['--cache', null, 'keep the caches of npm, pip, cargo, go and uv, one folder for each workspace'],
    [
      '--allow-host',
      'NAME[:PORT]',
      'let processes reach a host through our proxy, at ports 80 and 443 or PORT; *.NAME for all names below it, an address as itself',
      repeat,
    ],
    ['--allow-socket', 'PATH', 'let processes reach a unix socket of the host', repeat],
    ['--driver', 'PATH', 'show one file read-only at /toolchain/driver, its SHA-256 in the record'],
    [
      '--toolchain',
      'NAMES',
      'show installations of node, python, rust or go (with commas), or auto for those that the workspace has files of',
    ],
    ['--allow-nesting', null, 'let programs make sandboxes of their own inside (browsers, bubblewrap, unshare)'],
  ]),
  ...built(
    [...MODEL, 'tools', 'context', 'explain', 'hookcheck', 'check-path'],
    [['--allow-program', 'NAME', 'program that the tool run may start', repeat]],
  ),
  // Known, not built: each is refused by name.
  ...planned(CONFINED, [
    ['--substrate', 'SOCKET', ''],
    ['--toolchain-spec', 'FILE', '', repeat],
  ]),
]
