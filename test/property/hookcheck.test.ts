/** Whatever stands in a hooks file, beside it and in its scripts, an audit answers, and adding a hook takes no finding away. */
import fc from 'fast-check'
import t from 'tap'
import { CORE_RULES } from '../../src/hookcheck/audit.js'
import { environmentRules } from '../../src/hookcheck/rules-environment.js'
import { MEANING_RULES } from '../../src/hookcheck/rules-meaning.js'
import { pinRules } from '../../src/hookcheck/rules-pins.js'
import { commonToolsIn, foreignDialect, swallowedFailures } from '../../src/hookcheck/script-text.js'
import { parseAllow } from '../../src/hookcheck/suppressions.js'
import { parseLock } from '../../src/hooks/lock.js'
import { auditData, program } from '../support/audits.js'

const rules = [
  ...CORE_RULES,
  ...environmentRules({ inherited: { X: '() { :', Y: '/ws' }, names: ['X'], descriptors: [], homeReplaced: null }),
  ...MEANING_RULES,
  ...pinRules({ sha256: 'f'.repeat(64), lock: null, lockProblem: null }),
]

const word = fc.oneof(
  fc.string({ maxLength: 12 }),
  fc.constantFrom(
    '/etc/harness/guard.sh',
    '/usr/bin/node',
    '/usr/bin/python3',
    '-c',
    '-e',
    '--require=x',
    '/ws/x',
    'env',
    '/usr/bin/env',
    '/usr/bin/timeout',
    '--',
    '',
    '\0',
    '../x',
    '-S a b',
  ),
)
const hook = fc.record(
  {
    on: fc.oneof(fc.constantFrom('before-call', 'after-call', 'stop', 'transition', 'Stop'), fc.jsonValue()),
    command: fc.oneof(fc.array(word, { maxLength: 5 }), fc.jsonValue()),
    tools: fc.oneof(
      fc.array(fc.oneof(word, fc.constantFrom('run', 'file_edit', '*')), { maxLength: 3 }),
      fc.jsonValue(),
    ),
    name: fc.oneof(fc.constantFrom('a', 'secret-guard', 'x-only'), fc.jsonValue()),
    'timeout-ms': fc.oneof(fc.integer({ min: -1, max: 700_000 }), fc.jsonValue()),
    cwd: fc.oneof(fc.constantFrom('/', '/ws', '/none', '/etc/harness/guard.sh', 'x'), fc.jsonValue()),
    env: fc.oneof(fc.array(fc.constantFrom('X', 'Y', 'LD_PRELOAD', 'GH_TOKEN', 'PATH')), fc.jsonValue()),
    digest: fc.oneof(
      fc.constantFrom(`sha256:${'0'.repeat(64)}`),
      fc.dictionary(word, fc.constant(`sha256:${'0'.repeat(64)}`)),
      fc.jsonValue(),
    ),
    more: fc.jsonValue(),
  },
  { requiredKeys: [] },
)
const script = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 60 }),
  fc.constantFrom('#!/bin/sh\nexit 0\n', '#!/usr/bin/env -S node -e x\n', '#!', '#!/bin/sh\r\n', '\ufeff#!/bin/sh\n'),
)

t.test('any document is answered', async () => {
  const documents = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.json(),
    fc.array(hook, { maxLength: 4 }).map(hooks => JSON.stringify({ version: 1, hooks })),
  )
  fc.assert(
    fc.property(documents, script, (hooks, text) => {
      const { findings, document } = auditData({
        hooks,
        tree: { '/etc/harness/guard.sh': program(text) },
        more: { rules },
      })
      const whole = findings.every(
        ({ rule, message, fix, anchor, fingerprint }) =>
          /^HC\d{3}$/.test(rule) && message !== '' && fix !== '' && anchor !== '' && fingerprint.length === 32,
      )
      return whole && (document !== null || findings.some(({ severity }) => severity === 'error'))
    }),
    { numRuns: 400 },
  )
})

t.test('what is beside it is answered too', async () => {
  const bytes = fc.oneof(fc.string({ unit: 'binary' }), fc.json()).map(text => Buffer.from(text))
  fc.assert(
    fc.property(bytes, content => {
      const allow = parseAllow(content, '/a')
      parseLock(content, '/l')
      return allow.entries.length + allow.problems.length >= 0
    }),
    { numRuns: 300 },
  )
})

t.test('a hook that is added takes no finding of another away', async () => {
  const sound = fc.record({
    on: fc.constantFrom('before-call', 'stop'),
    command: fc.tuple(fc.constantFrom('/etc/harness/guard.sh', '/ws/own', 'node', '/none')).map(words => [...words]),
  })
  const own = (hooks: readonly object[], hooked: number) =>
    auditData({
      hooks: JSON.stringify({ version: 1, hooks }),
      tree: { '/ws/own': program('#!/bin/sh\nexit 0\n') },
      more: { rules },
    })
      .findings.filter(({ hook: at, severity }) => at === hooked && severity === 'error')
      .map(({ rule, fingerprint }) => `${rule} ${fingerprint}`)
  fc.assert(
    fc.property(fc.array(sound, { minLength: 1, maxLength: 3 }), sound, (hooks, added) => {
      const after = new Set(own([...hooks, added], 1))
      return own(hooks, 1).every(line => after.has(line))
    }),
    { numRuns: 100 },
  )
})

/** Each would take minutes where a pattern looks at the rest of the text from every place in it. */
const ADVERSARIAL = [
  '|| true\n',
  'catch ',
  'catch{',
  '.catch(x=>',
  '.catch(x=>{',
  '= ',
  '=   "$(',
  'except x:',
  'except:\n ',
  "trap 'exit ",
  'uncaughtException',
  '"decision" ',
  'exit 0\n',
  '#\n',
  ' jq',
  '$(',
]

t.test('hostile scripts end', async t => {
  for (const part of ADVERSARIAL) {
    const text = `#!/bin/sh\n${part.repeat(Math.ceil((256 * 1024) / part.length))}`
    for (const family of ['shell', 'node', 'python'] as const) t.ok(swallowedFailures(text, family).length <= 200)
    t.ok(foreignDialect(text).length <= 7)
    t.ok(commonToolsIn(text).length <= 40)
  }
})
