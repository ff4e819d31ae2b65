/**
 * What the guardian runs: a script for any POSIX shell. Pure text.
 *
 * It is told `soon` before a start and `none` where that failed, `begin GROUP START` and `end GROUP` for groups, and `clean` when we
 * end with nothing running. At end-of-file it ends the groups that are still its to end, then sweeps for the mark several times,
 * because what it kills may have just forked.
 *
 * A start that we did not live to name is a process in a session of its own that may not show its environment yet: execve(2) closes our
 * descriptors, which lets the end-of-file through, before the new environment can be read, and on a machine without memory to spare the
 * disk may stand in between. So while there is such a one it is waited for, and the sweep is made again. What may
 * not be read is not ours, or no longer so.
 *
 * A shell that cannot fork ends, and what fills the table of processes may be what it is there to end. So groups are ended
 * without a fork, and the sweep has a slow twin of nothing but built-in words, run when the shell ends too soon (trap EXIT).
 */

/** How the system tells what carries a mark: `proc` through /proc (Linux), `ps` by ps(1) and its words. */
export type Sight = { readonly by: 'proc' } | { readonly by: 'ps'; readonly words: string }

/** On macOS `-E` shows environments, those of programs of the system left out where System Integrity Protection is on (ps(1)). */
export const DARWIN_SIGHT: Sight = { by: 'ps', words: '-axEww' }

/** Signals to us that reach the guardian as well change nothing: it ends by its pipe alone. */
const LISTEN = `\
trap '' HUP INT QUIT TERM
mark=$1=$2 groups=' ' sessions= soon=
while read -r word group start; do
case $word in
clean) exit 0 ;;
soon) soon=1 ;;
none) soon= ;;
begin) soon= groups="$groups$group:$start " ;;
end) case $groups in *" $group:"*)
rest=\${groups#*" $group:"}
groups="\${groups%%" $group:"*} \${rest#* }" ;;
esac ;;
esac
done`

/**
 * What is not our leader any more by its start time is not signalled; without a leader a number stays taken only while members of ours hold it.
 * The twin of the sweep stops what it finds before it ends any: what is stopped starts nothing, and keeps its place from others that would.
 */
const PROC = `\
slurp() {
text=
while IFS= read -r line || [ -n "$line" ]; do text="$text $line"; done <"$1"
} 2>/dev/null
held() {
slurp "/proc/\${1%%:*}/stat"
[ -n "$text" ] || return 0
start=\${1#*:}
set -- \${text##*) }
[ "\${20}" = "$start" ]
}
ours() {
slurp "/proc/$1/stat"
set -- "$1" \${text##*) }
case \${2-Z} in Z|X) return 1 ;; esac
case "$sessions|" in *"|$5|"*) return 0 ;; esac
slurp "/proc/$1/environ"
case $text in *"$mark"*) sessions="$sessions|$5" ;; *) return 1 ;; esac
}
newborn() {
slurp /proc/$$/stat
set -- \${text##*) }
born=\${20}
for path in /proc/[0-9]*; do
slurp "$path/stat"
set -- \${text##*) }
case \${1-Z} in Z|X) continue ;; esac
[ "$4" = "\${path#/proc/}" ] && [ "\${20}" -ge "$born" ] || continue
slurp "$path/environ" && [ -z "$text" ] && return 0
done
return 1
}
forkless() {
for round in 1 2 3 4 5 6 7 8 9; do
found=
for path in /proc/[0-9]*; do
pid=\${path#/proc/}
ours "$pid" && kill -STOP "$pid" 2>/dev/null && found="$found $pid"
done
[ -n "$found" ] || return
kill -KILL $found 2>/dev/null
done
}
list() {
name=$1
shift
found=$(grep -s "$@" /proc/[0-9]*/$name 2>/dev/null)
[ $? -lt 126 ] || found=$(for digit in 1 2 3 4 5 6 7 8 9; do grep -s "$@" /proc/$digit*/$name; done)
for path in $found; do
path=\${path#/proc/}
echo "\${path%%/*}"
done
}
session() {
stat=$(cat "/proc/$1/stat" 2>/dev/null) || return
set -- \${stat##*) }
sessions="$sessions|$4"
}
sweep() {
marked=$(list environ -lF -e "$mark")
for pid in $marked; do session "$pid"; done
found=$marked
[ -z "$sessions" ] || found="$marked $(list stat -lE -e "[)] [A-Za-z] [0-9]+ [0-9]+ (\${sessions#|}) ")"
}`

const ps = (words: string): string => `\
forkless() { :; }
newborn() { return 1; }
held() {
line=$(ps ${words} -o pid= -o command= 2>/dev/null | grep "^ *\${1%%:*} ") || return 0
case $line in *"$mark"*) return 0 ;; esac
return 1
}
sweep() {
found=$(ps ${words} -o pid= -o pgid= -o command= 2>/dev/null | while read -r pid group rest; do
case $rest in *"$mark"*) echo "$pid -$group" ;; esac
done)
}`

/** Pauses in seconds, ten together: longer than a disk takes for the first page of a program, and an end to waiting for who has none. */
const WAITED_FOR = Array.from({ length: 40 }, () => '0.25').join(' ')

/**
 * Whose environment is marked is ours, and so is its whole session, because only what we started is led into ours. That also
 * covers the moment between a spawn and the word of its group.
 */
const END = `\
trap forkless EXIT
sweeps() {
for pause in 0 0.05 0.1 0.2 0.4; do
[ $pause = 0 ] || sleep $pause
for entry in $groups; do
held "$entry" || continue
kill -KILL "-\${entry%%:*}" 2>/dev/null
sessions="$sessions|\${entry%%:*}"
done
sweep
for pid in $found; do kill -KILL "$pid" 2>/dev/null; done
[ -n "\${found# }" ] || sessions=
done
}
sweeps
if [ -n "$soon" ] && newborn; then
for pause in ${WAITED_FOR}; do newborn || break; sleep $pause; done
sweeps
fi
trap - EXIT`

/**
 * The script; its arguments are the variable that marks what is ours and its value, which nothing else on the machine carries.
 * They are two words, because ps(1) shows a command line like an environment, and the guardian is not its own to end.
 */
export function guardianScript(sight: Sight): string {
  return [LISTEN, sight.by === 'proc' ? PROC : ps(sight.words), END].join('\n')
}
