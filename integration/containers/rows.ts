/**
 * The option sets that containers are started with, and what each has to come to: one row a set, keyed by its name. Data only.
 *
 * In options `{seccomp}` is a seccomp profile made of the engine's own by `harness doctor --seccomp-profile`, `{socket}` the API
 * socket of Docker.
 */
import type { BoundaryName } from '../../src/outcome.js'
import type { EngineName } from './engines.js'

/** What `--confine auto` takes; null: nothing, it is refused. */
export type Rung = Extract<BoundaryName, 'bubblewrap' | 'bubblewrap-hostproc' | 'landlock'> | null

export interface Row {
  readonly engine: EngineName
  /** Of podman; absent: runc. */
  readonly runtime?: 'crun'
  readonly options: readonly string[]
  /** False: the program is pid 1 by itself. Default: under tini, as in the image. */
  readonly init?: false
  /** False: the suite cannot be run there. It lays the programs that it starts into the folder for temporary files. */
  readonly suite?: false
  /** In the machine's own network namespace, where its hardware is. */
  readonly hostNetwork?: true
  /** Names what the machine has to have beside the engine; without it the row is skipped by that name. */
  readonly needs?: 'apparmor'
  readonly rung: Rung
  /** Why the boundaries above `rung` are refused: `details.probe` of the refusal; null where none is. */
  readonly because: string | null
  /** Where nothing can be had: the probe that refuses `--confine landlock`. */
  readonly landlock?: string
  /** Guarantees of the rung that cannot be claimed with such an engine, as the record says. */
  readonly unclaimed?: readonly string[]
  /** `--confine container`: `accepted`, or the probe that refuses it. */
  readonly container: string
  /** Rungs that following `doctor` leads to, step by step, up to where it has nothing more to say. */
  readonly advised: readonly Rung[]
  /** Exit status of `doctor`. Default: 0, what was asked for holds. */
  readonly doctor?: number
}

type Options = readonly string[]

/** As the smallest rights: nothing but what is mounted can be written. */
const LEAST: Options = [
  ...['--user=1000:1000', '--cap-drop=ALL', '--security-opt=no-new-privileges', '--read-only'],
  ...['--tmpfs=/tmp:exec,mode=1777'],
]
const SECCOMP: Options = ['--security-opt=seccomp={seccomp}']
const UNCONFINED: Options = ['--security-opt=seccomp=unconfined']
const PATHS: Options = ['--security-opt=systempaths=unconfined']
const UNMASK: Options = ['--security-opt=unmask=ALL']
const USER: Options = ['--user=1000:1000']
const ALONE: Options = ['--network=none']

/** crun makes the user of the container the owner of its standard input, /dev/null too. */
const DEVICE_GIVEN = ['host-settings-read-only'] as const

interface Given extends Partial<Omit<Row, 'engine' | 'options'>> {
  readonly options?: Options
}

const NO_NAMESPACES = {
  rung: 'landlock',
  because: 'user namespace',
  advised: ['bubblewrap-hostproc', 'bubblewrap'],
} as const
const MASKED = { rung: 'bubblewrap-hostproc', because: 'fresh /proc', advised: ['bubblewrap'] } as const
const FULL = { rung: 'bubblewrap', because: null, advised: [] } as const
const ACCEPTED = { container: 'accepted' } as const

const docker = (row: Given & Pick<Row, 'rung' | 'because' | 'advised' | 'container'>): Row => ({
  engine: 'docker',
  options: [],
  ...row,
})
const podman = (row: Given & Pick<Row, 'rung' | 'because' | 'advised' | 'container'>): Row => ({
  engine: 'podman',
  options: [],
  ...row,
})
const rootless = ({ options = [], ...row }: Given & Pick<Row, 'rung' | 'because' | 'advised' | 'container'>): Row => ({
  engine: 'podman-rootless',
  // slirp4netns needs a device that not every machine gives to users.
  options: [...ALONE, ...options],
  ...row,
})

export const ROWS = {
  'docker: default, root': docker({ ...NO_NAMESPACES, ...ACCEPTED }),
  'docker: default, user': docker({ ...NO_NAMESPACES, ...ACCEPTED, options: USER }),
  'docker: seccomp=unconfined, root': docker({ ...MASKED, ...ACCEPTED, options: UNCONFINED }),
  'docker: seccomp=unconfined, user': docker({ ...MASKED, ...ACCEPTED, options: [...USER, ...UNCONFINED] }),
  'docker: seccomp and systempaths=unconfined, root': docker({
    ...FULL,
    ...ACCEPTED,
    options: [...UNCONFINED, ...PATHS],
  }),
  'docker: seccomp and systempaths=unconfined, user': docker({
    ...FULL,
    ...ACCEPTED,
    options: [...USER, ...UNCONFINED, ...PATHS],
  }),
  'docker: least rights': docker({ ...NO_NAMESPACES, ...ACCEPTED, options: LEAST }),
  'docker: least rights, /tmp noexec': docker({
    ...NO_NAMESPACES,
    suite: false,
    // It has to start a program of its own there to know what is filtered.
    doctor: 1,
    ...ACCEPTED,
    options: [...LEAST.slice(0, -1), '--tmpfs=/tmp'],
  }),
  'docker: least rights, seccomp=FILE': docker({ ...MASKED, ...ACCEPTED, options: [...LEAST, ...SECCOMP] }),
  'docker: least rights, seccomp=FILE, systempaths=unconfined': docker({
    ...FULL,
    ...ACCEPTED,
    options: [...LEAST, ...SECCOMP, ...PATHS],
  }),
  'docker: --cap-add SYS_ADMIN, root': docker({
    ...NO_NAMESPACES,
    because: 'pivot_root',
    container: 'privileged',
    options: ['--cap-add=SYS_ADMIN'],
  }),
  'docker: --cap-add SYS_ADMIN, user': docker({
    ...NO_NAMESPACES,
    because: 'pivot_root',
    container: 'privileged',
    options: [...USER, '--cap-add=SYS_ADMIN'],
  }),
  'docker: --privileged, root': docker({ ...FULL, container: 'privileged', options: ['--privileged'] }),
  'docker: --privileged, user': docker({ ...FULL, container: 'privileged', options: [...USER, '--privileged'] }),
  'docker: --cap-drop=ALL, root': docker({ ...NO_NAMESPACES, ...ACCEPTED, options: ['--cap-drop=ALL'] }),
  'docker: --cap-drop=ALL, seccomp=FILE, root': docker({
    ...NO_NAMESPACES,
    ...ACCEPTED,
    because: 'uid map',
    options: ['--cap-drop=ALL', ...SECCOMP],
  }),
  'docker: --cap-drop=ALL --cap-add=SETFCAP, seccomp=FILE, systempaths=unconfined, root': docker({
    ...FULL,
    ...ACCEPTED,
    options: ['--cap-drop=ALL', '--cap-add=SETFCAP', ...SECCOMP, ...PATHS],
  }),
  'docker: --network none': docker({ ...NO_NAMESPACES, ...ACCEPTED, options: ALONE }),
  'docker: --network host': docker({ ...NO_NAMESPACES, container: 'host-network', options: ['--network=host'] }),
  'docker: --pid=host': docker({ ...NO_NAMESPACES, container: 'host-pid', options: ['--pid=host'] }),
  'docker: its socket mounted': docker({
    ...NO_NAMESPACES,
    container: 'engine-socket',
    options: ['--volume={socket}:/var/run/docker.sock'],
  }),
  'docker: --init': docker({ ...NO_NAMESPACES, ...ACCEPTED, init: false, options: [...USER, '--init'] }),
  'docker: no init': docker({ ...NO_NAMESPACES, ...ACCEPTED, init: false, options: USER }),
  'docker: read-only root alone': docker({
    rung: null,
    because: 'temporary files',
    advised: ['landlock', 'bubblewrap-hostproc', 'bubblewrap'],
    // Both need a file of ours to be started from there.
    landlock: 'landlock_create_ruleset',
    container: 'shares-our-uid',
    doctor: 2,
    options: [...USER, '--read-only'],
  }),
  'docker: -m 256m': docker({ ...NO_NAMESPACES, ...ACCEPTED, options: [...USER, '--memory=256m'] }),
  'docker: --pids-limit 100': docker({ ...NO_NAMESPACES, ...ACCEPTED, options: [...USER, '--pids-limit=100'] }),
  'docker: apparmor=unconfined': docker({
    ...NO_NAMESPACES,
    ...ACCEPTED,
    needs: 'apparmor',
    options: [...USER, '--security-opt=apparmor=unconfined'],
  }),
  'docker: apparmor=docker-default, seccomp=FILE': docker({
    ...NO_NAMESPACES,
    ...ACCEPTED,
    needs: 'apparmor',
    options: [...LEAST, ...SECCOMP],
  }),
  'podman: default, root': podman({ ...MASKED, ...ACCEPTED }),
  'podman: default, user': podman({ ...MASKED, ...ACCEPTED, options: USER }),
  'podman: unmask=ALL, root': podman({ ...FULL, ...ACCEPTED, options: UNMASK }),
  'podman: unmask=ALL, user': podman({ ...FULL, ...ACCEPTED, options: [...USER, ...UNMASK] }),
  'podman: --privileged, root': podman({ ...FULL, container: 'privileged', options: ['--privileged'] }),
  'podman: --privileged, user': podman({ ...FULL, container: 'privileged', options: [...USER, '--privileged'] }),
  'podman: least rights': podman({ ...MASKED, ...ACCEPTED, options: LEAST }),
  'podman: least rights, unmask=ALL': podman({ ...FULL, ...ACCEPTED, options: [...LEAST, ...UNMASK] }),
  'podman: --cap-drop=ALL, root': podman({
    ...NO_NAMESPACES,
    ...ACCEPTED,
    because: 'uid map',
    options: ['--cap-drop=ALL'],
  }),
  'podman: --cap-drop=ALL --cap-add=SETFCAP, unmask=ALL, root': podman({
    ...FULL,
    ...ACCEPTED,
    options: ['--cap-drop=ALL', '--cap-add=SETFCAP', ...UNMASK],
  }),
  'podman: --userns=auto': podman({ ...MASKED, ...ACCEPTED, options: ['--userns=auto'] }),
  'podman: --network none': podman({ ...MASKED, ...ACCEPTED, options: ALONE }),
  'podman: --network host': podman({
    ...MASKED,
    container: 'host-network',
    hostNetwork: true,
    options: ['--network=host'],
  }),
  'podman: --pid=host': podman({ ...MASKED, container: 'host-pid', options: ['--pid=host'] }),
  'podman: -m 256m': podman({ ...MASKED, ...ACCEPTED, options: [...USER, '--memory=256m'] }),
  'podman: --pids-limit 100': podman({ ...MASKED, ...ACCEPTED, options: [...USER, '--pids-limit=100'] }),
  'podman with crun: default, user': podman({
    ...MASKED,
    ...ACCEPTED,
    runtime: 'crun',
    unclaimed: DEVICE_GIVEN,
    options: USER,
  }),
  'podman with crun: unmask=ALL, user': podman({
    ...FULL,
    ...ACCEPTED,
    runtime: 'crun',
    unclaimed: DEVICE_GIVEN,
    options: [...USER, ...UNMASK],
  }),
  'rootless podman: default, root inside': rootless({ ...MASKED, ...ACCEPTED }),
  'rootless podman: default, user': rootless({ ...MASKED, ...ACCEPTED, options: USER }),
  'rootless podman: unmask=ALL, root inside': rootless({ ...FULL, ...ACCEPTED, options: UNMASK }),
  'rootless podman: --userns=keep-id': rootless({ ...MASKED, ...ACCEPTED, options: ['--userns=keep-id'] }),
  'rootless podman: --userns=keep-id, unmask=ALL, cap-drop=all': rootless({
    ...FULL,
    ...ACCEPTED,
    options: ['--userns=keep-id', '--cap-drop=ALL', '--security-opt=no-new-privileges', ...UNMASK],
  }),
  'rootless podman: --privileged, root inside': rootless({
    ...FULL,
    container: 'privileged',
    options: ['--privileged'],
  }),
} as const satisfies Readonly<Record<string, Row>>

export type RowName = keyof typeof ROWS
