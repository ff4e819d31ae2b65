/**
 * Twelve policies of a Mac and what each has to answer: the same table is asked of the evaluator everywhere and of
 * sandbox-exec itself on macOS, over the same golden profiles.
 */
import type { ProfileRequest } from '../../src/confinement/seatbelt-profile.js'
import type { HostFacts, Policy } from '../../src/confinement/types.js'
import { DEBIAN, policy, rule } from './confinement-fakes.js'

/** An Apple processor with Homebrew and the command-line tools. */
export const MACOS: HostFacts = {
  ...DEBIAN,
  platform: 'darwin',
  arch: 'arm64',
  kernel: '23.6.0',
  uid: 501,
  gid: 20,
  home: '/Users/user',
  homes: ['/Users/user'],
  bwrap: null,
  node: '/opt/homebrew/bin/node',
  sandboxExec: '/usr/bin/sandbox-exec',
  systemRoots: ['/usr', '/bin', '/sbin', '/opt', '/System', '/Library/Apple', '/Library/Developer'].map(path => ({
    kind: 'folder' as const,
    path,
  })),
  etcFiles: [
    { path: '/etc/ssl/cert.pem', landed: '/private/etc/ssl/cert.pem' },
    { path: '/etc/localtime', landed: '/private/var/db/timezone/zoneinfo/UTC' },
  ],
  pathFolders: ['/opt/homebrew/bin', '/usr/bin', '/bin'],
  procCovers: [],
  boundSockets: null,
  installHint: '',
}

export const PRIVATE_FOLDER = '/private/var/folders/zz/T/b10x-harness-1/launch-0'

/** What is done to a path; each stands for the operations that macOS asks about then. */
export type Deed = 'read' | 'list' | 'stat' | 'write' | 'create' | 'remove' | 'run'

export interface Question {
  readonly deed: Deed
  readonly path: string
  readonly may: boolean
}

export interface Sample {
  readonly request: ProfileRequest
  /** Below `/w`, so that a Mac can be asked about a tree of its own. */
  readonly questions: readonly Question[]
}

function sample(
  parts: Partial<Policy>,
  may: Readonly<Partial<Record<Deed, string>>>,
  mayNot: Readonly<Partial<Record<Deed, string>>>,
  options: Partial<ProfileRequest> = {},
): Sample {
  const workspace = rule('/w/project')
  const asked = (deeds: Readonly<Partial<Record<Deed, string>>>, answer: boolean): Question[] =>
    Object.entries(deeds).flatMap(([deed, paths]) =>
      paths.split(' ').map(path => ({ deed: deed as Deed, path, may: answer })),
    )
  return {
    request: {
      policy: policy({ workspace, reads: [workspace], ...parts }),
      facts: MACOS,
      privateFolder: PRIVATE_FOLDER,
      ptys: false,
      ...options,
    },
    questions: [...asked(may, true), ...asked(mayNot, false)],
  }
}

const GRANT = rule('/w/project')
const PROJECT = rule('/w/project')

export const SAMPLES: Readonly<Record<string, Sample>> = {
  'nothing-granted': sample(
    {},
    { read: '/w/project/a.txt', list: '/w/project', stat: '/w', run: '/w/project/tool /usr/bin/true' },
    {
      write: '/w/project/a.txt',
      create: '/w/project/new',
      remove: '/w/project/a.txt',
      read: '/w/other/a.txt',
      list: '/w',
    },
  ),
  'whole-grant': sample(
    { writes: [GRANT] },
    { write: '/w/project/a.txt', create: '/w/project/new', remove: '/w/project/a.txt /w/project/sub' },
    { write: '/w/other/a.txt', create: '/w/new', remove: '/w/project /w/other/a.txt' },
  ),
  'protected-in-grant': sample(
    {
      writes: [GRANT],
      protects: [rule('/w/project/.git'), rule('/w/project/lib/dep/.git'), rule('/w/project/.mcp.json', 'file')],
      selfBinds: ['/w/project/lib', '/w/project/lib/dep'],
      watched: [{ path: '/w/project/.envrc', source: 'default: .envrc' }],
    },
    {
      read: '/w/project/.git/config',
      write: '/w/project/a.txt /w/project/lib/dep/a.txt',
      create: '/w/project/lib/dep/new',
      remove: '/w/project/sub /w/project/lib/dep/a.txt',
    },
    {
      write: '/w/project/.git/config /w/project/.mcp.json',
      create: '/w/project/.git/hooks/new /w/project/.envrc /w/project/lib/dep/.git/new',
      remove: '/w/project/.git /w/project/.git/config /w/project/lib /w/project/lib/dep /w/project/.mcp.json',
    },
  ),
  'hides-in-grant': sample(
    {
      writes: [GRANT],
      hides: [rule('/w/project/keys'), rule('/w/project/conf/.env', 'file')],
      hiddenElsewhere: [{ path: '/w/project/later.pem', source: '--hide later.pem' }],
    },
    { read: '/w/project/a.txt /w/project/conf/a.txt', remove: '/w/project/sub', create: '/w/project/conf/new' },
    {
      read: '/w/project/keys/id /w/project/conf/.env',
      list: '/w/project/keys',
      stat: '/w/project/keys/id',
      write: '/w/project/conf/.env',
      create: '/w/project/keys/new /w/project/later.pem',
      remove: '/w/project/keys /w/project/conf /w/project/conf/.env',
      run: '/w/project/keys/tool',
    },
  ),
  'read-in-a-hide': sample(
    { reads: [PROJECT, rule('/w/home'), rule('/w/home/.config/open')], hides: [rule('/w/home/.config')] },
    { read: '/w/home/a.txt /w/home/.config/open/a.txt', stat: '/w/home/.config', list: '/w/home/.config/open' },
    { read: '/w/home/.config/token', list: '/w/home/.config', write: '/w/home/.config/open/a.txt' },
  ),
  'two-grants': sample(
    { writes: [rule('/w/project/out'), rule('/w/project/sub')], protects: [rule('/w/project/out/.git')] },
    { create: '/w/project/out/new /w/project/sub/new', read: '/w/project/a.txt' },
    {
      create: '/w/project/new',
      remove: '/w/project/out /w/project/sub /w/project/out/.git',
      write: '/w/project/a.txt',
    },
  ),
  'links-on-the-way': sample(
    { reads: [PROJECT, { ...rule('/w/tools/v2/c'), links: ['/w/a', '/w/tools/current'] }] },
    { read: '/w/tools/v2/c/a.txt', stat: '/w/tools/v2 /w/tools' },
    { read: '/w/tools/v2/a.txt', list: '/w/tools', write: '/w/tools/v2/c/a.txt' },
  ),
  'linked-folders-of-the-system': sample(
    {
      workspace: rule('/tmp/w/project'),
      reads: [rule('/tmp/w/project'), rule('/var/folders/x')],
      writes: [rule('/tmp/w/project')],
      hides: [rule('/tmp/w/project/keys')],
    },
    { read: '/private/var/folders/x/a.txt', create: '/private/tmp/w/project/new' },
    { read: '/private/tmp/w/project/keys/id', create: '/private/tmp/w/new' },
  ),
  'hostile-names': sample(
    {
      reads: [
        PROJECT,
        rule('/w/a") (allow file-write* (subpath "/etc'),
        rule('/w/a\\'),
        rule('/w/a;b'),
        rule('/w/(param "READ_0")'),
        rule('/w/*[a-z].?'),
        rule('/w/=x=y'),
      ],
      writes: [rule('/w/project/b" \\')],
      protects: [rule('/w/project/b" \\/.git')],
    },
    { read: '/w/a\\/x /w/a;b/x /w/*[a-z].?/x /w/=x=y/x', list: '/w/project' },
    { read: '/w/az/x /w/a /w/b', write: '/w/project/a.txt /w/a\\/x', create: '/w/new' },
  ),
  'terminals-of-its-own': sample({}, { read: '/w/project/a.txt' }, { write: '/w/project/a.txt' }, { ptys: true }),
  'a-terminal': sample(
    { writes: [GRANT] },
    { create: '/w/project/new' },
    { read: '/w/other/a.txt' },
    { ptys: true, terminal: '/dev/ttys004' },
  ),
  'proxy-port': sample(
    { writes: [GRANT] },
    { create: '/w/project/new' },
    { read: '/w/other/a.txt' },
    { proxyPort: 41_234 },
  ),
}
