import t from 'tap'
import { explainPolicy } from '../../src/confinement/explain.js'
import { planLaunch } from '../../src/confinement/launch-plan.js'
import type { LaunchPlan } from '../../src/confinement/types.js'
import { Refusal } from '../../src/errors.js'
import { DEBIAN, policy, rule } from '../support/confinement-fakes.js'
import { golden } from '../support/golden.js'

const shown = policy({
  reads: [rule('/project'), rule('/opt/lib', 'folder', '--read /opt/lib')],
  writes: [rule('/project/out', 'folder', '--process-write-subtree out')],
  protects: [rule('/project/out/.git', 'folder', 'default: .git')],
  watched: [{ path: '/project/out/.envrc', source: 'default: .envrc' }],
  hides: [rule('/project/.env', 'file', '--hide .env')],
  hiddenElsewhere: [
    { path: '/elsewhere', source: '--hide /elsewhere' },
    { path: '/home/user/.aws', source: 'default: secret list (~/.aws)' },
    { path: '/project', glob: '**/*.pem', source: '--hide **/*.pem' },
  ],
  nesting: true,
  sockets: [rule('/run/docker.sock', 'file', '--allow-socket /var/run/docker.sock')],
  cache: rule('/home/user/.cache/b10x-harness/0123456789abcdef', 'folder', '--cache'),
  staged: [
    {
      ...rule('/home/user/drive', 'file', '--driver drive'),
      inside: '/toolchain/driver',
      sha256: 'd'.repeat(64),
      stamp: '',
    },
  ],
  toolchains: [{ name: 'node', root: '/home/user/.nvm/v1', source: '--toolchain node', sha256: 'e'.repeat(64) }],
  links: [
    { path: '/var/run/docker.sock', target: '/run/docker.sock', source: '--allow-socket /var/run/docker.sock' },
    { path: '/toolchain/node', target: '/home/user/.nvm/v1', source: '--toolchain node' },
  ],
  env: { PATH: '/usr/bin', SPLIT: 'a\nb', HOME: '/home/agent' },
  controlFiles: [{ path: '/home/user/hooks.json', what: 'the hooks file' }],
})

/** By hand, so that no program of this machine is in it. */
const plan: LaunchPlan = {
  boundary: 'bubblewrap',
  file: '/usr/bin/bwrap',
  args: [
    '--unshare-user',
    '--setenv',
    'SPLIT',
    'a\nb',
    '--',
    '/run/harness/limit',
    '--',
    '/usr/bin/make',
    '',
    '\u001b[2J',
  ],
  mounts: [],
  optionWords: 4,
  env: {},
  command: ['/usr/bin/make', '', '\u001b[2J'],
  seccomp: new Uint8Array(),
  files: [{ path: '/etc/passwd', fd: 9, bytes: new TextEncoder().encode('agent:x:1:1\nroot:x:0:0\n') }],
  identity: { uid: 1000, gid: 1000 },
  cgroup: {},
  limits: [
    { name: 'wall', value: 600_000, mechanism: 'supervisor' },
    { name: 'pids', value: 256, mechanism: 'withheld', why: 'no controller' },
  ],
  confinement: {
    boundary: 'bubblewrap',
    applied: ['no-network', 'tree-ends'],
    gaps: [{ guarantee: 'not-root-outside', why: 'uid 0 inside is uid 0 outside' }],
    limits: [],
  },
  policy: shown,
}

function realPlan(): LaunchPlan {
  const made = planLaunch({
    boundary: 'bubblewrap',
    policy: policy({ workspace: rule('/usr/share') }),
    facts: DEBIAN,
    command: ['/bin/sh'],
  })
  if (made instanceof Refusal) throw made
  return made
}

t.test('golden: everything that a plan says', async t => {
  const { text } = explainPolicy({ ...plan, seccomp: realPlan().seccomp }, shown)
  const [head = '', filter = ''] = text.split('system-call filter\n')
  t.equal(head, golden('explain-plan.txt', head))
  t.match(filter, /^ {2}0000 {2}load arch\n/)
  t.match(filter, / {2}if nr == ptrace /)
})

t.test('nothing of a word or a path can break a line or steer a terminal', async t => {
  const { text } = explainPolicy({ ...plan, seccomp: realPlan().seccomp }, shown)
  t.notMatch(text.replaceAll('\n', ''), /\p{Cc}/u)
  t.ok(text.includes('\n  "a\\nb"\n'), 'quoted instead')
})

t.test('as data: argv and filter are the plan’s, keys are snake_case', async t => {
  const made = realPlan()
  const { json } = explainPolicy(made, made.policy)
  t.match(json, {
    version: 1,
    refusal: null,
    boundary: 'bubblewrap',
    argv: [made.file, ...made.args],
    environment: made.policy.env,
  })
  t.match(json, {
    policy: { write: { length: 0 }, read: [{ path: '/usr/share' }], bound_on_themselves: { length: 0 } },
    applied: made.confinement.applied,
  })
  t.same(JSON.parse(JSON.stringify(json)), json, 'plain JSON')
  const keys = JSON.stringify(json).match(/"([a-zA-Z_-]+)":/g) ?? []
  t.same(
    keys.filter(key => /[A-Z]/.test(key) && !/"[A-Z_]+":/.test(key)),
    [],
    'but for names of variables',
  )
})

t.test('a refusal is explained over the policy it was made from', async t => {
  const refusal = new Refusal('program-missing', { program: 'x', searched: ['/usr/bin'] }, 'there is no program x')
  const { text, json } = explainPolicy(refusal, shown)
  t.match(text, /^refused\n {2}program-missing: there is no program x\n\nworkspace\n {2}\/project /)
  t.match(json, {
    refusal: { code: 'program-missing', details: { searched: ['/usr/bin'] } },
    argv: null,
    seccomp: null,
  })
})
