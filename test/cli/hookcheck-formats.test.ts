/** One report in every format: the same counts, nothing that steers a terminal or breaks the format, whatever names hold. */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv } from 'ajv'
import fc from 'fast-check'
import t from 'tap'
import { allRules } from '../../src/cli/hookcheck/auditing.js'
import { githubReport } from '../../src/cli/hookcheck/github.js'
import { junitReport } from '../../src/cli/hookcheck/junit.js'
import { explanation, GROUPS, ruleList } from '../../src/cli/hookcheck/rule-texts.js'
import { sarifLog } from '../../src/cli/hookcheck/sarif.js'
import { textReport } from '../../src/cli/hookcheck/text.js'
import { countOf, type Report, type ReportFinding, type ReportHook } from '../../src/hookcheck/report.js'
import { projectRoot } from '../support/root.js'

const HOSTILE = 'a\x1b[31mb\u202ec\r\nd%0A::error::e<f>&"g\u0000\u0085\u2028\ud800,:'

const HOOK: ReportHook = {
  index: 1,
  name: 'guard',
  on: 'before-call',
  tools: ['run'],
  command: ['/opt/guard', 'a b'],
  resolved: '/opt/guard',
  closure: [
    {
      path: '/opt/guard',
      role: 'program',
      sha256: 'a'.repeat(64),
      uid: 0,
      gid: 0,
      mode: '0755',
      dev: '1',
      ino: '2',
      ctime: '3',
      protections: ['root-owned'],
    },
    {
      path: '/bin/dash',
      role: 'interpreter',
      sha256: null,
      uid: 0,
      gid: 0,
      mode: '0755',
      dev: '1',
      ino: '3',
      ctime: '3',
      protections: [],
    },
  ],
  pinned: false,
  steps: 5,
  environment: ['PATH'],
  cwd: '/opt',
  timeoutMs: 60_000,
  failurePolicy: 'fails closed',
  line: 3,
  column: 5,
  probe: null,
}

const finding = (more: Partial<ReportFinding> = {}): ReportFinding => ({
  rule: 'HC305',
  severity: 'error',
  hook: 1,
  path: '/ws/x',
  line: 3,
  column: 5,
  message: 'the agent can write it',
  fix: 'move it',
  anchor: 'somewhere',
  fingerprint: 'f'.repeat(32),
  ...more,
})

function reportOf(findings: readonly ReportFinding[], more: Partial<Report> = {}): Report {
  return {
    schema: 'hookcheck/1',
    tool: { name: 'hookcheck', version: '1.2.3' },
    file: { path: '/opt/hooks.json', sha256: 'b'.repeat(64) },
    context: {
      uid: 0,
      platform: 'linux',
      profile: 'default',
      writeSet: { origin: 'given', roots: ['/ws'], held: [] },
      path: '/usr/bin',
      pathScrubbed: [{ entry: '', why: 'an empty entry' }],
    },
    hooks: [HOOK],
    findings,
    suppressed: [{ ...finding({ rule: 'HC704' }), reason: 'ours', by: '--ignore' }],
    skipped: [{ rule: 'HC9xx', reason: 'the time was over' }],
    summary: { hooks: 1, checks: 40, ...countOf(findings), suppressed: 1, skipped: 1, probes: null },
    ...more,
  }
}

const LEVELS = [
  finding(),
  finding({ rule: 'HC203', severity: 'warn' }),
  finding({ rule: 'HC801', severity: 'info' }),
  finding({ rule: 'HC105', hook: null }),
]
const THRESHOLD = { failOn: 'error', maxWarnings: null } as const

/** Everything a reader's terminal would act on, or not show, but the line end. */
const ACTS = /[^\P{Cc}\n]|[\p{Cf}\u2028\u2029]/u

t.test('text', async t => {
  const text = [...textReport(reportOf(LEVELS), { color: false })].join('')
  t.match(text, /^ {2}error HC105 {2}/, 'what is said of the file comes first')
  t.match(
    text,
    /\nhook 1 {2}before-call {2}\[run\] {2}"guard"\n {2}runs {3}\/opt\/guard {2}-> {2}\/bin\/dash {2}\(script, 1 interpreter\)\n/,
  )
  t.match(
    text,
    /sha256 aaaa…aaaa {3}not pinned {3}owner 0 {3}5 steps {3}env 1 name {3}timeout 60000 ms {3}fails closed\n/,
  )
  t.match(
    text,
    /error HC305 {2}the agent can write it \(line 3\)\n +fix: move it {3}explain: hookcheck --explain HC305\n/,
  )
  t.match(text, /before-call {2}0 goes on, 2 blocks the call, every other ending refuses it/)
  t.match(text, /ignored HC704 hook 1: .*--ignore: ours/)
  t.match(text, /left out "": an empty entry/)
  t.match(text, /not checked:\n {2}HC9xx {2}the time was over\n/)
  t.ok(
    text.endsWith('1 hook, 40 checks: 2 errors, 1 warning, 1 note. Ignored: 1. Not checked: 1. Probes: not run.\n'),
    text.slice(-120),
  )
  t.notMatch(text, /\x1b/)
  t.match([...textReport(reportOf(LEVELS), { color: true })].join(''), /\x1b\[31merror HC305\x1b\[0m/)
  const lost = [...textReport(reportOf([finding({ hook: 2 })]), { color: false })].join('')
  t.match(lost, /hook 2 {2}could not be read\n {2}error HC305/)
  t.match(
    [...textReport(reportOf([], { hooks: [{ ...HOOK, resolved: null, closure: [] }] }), { color: false })].join(''),
    /runs {3}nothing: \/opt\/guard "a b"/,
  )
})

t.test('github', async t => {
  const lines = [...githubReport(reportOf([...LEVELS].reverse()), 'a,b:c%.json')]
  t.strictSame(
    lines.map(line => line.split(/[ :]/)[2]),
    ['error', 'error', 'warning', 'notice', 'notice'],
    'errors first: only ten of a kind are shown',
  )
  t.match(
    lines[1],
    /^::error file=a%2Cb%3Ac%25\.json,line=3,col=5,title=HC305::hook 1: the agent can write it Fix: move it\n$/,
  )
  t.equal(lines.at(-1), '::notice title=hookcheck::2 errors, 1 warnings, 1 notes; not checked: 1\n')
  const [hostile] = [...githubReport(reportOf([finding({ message: HOSTILE })]), 'h.json')]
  t.equal(hostile?.split('\n').length, 2, 'one command stays one')
  t.match(hostile, /%250A::error/)
})

t.test('junit', async t => {
  const xml = [...junitReport(reportOf(LEVELS), THRESHOLD)].join('')
  t.match(xml, /<testsuites name="hookcheck" failures="2">/)
  t.match(xml, /<testsuite name="hook 1 guard" tests="3" failures="1" skipped="0">/)
  t.match(
    xml,
    /<testcase classname="hook 1 guard" name="HC305">\n {6}<failure type="error" message="the agent can write it">fix: move it<\/failure>/,
  )
  t.match(xml, /name="HC203">\n {6}<system-out>warn: /, 'below the threshold it is no failure')
  t.match(xml, /<skipped message="the time was over"\/>/)
  t.match([...junitReport(reportOf(LEVELS), { ...THRESHOLD, failOn: 'warn' })].join(''), /failures="3">/)
  t.match(
    [...junitReport(reportOf([], { skipped: [] }), THRESHOLD)].join(''),
    /<testcase classname="hook 1 guard" name="all rules"\/>/,
  )
})

/** Well-formed as far as this writer could fail: tags nest, text and attributes hold no markup and only characters of XML 1.0. */
function isWellFormed(xml: string): boolean {
  const open: string[] = []
  const body = xml.replace(/^<\?xml version="1\.0" encoding="UTF-8"\?>\n/, '')
  if (/[^\t\n\r\x20-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/u.test(body)) return false
  const tag = /<(\/?)([a-z-]+)((?: [a-z]+="[^"<>]*")*)(\/?)>/g
  let at = 0
  for (const match of body.matchAll(tag)) {
    const between = body.slice(at, match.index)
    if (/[<>]|&(?!(?:amp|lt|gt|quot);)/.test(between) || /&(?!(?:amp|lt|gt|quot);)/.test(match[3] ?? '')) return false
    at = match.index + match[0].length
    if (match[1] === '/') {
      if (open.pop() !== match[2]) return false
    } else if (match[4] !== '/') open.push(match[2] ?? '')
  }
  return open.length === 0 && body.slice(at).trim() === ''
}

const schema = JSON.parse(readFileSync(join(projectRoot, 'test', 'golden', 'sarif-2.1.0-parts.json'), 'utf8')) as object
const validate = new Ajv({ strict: false, allErrors: true }).compile(schema)

t.test('sarif', async t => {
  const log = sarifLog(reportOf([...LEVELS, finding({ rule: 'HC001', message: 'unseen' })]), {
    rules: allRules(),
    uri: 'conf/hooks.json',
  })
  t.ok(validate(log), JSON.stringify(validate.errors))
  const [run] = log.runs
  t.strictSame(
    run?.tool.driver.rules?.map(({ id }) => id),
    ['HC001', 'HC105', 'HC203', 'HC305', 'HC801'],
    'the rules that have results',
  )
  t.strictSame(
    run?.results?.map(({ level }) => level),
    ['error', 'warning', 'note', 'error', 'error'],
  )
  for (const result of run?.results ?? []) {
    t.equal(run?.tool.driver.rules?.[result.ruleIndex ?? -1]?.id, result.ruleId)
    t.match(result.locations, [
      { physicalLocation: { artifactLocation: { uri: 'conf/hooks.json', uriBaseId: 'HOOKS' } } },
    ])
    t.match(result.partialFingerprints, { 'hookcheck/v1': /^f{32}$/ })
  }
  t.notMatch(
    JSON.stringify(run?.results?.map(({ locations }) => locations)),
    /\/opt|\/ws/,
    'no path of the machine in a location',
  )
  t.match(run?.invocations, [
    {
      executionSuccessful: true,
      toolExecutionNotifications: [{ level: 'error', message: { text: 'unseen' } }, { level: 'note' }],
    },
  ])
  for (const { properties } of run?.tool.driver.rules ?? [])
    t.ok((properties?.tags?.length ?? 99) <= 10 && typeof properties?.['security-severity'] === 'string')
  const many = Array.from({ length: 25_001 }, () => finding())
  t.equal(sarifLog(reportOf(many), { rules: allRules(), uri: 'h.json' }).runs[0]?.results?.length, 25_000)
  t.ok(validate(sarifLog(reportOf([], { file: { path: '/x', sha256: null } }), { rules: [], uri: 'h.json' })))
  t.notOk(validate({ ...log, runs: [{ ...run, results: [{ message: {} }] }] }), 'the schema can say no')
})

t.test('nothing in a name breaks a format', async () => {
  const text = fc.string({ unit: 'binary', maxLength: 40 })
  const anything = fc.oneof(text, fc.constant(HOSTILE))
  fc.assert(
    fc.property(anything, anything, anything, (message, path, name) => {
      const report = reportOf(
        [finding({ message, path, step: name, fix: path }), finding({ severity: 'info', message: path })],
        {
          file: { path, sha256: null },
          hooks: [
            {
              ...HOOK,
              name,
              command: [path, name],
              resolved: path,
              closure: HOOK.closure.map(member => ({ ...member, path })),
            },
          ],
          skipped: [{ rule: 'HC9xx', reason: message }],
          suppressed: [{ ...finding({ message }), reason: name, by: path }],
        },
      )
      for (const shown of [
        [...textReport(report, { color: false })].join(''),
        [...githubReport(report, path)].join(''),
      ])
        if (ACTS.test(shown)) return false
      const xml = [...junitReport(report, THRESHOLD)].join('')
      return isWellFormed(xml) && !ACTS.test(xml) && validate(sarifLog(report, { rules: allRules(), uri: 'h.json' }))
    }),
    { numRuns: 300 },
  )
})

t.test('rules as text', async t => {
  const rules = allRules()
  const list = ruleList(rules, 'text')
  t.equal(list.match(/^ {2}HC\d{3} /gm)?.length, 72)
  for (const [prefix, title] of GROUPS) t.ok(list.includes(`${title}\n  ${prefix}`), title)
  t.match(JSON.parse(ruleList(rules, 'json')), [{ id: 'HC001', severity: 'error', lasting: 'always' }])
  const rule = rules.find(({ id }) => id === 'HC305')
  t.match(
    rule === undefined ? '' : explanation(rule),
    /^HC305 .*\nseverity {2}error\nchecks {4}\S.*\nwhy {7}\S.*\nfix {7}\S.*\nsee also {2}\S.*\nIt cannot be ignored at before-call/,
  )
  t.match(rules.map(explanation).join(), /one level up at before-call and transition/)
})
