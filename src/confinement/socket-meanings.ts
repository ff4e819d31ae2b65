/**
 * What it means that a confined process reaches a socket of the host, by whose socket it is. A boundary holds its processes and
 * nobody who works for them, so a service that starts programs or opens files for whoever asks is a way around it. Data.
 */
import type { Guarantee } from '../outcome.js'

export interface SocketMeaning {
  readonly what: string
  /** What no longer holds, beside `no-network`. */
  readonly open: readonly Guarantee[]
}

const STARTS_PROGRAMS: readonly Guarantee[] = ['no-write-outside', 'reads-limited', 'tree-ends', 'not-root-outside']

/** By landed path; the first that matches. */
const MEANINGS: readonly (readonly [path: RegExp, meaning: SocketMeaning])[] = [
  [
    /\/(?:docker|podman|containerd|crio|buildkitd|nerdctl|dockershim|lxd|incus)[^/]*\.sock$|\/(?:lxd|incus)\/unix\.socket$/,
    {
      what: 'a container engine starts containers with any folder of this machine in them, as root where it runs as root',
      open: STARTS_PROGRAMS,
    },
  ],
  [/\/libvirt\//, { what: 'libvirt starts virtual machines on any disk of this machine', open: STARTS_PROGRAMS }],
  [
    /\/systemd\/private$|\/(?:system_bus_socket|bus|dbus-[^/]+)$|\/snapd[^/]*\.socket$/,
    { what: 'a bus or service manager starts programs outside of the boundary', open: STARTS_PROGRAMS },
  ],
  [
    /\/(?:X\d+|wayland-\d+|pipewire-\d+)$/,
    {
      what: 'a display or media server shows and takes what is on the screen, the keys and the microphone',
      open: ['reads-limited'],
    },
  ],
  [
    /\/(?:agent\.\d+|S\.gpg-agent[^/]*|S\.scdaemon|ssh[^/]*)$|\/keyring\//,
    { what: 'an agent for keys signs and decrypts with them for whoever asks', open: ['reads-limited'] },
  ],
  [
    /\/(?:tmux-\d+\/[^/]+|S-[^/]+|nvim[^/]*|vscode-ipc[^/]*)$/,
    { what: 'a terminal or editor runs the commands it is sent, outside of the boundary', open: STARTS_PROGRAMS },
  ],
]

const UNKNOWN: SocketMeaning = { what: 'whoever listens there acts outside of the boundary', open: [] }

/** The meaning of the socket at `path` (landed). One that is not known is said to be a way out all the same. */
export function socketMeaning(path: string): SocketMeaning {
  return MEANINGS.find(([pattern]) => pattern.test(path))?.[1] ?? UNKNOWN
}
