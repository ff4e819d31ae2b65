/** `harness` where bubblewrap cannot be had, for real: not installed, and without user namespaces. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { execa } from 'execa'
import t from 'tap'
import type { OutcomeRecord } from '../../src/outcome.js'
import { needs } from '../../test/support/needs.js'
import { scratch } from '../../test/support/scratch.js'
import { eventsOf, harness, harnessBin } from '../support/harness.js'

t.setTimeout(240_000)

interface Around {
  readonly name: string
  readonly skip: false | string
  /** The words in front of the program, with a workspace's folder to work in. */
  readonly before: (folder: string) => readonly string[]
}

/** An empty file over the program, in a mount namespace of its own. */
function hidden(folder: string): readonly string[] {
  writeFileSync(join(folder, 'nothing'), '')
  const words = `for at in /usr/bin/bwrap /usr/local/bin/bwrap; do [ ! -e "$at" ] || mount --bind "$0" "$at"; done; exec "$@"`
  return ['unshare', '-m', 'sh', '-c', words, join(folder, 'nothing')]
}

/** A sandbox around us that has taken user namespaces away. */
const NESTED = ['bwrap', '--unshare-user', '--disable-userns', '--dev-bind', '/', '/', '--proc', '/proc', '--'] as const

const nowhere = needs('landlock-6', 'mount-namespace')

const AROUND: readonly Around[] = [
  { name: 'bubblewrap is not installed', skip: needs('landlock-6', 'mount-namespace'), before: hidden },
  { name: 'no user namespaces', skip: needs('landlock-6', 'bubblewrap'), before: () => NESTED },
]

function workspaceIn(folder: string): string {
  const workspace = join(folder, 'ws')
  mkdirSync(workspace)
  return workspace
}

for (const { name, skip, before } of AROUND) {
  t.test(`${name}: auto is Landlock, native refuses`, { skip }, async t => {
    const folder = scratch(t)
    const workspace = workspaceIn(folder)
    const run = async (...words: string[]) => {
      const [file = '', ...args] = [...before(folder), process.execPath, harnessBin, ...words]
      return execa(file, args, { reject: false, stdin: 'ignore', cwd: folder })
    }
    const outcome = join(folder, 'outcome.json')
    const command = ['sh', '-c', 'echo x > made && cat made; echo y > ../beside; exit 7']
    const ran = await run(
      ...[
        'exec',
        '--workspace',
        workspace,
        '--process-write-subtree',
        '.',
        '--outcome-file',
        outcome,
        '--',
        ...command,
      ],
    )
    t.equal(ran.exitCode, 7, String(ran.stderr))
    t.equal(ran.stdout, 'x')
    t.match(ran.stderr, /beside: Permission denied/)
    const record = JSON.parse(readFileSync(outcome, 'utf8')) as OutcomeRecord
    t.equal(record.confinement.boundary, 'landlock')
    t.ok(record.confinement.gaps.length > 0)
    const native = await run('exec', '--workspace', workspace, '--confine', 'native', '--', 'true')
    t.equal(native.exitCode, 125)
    t.match(native.stderr, /boundary-unavailable/)
    const grants = ['--allow-program', 'node', '--process-write-subtree', '.', '--yes', '--no-session']
    const demo = await run(
      ...[
        'run',
        '--provider',
        'demo',
        '--json',
        '--confine',
        'auto',
        ...grants,
        '--workspace',
        workspace,
        '--input',
        'x',
      ],
    )
    t.equal(demo.exitCode, 0, String(demo.stderr))
    const events = eventsOf(String(demo.stdout))
    t.match(
      events.find(({ kind }) => kind === 'started'),
      { confinement: { boundary: 'landlock', gaps: [{ guarantee: /./ }] } },
      'a run says what it has come to',
    )
    const launched = events.flatMap(event => (event.kind === 'launch-started' ? [event.confinement.boundary] : []))
    t.equal(launched.at(-1), 'landlock')
  })
}

/** Everything that could be written is mounted noexec, and the programs are on a filesystem of their own. */
const NOWHERE = `
mount -t tmpfs none /mnt && cp -r "$0" /mnt/bin && mkdir /mnt/ws || exit
for at in /tmp /var/tmp /dev/shm /run; do mount -t tmpfs -o noexec none "$at"; done
cd /mnt/ws && exec "$@"`

t.test('where every place is noexec, the launcher of the package is started', { skip: nowhere }, async t => {
  const words = ['exec', '--confine', 'landlock', '--workspace', '/mnt/ws', '--', 'sh', '-c', 'echo x; exit 6']
  const argv = ['-m', 'sh', '-c', NOWHERE, dirname(harnessBin), process.execPath, '/mnt/bin/harness.cjs', ...words]
  const ran = await execa('unshare', argv, { reject: false, stdin: 'ignore', env: { TMPDIR: '/tmp' } })
  t.equal(ran.exitCode, 6, String(ran.stderr))
  t.equal(ran.stdout, 'x')
})

/** By number, as Perl has it everywhere: x86_64 alone, the rows of the filter are the same. */
const UNASKED = `
use Socket; use Fcntl;
my ($outside) = @ARGV;
socketpair(my $one, my $two, AF_UNIX, SOCK_STREAM, 0) or die "socketpair: $!";
print "bind: ", (bind($one, pack("S a*", AF_UNIX, "\\0taken-$$")) ? "worked" : $!), "\\n";
print "mode 3: ", (sysopen(my $file, $outside, 3) ? "worked" : $!), "\\n";`

t.test('what Landlock asks for no right is closed by the filter', { skip: needs('landlock-6', 'perl') }, async t => {
  const folder = scratch(t)
  const outside = join(folder, 'outside')
  writeFileSync(outside, '')
  const words = ['exec', '--confine', 'landlock', '--workspace', workspaceIn(folder)]
  const { stdout } = await harness([...words, '--', 'perl', '-e', UNASKED, outside])
  t.equal(stdout, 'bind: Operation not permitted\nmode 3: Operation not permitted\n')
})

t.test(
  'explain shows the ruleset, the filter and the list of calls, and starts nothing',
  { skip: needs('landlock-6') },
  async t => {
    const folder = scratch(t)
    const workspace = workspaceIn(folder)
    mkdirSync(join(workspace, '.git'))
    writeFileSync(join(workspace, 'a'), '')
    const words = ['explain', '--confine', 'landlock', '--workspace', workspace, '--process-write-subtree', '.']
    const { status, stdout } = await harness([...words, '--', 'touch', join(workspace, 'made')])
    t.equal(status, 0)
    for (const line of [
      'boundary\n  landlock\n',
      'none: no loopback and no unix socket either',
      'Landlock ruleset\n  version ',
      `${workspace}/a  (file; `,
      `because they hold what is closed\n  ${workspace}\n`,
      'landlock_restrict_self(3, 0) = 0',
      'system-call filter\n  0000  load arch',
    ]) {
      t.ok(stdout.includes(line), line)
    }
    const json = JSON.parse((await harness([...words, '--json', '--', 'true'])).stdout) as {
      boundary: string
      landlock: { abi: number; rules: { path: string; rights: string[] }[]; closed: string[]; calls: string[] }
    }
    t.equal(json.boundary, 'landlock')
    t.same(json.landlock.closed, [workspace])
    t.ok(json.landlock.rules.every(({ rights }) => rights.length > 0))
    t.match(json.landlock.calls.at(-1), /^execve\("\/usr\/bin\/true"/)
  },
)
