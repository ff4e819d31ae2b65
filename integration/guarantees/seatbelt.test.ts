/**
 * The golden profiles, tried by macOS itself: the table that the evaluator answers everywhere is done for real here, each
 * deed by a program of the system under sandbox-exec, over a tree of its own. Skips by system.
 */
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { openBoundary } from '../../src/confinement/boundary.js'
import { readHostFacts } from '../../src/confinement/host-facts.js'
import { seatbeltProfile } from '../../src/confinement/seatbelt-profile.js'
import { Refusal } from '../../src/errors.js'
import { renderCaptured } from '../../src/supervise/bounded-output.js'
import { request } from '../../test/support/confinement-fakes.js'
import { needs } from '../../test/support/needs.js'
import { projectRoot } from '../../test/support/root.js'
import { type Deed, type Question, SAMPLES } from '../../test/support/seatbelt-policies.js'

const TIMEOUT_MS = 300_000
t.setTimeout(TIMEOUT_MS)
const onMacos = { skip: needs('macos'), timeout: TIMEOUT_MS }

/** One program a deed; the path is `$1`. */
const DEEDS: Readonly<Record<Deed, string>> = {
  read: 'exec /bin/cat "$1"',
  list: 'exec /bin/ls "$1"',
  stat: 'exec /usr/bin/stat "$1"',
  write: ': >> "$1"',
  create: 'exec /bin/mkdir "$1"',
  remove: 'if [ -d "$1" ]; then exec /bin/rmdir "$1"; else exec /bin/rm -f "$1"; fi',
  run: 'exec "$1"',
}

const REFUSED = /Operation not permitted|Permission denied/

/** Parameters that name places of the machine; every other path is moved into the tree. */
const OF_THE_MACHINE = /^(SYSTEM|ETC|TERMINAL)/

for (const [name, { request: asked, questions }] of Object.entries(SAMPLES)) {
  t.test(`${name}: the golden profile on macOS`, onMacos, async t => {
    const made = seatbeltProfile(asked)
    if (made instanceof Refusal) throw made
    const root = realpathSync(mkdtempSync('/private/tmp/harness-seatbelt-'))
    t.teardown(() => rmSync(root, { recursive: true, force: true }))
    const inTree = (path: string): string => (/^\/(w|private)(\/|$)/.test(path) ? `${root}${path}` : path)
    const text = readFileSync(join(projectRoot, 'test', 'golden', 'seatbelt', `${name}.sb`), 'utf8')
    const defined = Object.entries(made.parameters).flatMap(([key, path]) => [
      '-D',
      `${key}=${OF_THE_MACHINE.test(key) ? path : `${root}${path}`}`,
    ])
    const inside = (...words: readonly string[]) =>
      spawnSync('/usr/bin/sandbox-exec', ['-p', text, ...defined, '--', ...words], {
        cwd: '/',
        encoding: 'utf8',
        env: {},
      })
    const plain = inside('/usr/bin/true')
    t.equal(plain.status, 0, `the profile is taken: ${plain.stderr}`)
    for (const question of questions) {
      const path = inTree(question.path)
      prepare(question, path)
      const { stderr } = inside('/bin/sh', '-c', DEEDS[question.deed], 'sh', path)
      t.equal(!REFUSED.test(stderr), question.may, `${question.deed} ${question.path}: ${stderr}`)
    }
  })
}

/** What has to be there for the deed to be refused by nothing but the profile. */
function prepare({ deed }: Question, path: string): void {
  if (!path.startsWith('/private/tmp/')) return
  mkdirSync(dirname(path), { recursive: true })
  if (deed === 'create') rmSync(path, { recursive: true, force: true })
  else if (deed === 'list' || deed === 'stat') mkdirSync(path, { recursive: true })
  else if (!existsSync(path)) {
    writeFileSync(path, '#!/bin/sh\nexit 0\n')
    chmodSync(path, 0o755)
  }
}

t.test('a whole launch on macOS', onMacos, async t => {
  const workspace = realpathSync(mkdtempSync('/private/tmp/harness-seatbelt-'))
  t.teardown(() => rmSync(workspace, { recursive: true, force: true }))
  const boundary = await openBoundary({
    confine: 'auto',
    request: request(workspace, { writeSubtrees: ['.'] }),
    facts: await readHostFacts(),
    runId: '0123456789abcdef',
    onEvent: () => undefined,
    probe: 'now',
  })
  if (boundary instanceof Refusal) throw boundary
  const sh = async (script: string) => {
    const outcome = await boundary.run({ argv: ['/bin/sh', '-c', script], purpose: 'exec' })
    if (outcome instanceof Refusal) throw outcome
    return {
      ending: outcome.ending,
      out: renderCaptured(outcome.stdout).text,
      err: renderCaptured(outcome.stderr).text,
    }
  }
  t.match(await sh('exit 7'), { ending: { kind: 'exited', status: 7 } })
  t.match(await sh('echo a > a && cat a && rm a'), { out: 'a\n' })
  t.match(await sh('mkdir sub && rmdir sub'), { ending: { kind: 'exited', status: 0 } }, 'C15')
  t.match(await sh('echo x > /dev/stderr'), { err: 'x\n' })
  t.match(await sh('touch "$HOME/x" "$TMPDIR/x" && pwd -P'), { out: `${workspace}\n` })
  t.match(await sh('mkdir .git'), { err: REFUSED }, 'a protected name that is absent')
  t.match(await sh('ls /Users/*/Library'), { err: REFUSED })
  t.match(await sh('/usr/bin/nc -z 127.0.0.1 22'), { ending: { kind: 'exited', status: 1 } })
  t.match(await sh(`kill -0 ${process.pid}`), { err: REFUSED })
  t.match(await sh('ulimit -n'), { out: '1024\n' })
  await boundary.close()
})
