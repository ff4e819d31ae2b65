/**
 * The first program inside a bubblewrap sandbox: sets the limits, says that it stands, and waits for a word from us. If
 * we are gone it reads end-of-file and ends, and with it the sandbox; so nothing of the command runs before
 * we have seen that the sandbox's life is tied to ours (see `launch.ts`).
 *
 * It is a script for any POSIX shell. The limits are set by the shell's own `ulimit`: a program more would cost as much
 * as the rest of the start. Units differ from prlimit(1): `-f` counts 512 bytes, `-d` counts KiB (POSIX "ulimit"; dash(1)).
 */

import { BRIDGE_SCRIPT } from './bridge.js'

/** Exit status of the hold where it does not come to the command; with nothing released it is never taken for the command's. */
const GIVEN_UP = 125

/** Where the script stands inside; the argv names it (`bwrap-argv.ts`). */
export const HOLD_INSIDE = '/run/harness/limit'

/** What the hold says, and what it wants to hear; the words carry no meaning. */
export const RELEASE = 'go\n'

/**
 * Takes the options of `launch-limits` up to `--`, sets each, and leaves the command as the shell's arguments.
 * cpu is SOFT:HARD: the soft limit is a signal that can be told (SIGXCPU), the hard one a KILL (getrlimit(2)).
 * Number of processes: `-u` in bash and zsh, `-p` in dash and busybox.
 */
export const LIMITS_SCRIPT = `\
while [ "$1" != -- ]; do
case $1 in
--nofile=*) ulimit -n "\${1#*=}" ;;
--fsize=*) ulimit -f $(( \${1#*=} / 512 )) ;;
--data=*) ulimit -d $(( \${1#*=} / 1024 )) ;;
--cpu=*) HARNESS_CPU=\${1#*=} && ulimit -t "\${HARNESS_CPU#*:}" && ulimit -S -t "\${HARNESS_CPU%:*}" && unset HARNESS_CPU ;;
--nproc=*) ulimit -u "\${1#*=}" 2>/dev/null || ulimit -p "\${1#*=}" ;;
*) echo "unknown limit $1" >&2; exit ${GIVEN_UP} ;;
esac || exit ${GIVEN_UP}
shift
done
shift`

/** Marks the second start of the script below: the first argument is an option or `--` otherwise. */
const TAKEN = 'taken'

/**
 * Starts itself again as the leader of a session whose controlling terminal is stdin (setsid(1) `-c`, of util-linux and busybox
 * alike; it forks only for a leader of a process group, which the first program is not). That the terminal was taken is seen
 * before anything of the command runs.
 */
const TAKE_TERMINAL = `\
if [ "$1" = ${TAKEN} ]; then shift
else
[ -x /usr/bin/setsid ] && exec /usr/bin/setsid -c "$0" ${TAKEN} "$@"
[ -x /bin/setsid ] && exec /bin/setsid -c "$0" ${TAKEN} "$@"
echo 'terminal: no program setsid inside' >&2
exit ${GIVEN_UP}
fi
: </dev/tty || exit ${GIVEN_UP}
`

/** What the command gets: `kept` is the launcher's own stderr; `given` and `terminal` take it from descriptor 8. */
export type HeldStdio = 'kept' | 'given' | 'terminal'

/**
 * The script's bytes. `kept` leaves the descriptors alone; `given` takes stderr from descriptor 8, so that what bubblewrap itself
 * says before comes to us; `terminal` does that too and makes stdin, a terminal, the controlling one. `bridge` hands a listener out
 * before the limits are set.
 */
export function holdScript(stdio: HeldStdio, network: 'none' | 'bridge' = 'none'): Uint8Array {
  return SCRIPTS[network][stdio]
}

function script(takeTerminal: string, bridge: string, takeStderr: string): Uint8Array {
  return Buffer.from(
    `#!/bin/sh\n${takeTerminal}${bridge}${LIMITS_SCRIPT}\necho stands >&7\nread -r HARNESS_HOLD <&7 || exit ${GIVEN_UP}\nunset HARNESS_HOLD\n${takeStderr}exec 7<&-\nexec "$@"\n`,
  )
}

const TAKE_STDERR = 'exec 2>&8 8>&-\n'

function scripts(bridge: string): Readonly<Record<HeldStdio, Uint8Array>> {
  return {
    kept: script('', bridge, ''),
    given: script('', bridge, TAKE_STDERR),
    terminal: script(TAKE_TERMINAL, bridge, TAKE_STDERR),
  }
}

const SCRIPTS = { none: scripts(''), bridge: scripts(BRIDGE_SCRIPT) } as const
