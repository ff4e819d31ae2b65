#!/bin/sh
# Keeps one container engine: keeper.sh ENGINE FOLDER. Run in a mount namespace of its own, so nothing that is mounted here is
# seen by anybody else, and on its standard input, whose end is the end of the engine: whoever started it may be killed by
# whatever signal, and the engine is taken down all the same. Says `ready`, or why not, on standard output.
set -u
engine=$1 D=$2

say() { printf '%s\n' "$*"; }
give_up() { say "$*"; down; exit 1; }
client() { docker -H "unix://$D/docker.sock" "$@"; }
# Files that are asked for users and their ranges, with one user more: the machine's own stay as they are.
made=
add_line() {
  [ -e "$1" ] || { : >"$1" && made="$made $1"; }
  { cat "$1" && say "$2"; } >"$D/${1##*/}" && mount --bind "$D/${1##*/}" "$1"
}
own_locks() { mount -t tmpfs locks /dev/shm && chmod 1777 /dev/shm; }

# What an engine still has mounted below its folder, the deepest first.
unmount_all() {
  awk -v at="$D/" 'index($5, at) == 1 { print $5 }' /proc/self/mountinfo | sort -r | while read -r point; do umount -l "$point"; done
}

docker_up() {
  # shellcheck disable=SC2086 # words
  setsid dockerd --data-root "$D/data" --exec-root "$D/exec" --pidfile "$D/dockerd.pid" -H "unix://$D/docker.sock" \
    --default-ulimit "nofile=$NOFILE:$NOFILE" ${DOCKERD_WORDS-} </dev/null >"$D/dockerd.log" 2>&1 &
  tries=0
  until client version >/dev/null 2>&1; do
    tries=$((tries + 1))
    [ "$tries" -lt 150 ] || give_up "dockerd does not come up: $(grep -E 'level=(fatal|error)|failed' "$D/dockerd.log" | tail -n 1)"
    sleep 0.1
  done
}

docker_down() {
  client ps -aq | xargs -r docker -H "unix://$D/docker.sock" rm -f
  pid=$(cat "$D/dockerd.pid") || return
  kill "$pid"
  tries=0
  while kill -0 "$pid" && [ "$tries" -lt 100 ]; do tries=$((tries + 1)); sleep 0.1; done
  kill -9 "$pid"
}

podman_up() {
  own_locks || give_up "no /dev/shm of its own can be mounted"
  for file in /etc/subuid /etc/subgid; do add_line $file containers:1000000:1000000 || give_up "no $file of its own can be mounted"; done
  mkdir -p /run/netns && mount -t tmpfs netns /run/netns
}

podman_down() {
  # shellcheck disable=SC2086 # words
  podman $PODMAN_WORDS rm --all --force --time 0
}

rootless_up() {
  own_locks || give_up "no /dev/shm of its own can be mounted"
  add_line /etc/passwd "harness-engines:x:$ENGINE_UID:$ENGINE_UID::$D/home:/bin/sh" || give_up "no /etc/passwd of its own can be mounted"
  for file in /etc/subuid /etc/subgid; do add_line $file harness-engines:2000000:65536 || give_up "no $file of its own can be mounted"; done
  add_line /etc/group "harness-engines:x:$ENGINE_UID:" || give_up "no /etc/group of its own can be mounted"
  mkdir -p "$D/home" "$D/user-run" && chown "$ENGINE_UID:$ENGINE_UID" "$D" "$D/home" "$D/user-run" && chmod 700 "$D/user-run"
}

as_user() { setpriv --reuid "$ENGINE_UID" --regid "$ENGINE_UID" --init-groups env -i "PATH=$PATH" "HOME=$D/home" "XDG_RUNTIME_DIR=$D/user-run" "$@"; }

rootless_down() {
  # shellcheck disable=SC2086 # words
  as_user podman $PODMAN_WORDS rm --all --force --time 0
  # The process that holds the user's namespaces.
  for file in "$D"/user-run/libpod/tmp/pause.pid "$D"/tmp/pause.pid; do [ -e "$file" ] && kill -9 "$(cat "$file")"; done
}

up() {
  ip link set lo up
  [ -z "${WITHOUT_UNIFIED-}" ] || umount /sys/fs/cgroup/unified || give_up "the mount of control groups of version 2 cannot be hidden"
  "${engine}_up"
}

down() {
  "${engine}_down" >/dev/null 2>&1
  unmount_all 2>/dev/null
  # shellcheck disable=SC2086 # words
  [ -z "$made" ] || { umount $made; rm -f $made; } 2>/dev/null
}

up 2>"$D/keeper.log"
say ready
# Until the other end is closed.
cat >/dev/null
down
