/**
 * What to change, by who has to change it: the options of a container engine by name, or the settings of the machine. Pure;
 * the texts stand in refusals, in `doctor` and in its JSON.
 */
import { NESTED_CALLS } from './seccomp-profile.js'

/** Who started the container that we are in. `kubernetes` speaks of a pod's `securityContext`. */
export type Engine = 'docker' | 'podman' | 'kubernetes'

/** `host`: outside of any container, and in one whose engine has no words of its own here. */
export interface Fix {
  readonly host: string
  readonly docker?: string
  readonly podman?: string
  readonly kubernetes?: string
}

/** Where a fix is to be told. */
export interface FixPlace {
  /** `unknown`: nothing says whether this is a container, or of whose making. Null: it is none. */
  readonly engine: Engine | 'unknown' | null
  /** Landed path of bubblewrap; null: none. An AppArmor profile names it. */
  readonly bwrap: string | null
  /** The command that installs bubblewrap here. */
  readonly installHint: string
}

const NAMES: Readonly<Record<Engine, string>> = { docker: 'Docker', podman: 'podman', kubernetes: 'Kubernetes' }

/** The one sentence that fits `engine`; where that is not known, those of all engines too, each under its name. */
export function fixFor(fix: Fix, engine: FixPlace['engine']): string {
  if (engine === null) return fix.host
  if (engine !== 'unknown') return fix[engine] ?? fix.host
  const named = (['docker', 'podman', 'kubernetes'] as const).flatMap(name =>
    fix[name] === undefined ? [] : [`${NAMES[name]}: ${fix[name]}`],
  )
  return [fix.host, ...named].join(' · ')
}

const CALLS = `${NESTED_CALLS.slice(0, -1).join(', ')} and ${NESTED_CALLS.at(-1)}`

export const USER_NAMESPACES: Fix = {
  host: 'sudo sysctl -w kernel.unprivileged_userns_clone=1 where there is such a setting (Debian), and sudo sysctl -w user.max_user_namespaces=15000 where that is 0',
  docker: `--security-opt seccomp=FILE, where FILE is Docker’s default profile with ${CALLS} allowed (harness doctor --seccomp-profile DEFAULT.json > FILE; or --security-opt seccomp=unconfined), and run as an ordinary user: --user 1000:1000`,
  podman: `leave podman’s own seccomp profile in place (no --security-opt seccomp=FILE), or allow ${CALLS} in FILE`,
  kubernetes: `securityContext.seccompProfile: {type: Localhost, localhostProfile: FILE} with ${CALLS} allowed (harness doctor --seccomp-profile DEFAULT.json > FILE; or {type: Unconfined}), and runAsUser: 1000`,
}

export const FRESH_PROC: Fix = {
  host: 'use --confine auto, which shows the host’s /proc instead, or give the sandbox around us a /proc that is not covered',
  docker: '--security-opt systempaths=unconfined; or use --confine auto, which shows the host’s /proc instead',
  podman: '--security-opt unmask=ALL; or use --confine auto, which shows the host’s /proc instead',
  kubernetes:
    'securityContext.procMount: Unmasked (with hostUsers: false); or use --confine auto, which shows the host’s /proc instead',
}

export const PIVOT_ROOT: Fix = {
  host: 'the system-call filter around us forbids pivot_root: allow it there',
  docker:
    '--security-opt seccomp=FILE with pivot_root allowed (Docker’s own profile never allows it, whatever --cap-add says), or --security-opt seccomp=unconfined',
  podman: '--security-opt seccomp=FILE with pivot_root allowed, or podman’s own profile',
  kubernetes: 'securityContext.seccompProfile: a Localhost profile with pivot_root allowed, or {type: Unconfined}',
}

export const UID_MAP: Fix = {
  host: 'uid 0 without CAP_SETFCAP cannot be mapped: run as an ordinary user, or keep that capability',
  docker: '--user 1000:1000, or --cap-add SETFCAP',
  podman: '--user 1000:1000, or --cap-add SETFCAP',
  kubernetes: 'securityContext.runAsUser: 1000, or capabilities.add: [SETFCAP]',
}

export const MOUNTS: Fix = {
  host: 'the system-call filter around us forbids mount or umount2: allow them there',
  docker: '--security-opt seccomp=FILE with mount and umount2 allowed, or --security-opt seccomp=unconfined',
  podman: 'podman’s own seccomp profile allows it: leave --security-opt seccomp=FILE out, or allow mount and umount2',
  kubernetes:
    'securityContext.seccompProfile: a Localhost profile with mount and umount2 allowed, or {type: Unconfined}',
}

export const CAPABILITIES: Fix = {
  host: 'start this process without inherited capabilities (setpriv --inh-caps=-all --ambient-caps=-all), or as an ordinary user',
  docker: 'leave --cap-add out, or run as an ordinary user: --user 1000:1000',
  podman: 'leave --cap-add out, or run as an ordinary user: --user 1000:1000',
  kubernetes: 'leave capabilities.add out, or runAsUser: 1000',
}

/**
 * A group of our own with room for those of launches: a folder with processes in it hands no controller on, so the one that asks
 * moves into a folder below (cgroups(7), "no internal processes"). The last word takes `--cgroup-root` like any other command.
 */
export const DELEGATED_GROUP: Fix = {
  host: `delegate one: systemd-run --user --scope -p Delegate=yes sh -c 'cd /sys/fs/cgroup"$(cut -d: -f3- /proc/self/cgroup)" && mkdir own && echo $$ >own/cgroup.procs && echo "+memory +pids" >cgroup.subtree_control && exec harness doctor --cgroup-root "$PWD"' (as root without --user)`,
  docker:
    'Docker shows control groups read-only; limits of an ordinary user are counted by the kernel (as root: --user 1000:1000)',
  podman:
    '--security-opt unmask=/sys/fs/cgroup with control groups of version 2, or as an ordinary user, whose limits are counted by the kernel (as root: --user 1000:1000)',
  kubernetes:
    'control groups are shown read-only in a pod; limits of an ordinary user are counted by the kernel (as root: runAsUser: 1000)',
}

/** Least version of bubblewrap whose options we use. */
export const BWRAP_LEAST = [0, 8] as const

/** A package that is too old stays so however often it is installed. */
export function olderFix({ bwrap, installHint }: Pick<FixPlace, 'bwrap' | 'installHint'>): Fix {
  return {
    host: `version ${BWRAP_LEAST.join('.')} or later is needed: ${installHint}; where that package is older still, put a later one in the place of ${bwrap ?? '/usr/bin/bwrap'}, or use --confine landlock`,
  }
}

/**
 * The narrow way out of Ubuntu's restriction: one program may make user namespaces, the setting stays as it is. The profile
 * has to name the program that is started, so it is written for the bubblewrap that was found.
 */
export function appArmorFix({ bwrap }: Pick<FixPlace, 'bwrap'>): Fix {
  const program = bwrap ?? '/usr/bin/bwrap'
  const lines = ["'abi <abi/4.0>,'", "'include <tunables/global>'", `'${appArmorProfile(program)}'`].join(' ')
  const load = `load an AppArmor profile for ${program} with "userns,": printf '%s\\n' ${lines} | sudo tee /etc/apparmor.d/bwrap && sudo apparmor_parser -r /etc/apparmor.d/bwrap`
  return {
    host: `${load} (sysctl kernel.apparmor_restrict_unprivileged_userns=0 would open it to every program)`,
    docker: `--security-opt apparmor=unconfined, and on the host ${load}`,
    podman: `--security-opt apparmor=unconfined, and on the host ${load}`,
    kubernetes: `securityContext.appArmorProfile: {type: Unconfined}, and on the node ${load}`,
  }
}

function appArmorProfile(program: string): string {
  return `profile bwrap ${/^[\w./+-]+$/.test(program) ? program : JSON.stringify(program)} flags=(unconfined) { userns, }`
}
