/** What getcap, getfacl and ls tell of a hook's files, asked with --deep: the tools are data here. */
import t from 'tap'
import type { Audit, AuditRequest } from '../../src/hookcheck/audit.js'
import { CORE_RULES } from '../../src/hookcheck/audit.js'
import { askSystem, capabilitiesRule, type SystemTools } from '../../src/hookcheck/system-answers.js'
import { auditData, folder, OPS } from '../support/audits.js'

const GUARD = '/etc/harness/guard.sh'
const HOOKS = [{ on: 'before-call', command: [GUARD] }]
const SHARED = { '/etc/harness': folder({ mode: 0o775, gid: 100 }) }

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
