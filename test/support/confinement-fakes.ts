/** Machines and policies as data, for everything in confinement that is a function of them. */
import { DEFAULT_LIMITS } from '../../src/confinement/policy.js'
import type { HostFacts, LandedRule, Policy, PolicyRequest } from '../../src/confinement/types.js'

/** Debian-like, with merged /usr, an ordinary user, and no control group to use. */
export const DEBIAN: HostFacts = {
  platform: 'linux',
  arch: 'x64',
  kernel: '6.1.0',
  uid: 1000,
  gid: 1000,
  home: '/home/user',
  homes: ['/home/user'],
  gitSettings: [],
  pointedPlaces: [],
  bwrap: { path: '/usr/bin/bwrap' },
  node: '/usr/bin/node',
  systemRoots: [
    { kind: 'folder', path: '/usr' },
    { kind: 'link', path: '/bin', target: 'usr/bin' },
    { kind: 'link', path: '/lib', target: 'usr/lib' },
    { kind: 'link', path: '/lib64', target: 'usr/lib64' },
    { kind: 'folder', path: '/opt' },
  ],
  etcFiles: [
    { path: '/etc/ld.so.cache', landed: '/etc/ld.so.cache' },
    { path: '/etc/localtime', landed: '/usr/share/zoneinfo/Etc/UTC' },
  ],
  pathFolders: ['/usr/local/bin', '/usr/bin'],
  hardLimits: {},
  procCovers: ['/proc/sys', '/proc/irq', '/proc/bus'],
  cgroup: {},
  pid1WithoutInit: false,
  deviceOwners: [0],
  container: false,
  filtered: false,
  boundSockets: [],
  installHint: 'apt-get install bubblewrap',
}

/** Only the store holds programs; /bin and /usr hold one link each (case B14). */
export const NIXOS: HostFacts = {
  ...DEBIAN,
  bwrap: { path: '/nix/store/aaa-bubblewrap/bin/bwrap' },
  systemRoots: [
    { kind: 'folder', path: '/usr' },
    { kind: 'folder', path: '/bin' },
    { kind: 'folder', path: '/nix/store' },
  ],
  etcFiles: [{ path: '/etc/static', landed: '/nix/store/bbb-etc/etc' }],
  pathFolders: ['/nix/store/ccc-system-path/bin', '/home/user/.local/bin'],
}

export function rule(path: string, type: LandedRule['type'] = 'folder', source = 'test'): LandedRule {
  return { path, source, type, identity: { dev: '1', ino: String(path.length) } }
}

/** A policy by its folders; everything else is fixed, so that a golden list shows only what is meant. */
export function policy(parts: Partial<Policy> = {}): Policy {
  const workspace = parts.workspace ?? rule('/project')
  return {
    workspace,
    reads: [workspace],
    writes: [],
    protects: [],
    selfBinds: [],
    watched: [],
    hides: [],
    hiddenElsewhere: [],
    reservations: [],
    unscanned: [],
    owner: { uid: 1000, gid: 1000 },
    programs: null,
    env: { HOME: '/home/agent', PATH: '/usr/bin' },
    envSet: [],
    limits: DEFAULT_LIMITS,
    controlFiles: [],
    readHost: false,
    nesting: false,
    network: null,
    sockets: [],
    cache: null,
    gitCommit: false,
    gitOpen: [],
    gitNamed: [],
    homes: [],
    gitSettings: [],
    gitOwner: null,
    protectStrict: false,
    staged: [],
    toolchains: [],
    links: [],
    ...parts,
  }
}

/** A request that asks for nothing but a workspace. */
export function request(workspace: string, parts: Partial<PolicyRequest> = {}): PolicyRequest {
  return {
    workspace,
    read: [],
    writeSubtrees: [],
    hide: [],
    unprotect: [],
    programs: null,
    env: {},
    limits: {},
    controlFiles: [],
    ...parts,
  }
}
