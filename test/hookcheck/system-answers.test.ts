/** What getcap, getfacl and ls tell of a hook's files, asked with --deep: the tools are data here. */
import t from 'tap'
import type { Audit, AuditRequest } from '../../src/hookcheck/audit.js'
import { CORE_RULES } from '../../src/hookcheck/audit.js'
import { unknownListsRule } from '../../src/hookcheck/nfs4-lists.js'
import { askSystem, capabilitiesRule, type SystemTools } from '../../src/hookcheck/system-answers.js'
import type { Mount } from '../../src/paths/mounts.js'
import { auditData, folder, OPS } from '../support/audits.js'

const GUARD = '/etc/harness/guard.sh'
const HOOKS = [{ on: 'before-call', command: [GUARD] }]
const SHARED = { '/etc/harness': folder({ mode: 0o775, gid: 100 }) }

const mount = (point: string, type: string): Mount => ({
  id: point,
  device: '0:9',
  root: '/',
  point,
  readOnly: false,
  type,
})

function told({ findings }: Audit, rule: string): string[] {
  return findings.filter(one => one.rule === rule).map(({ severity, message }) => `${severity} ${message}`)
}

/** Answers by tool; records what was run. */
function toolsOf(
  platform: NodeJS.Platform,
  answers: Readonly<Record<string, string | null | Error>>,
): { readonly tools: SystemTools; readonly ran: string[][] } {
  const ran: string[][] = []
  return {
    ran,
    tools: {
      platform,
      find: name => (answers[name] === null || answers[name] === undefined ? null : `/usr/bin/${name}`),
      run: (file, args) => {
        ran.push([file, ...args])
        const answer = answers[file.replace('/usr/bin/', '')]
        return typeof answer === 'string' ? Promise.resolve(answer) : Promise.reject(answer)
      },
    },
  }
}

function again(answers: Awaited<ReturnType<typeof askSystem>>, ids: object = {}): Audit {
  const more: Partial<AuditRequest> = {
    trust: { ids: { ...OPS, ...ids }, groups: 'allowed', acl: path => answers.lists.get(path) ?? null },
    rules: CORE_RULES.map(rule => (rule.id === 'HC309' ? capabilitiesRule(rule, answers.capabilities) : rule)),
  }
  return auditData({ hooks: HOOKS, tree: SHARED, ids, more })
}

t.test('on Linux a list explains a group that may write', async t => {
  const first = auditData({ hooks: HOOKS, tree: SHARED })
  t.match(told(first, 'HC302'), [/^error .*\/etc\/harness /], 'by the mode the group may write')
  const list = (more: string) =>
    `# file: etc/harness\n# owner: 0\n# group: 100\nuser::rwx\n${more}mask::rwx\nother::r-x\n\n`
  const mask = toolsOf('linux', { getfacl: list('group::r-x\n'), getcap: '' })
  const unused = await askSystem(first, mask.tools)
  t.strictSame(
    mask.ran[0],
    ['/usr/bin/getfacl', '--absolute-names', '--numeric', '--', '/etc/harness'],
    'no more than needed',
  )
  t.strictSame(told(again(unused), 'HC302'), [])
  t.match(told(again(unused), 'HC308'), [/^info .*mask of an access control list/])
  const guest = await askSystem(
    first,
    toolsOf('linux', { getfacl: list('user:1001:rwx\ngroup::r-x\n'), getcap: '' }).tools,
  )
  t.match(told(again(guest), 'HC308'), [/^error .*user 1001/])
  for (const answer of [null, new Error('failed'), '# file: a\n\n# file: b\n']) {
    const { skipped, lists } = await askSystem(first, toolsOf('linux', { getfacl: answer, getcap: '' }).tools)
    t.match(skipped, [{ rule: 'HC308', reason: /not looked at: (?:there is no getfacl|getfacl failed)/ }])
    t.equal(lists.size, 0)
  }
})

t.test('capabilities of programs', async t => {
  const first = auditData({ hooks: HOOKS })
  const { tools, ran } = toolsOf('linux', { getcap: '/bin/sh cap_net_raw=ep\n/bin/shx cap_chown=ep\n', getfacl: '' })
  const answers = await askSystem(first, tools)
  t.strictSame(
    ran,
    [['/usr/bin/getcap', '/bin/sh', '/lib/ld.so']],
    'programs alone, and no list where no group may write',
  )
  t.match(told(again(answers), 'HC309'), [/^warn the interpreter \/bin\/sh has file capabilities: cap_net_raw=ep/])
  t.match((await askSystem(first, toolsOf('linux', {}).tools)).skipped, [{ rule: 'HC309', reason: /no getcap/ }])
  const old = await askSystem(first, toolsOf('linux', { getcap: '/bin/sh = cap_net_raw+ep\n' }).tools)
  t.strictSame([...old.capabilities], [['/bin/sh', 'cap_net_raw+ep']])
})

t.test('an NFSv4 list is asked where one may be, and one that is not known is a finding', async t => {
  const nfs = (type: string) => ({
    mounts: [mount('/', 'ext4'), mount('/etc/harness', type)],
  })
  const look = (type: string) => auditData({ hooks: HOOKS, options: nfs(type) })
  const of = (audit: Audit, answers: Awaited<ReturnType<typeof askSystem>>) =>
    told(
      auditData({
        hooks: HOOKS,
        options: nfs('zfs'),
        more: {
          trust: { ids: OPS, groups: 'allowed', acl: path => answers.lists.get(path) ?? null },
          rules: CORE_RULES.map(rule => (rule.id === 'HC004' ? unknownListsRule(rule, answers.unknownLists) : rule)),
        },
      }),
      audit.context === null ? '' : 'HC004',
    )
  const open = 'A::OWNER@:rwaDxtTnNcCoy\nA:fdg:dev@example.org:rwaDx\nA::EVERYONE@:rx\n'
  const asked: readonly [
    type: string,
    answers: Parameters<typeof toolsOf>[1],
    lists: number,
    finding: RegExp | null,
  ][] = [
    ['ext4', {}, 0, null],
    ['nfs4', { nfs4_getfacl: open }, 3, null],
    ['nfs4', {}, 0, /NFSv4 access control list .*\/etc\/harness\/guard\.sh is not known \(there is no nfs4_getfacl\)/],
    ['zfs', {}, 0, /guard\.sh is not known \(there is no getfattr\)/],
    ['zfs', { getfattr: '' }, 0, null],
    ['zfs', { getfattr: '# file: x\nsystem.nfs4_acl_xdr\n', nfs4_getfacl: new Error('no') }, 0, /nfs4_getfacl failed/],
    ['zfs', { getfattr: '# file: x\nsystem.nfs4_acl\n', nfs4_getfacl: open }, 3, null],
  ]
  for (const [type, answers, lists, finding] of asked) {
    const first = look(type)
    const got = await askSystem(first, toolsOf('linux', { getcap: '', ...answers }).tools)
    const name = `${type} ${Object.keys(answers).join(' ')}`
    t.equal(got.lists.size, lists, name)
    const findings = of(first, got).join('\n')
    if (finding === null) t.equal(findings, '', name)
    else t.match(findings, finding, name)
    if (lists > 0) t.match([...got.lists.values()], [{ writers: ['dev@example.org'] }], name)
  }
})

t.test('on macOS every step is asked', async t => {
  const ids = { platform: 'darwin' } as const
  const first = auditData({ hooks: HOOKS, ids })
  const text = `drwxr-xr-x+ 2 root  wheel  64 Jan  1 12:00 /etc/harness\n 0: user:guest allow add_file,delete_child\n-rwxr-xr-x  1 root  wheel  20 Jan  1 12:00 ${GUARD}\n`
  const { tools, ran } = toolsOf('darwin', { ls: text })
  const answers = await askSystem(first, tools)
  t.equal(ran.length, 1)
  t.ok(ran[0]?.includes('/etc/harness') && ran[0].includes(GUARD))
  t.match(told(again(answers, ids), 'HC308'), [/^error .*\/etc\/harness.*guest/])
})
