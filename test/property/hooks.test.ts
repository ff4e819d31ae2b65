/** Properties of hooks: no document and no output breaks the readers or becomes a yes, and a hook only ever narrows. */
import fc from 'fast-check'
import t from 'tap'
import { decide } from '../../src/hooks/decision.js'
import { parseHooks } from '../../src/hooks/document.js'
import { hookPort } from '../../src/hooks/run.js'
import type { Captured, Ending } from '../../src/outcome.js'
import { moment, prepared } from '../support/hooks.js'

const RUNS = 10_000

const hook = fc.record(
  {
    on: fc.oneof(fc.constantFrom('before-call', 'after-call', 'stop', 'transition'), fc.string()),
    tools: fc.oneof(fc.array(fc.string(), { maxLength: 3 }), fc.json()),
    command: fc.oneof(fc.array(fc.string({ unit: 'binary' }), { maxLength: 3 }), fc.string()),
    name: fc.oneof(fc.constantFrom('a', 'b'), fc.string({ maxLength: 60 })),
    'timeout-ms': fc.oneof(fc.integer({ min: -1, max: 700_000 }), fc.double(), fc.string()),
    cwd: fc.oneof(fc.constantFrom('/', 'x'), fc.string()),
    env: fc.array(fc.oneof(fc.constantFrom('LD_PRELOAD', 'FOO', 'PATH'), fc.string()), { maxLength: 3 }),
    digest: fc.oneof(fc.string(), fc.dictionary(fc.string(), fc.string(), { maxKeys: 2 })),
  },
  { requiredKeys: [] },
)
const file = fc.oneof(
  fc
    .record({ version: fc.oneof(fc.constant(1), fc.anything()), hooks: fc.array(hook, { maxLength: 4 }) })
    .map(value => JSON.stringify(value) ?? ''),
  fc.json(),
  fc.string({ unit: 'binary' }),
)
/** A document as it is, and with one byte of it changed, dropped or doubled. */
const bytes = fc
  .tuple(file, fc.nat(), fc.nat(255), fc.constantFrom('none', 'set', 'cut', 'twice'))
  .map(([text, where, value, how]) => {
    const whole = Buffer.from(text)
    const at = whole.length === 0 ? 0 : where % whole.length
    if (how === 'set' && whole.length > 0) whole[at] = value
    if (how === 'cut') return whole.subarray(0, at)
    return how === 'twice' ? Buffer.concat([whole, whole]) : whole
  })

t.test('no hooks document breaks the reader, and one without a problem says the same to JSON.parse', async t => {
  let sound = 0
  fc.assert(
    fc.property(bytes, content => {
      const { document, problems } = parseHooks(content, '/h/hooks.json')
      if (problems.length > 0 || document === null) return document !== null || problems.length > 0
      sound++
      const plain = JSON.parse(content.toString('utf8')) as { hooks: Record<string, unknown>[] }
      return (
        plain.hooks.length === document.hooks.length &&
        document.hooks.every(({ index, on, command, tools }) => {
          const there = plain.hooks[index - 1]
          return (
            there?.on === on &&
            JSON.stringify([there.command, there.tools ?? null]) === JSON.stringify([command, tools])
          )
        })
      )
    }),
    { numRuns: RUNS },
  )
  t.ok(sound > 50, `${sound} of them were hooks files`)
})

function captured(content: Uint8Array, keep = 16_384): Captured {
  const head = content.subarray(0, keep)
  return { head, tail: new Uint8Array(0), droppedBytes: content.length - head.length, totalBytes: content.length }
}

const piece = fc.oneof(
  fc.constantFrom(
    '{}',
    '{"note":"n"}',
    '{"reason":"r"}',
    '{"decision":"allow"}',
    '[]',
    'null',
    '{',
    '"',
    '\n',
    ' ',
    'ok',
    '\ufeff',
  ),
  fc.json({ maxDepth: 2 }),
  fc.string(),
)
const output = fc.oneof(
  fc.array(piece, { maxLength: 4 }).map(pieces => Buffer.from(pieces.join(''))),
  fc.uint8Array({ maxLength: 64 }),
  fc.integer({ min: 16_300, max: 17_000 }).map(size => Buffer.alloc(size, '{')),
)
const ending: fc.Arbitrary<Ending> = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(0, 2).map(status => ({ kind: 'exited', status }) as const) },
  fc.integer({ min: 0, max: 255 }).map(status => ({ kind: 'exited', status }) as const),
  fc.constantFrom<Ending>(
    { kind: 'signalled', signal: 'SIGKILL', core: null },
    { kind: 'timed-out', limit_ms: 5 },
    { kind: 'cancelled', by: 'esc' },
    { kind: 'bound', name: 'output-total', limit: 16_384, seen: null },
    { kind: 'not-started', code: 'program-missing', message: 'gone' },
  ),
)

t.test('no output becomes a yes that was not said', async t => {
  const seen = { proceed: 0, block: 0, failed: 0 }
  fc.assert(
    fc.property(ending, output, output, (end, stdout, stderr) => {
      const { decision, reasonSource, stdoutIgnored } = decide('h', {
        ending: end,
        stdout: captured(stdout),
        stderr: captured(stderr),
      })
      seen[decision.kind]++
      if ((reasonSource !== null) !== (decision.kind === 'block')) return false
      if (decision.kind !== 'proceed') return decision.reason.trim() !== '' && !stdoutIgnored
      // A yes: status 0, readable, within the bound, and either one document, or no object anywhere in it.
      if (end.kind !== 'exited' || end.status !== 0 || stdout.length > 16_384) return false
      const text = new TextDecoder('utf-8', { fatal: true }).decode(stdout)
      return isJson(text) || !pieces(text).some(isJson)
    }),
    { numRuns: RUNS },
  )
  for (const [kind, count] of Object.entries(seen)) t.ok(count > 100, `${kind}: ${count}`)
})

/** Everything between an opening brace and a closing one behind it, for short texts. */
function pieces(text: string): string[] {
  if (text.length > 200) return []
  const at = (char: string): number[] => [...text.matchAll(char === '{' ? /\{/g : /\}/g)].map(({ index }) => index)
  return at('{').flatMap(open => at('}').map(close => text.slice(open, close + 1)))
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

const CALL = { call_id: 'c', name: 'run', arguments: {}, entry: 'run' }

t.test('adding a hook never turns block into allow', async t => {
  const one = fc.record({ end: ending, stdout: output, tools: fc.constantFrom(null, ['run'], ['file_write']) })
  const consulted = async (
    hooks: readonly { end: Ending; stdout: Uint8Array; tools: readonly string[] | null }[],
  ): Promise<string> => {
    const answers = [...hooks.filter(({ tools }) => tools === null || tools.includes('run'))]
    const port = hookPort({
      hooks: hooks.map(({ tools }, at) => prepared('/x', 'before-call', { tools, name: `h${at}` })),
      run: { runId: 'r', sessionId: null, workspace: '/' },
      timeoutMs: null,
      reap: 'group',
      launch: async () => {
        const answer = answers.shift()
        if (answer === undefined) throw new Error('asked too often')
        return {
          ending: answer.end,
          stdout: captured(answer.stdout),
          stderr: captured(new Uint8Array(0)),
          started_at: '',
          duration_ms: 0,
          confinement: { boundary: 'none', applied: [], gaps: [], limits: [] },
          survivors_killed: 0,
          output_held: false,
          peak_memory_bytes: null,
          cpu_ms: null,
          tampered: [],
        }
      },
    })
    return (await port.beforeCall(CALL, moment())).decision.kind
  }
  await fc.assert(
    fc.asyncProperty(fc.array(one, { maxLength: 4 }), one, fc.nat(4), async (hooks, more, at) => {
      const without = await consulted(hooks)
      const withOne = await consulted(hooks.toSpliced(Math.min(at, hooks.length), 0, more))
      return without === 'proceed' || withOne !== 'proceed'
    }),
    { numRuns: 2_000 },
  )
  t.pass()
})
