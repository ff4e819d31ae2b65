/** `npm run setup -- --packages`, on a machine that has nothing but one package manager. */
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { execa } from 'execa'
import t from 'tap'
import { needs } from '../../test/support/needs.js'
import { projectRoot } from '../../test/support/root.js'
import { scratch } from '../support/harness.js'

const script = join(projectRoot, 'integration', 'scripts', 'setup.mjs')
const place = scratch({})
t.teardown(place.remove)

/** A PATH with programs that write down how they were called and end with `status`; `sudo` does what it is told. */
async function setup(managers: readonly string[], words: readonly string[], status = 0) {
  const bin = join(place.path, `bin-${managers.join('-')}-${words.length}-${status}`)
  const calls = join(bin, 'calls')
  mkdirSync(bin)
  writeFileSync(calls, '')
  for (const name of managers) {
    writeFileSync(join(bin, name), `#!/bin/sh\necho "${name} $*" >> '${calls}'\nexit ${status}\n`)
    chmodSync(join(bin, name), 0o755)
  }
  writeFileSync(join(bin, 'sudo'), '#!/bin/sh\nexec "$@"\n')
  chmodSync(join(bin, 'sudo'), 0o755)
  const ran = await execa(process.execPath, [script, '--packages', ...words], { env: { PATH: bin }, reject: false })
  return { status: ran.exitCode, stdout: ran.stdout, calls: readFileSync(calls, 'utf8') }
}

/** What each calls the package of a program; a place where it knows files only by that. */
const NAMES = {
  'apt-get': /^apt-get update -qq\napt-get install .*\bbubblewrap\b.*\bbsdutils\b.*\bsystemd\b/,
  dnf: /^dnf install .*\bbubblewrap\b.* \/usr\/bin\/script\b/,
  apk: /^apk add .*\bbubblewrap\b.*\butil-linux-misc\b.*\bsetpriv\b/,
  pacman: /^pacman -Sy .*\bprocps-ng\b/,
  zypper: /^zypper --non-interactive install .*\bbubblewrap\b/,
} as const

t.test(
  'it says what is missing and how it is installed, and installs when told to',
  { skip: needs('linux') },
  async t => {
    for (const [manager, called] of Object.entries(NAMES)) {
      const told = await setup([manager], [])
      t.match(told, { status: 1, calls: '', stdout: /missing: bwrap \(runs: the boundary on Linux\)\n/ }, manager)
      t.match(told.stdout, new RegExp(`^to install: (sudo )?${manager} `, 'm'), manager)
      const done = await setup([manager], ['--yes'])
      t.match(done.calls, called, manager)
      t.notMatch(done.calls, /null|undefined/)
      t.match(
        done,
        { status: 1, stdout: `still missing after ${manager} has installed its package: bwrap` },
        'it looks again',
      )
    }
  },
)

t.test('what it cannot do', { skip: needs('linux') }, async t => {
  t.match(await setup([], ['--yes']), { status: 1, stdout: /no known package manager here: install bubblewrap, / })
  t.match(
    await setup(['apk'], ['--yes'], 7),
    { status: 1, calls: /^apk add [^\n]*\n$/ },
    'a manager that fails is not asked again',
  )
})
