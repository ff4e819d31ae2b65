/**
 * The first program inside a bubblewrap sandbox: sets the limits, says that it stands, and waits for a word from us. If
 * we are gone it reads end-of-file and ends, and with it the sandbox; so nothing of the command runs before
 * we have seen that the sandbox's life is tied to ours (see `launch.ts`).
 *
 * It is a script for any POSIX shell. The limits are set by the shell's own `ulimit`: a program more would cost as much
 * as the rest of the start. Units differ from prlimit(1): `-f` counts 512 bytes, `-d` counts KiB (POSIX "ulimit"; dash(1)).
 */

/** Exit status of the hold where it does not come to the command; with nothing released it is never taken for the command's. */
const GIVEN_UP = 125

/** Where the script stands inside; the argv names it (`bwrap-argv.ts`). */
export const HOLD_INSIDE = '/run/harness/limit'

/** What the hold says, and what it wants to hear; the words carry no meaning. */
export const RELEASE = 'go\n'

/**
 * cpu is SOFT:HARD: the soft limit is a signal that can be told (SIGXCPU), the hard one a KILL (getrlimit(2)).
 * Number of processes: `-u` in bash and zsh, `-p` in dash and busybox.
 */
const LIMITS = `\
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

/**
 * The script's bytes. `stderr`: `kept` leaves the descriptor alone; `given` takes the command's from descriptor 8, so that
 * what bubblewrap itself says before comes to us.
 */
export function holdScript(stderr: 'kept' | 'given'): Uint8Array {
  return SCRIPTS[stderr]
}

function script(takeStderr: string): Uint8Array {
  return Buffer.from(
    `#!/bin/sh\n${LIMITS}\necho stands >&7\nread -r HARNESS_HOLD <&7 || exit ${GIVEN_UP}\nunset HARNESS_HOLD\n${takeStderr}exec 7<&-\nexec "$@"\n`,
  )
}

const SCRIPTS = { kept: script(''), given: script('exec 2>&8 8>&-\n') } as const
