/** Which places count as secrets, by name, by variable and by mount. */
import { chmodSync, linkSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { secretPlaces } from '../../src/confinement/host-secrets.js'
import { pointedPlaces } from '../../src/confinement/host-texts.js'
import { otherPaths } from '../../src/confinement/mounted-again.js'
import { landPolicy } from '../../src/confinement/policy.js'
import type { HostFacts } from '../../src/confinement/types.js'
import { parseMountinfo } from '../../src/paths/mounts.js'
import { DEBIAN, request } from '../support/confinement-fakes.js'
import { scratch } from '../support/scratch.js'

function make(folder: string, names: readonly string[]): void {
  for (const name of names) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), 'secret')
  }
}

const SECRETS = [
  ...[
    '.ssh/id_ed25519',
    '.gnupg/x',
    '.aws/credentials',
    '.config/gcloud/x',
    '.kube/config',
    '.azure/x',
    '.oci/config',
    '.boto',
    '.s3cfg',
  ],
  ...[
    '.npmrc',
    '.yarnrc',
    '.pypirc',
    '.pip/pip.conf',
    '.config/pip/pip.conf',
    '.condarc',
    '.cargo/credentials.toml',
    '.m2/settings.xml',
  ],
  ...[
    '.nuget/NuGet/NuGet.Config',
    '.composer/auth.json',
    '.bundle/config',
    '.git-credentials',
    '.config/gh/hosts.yml',
    '.config/hub',
  ],
  ...[
    '.netrc',
    '.authinfo.gpg',
    '.pgpass',
    '.mylogin.cnf',
    '.terraformrc',
    '.databrickscfg',
    '.vault-token',
    '.docker/config.json',
  ],
  ...[
    '.bash_history',
    '.zhistory',
    '.psql_history',
    '.python_history',
    '.node_repl_history-1',
    '.local/share/fish/fish_history',
    '.viminfo',
  ],
  ...[
    '.mozilla/x',
    '.config/google-chrome-beta/x',
    '.config/BraveSoftware/x',
    'snap/firefox/x',
    '.var/app/x',
    '.thunderbird/x',
  ],
  ...[
    '.local/share/keyrings/x',
    '.password-store/x.gpg',
    'passwords.kdbx',
    'id.pem',
    '.config/1Password/x',
    '.Xauthority',
    '.env.local',
  ],
  ...[
    '.claude.json',
    '.config/github-copilot/x',
    '.cache/huggingface/token',
    '.config/wandb/x',
    '.config/Code - OSS/x',
  ],
]
const PLAIN = [
  'notes',
  '.bashrc',
  '.gitconfig',
  '.cargo/bin/x',
  '.config/git/config',
  '.local/bin/x',
  'src/history/x',
  '.pulumi/bin/x',
  '.kunit',
]

t.test('secrets of a home folder are covered where it is opened, and nothing else is', async t => {
  const home = scratch(t)
  make(home, [...SECRETS, ...PLAIN, 'ws/x'])
  const landed = landPolicy(request(join(home, 'ws'), { read: [home] }), { ...DEBIAN, homes: [home] })
  const covers = landed.hides.map(({ path }) => path.slice(home.length + 1))
  const covered = (name: string): boolean => covers.some(cover => name === cover || name.startsWith(`${cover}/`))
  for (const name of SECRETS) t.ok(covered(name), name)
  for (const name of PLAIN) t.notOk(covered(name), name)
  const itself = request(join(home, 'ws'), { read: [home, join(home, '.pip'), join(home, '.netrc')] })
  const hides = landPolicy(itself, { ...DEBIAN, homes: [home] }).hides.map(({ path }) => path)
  t.notOk(hides.includes(join(home, '.pip')), 'a folder that is named is shown')
  t.notOk(hides.includes(join(home, '.netrc')), 'and a file')
})

t.test('a home folder that cannot be listed is asked for every plain name', async t => {
  const home = join(scratch(t), 'h')
  mkdirSync(home)
  const sources = { homes: [home], credentials: [], controlFiles: [], pointed: [] }
  const all = () => secretPlaces(sources, path => path.startsWith(home)).map(({ path }) => path)
  t.same(all(), [], 'an empty one has none')
  if (process.getuid?.() === 0) return
  chmodSync(home, 0o100)
  t.ok(all().includes(join(home, '.ssh')))
  chmodSync(home, 0o700)
})

t.test('variables name further places', async t => {
  const root = scratch(t)
  make(root, ['conf/gh/hosts.yml', 'conf/plain', 'kube', 'other', 'gnupg/x', 'krb', 'ws/x', 'ws/sa.json'])
  const env = {
    XDG_CONFIG_HOME: join(root, 'conf'),
    KUBECONFIG: `${join(root, 'kube')}:${join(root, 'other')}:`,
    GNUPGHOME: `${root}/./gnupg/`,
    KRB5CCNAME: `FILE:${join(root, 'krb')}`,
    GOOGLE_APPLICATION_CREDENTIALS: 'ws/sa.json',
    HISTFILE: '',
    HOME: join(root, 'ws'),
  }
  const pointed = pointedPlaces(env, root, () => false)
  const facts: HostFacts = { ...DEBIAN, pointedPlaces: pointed }
  const covers = (read: readonly string[]) =>
    landPolicy(request(join(root, 'ws'), { read: [...read] }), facts).hides.map(({ path, source }) => [
      path.slice(root.length + 1),
      source,
    ])
  t.same(covers([root]), [
    ['conf/gh', 'default: secret list ($XDG_CONFIG_HOME/gh)'],
    ['gnupg', 'default: secret list ($GNUPGHOME)'],
    ['krb', 'default: secret list ($KRB5CCNAME)'],
    ['kube', 'default: secret list ($KUBECONFIG)'],
    ['other', 'default: secret list ($KUBECONFIG)'],
    ['ws/sa.json', 'default: secret list ($GOOGLE_APPLICATION_CREDENTIALS)'],
  ])
  t.same(
    covers([]).map(([path]) => path),
    ['ws/sa.json'],
    'nothing else is shown',
  )
  t.same(covers([join(root, 'ws/sa.json')]), [], 'named itself')
  const settings = pointedPlaces({}, root, path => path === '/usr/local/etc/npmrc')
  t.same(
    settings,
    [{ variable: null, path: '/usr/local/etc/npmrc' }],
    'settings of npm that are there are of every run',
  )
})

const TABLE = parseMountinfo(
  [
    '20 1 8:1 / / rw - ext4 /dev/sda1 rw',
    '21 20 8:2 / /home rw - ext4 /dev/sda2 rw',
    '22 20 8:2 /user /srv/user rw - ext4 /dev/sda2 rw',
    '23 20 8:2 /user/.ssh/keys /mnt/keys rw - ext4 /dev/sda2 rw',
    '24 20 8:1 /home/user /mnt/below rw - ext4 /dev/sda1 rw',
    '25 20 8:1 / /mnt/all rw - ext4 /dev/sda1 rw',
    '26 22 0:30 / /srv/user/.aws rw - tmpfs tmpfs rw',
    '27 20 8:1 /var/user /mnt/sibling rw - ext4 /dev/sda1 rw',
  ].join('\n'),
)

t.test('a place that is mounted again is hidden there too', async t => {
  t.same(otherPaths('/home/user/.ssh', TABLE), ['/srv/user/.ssh', '/mnt/keys'])
  t.same(otherPaths('/home/user/.ssh/keys/id', TABLE), ['/srv/user/.ssh/keys/id', '/mnt/keys/id'])
  t.same(otherPaths('/home/user/.aws', TABLE), [], 'another mount is over it there')
  t.same(otherPaths('/etc/shadow', TABLE), ['/mnt/all/etc/shadow'])
  t.same(otherPaths('/srv/user', TABLE), ['/home/user', '/mnt/keys'])
  t.same(otherPaths('/var/u', TABLE), ['/mnt/all/var/u'], 'by whole names')
  t.same(otherPaths('/mnt/all/var', TABLE), ['/var', '/mnt/sibling'])
  t.same(otherPaths('/x', []), [], 'no table, no places')
})

t.test('a hidden file with further names is a gap', async t => {
  const root = scratch(t)
  make(root, ['ws/a', 'ws/b', 'ws/c'])
  linkSync(join(root, 'ws/a'), join(root, 'ws/link'))
  const gaps = (hide: string[]) =>
    landPolicy(request(join(root, 'ws'), { hide: hide.map(name => join(root, 'ws', name)) }), DEBIAN).reservations
  t.match(gaps(['a', 'b']), [
    {
      guarantee: 'reads-limited',
      why: /ws\/a": the file has further names .*a process reads it by any of them that is shown; file tools do not/,
    },
  ])
  t.match(gaps(['a', 'link']), [{ why: /ws\/a" and 1 more: the file has further names/ }])
  t.same(gaps(['b', 'c']), [])
})
