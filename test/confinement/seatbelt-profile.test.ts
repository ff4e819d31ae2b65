import t from 'tap'
import { baseProfile, needRules } from '../../src/confinement/seatbelt-base.js'
import {
  PATHS_MAX,
  type ProfileRequest,
  type SeatbeltProfile,
  seatbeltProfile,
} from '../../src/confinement/seatbelt-profile.js'
import { Refusal } from '../../src/errors.js'
import { policy, rule } from '../support/confinement-fakes.js'
import { golden } from '../support/golden.js'
import { allows, type ParsedProfile, parseProfile, type Question } from '../support/seatbelt-evaluator.js'
import { type Deed, MACOS, PRIVATE_FOLDER, SAMPLES } from '../support/seatbelt-policies.js'

function profileOf(request: ProfileRequest): SeatbeltProfile {
  const made = seatbeltProfile(request)
  if (made instanceof Refusal) throw made
  return made
}

function parsed(name: string): ParsedProfile {
  const sample = SAMPLES[name]
  if (sample === undefined) throw new Error(`no sample ${name}`)
  const { text, parameters } = profileOf(sample.request)
  return parseProfile(text, parameters)
}

/** What macOS asks about for a deed; all of it has to be allowed. */
const OPERATIONS: Readonly<Record<Deed, readonly Question[]>> = {
  read: [{ operation: 'file-read-data' }],
  list: [{ operation: 'file-read-data', vnodeType: 'DIRECTORY' }],
  stat: [{ operation: 'file-read-metadata', vnodeType: 'DIRECTORY' }],
  write: [{ operation: 'file-write-data' }],
  create: [{ operation: 'file-write-create' }],
  remove: [{ operation: 'file-write-unlink' }],
  run: [{ operation: 'process-exec' }, { operation: 'file-map-executable' }],
}

t.test('golden profiles, and what they answer', async t => {
  t.equal(Object.keys(SAMPLES).length, 12)
  const listed: string[] = []
  for (const [name, { request, questions }] of Object.entries(SAMPLES)) {
    const { text, parameters } = profileOf(request)
    t.equal(text, golden(`seatbelt/${name}.sb`, text), name)
    listed.push(`# ${name}`, ...Object.entries(parameters).map(([key, path]) => `${key}=${path}`), '')
    const profile = parseProfile(text, parameters)
    for (const { deed, path, may } of questions) {
      const answers = OPERATIONS[deed].map(question => allows(profile, { ...question, path }))
      t.equal(answers.every(Boolean), may, `${name}: ${deed} ${path}`)
    }
  }
  const text = listed.join('\n')
  t.equal(text, golden('seatbelt/parameters.txt', text))
})

t.test('the base stands in a file of its own, the same bytes', async t => {
  t.equal(golden('../../native-profiles/seatbelt-base.sb', baseProfile()), baseProfile())
  for (const when of ['always', 'network', 'ptys', 'terminal'] as const) {
    t.not(needRules(when), '', `${when} is a word of the table`)
  }
})

t.test('whatever the policy: what is not a file (C06)', async t => {
  const never: readonly Question[] = [
    { operation: 'signal' },
    { operation: 'process-info-pidinfo' },
    { operation: 'sysctl-read', name: 'kern.procargs2' },
    { operation: 'sysctl-read', name: 'kern.proc.all' },
    { operation: 'sysctl-write', name: 'kern.hostname' },
    { operation: 'mach-lookup', name: 'com.apple.sysmond' },
    { operation: 'mach-lookup', name: 'com.apple.coreservices.launchservicesd' },
    { operation: 'user-preference-write', name: 'kCFPreferencesAnyApplication' },
    { operation: 'user-preference-read', name: 'com.apple.mail' },
    { operation: 'network-outbound', path: '/private/var/run/docker.sock' },
    { operation: 'network-outbound', path: '/w/project/s.sock' },
    { operation: 'network-bind', path: '/w/project/s.sock' },
    { operation: 'network-outbound', remote: 'localhost:80' },
    { operation: 'network-outbound', remote: '*:443' },
    { operation: 'network-inbound', remote: 'localhost:80' },
    { operation: 'system-socket' },
    { operation: 'iokit-open', name: 'RootDomainUserClient' },
    { operation: 'appleevent-send' },
    { operation: 'lsopen' },
    { operation: 'job-creation' },
    { operation: 'file-link', path: '/w/project/a.txt' },
    { operation: 'file-mount', path: '/w/project' },
    { operation: 'file-read-data', path: '/private/etc/master.passwd' },
    { operation: 'file-read-data', path: '/private/tmp', vnodeType: 'DIRECTORY' },
    { operation: 'file-read-data', path: '/private/var/folders/zz', vnodeType: 'DIRECTORY' },
    { operation: 'file-read-metadata', path: '/private/var/folders/zz/T/a.txt' },
    { operation: 'file-read-data', path: '/dev/ttys001', vnodeType: 'CHARACTER-DEVICE' },
    { operation: 'file-write-data', path: '/dev/ttys001', vnodeType: 'CHARACTER-DEVICE' },
    { operation: 'file-write-data', path: '/dev/disk0', vnodeType: 'CHARACTER-DEVICE' },
    { operation: 'file-write-create', path: '/usr/local/bin/x' },
    { operation: 'file-write-unlink', path: PRIVATE_FOLDER },
  ]
  const always: readonly Question[] = [
    { operation: 'process-fork' },
    { operation: 'signal', sameSandbox: true },
    { operation: 'process-info-pidinfo', sameSandbox: true },
    { operation: 'sysctl-read', name: 'hw.ncpu' },
    { operation: 'sysctl-read', name: 'kern.osrelease' },
    { operation: 'sysctl-write', name: 'kern.tcsm_enable' },
    { operation: 'mach-lookup', name: 'com.apple.system.opendirectoryd.libinfo' },
    { operation: 'user-preference-read', name: 'kCFPreferencesAnyApplication' },
    { operation: 'ipc-posix-shm-write-create', name: '/__KMP_REGISTERED_LIB_123' },
    { operation: 'file-read-data', path: '/' },
    { operation: 'file-read-metadata', path: '/tmp', vnodeType: 'SYMLINK' },
    { operation: 'file-read-metadata', path: '/private/var/folders/zz/T', vnodeType: 'DIRECTORY' },
    { operation: 'file-read-data', path: '/usr/lib/dyld' },
    { operation: 'process-exec', path: '/bin/sh' },
    { operation: 'file-read-data', path: '/private/etc/ssl/cert.pem' },
    { operation: 'file-write-data', path: '/dev/null', vnodeType: 'CHARACTER-DEVICE' },
    { operation: 'file-write-data', path: '/dev/fd/2' },
    { operation: 'file-write-create', path: `${PRIVATE_FOLDER}/tmp/x` },
    { operation: 'file-write-data', path: `${PRIVATE_FOLDER}/home/.cache` },
  ]
  for (const name of Object.keys(SAMPLES)) {
    const profile = parsed(name)
    for (const question of never) t.notOk(allows(profile, question), `${name}: ${JSON.stringify(question)}`)
    for (const question of always) t.ok(allows(profile, question), `${name}: ${JSON.stringify(question)}`)
  }
})

t.test('what an option opens, and no other profile (C01, C11, C13)', async t => {
  const ttys = { path: '/dev/ttys004', vnodeType: 'CHARACTER-DEVICE' } as const
  const rows: readonly (readonly [opens: readonly string[], question: Question])[] = [
    [['proxy-port'], { operation: 'network-outbound', remote: 'localhost:41234' }],
    [[], { operation: 'network-outbound', remote: 'localhost:41235' }],
    [['proxy-port'], { operation: 'mach-lookup', name: 'com.apple.trustd.agent' }],
    [['proxy-port'], { operation: 'mach-lookup', name: 'com.apple.SystemConfiguration.configd' }],
    [['terminals-of-its-own', 'a-terminal'], { operation: 'pseudo-tty' }],
    [['terminals-of-its-own', 'a-terminal'], { operation: 'file-ioctl', ...ttys, path: '/dev/ptmx' }],
    [
      ['terminals-of-its-own', 'a-terminal'],
      { operation: 'file-ioctl', ...ttys, path: '/dev/ttys009', extension: 'com.apple.sandbox.pty' },
    ],
    [['a-terminal'], { operation: 'file-ioctl', ...ttys }],
    [['a-terminal'], { operation: 'file-write-data', path: '/dev/tty' }],
    [['links-on-the-way'], { operation: 'file-read-data', path: '/w/a', vnodeType: 'SYMLINK' }],
    [['links-on-the-way'], { operation: 'file-read-data', path: '/w/tools/current', vnodeType: 'SYMLINK' }],
    [[], { operation: 'file-read-data', path: '/w/tools/current', vnodeType: 'DIRECTORY' }],
  ]
  for (const [opens, question] of rows) {
    const opening = Object.keys(SAMPLES).filter(name => allows(parsed(name), question))
    t.strictSame(opening.sort(), [...opens].sort(), JSON.stringify(question))
  }
})

t.test('every path of a rule is a real one, and stands in no text (C02, C09)', async t => {
  for (const [name, { request }] of Object.entries(SAMPLES)) {
    const { text, parameters } = profileOf(request)
    for (const path of Object.values(parameters)) t.notMatch(path, /^\/(etc|tmp|var)\//, `${name}: ${path}`)
    const { workspace, reads, writes } = request.policy
    for (const { path } of [workspace, ...reads, ...writes]) t.notOk(text.includes(path), `${name}: ${path}`)
  }
})

t.test('no denial is a pattern, so folders can be removed (C15)', async t => {
  for (const name of Object.keys(SAMPLES)) {
    const denials = parsed(name).rules.filter(({ action }) => action === 'deny')
    t.ok(denials.length > 2)
    t.notMatch(JSON.stringify(denials), /"pattern"/, name)
  }
})

t.test('what is refused before there is a profile', async t => {
  const base: ProfileRequest = { policy: policy(), facts: MACOS, privateFolder: PRIVATE_FOLDER, ptys: false }
  const withRead = (path: string): ProfileRequest => ({ ...base, policy: policy({ reads: [rule(path)] }) })
  const many = Array.from({ length: PATHS_MAX }, (_, at) => rule(`/w/${at}`))
  const long = Array.from({ length: PATHS_MAX / 2 }, (_, at) => [rule(`/a/${at}`), rule(`/a/${at}/h`)]).flat()
  const cases: readonly (readonly [what: string, request: ProfileRequest, code: string])[] = [
    ['a line end', withRead('/w/a\nb'), 'unsupported-rule'],
    ['a carriage return', withRead('/w/a\rb'), 'unsupported-rule'],
    ['a NUL byte', withRead('/w/a\0b'), 'unsupported-rule'],
    ['C05: parent folders', withRead('/tmp/../etc'), 'unsupported-rule'],
    ['a relative path', withRead('w'), 'unsupported-rule'],
    ['an empty component', withRead('/w//a'), 'unsupported-rule'],
    ['a private folder that is none', { ...base, privateFolder: 'x' }, 'unsupported-rule'],
    ['a port', { ...base, proxyPort: 0 }, 'unsupported-rule'],
    ['a port', { ...base, proxyPort: 70_000 }, 'unsupported-rule'],
    ['a port', { ...base, proxyPort: 1.5 }, 'unsupported-rule'],
    ['too many paths', { ...base, policy: policy({ reads: many }) }, 'rule-too-large'],
    [
      'a text that is no argument',
      {
        ...base,
        policy: policy({ reads: long.filter((_, at) => at % 2 === 0), hides: long.filter((_, at) => at % 2 === 1) }),
      },
      'rule-too-large',
    ],
  ]
  for (const [what, request, code] of cases) {
    const made = seatbeltProfile(request)
    t.equal(made instanceof Refusal ? made.code : 'a profile', code, what)
  }
})

t.test('the evaluator itself', async t => {
  const ask = (rules: string, question: Question): boolean =>
    allows(parseProfile(`(version 1)(deny default)${rules}`, {}), question)
  const unlink = { operation: 'file-write-unlink', path: '/a/b' }
  const create = { operation: 'file-write-create', path: '/a/b' }
  t.notOk(ask('', unlink), 'the default')
  t.ok(ask('(allow file-write* (subpath "/a"))', unlink), 'a wildcard')
  t.notOk(ask('(allow file-write* (subpath "/a"))(deny file-write* (literal "/a/b"))', unlink), 'the last one')
  t.ok(ask('(deny file-write* (literal "/a/b"))(allow file-write* (subpath "/a"))', unlink), 'the last one')
  const byName = '(deny file-write-unlink (literal "/a/b"))(allow file-write* (subpath "/a"))'
  t.notOk(ask(byName, unlink), 'a denial by name outlives a wildcard')
  t.ok(ask(byName, create), 'and says nothing of other operations')
  t.ok(ask(`${byName}(allow file-write-unlink (literal "/a/b"))`, unlink), 'by name it is lifted')
  t.notOk(ask('(allow file-write* (subpath "/a/b"))', { ...unlink, path: '/a/bc' }), 'whole components')
  t.ok(ask('; (deny file-write*)\n(allow file-write* (literal "/a\\"; \\\\"))', { ...unlink, path: '/a"; \\' }))
  for (const bad of [
    '(allow',
    ')',
    '(allow)',
    '(permit x)',
    '(allow x (nonsense "a"))',
    '"',
    '(allow x (literal (param "A")))',
  ]) {
    t.throws(() => parseProfile(`(version 1)${bad}`, {}), bad)
  }
  t.throws(() => parseProfile('(version 1)', { A: '/a' }), 'a parameter that nothing uses')
  t.throws(() => parseProfile('(deny default)', {}), 'no version')
})

t.test('B18: a git folder that is opened can be written but for what is covered in it', async t => {
  const [sample] = Object.values(SAMPLES)
  if (sample === undefined) throw new Error('no sample')
  const folder = '/w/main/.git'
  const opened = policy({
    workspace: rule('/w/project'),
    gitCommit: true,
    gitOpen: [rule(folder)],
    protects: [rule(`${folder}/config`, 'file'), rule(`${folder}/modules/m/hooks`)],
  })
  const { text, parameters } = profileOf({ ...sample.request, policy: opened })
  const profile = parseProfile(text, parameters)
  const cases: readonly (readonly [operation: string, path: string, may: boolean])[] = [
    ['file-write-create', `${folder}/index.lock`, true],
    ['file-write-data', `${folder}/refs/heads/main`, true],
    ['file-read-data', `${folder}/HEAD`, true],
    ['file-write-data', `${folder}/config`, false],
    ['file-write-unlink', `${folder}/config`, false],
    ['file-write-create', `${folder}/modules/m/hooks/post-commit`, false],
    ['file-write-unlink', `${folder}/modules/m`, false],
    ['file-write-unlink', folder, false],
    ['file-write-create', '/w/main/a', false],
    ['file-write-create', '/w/project/a', false],
  ]
  for (const [operation, path, may] of cases) t.equal(allows(profile, { operation, path }), may, `${operation} ${path}`)
})
