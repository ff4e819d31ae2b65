/**
 * The one table of what is wanted of the system: programs, why, and the packages they come in. Read by `npm run setup` and
 * by `.ci/run`, which both stand before `npm ci`: nothing but Node is imported.
 */
import { spawnSync } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { join } from 'node:path'

/**
 * Program → what it is for (`runs`: a confined run; `tests`: the suite alone), why, and its package where that is not
 * `fallback`; `null`: that system has none, and the tests that want it skip by name. A `proof` is asked of a program of
 * that name before it counts: busybox has smaller ones. An absolute name is wanted at that very place.
 */
export const WANTED = {
  bwrap: { for: 'runs', why: 'the boundary on Linux', fallback: 'bubblewrap' },
  prlimit: {
    for: 'tests',
    why: 'boundaries that are built to fail',
    package: { apk: 'util-linux-misc' },
    fallback: 'util-linux',
  },
  mkfifo: { for: 'runs', why: 'output of launches', fallback: 'coreutils' },
  git: { for: 'tests', why: 'repositories, and what git would execute', fallback: 'git' },
  perl: { for: 'tests', why: 'raw system calls', fallback: 'perl' },
  bash: { for: 'tests', why: 'hooks and completion', fallback: 'bash' },
  zsh: { for: 'tests', why: 'completion', fallback: 'zsh' },
  fish: { for: 'tests', why: 'completion', fallback: 'fish' },
  mandoc: { for: 'tests', why: 'man pages', fallback: 'mandoc' },
  openssl: { for: 'tests', why: 'certificates', fallback: 'openssl' },
  '/usr/bin/python3': { for: 'tests', why: 'a toolchain', package: { pacman: 'python' }, fallback: 'python3' },
  ps: {
    for: 'tests',
    why: 'trees of processes',
    proof: ['axeww', '-o', 'pid='],
    package: { dnf: 'procps-ng', pacman: 'procps-ng' },
    fallback: 'procps',
  },
  pkill: {
    for: 'tests',
    why: 'trees of processes',
    package: { dnf: 'procps-ng', pacman: 'procps-ng' },
    fallback: 'procps',
  },
  script: {
    for: 'tests',
    why: 'terminals',
    package: { 'apt-get': 'bsdutils', dnf: '/usr/bin/script', apk: 'util-linux-misc' },
    fallback: 'util-linux',
  },
  setpriv: {
    for: 'tests',
    why: 'other users',
    proof: ['--version'],
    package: { apk: 'setpriv' },
    fallback: 'util-linux',
  },
  chattr: {
    for: 'tests',
    why: 'files that cannot be changed',
    package: { apk: 'e2fsprogs-extra' },
    fallback: 'e2fsprogs',
  },
  '/usr/bin/vi': {
    for: 'tests',
    why: 'programs on a terminal',
    package: { 'apt-get': 'vim-tiny', dnf: 'vim-minimal', pacman: 'vi' },
    fallback: 'vim',
  },
  '/usr/bin/less': { for: 'tests', why: 'programs on a terminal', fallback: 'less' },
  shellcheck: {
    for: 'tests',
    why: 'scripts of workflows and deployments',
    package: { dnf: 'ShellCheck', zypper: 'ShellCheck' },
    fallback: 'shellcheck',
  },
  'docker-compose': {
    for: 'tests',
    why: 'deployment documents',
    package: { dnf: null, apk: null, pacman: null, zypper: null },
    fallback: 'docker-compose',
  },
  'systemd-analyze': {
    for: 'tests',
    why: 'deployment documents',
    package: { dnf: null, apk: null, pacman: null, zypper: null },
    fallback: 'systemd',
  },
  apparmor_parser: {
    for: 'tests',
    why: 'deployment documents',
    package: { dnf: null, apk: null, pacman: null, zypper: null },
    fallback: 'apparmor',
  },
}

/** Linters of documents that are deployed: other systems do not package all of them. */
const OF_DEBIAN = {
  shellcheck: 'shellcheck',
  'docker-compose': 'docker-compose',
  'systemd-analyze': 'systemd',
  apparmor_parser: 'apparmor',
}
for (const [program, name] of Object.entries(OF_DEBIAN))
  WANTED[program] = { for: 'tests', why: 'documents', package: { 'apt-get': name }, fallback: null }

/** Package manager → how it takes its lists and installs, unasked. */
export const MANAGERS = {
  'apt-get': {
    lists: ['apt-get', 'update', '-qq'],
    install: ['apt-get', 'install', '-y', '-qq', '--no-install-recommends'],
  },
  dnf: { install: ['dnf', 'install', '-y', '-q', '--setopt=install_weak_deps=False'] },
  apk: { install: ['apk', 'add', '--no-cache', '-q'] },
  pacman: { install: ['pacman', '-Sy', '--noconfirm', '--needed'] },
  zypper: { install: ['zypper', '--non-interactive', 'install'] },
}

const FOLDERS = ['/usr/sbin', '/sbin']

/** Where `name` would be started from, or null. */
export function placeOf(name, path = process.env.PATH ?? '') {
  const candidates = name.startsWith('/') ? [name] : [...path.split(':'), ...FOLDERS].map(folder => join(folder, name))
  for (const candidate of candidates) {
    try {
      accessSync(candidate, constants.X_OK)
      return candidate
    } catch {
      // not here
    }
  }
  return null
}

function isThere(name, { proof }) {
  const place = placeOf(name)
  if (place === null || proof === undefined) return place !== null
  return spawnSync(place, proof, { stdio: 'ignore' }).status === 0
}

/** The rows for `purposes` that this machine has not got, each with its program. Other systems than Linux want nothing. */
export function missing(purposes) {
  if (process.platform !== 'linux') return []
  return Object.entries(WANTED)
    .filter(([program, row]) => purposes.includes(row.for) && !isThere(program, row))
    .map(([program, row]) => ({ program, ...row }))
}

export function managerHere() {
  return Object.keys(MANAGERS).find(name => placeOf(name) !== null)
}

/** The packages of `rows` in the words of `manager`, each once. */
export function packagesOf(rows, manager) {
  const names = rows.map(({ package: own = {}, fallback }) => (Object.hasOwn(own, manager) ? own[manager] : fallback))
  return [...new Set(names.filter(name => name !== null))]
}

/** How `packages` are installed here: argument lists, to be run in this order. */
export function installCommands(packages, manager) {
  const before = process.getuid() === 0 ? [] : ['sudo']
  const { lists, install } = MANAGERS[manager]
  return [...(lists === undefined ? [] : [[...before, ...lists]]), [...before, ...install, ...packages]]
}
