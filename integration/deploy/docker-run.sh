#!/bin/sh
# What it is: one run of harness in a container of Docker or podman, over one folder:
#
#   IMAGE=harness sh docker-run.sh ./project run --provider demo --no-session --confine auto \
#     --allow-program node --process-write-subtree . --yes --input "show me"
#
# Without more it is the form that every Docker allows: the boundary is `landlock` (README, "What holds where"). podman gives
# `bubblewrap-hostproc` with the same options. The full boundary, `bubblewrap`, is the second form: BOUNDARY=bubblewrap, and for
# Docker SECCOMP=FILE, made once from the engine's own profile, which is read where it was put for some container:
#
#   id=$(docker run --detach --cap-drop=ALL --entrypoint sleep "$IMAGE" 600)
#   sudo find /run -path "*/$id/config.json" -exec cat {} + > default.json && docker rm --force "$id"
#   harness doctor --seccomp-profile default.json > harness-seccomp.json
#
# (or from profiles/seccomp/default.json in the sources of Docker, of the version that `docker version` says).
# `doctor` in place of `run …` tries each guarantee in the container that comes of it.
set -eu
folder=$(cd "${1:?a folder, and then what harness is to do}" && pwd -P)
shift
engine=${ENGINE:-docker}

# For `not-root-outside`: commands run as the owner of the folder, who can write it. Without it uid 0 of the container is uid 0
# of the machine for every file that is mounted, unless the engine itself runs rootless.
owner=$(stat -c %u:%g "$folder")
case $owner in
0:*) echo "docker-run.sh: $folder belongs to root: give it to a user first (chown)" >&2 && exit 125 ;;
esac
options="--user $owner"

# For `not-root-outside`, under podman as an ordinary user: the same uid inside and outside. Without it the folder belongs to
# root inside, and nothing can be written.
if [ "$engine" = podman ] && [ "$(id -u)" != 0 ]; then options="$options --userns=keep-id"; fi

# For `no-user-namespaces`: harness and bubblewrap need no capability. Without it a flaw in either is worth those of the engine's
# default, such as writing files of any owner (DAC_OVERRIDE) and raw packets (NET_RAW).
options="$options --cap-drop=ALL"

# For `syscalls-filtered`: no set-id program gives anything back. Without it `su` and its like in the image are programs of root.
options="$options --security-opt no-new-privileges"

# For `no-write-outside`: programs of the image stay as they are, whatever harness itself is made to do. Without it they can be
# replaced by it until the container ends.
options="$options --read-only"

# For `private-home-and-tmp`: one place for temporary files, gone with the container, with a size. `exec`, because tests and
# compilers start what they have just made. Without it there is none that can be written and harness refuses; with `noexec`, the
# engine's default, three guarantees can be told and not tried by `doctor`.
options="$options --tmpfs /tmp:rw,nosuid,nodev,exec,size=1g"

# For `private-home-and-tmp`: settings and sessions of harness go with the container as well. Without it they are looked for in a
# home that cannot be written. To keep sessions mount a folder and name it with --session-dir.
options="$options --env HOME=/tmp"

# For `no-write-outside`, under podman: no entry is made in /etc/passwd whose home is the folder, which is never granted whole. Without
# it harness refuses the folder (`home-folder`).
if [ "$engine" = podman ]; then options="$options --passwd=false"; fi

# For `no-network`: commands have none whatever stands here; this is for harness, which asks the model. NETWORK=none is enough for
# a provider `demo` or one behind a socket. Without it the network is the engine's default bridge. Never `host`: `--confine
# container` refuses that, and services that trust the loopback would hear harness.
options="$options --network ${NETWORK:-bridge}"

# For `tree-ends`: the bound of all launches together, when each has its own (--limit), which in a container the kernel counts for
# each process. Without it a run can take all the memory of the machine, and all its processes.
options="$options --memory ${MEMORY:-4g} --pids-limit ${PIDS:-1024}"

# For `tree-ends`: TERM, two seconds for commands to end, KILL, and the record is closed; more than ten seconds are taken by what
# hangs in the kernel. Without it Docker waits ten seconds and podman ten, and then nobody writes how the run ended.
options="$options --stop-timeout 20"

case ${BOUNDARY:-landlock}-$engine in
landlock-*) ;;
bubblewrap-docker)
  # For `pid-isolation`, `reads-limited`, `private-home-and-tmp`: the five calls of bubblewrap (clone, unshare, mount, umount2,
  # pivot_root). Without it Docker refuses user namespaces, and the boundary is `landlock`. More of the kernel can
  # be reached by harness then, not by its commands: those may make no namespace.
  options="$options --security-opt seccomp=${SECCOMP:?the file that harness doctor --seccomp-profile made}"

  # For `pid-isolation`: a /proc that is not covered, so that commands get one of their own. Without it the boundary is
  # `bubblewrap-hostproc`: processes of the container are listed inside, with their command lines.
  options="$options --security-opt systempaths=unconfined"

  # For `pid-isolation` as well, where AppArmor is on (Ubuntu, Debian): Docker's own profile denies mounts. `harness-container` is in
  # apparmor/bwrap-userns, and is loaded first. Without it bubblewrap cannot mount there.
  if [ "$(cat /sys/module/apparmor/parameters/enabled 2>/dev/null)" = Y ]; then
    options="$options --security-opt apparmor=harness-container"
  fi
  ;;
bubblewrap-podman)
  # For `pid-isolation`: podman allows the calls of bubblewrap; this is the /proc that is not covered. Without it the boundary is
  # `bubblewrap-hostproc`: processes of the container are listed inside, with their command lines.
  options="$options --security-opt unmask=ALL"
  ;;
*) echo "docker-run.sh: BOUNDARY is landlock or bubblewrap, ENGINE is docker or podman" >&2 && exit 125 ;;
esac

# For `env-constructed`: the key by its name, so that its value stands in no argument list and is seen by harness alone; commands
# get an environment that is built for them. Without it there is no key: then write --env NAME of your provider here.
for name in OPENAI_API_KEY ANTHROPIC_API_KEY; do
  if [ -n "$(printenv "$name")" ]; then options="$options --env $name"; fi
done

# What a person at a terminal has: Esc and Ctrl-C stop a run in order.
if [ -t 0 ] && [ -t 1 ]; then options="$options --interactive --tty"; fi

# What is started. No option holds a space: they are meant to be split. MORE is for your own, of the engine.
# shellcheck disable=SC2086
exec "$engine" run --rm $options ${MORE:-} --volume "$folder:/workspace" --workdir /workspace "${IMAGE:?name of the image}" "$@"
