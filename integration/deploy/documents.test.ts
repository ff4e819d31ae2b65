/** The documents that users copy, each before its own tool: they parse, they say why, and what they say is so. */
import { chmodSync, copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { execa } from 'execa'
import t from 'tap'
import { parse } from 'yaml'
import { parseArgv } from '../../src/cli/parse.js'
import { GUARANTEES, guaranteesOf } from '../../src/confinement/guarantees.js'
import { landPolicy } from '../../src/confinement/policy.js'
import { NESTED_CALLS } from '../../src/confinement/seccomp-profile.js'
import { DEBIAN } from '../../test/support/confinement-fakes.js'
import { needs } from '../../test/support/needs.js'
import { projectRoot } from '../../test/support/root.js'
import { scratch } from '../support/harness.js'
import { shellProblems, stepsOf } from '../support/workflows.js'
import { documentsOf, podOf, restrictedProblems, typeProblems } from './kubernetes.js'

const folder = join(projectRoot, 'integration', 'deploy')
const at = (name: string) => join(folder, name)
const text = (name: string) => readFileSync(at(name), 'utf8')

const DOCUMENTS = readdirSync(folder, { recursive: true })
  .map(String)
  .filter(name => /\.(?:sh|ya?ml|service|timer)$/.test(name) || name.startsWith('apparmor/'))
  .sort()

const { path: base, remove } = scratch()
t.teardown(remove)
t.setTimeout(120_000)

/** A folder for PATH whose programs write their words, one a line, in place of doing anything. */
function recorder(...names: readonly string[]): string {
  const bin = join(base, `bin-${names.join('-')}`)
  mkdirSync(bin, { recursive: true })
  for (const name of names) {
    copyFileSync(join(projectRoot, 'integration', 'fixtures', 'words.sh'), join(bin, name))
    chmodSync(join(bin, name), 0o755)
  }
  return `${bin}:/usr/bin:/bin`
}

/** The words that `harness` is started with by a script. */
async function harnessWords(
  shell: string,
  script: string,
  env: Readonly<Record<string, string>> = {},
): Promise<string[]> {
  const words = join(base, 'words')
  const { exitCode, stderr } = await execa(shell, ['-ec', script, 'name'], {
    cwd: base,
    env: {
      PATH: recorder('harness'),
      WORDS: words,
      RUNNER_TEMP: base,
      CREDENTIALS_DIRECTORY: '/run/credentials/x',
      ...env,
    },
    extendEnv: false,
    reject: false,
  })
  if (exitCode !== 0) throw new Error(stderr)
  return readFileSync(words, 'utf8').split('\n').slice(0, -1)
}

function accepted(words: readonly string[]): string | undefined {
  const parsed = parseArgv(words)
  return parsed.kind === 'command' ? parsed.command : undefined
}

t.test('each paragraph says what it is, or for which guarantee it is and what is without it', async t => {
  t.same(DOCUMENTS, [
    'apparmor/bwrap-userns',
    'compose.bubblewrap.yaml',
    'compose.yaml',
    'docker-run.sh',
    'github-actions.yml',
    'harness@.service',
    'harness@.timer',
    'kubernetes-job.yaml',
  ])
  const known = new Set<string>(GUARANTEES)
  for (const name of DOCUMENTS) {
    for (const paragraph of text(name).split(/\n{2,}/)) {
      const lines = paragraph.split('\n')
      const said = lines.flatMap(line => /^\s*#(?!!)\s?(.*)/.exec(line)?.[1] ?? []).join(' ')
      const options = lines.filter(line => !/^\s*(?:#.*)?$/.test(line))
      // Keys that only hold others, on their way to the next paragraph.
      const isShape = options.every(line => /^\s*(?:- )?[\w-]+:(?: &\w+)?$/.test(line))
      if (!isShape && !/\bWhat /.test(said)) {
        t.match(said, /\bFor (?:every guarantee|`[\w-]+`)/, `${name}: what is it for? ${options[0]}`)
        t.match(said, /\bWithout\b/, `${name}: and without it? ${options[0]}`)
      }
      for (const [, list = ''] of said.matchAll(/\bFor ((?:`[\w-]+`(?:, | and )?)+)/g))
        for (const [, named = ''] of list.matchAll(/`([\w-]+)`/g)) t.ok(known.has(named), `${name}: ${named}`)
    }
    t.ok(
      [...known].some(guarantee => text(name).includes(`\`${guarantee}\``)),
      name,
    )
  }
})

/** What the full boundary is recommended for, where Landlock would be taken. */
const MORE = ['pid-isolation', 'reads-limited', 'private-home-and-tmp'] as const

t.test('what bubblewrap is recommended for it holds, and Landlock does not hold whole', async t => {
  const request = { workspace: base, read: [], writeSubtrees: [], hide: [], unprotect: [], programs: null, env: {} }
  const policy = landPolicy({ ...request, limits: {}, controlFiles: [] }, DEBIAN)
  const landlock = { abi: 7, grouped: true }
  const { applied: less } = guaranteesOf({ boundary: 'landlock', landlock, policy, uid: 1000 })
  const { applied: more } = guaranteesOf({ boundary: 'bubblewrap', policy, uid: 1000 })
  for (const guarantee of MORE) t.same([less.includes(guarantee), more.includes(guarantee)], [false, true], guarantee)
  const words = new RegExp(MORE.map(name => `\`${name}\``).join('(?:,| and) '))
  for (const name of DOCUMENTS.filter(name => !/compose.yaml|harness@/.test(name))) t.match(text(name), words, name)
})

t.test('docker-run.sh: ShellCheck has nothing to say', { skip: needs('shellcheck') }, async t => {
  t.equal(await shellProblems(text('docker-run.sh'), 'sh'), '')
})

t.test('docker-run.sh: its words for each engine and boundary, and its refusals', { skip: needs('linux') }, async t => {
  const project = join(base, 'project')
  mkdirSync(project)
  const isRoot = process.getuid?.() === 0
  const run = (env: Readonly<Record<string, string>>) =>
    execa('sh', [at('docker-run.sh'), project, 'doctor', '--json'], {
      env: { PATH: recorder('docker', 'podman'), WORDS: join(base, 'words'), IMAGE: 'harness', ...env },
      extendEnv: false,
      reject: false,
      stdin: 'ignore',
    })
  if (isRoot) {
    t.match(await run({}), { exitCode: 125, stderr: /belongs to root/ })
    await execa('chown', ['1234:1235', project])
  }
  const owner = isRoot ? '1234:1235' : `${process.getuid?.()}:${process.getgid?.()}`
  const always = [
    ...['run', '--rm', '--user', owner, '--cap-drop=ALL', '--security-opt', 'no-new-privileges', '--read-only'],
    ...['--tmpfs', '--network', '--memory', '--pids-limit', '--stop-timeout', '20', `${project}:/workspace`],
  ]
  const cases: readonly (readonly [
    env: Readonly<Record<string, string>>,
    has: readonly string[],
    not: readonly string[],
  ])[] = [
    [{}, [], ['seccomp', 'unmask', 'systempaths', 'OPENAI_API_KEY']],
    [{ ENGINE: 'podman' }, isRoot ? [] : ['--userns=keep-id'], ['seccomp', 'unmask', ...(isRoot ? ['keep-id'] : [])]],
    [{ BOUNDARY: 'bubblewrap', SECCOMP: '/s.json' }, ['seccomp=/s.json', 'systempaths=unconfined'], ['unmask']],
    [{ BOUNDARY: 'bubblewrap', ENGINE: 'podman' }, ['unmask=ALL'], ['seccomp', 'systempaths']],
    [{ OPENAI_API_KEY: 'secret', NETWORK: 'none', MORE: '--name x' }, ['OPENAI_API_KEY', 'none', '--name'], ['secret']],
  ]
  for (const [env, has, not] of cases) {
    t.match(await run(env), { exitCode: 0, stderr: '' })
    const words = readFileSync(join(base, 'words'), 'utf8').split('\n').slice(0, -1)
    for (const word of [...always, ...has]) t.ok(words.includes(word), `${JSON.stringify(env)}: ${word}`)
    for (const part of not)
      t.notOk(
        words.some(word => word.includes(part)),
        `${JSON.stringify(env)}: no ${part}`,
      )
    t.same(words.slice(-3), ['harness', 'doctor', '--json'])
  }
  t.match(await run({ BOUNDARY: 'bubblewrap' }), { exitCode: 2, stderr: /SECCOMP/ })
  t.match(await run({ BOUNDARY: 'none' }), { exitCode: 125, stderr: /BOUNDARY is/ })
  for (const call of NESTED_CALLS) t.match(text('docker-run.sh'), new RegExp(`\\b${call}\\b`))
})

t.test('compose.yaml: compose takes it, alone and with the full boundary', { skip: needs('compose') }, async t => {
  const seccomp = join(base, 'seccomp.json')
  writeFileSync(seccomp, '{}')
  const compose = async (...words: readonly string[]) => {
    const options = { reject: false, stdin: 'ignore', env: { SECCOMP: seccomp, MODEL: 'm', TASK: 'a task' } } as const
    const old = await execa('docker-compose', words, options).catch(() => null)
    return old?.exitCode === undefined ? execa('docker', ['compose', ...words], options) : old
  }
  const files = ['-f', at('compose.yaml'), '-f', at('compose.bubblewrap.yaml')]
  t.match(await compose('-f', at('compose.yaml'), 'config', '-q'), { exitCode: 0, stderr: '' })
  const { exitCode, stdout, stderr } = await compose(...files, 'config')
  t.equal(exitCode, 0, stderr)
  const { services } = parse(stdout) as { services: { harness: { security_opt: string[]; command: string[] } } }
  t.match(services.harness.security_opt, ['no-new-privileges:true', /^seccomp:/, 'systempaths=unconfined'])
  t.equal(accepted(services.harness.command), 'run')
  const { path, write, remove } = scratch()
  t.teardown(remove)
  const wrong = write('compose.yaml', text('compose.yaml').replace('cap_drop', 'cap_dropped'))
  t.match(await compose('-f', wrong, '--project-directory', path, 'config', '-q'), {
    exitCode: /[^0]/,
    stderr: /cap_dropped/,
  })
})

t.test('kubernetes-job.yaml: every key is one of Kubernetes, and Pod Security restricted admits it', async t => {
  const document = text('kubernetes-job.yaml')
  t.same(
    documentsOf(document).map(({ kind }) => kind),
    ['Job', 'NetworkPolicy'],
  )
  t.same(typeProblems(document), [])
  t.match(typeProblems(document.replace('hostUsers:', 'hostUser:')).join(), /hostUser/)
  t.match(typeProblems(document.replace('backoffLimit: 0', 'backoffLimit: none')).join(), /string/)
  const pod = podOf(document)
  t.same(restrictedProblems(pod), [])
  const [container] = pod.containers
  t.match(
    { pod, container },
    {
      pod: { hostUsers: false, automountServiceAccountToken: false, terminationGracePeriodSeconds: 20 },
      container: { securityContext: { readOnlyRootFilesystem: true } },
    },
  )
  t.equal(accepted(container?.args ?? []), 'run')
  const broken: readonly (readonly [from: string, to: string, rule: string])[] = [
    ['runAsNonRoot: true', 'runAsNonRoot: false', 'Running as Non-root'],
    ['runAsUser: 1000', 'runAsUser: 0', 'Running as Non-root user'],
    ['type: RuntimeDefault', 'type: Unconfined', 'Seccomp'],
    ['allowPrivilegeEscalation: false', 'allowPrivilegeEscalation: true', 'Privilege Escalation'],
    ['drop: [ALL]', 'drop: [NET_RAW]', 'Capabilities'],
    ['hostUsers: false', 'hostPID: true', 'Host Namespaces'],
    ['emptyDir:\n            sizeLimit: 1Gi', 'hostPath:\n            path: /', 'Volume Types'],
  ]
  for (const [from, to, rule] of broken) {
    t.ok(document.includes(from), from)
    t.same(restrictedProblems(podOf(document.replace(from, to))), [rule])
  }
})

t.test('github-actions.yml: least permissions, pinned actions, and no value is written into a script', async t => {
  const document = text('github-actions.yml')
  const workflow = parse(document) as { permissions: unknown; jobs: Record<string, { permissions?: unknown }> }
  t.same(workflow.permissions, { contents: 'read' })
  t.ok(Object.values(workflow.jobs).every(({ permissions }) => permissions === undefined))
  for (const { at: place, uses, run = '' } of stepsOf(document)) {
    if (uses !== undefined) t.match(uses, /^[\w-]+\/[\w-]+@[0-9a-f]{40}$/, place)
    t.notMatch(run, /\$\{\{/, place)
  }
  const scripts = stepsOf(document).flatMap(({ run = '' }) => (run.startsWith('harness ') ? [run] : []))
  t.equal(scripts.length, 2)
  const env = { MODEL: 'm', TASK: 'a task; with words' }
  const [doctor, run] = [
    await harnessWords('bash', scripts[0] ?? '', env),
    await harnessWords('bash', scripts[1] ?? '', env),
  ]
  t.same([accepted(doctor), accepted(run)], ['doctor', 'run'])
  t.equal(run.at(-1), env.TASK)
})

t.test('harness@.service and its timer: systemd takes them', { skip: needs('systemd-analyze') }, async t => {
  const units = [at('harness@.service'), at('harness@.timer')]
  const verified = await execa('systemd-analyze', ['verify', '--man=no', ...units], { reject: false })
  t.match(verified, { exitCode: 0, stderr: '' })
  const judged = await execa(
    'systemd-analyze',
    ['security', '--offline=true', '--no-pager', '--threshold=30', units[0] ?? ''],
    {
      reject: false,
    },
  )
  t.equal(judged.exitCode, 0, judged.stdout)
  const { write, remove } = scratch()
  t.teardown(remove)
  const wrong = write('harness@.service', text('harness@.service').replace('KillMode=', 'KillMood='))
  t.match(await execa('systemd-analyze', ['verify', '--man=no', wrong], { reject: false }), { stderr: /KillMood/ })
})

t.test('harness@.service: what it starts is a command of ours, over the group that it was given', async t => {
  const unit = text('harness@.service').replace(/\\\n\s*/g, '')
  const script = /^ExecStart=\/bin\/sh -ec '(.*)' %i$/m.exec(unit)?.[1]?.replaceAll('$$', '$') ?? ''
  t.match(script, /own\/cgroup\.procs.*\+memory \+pids.*cgroup\.subtree_control/)
  const last = script.slice(script.indexOf('exec harness'))
  const words = await harnessWords('/bin/sh', last, { TASK: 'a task; with words' })
  t.equal(accepted(words), 'run')
  t.same(words.slice(-2), ['--input', 'a task; with words'])
  t.ok(words.includes(base), '--cgroup-root is the folder that it stands in')
  t.match(unit, /^Delegate=memory pids$/m)
  t.match(unit, /^TimeoutStopSec=20s$/m)
})

/** A parser before version 4 knows neither the rule nor the features that a later kernel has for it. */
t.test('apparmor/bwrap-userns: AppArmor takes it', { skip: needs('apparmor-parser') }, async t => {
  const words = ['--skip-kernel-load', '--skip-cache', '--abort-on-error']
  const profile = text('apparmor/bwrap-userns')
  const { stdout: version } = await execa('apparmor_parser', ['--version'])
  const isOld = Number(/version (\d+)/.exec(version)?.[1]) < 4
  const readable = (lines: string) => (isOld ? lines.replace(/^abi .*$|^\s*userns,$/gm, '') : lines)
  const parsed = await execa('apparmor_parser', words, { input: readable(profile), reject: false })
  t.equal(parsed.exitCode, 0, parsed.stderr)
  const wrong = await execa('apparmor_parser', words, {
    input: readable(profile.replace('flags=', 'flag=')),
    reject: false,
  })
  t.not(wrong.exitCode, 0)
  t.match(profile, /^profile bwrap-userns \/usr\/bin\/bwrap flags=\(unconfined\) \{$/m)
  t.match(text('docker-run.sh'), /apparmor=harness-container/)
})
