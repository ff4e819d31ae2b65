import { chmodSync, chownSync, existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { describeHost, readHostFacts, trustedProgram } from '../../src/confinement/host-facts.js'
import {
  cgroupFolders,
  hardLimitsOf,
  homeOfUid,
  homesOf,
  installCommand,
  usersKnown,
} from '../../src/confinement/host-texts.js'
import { DEBIAN } from '../support/confinement-fakes.js'
import { needs } from '../support/needs.js'
import { scratch } from '../support/scratch.js'

t.test('this machine', { skip: needs('linux', 'bubblewrap') }, async t => {
  const facts = await readHostFacts()
  t.match(facts, { platform: 'linux', uid: process.getuid?.(), gid: process.getgid?.(), arch: process.arch })
  t.match(facts.bwrap, { path: /^\/.*bwrap$/ })
  t.ok(facts.systemRoots.some(({ path }) => path === '/usr' || path.endsWith('/store')))
  t.notOk(
    facts.etcFiles.some(({ path }) => /shadow|passwd|group|ssh|private/.test(path)),
    'nothing that names people or keys',
  )
  t.same(facts.pathFolders, [...new Set(facts.pathFolders)], 'no doubles')
  t.ok(facts.homes.every(path => path.startsWith('/')))
  for (const path of ['sys', 'sysrq-trigger', 'irq', 'bus', 'fs', 'acpi', 'scsi'].map(name => `/proc/${name}`))
    t.equal(facts.procCovers.includes(path), existsSync(path), `${path} changes for uid 0 without a capability`)
})

t.test('folders of PATH: landed, absolute, existing, in their order', { skip: needs('linux') }, async t => {
  const root = scratch(t)
  for (const name of ['b', 'a']) mkdirSync(join(root, name))
  writeFileSync(join(root, 'file'), '')
  symlinkSync('a', join(root, 'link'))
  const path = [
    '',
    '.',
    'relative',
    join(root, 'b'),
    join(root, 'link'),
    join(root, 'a'),
    join(root, 'file'),
    join(root, 'gone'),
  ]
  const { pathFolders } = await readHostFacts({ env: { PATH: path.join(':') } })
  t.same(pathFolders, [join(root, 'b'), join(root, 'a')])
})

t.test('a launcher that others could have put there is none', { skip: needs('linux') }, async t => {
  const root = scratch(t)
  const cases: readonly (readonly [folderMode: number, fileMode: number, trusted: boolean])[] = [
    [0o755, 0o755, true],
    [0o775, 0o755, true],
    [0o777, 0o755, false],
    [0o1777, 0o755, false],
    [0o755, 0o757, false],
    [0o755, 0o644, false],
  ]
  for (const [folderMode, fileMode, trusted] of cases) {
    const folder = join(root, `${folderMode}-${fileMode}`)
    const file = join(folder, 'launcher-of-this-test')
    mkdirSync(folder)
    writeFileSync(file, '#!/bin/sh\n')
    chmodSync(file, fileMode)
    chmodSync(folder, folderMode)
    const found = trustedProgram('launcher-of-this-test', folder)
    t.equal(found, trusted ? file : null, `folder ${folderMode.toString(8)}, file ${fileMode.toString(8)}`)
  }
  if (process.getuid?.() === 0) {
    const folder = join(root, `${0o775}-${0o755}`)
    chownSync(folder, 0, 50)
    t.equal(trustedProgram('launcher-of-this-test', folder), null, 'a folder that another group can change')
    chmodSync(folder, 0o755)
    t.equal(
      trustedProgram('launcher-of-this-test', folder),
      join(folder, 'launcher-of-this-test'),
      'its group alone is no matter',
    )
  }
  symlinkSync(join(root, '493-493/launcher-of-this-test'), join(root, '1023-493', 'another'))
  t.equal(trustedProgram('another', join(root, '1023-493')), null, 'a link that others could have made')
  symlinkSync(join(root, '493-493/launcher-of-this-test'), join(root, '493-493', 'another'))
  t.equal(trustedProgram('another', join(root, '493-493')), join(root, '493-493/launcher-of-this-test'), 'landed')
  t.equal(trustedProgram('launcher-of-this-test', 'relative:.'), null)
})

t.test('a control group root that cannot serve says why', { skip: needs('linux') }, async t => {
  const { cgroup } = await readHostFacts({ cgroupRoot: scratch(t) })
  t.match(cgroup, { rootProblem: /memory and pids/ })
  t.equal(cgroup.v2, undefined)
})

t.test('version and options are asked of the program, and absent where it does not answer', async t => {
  const answers: Readonly<Record<string, string | null>> = {
    '--version': 'bubblewrap 0.8.0\n',
    '--help': 'usage: bwrap [OPTIONS...]\n\n    --help    Print\n    --bind-fd FD DEST   Bind\n',
  }
  const asked: string[] = []
  const described = await describeHost(DEBIAN, (file, [option = '']) => {
    asked.push(`${file} ${option}`)
    return Promise.resolve(answers[option] ?? null)
  })
  t.same(described.bwrap, { path: '/usr/bin/bwrap', version: '0.8.0', options: ['--help', '--bind-fd'] })
  t.same(asked, ['/usr/bin/bwrap --version', '/usr/bin/bwrap --help'])
  t.same((await describeHost(DEBIAN, () => Promise.resolve(null))).bwrap, { path: '/usr/bin/bwrap' })
  const none = { ...DEBIAN, bwrap: null }
  t.equal(await describeHost(none, () => Promise.reject(new Error('there is nothing to ask'))), none)
})

t.test('hard limits', async t => {
  const text = [
    'Limit                     Soft Limit           Hard Limit           Units     ',
    'Max cpu time              unlimited            unlimited            seconds   ',
    'Max file size             1048576              2097152              bytes     ',
    'Max data size             unlimited            unlimited            bytes     ',
    'Max processes             100                  96365                processes ',
    'Max open files            1024                 20000                files     ',
  ].join('\n')
  t.same(hardLimitsOf(text), { fsize: 2_097_152, nproc: 96_365, nofile: 20_000 })
  t.same(hardLimitsOf(''), {}, 'unknown is not a limit; prlimit itself then refuses')
})

t.test('control groups: version 1, version 2, hybrid, and a namespace', async t => {
  const mount = (root: string, point: string, type: string, options: string): string =>
    `30 20 0:25 ${root} ${point} rw,nosuid - ${type} cgroup rw,${options}`
  const cases: readonly (readonly [name: string, membership: string, mounts: string[], found: unknown])[] = [
    [
      'version 2',
      '0::/user.slice/x\n',
      [mount('/', '/sys/fs/cgroup', 'cgroup2', 'nsdelegate')],
      { v2: { own: '/sys/fs/cgroup/user.slice/x', top: '/sys/fs/cgroup' }, v1: {} },
    ],
    [
      'hybrid',
      '9:name=systemd:/\n8:pids:/\n4:memory:/api/1\n2:cpu,cpuacct:/c\n0::/\n',
      [
        mount('/', '/sys/fs/cgroup/pids', 'cgroup', 'pids'),
        mount('/', '/sys/fs/cgroup/memory', 'cgroup', 'memory'),
        mount('/', '/sys/fs/cgroup/cpu,cpuacct', 'cgroup', 'cpu,cpuacct'),
        mount('/', '/sys/fs/cgroup/unified', 'cgroup2', ''),
      ],
      {
        v2: { own: '/sys/fs/cgroup/unified', top: '/sys/fs/cgroup/unified' },
        v1: {
          pids: { own: '/sys/fs/cgroup/pids', top: '/sys/fs/cgroup/pids' },
          memory: { own: '/sys/fs/cgroup/memory/api/1', top: '/sys/fs/cgroup/memory' },
          cpuacct: { own: '/sys/fs/cgroup/cpu,cpuacct/c', top: '/sys/fs/cgroup/cpu,cpuacct' },
        },
      },
    ],
    [
      'a container that shows its own group as the root of the mount',
      '0::/docker/abc/sub\n',
      [mount('/docker/abc', '/sys/fs/cgroup', 'cgroup2', '')],
      { v2: { own: '/sys/fs/cgroup/sub', top: '/sys/fs/cgroup' }, v1: {} },
    ],
    [
      'a mount point with a blank',
      '3:pids:/\n',
      [mount('/', '/sys/a\\040b', 'cgroup', 'pids')],
      { v1: { pids: { own: '/sys/a b', top: '/sys/a b' } } },
    ],
    ['nothing mounted', '8:pids:/\n0::/\n', [], { v1: {} }],
  ]
  for (const [name, membership, mounts, found] of cases)
    t.same(cgroupFolders(membership, mounts.join('\n')), found, name)
})

t.test('home of a uid', async t => {
  const passwd = 'root:x:0:0:root:/root:/bin/sh\nuser:x:1000:1000::/home/user:/bin/sh\n'
  t.equal(homeOfUid(passwd, 1000), '/home/user')
  t.equal(homeOfUid(passwd, 100), null)
  t.equal(homeOfUid('', 0), null)
  const made = `${passwd}1234:*:1234:0:container user:/workspace:/bin/sh\nme:*:501:501:Me:/workspace:/bin/sh\n`
  for (const uid of [1234, 501])
    t.equal(homeOfUid(usersKnown(made, true), uid), null, 'podman’s working folder is none')
  t.same(homesOf(usersKnown(made, true)), ['/root', '/home/user'])
  t.equal(homeOfUid(usersKnown(made, false, 'podman'), 501), null, 'with --read-only')
  t.equal(homeOfUid(usersKnown(made, false), 501), '/workspace', 'elsewhere an entry is what it says')
})

t.test('the one command that installs bubblewrap', async t => {
  const cases: readonly (readonly [release: string, command: RegExp])[] = [
    ['ID=debian\n', /^apt-get update && apt-get install -y bubblewrap$/],
    ['NAME="Linux Mint"\nID=linuxmint\nID_LIKE="ubuntu debian"\n', /^apt-get/],
    ['ID="rocky"\nID_LIKE="rhel centos fedora"\n', /^dnf/],
    ['ID=alpine\n', /^apk add/],
    ['ID=arch\n', /^pacman/],
    ['ID="opensuse-leap"\nID_LIKE="suse opensuse"\n', /^zypper/],
    ['ID=nixos\n', /^nix-env/],
    ['ID=guix\n', /^guix install/],
    ['ID=gentoo\n', /^emerge/],
    ['ID="void"\n', /^xbps-install/],
    ['ID=wolfi\n', /^apk add/],
    ['', /package manager of this system/],
    ['NAME=debian\n', /package manager of this system/],
  ]
  for (const [release, command] of cases) t.match(installCommand(release, 0), command, JSON.stringify(release))
  t.equal(installCommand('ID=debian\n', 1000), 'sudo apt-get update && sudo apt-get install -y bubblewrap')
  t.equal(installCommand('ID=nixos\n', 1000), 'nix-env -iA nixos.bubblewrap')
})

t.test('HOME is a home, and so is the one of the user database', { skip: needs('linux') }, async t => {
  const { homes, home } = await readHostFacts()
  t.equal(home, homes[0] ?? homedir())
})
