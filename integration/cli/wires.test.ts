/**
 * `harness run` over each wire, against literal bytes: an answer, the retries, one socket, a growing prefix; and no
 * credential anywhere but in the request, through every way a turn can fail and in nothing that we start.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import type { HarnessEvent } from '../../src/events.js'
import { eventually } from '../../test/support/children.js'
import { needs } from '../../test/support/needs.js'
import { httpAnswer, rawServer, streamAnswer } from '../../test/support/raw-server.js'
import { WIRE_SAMPLES, type WireSample } from '../../test/support/wire-samples.js'
import { eventsOf, harness, harnessBin, scratch } from '../support/harness.js'

/** Word characters alone: what is looked for is looked for in JSON, in URLs and in argument lists alike. */
const CANARY = 'canarysecret0123456789'
const KEY_FILE_CANARY = 'canaryinfile0123456789'
/** As much as a cut may leave of it is too much. */
const BEGINNING = CANARY.slice(0, 9)

type Answer = Parameters<typeof rawServer>[0]
type Failed = Extract<HarnessEvent, { kind: 'failed' }>

/** Chunked, so that the socket stays. */
function kept(body: string): string {
  const head = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n'
  return `${head}${Buffer.byteLength(body).toString(16)}\r\n${body}\r\n0\r\n\r\n`
}

/** The sample's answer with other arguments and another name, or with no call at all. */
const CALLS: Readonly<Record<WireSample['wire'], (name: string, args: string) => string>> = {
  'openai-responses': (name, args) =>
    sse(
      {
        type: 'response.output_item.done',
        output_index: 0,
        item: { type: 'function_call', id: 'f', call_id: 'c1', name, arguments: args },
      },
      { type: 'response.completed', response: { usage: { input_tokens: 7, output_tokens: 3 } } },
    ),
  'anthropic-messages': (name, args) =>
    sse(
      { type: 'message_start', message: { usage: { input_tokens: 7 } } },
      { type: 'content_block_start', index: 0, content_block: { type: 'tool_use', id: 'c1', name, input: {} } },
      { type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: args } },
      { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 3 } },
      { type: 'message_stop' },
    ),
  'openai-chat': (name, args) =>
    sse({
      choices: [
        {
          index: 0,
          delta: { tool_calls: [{ index: 0, id: 'c1', function: { name, arguments: args } }] },
          finish_reason: 'tool_calls',
        },
      ],
    }),
}

const TEXTS: Readonly<Record<WireSample['wire'], (text: string) => string>> = {
  'openai-responses': text =>
    sse(
      {
        type: 'response.output_item.done',
        output_index: 0,
        item: { type: 'message', content: [{ type: 'output_text', text }] },
      },
      { type: 'response.completed', response: { usage: { input_tokens: 7, output_tokens: 3 } } },
    ),
  'anthropic-messages': text =>
    sse(
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text } },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' } },
      { type: 'message_stop' },
    ),
  'openai-chat': text =>
    `${sse({ choices: [{ index: 0, delta: { content: text }, finish_reason: 'stop' }] })}data: [DONE]\n\n`,
}

function sse(...events: readonly object[]): string {
  return events.map(event => `data: ${JSON.stringify(event)}\n\n`).join('')
}

function words(sample: WireSample, url: string, workspace: string, ...more: readonly string[]): string[] {
  const where = ['--base-url', url, '--wire', sample.wire, '--model', 'm', '--workspace', workspace]
  return ['run', ...where, '--input', 'go', '--no-session', '--json', ...more]
}

function failedOf(stdout: string): Failed | undefined {
  return eventsOf(stdout).find((event): event is Failed => event.kind === 'failed')
}

for (const sample of WIRE_SAMPLES) {
  t.test(`${sample.wire}: tool turns to an answer over one socket, the prefix growing`, async t => {
    const ws = scratch({ 'a.txt': 'one\n' })
    t.teardown(ws.remove)
    let turn = 0
    const server = await rawServer(socket => {
      turn += 1
      const body = turn < 4 ? CALLS[sample.wire]('file_read', '{"path":"a.txt"}') : TEXTS[sample.wire]('Done.')
      // Ids repeat from turn to turn, as some servers have it.
      socket.write(kept(body.replace('"c1"', `"c${turn}"`)))
    })
    t.teardown(server.close)
    const ran = await harness(words(sample, server.url, ws.path, '--api-key-env', 'CANARY_KEY'), {
      env: { CANARY_KEY: CANARY },
    })
    t.equal(ran.status, 0, ran.stdout + ran.stderr)
    t.equal(server.connections, 1)
    t.equal(server.requests.length, 4)
    const bodies = server.requests.map(
      request => JSON.parse(request.split('\r\n\r\n')[1] ?? '') as Record<string, unknown>,
    )
    const said = bodies.map(body =>
      JSON.stringify(body.messages ?? body.input, (key, value: unknown) =>
        key === 'cache_control' ? undefined : value,
      ).slice(0, -1),
    )
    for (const [index, later] of said.slice(1).entries())
      t.ok(later.startsWith(said[index] ?? '?'), `request ${index + 2}`)
    t.ok(ran.stdout.includes('"text":"Done."'))
  })

  t.test(`${sample.wire}: a turn cut after output starts over, and says so before it does`, async t => {
    const ws = scratch()
    t.teardown(ws.remove)
    let turn = 0
    const server = await rawServer(socket => {
      turn += 1
      const opened = sample.frames.slice(0, sample.shownFrames).join('')
      socket.end(streamAnswer(turn === 1 ? opened : TEXTS[sample.wire]('Whole.')))
    })
    t.teardown(server.close)
    const ran = await harness(words(sample, server.url, ws.path))
    t.equal(ran.status, 0, ran.stdout)
    const kinds = eventsOf(ran.stdout).map(({ kind }) => kind)
    t.ok(kinds.indexOf('text-delta') < kinds.indexOf('turn-retried'))
    t.ok(kinds.indexOf('turn-retried') < kinds.lastIndexOf('text-delta'))
  })
}

// The retries that we promise, and no more. The wires side by side: most of it is waiting.
t.test('an overloaded endpoint is asked four times, and the retries are told (P094)', async t => {
  await Promise.all(
    WIRE_SAMPLES.map(async sample => {
      const ws = scratch()
      const server = await rawServer(socket =>
        socket.end(httpAnswer('529 Busy', {}, '{"error":{"type":"overloaded_error"}}')),
      )
      const ran = await harness(words(sample, server.url, ws.path))
      await server.close()
      ws.remove()
      t.equal(ran.status, 1)
      t.equal(server.requests.length, 4, sample.wire)
      t.equal(new Set(server.requests.map(request => request.split('\r\n\r\n')[1])).size, 1, 'the same each time')
      t.match(failedOf(ran.stdout), { code: 'transport', reason: /529: overloaded_error/ })
      t.equal(eventsOf(ran.stdout).filter(({ kind }) => kind === 'turn-retried').length, 3)
    }),
  )
})

/** Every way a turn can fail that carries the endpoint's own words, with the key among them. */
const leaks: readonly { name: string; answer: (sample: WireSample, socket: Socket) => unknown }[] = [
  ...[400, 401, 404, 429, 500].map(status => ({
    name: `status ${status}`,
    answer: (_: WireSample, socket: Socket) =>
      socket.end(
        httpAnswer(
          `${status} ${CANARY}`,
          { 'retry-after': '0', 'x-echo': CANARY },
          `{"error":{"message":"bad key ${CANARY}","code":"${CANARY}"}}`,
        ),
      ),
  })),
  {
    name: 'text where it is cut',
    answer: (_, socket) => socket.end(httpAnswer('400 No', {}, `${'x'.repeat(590)}${CANARY}`)),
  },
  {
    name: 'a redirect',
    answer: (_, socket) => socket.end(httpAnswer('302 There', { location: `http://h/${CANARY}?k=${CANARY}` }, '')),
  },
  {
    name: 'HTML',
    answer: (_, socket) => socket.end(httpAnswer('200 OK', { 'content-type': 'text/html' }, `<p>${CANARY}`)),
  },
  { name: 'an encoding', answer: (_, socket) => socket.end(httpAnswer('200 OK', { 'content-encoding': CANARY }, '')) },
  { name: 'no HTTP', answer: (_, socket) => socket.end(`${CANARY}\r\n\r\n`) },
  { name: 'an event that is no JSON', answer: (_, socket) => socket.end(streamAnswer(`data: {${CANARY}\n\n`)) },
  { name: 'an event that is no object', answer: (_, socket) => socket.end(streamAnswer(`data: "${CANARY}"\n\n`)) },
  {
    name: 'an error in mid-stream',
    answer: (sample, socket) => {
      const opened = sample.frames.slice(0, sample.shownFrames).join('')
      const event = { type: 'error', error: { type: CANARY, message: `no ${CANARY}` } }
      socket.end(streamAnswer(`${opened}data: ${JSON.stringify(event)}\n\n`))
    },
  },
  {
    name: 'an unknown event',
    answer: (sample, socket) => socket.end(streamAnswer(`data: {"type":"${CANARY}"}\n\n${TEXTS[sample.wire]('ok')}`)),
  },
  { name: 'a reset', answer: (_, socket) => socket.resetAndDestroy() },
]

for (const sample of WIRE_SAMPLES) {
  t.test(`${sample.wire}: no credential in any record, however the turn fails`, async t => {
    // Side by side: half of them are retried, which is mostly waiting.
    const tried = leaks.map(async ({ name, answer }) => {
      const ws = scratch({ key: `${CANARY}\n` })
      const server = await rawServer(socket => answer(sample, socket))
      const state = join(ws.path, 'state')
      const env = { CANARY_KEY: CANARY, XDG_STATE_HOME: state, XDG_CACHE_HOME: join(ws.path, 'cache') }
      const log = join(ws.path, 'operator.log')
      const source =
        name.length % 2 === 0 ? ['--api-key-env', 'CANARY_KEY'] : ['--oauth-token-file', join(ws.path, 'key')]
      const further = ['--header', 'X-Second=CANARY_KEY', '--log-file', log, '--log-level', 'debug']
      const ran = await harness(words(sample, server.url, ws.path, ...source, ...further), { env })
      await server.close()
      t.ok(server.requests[0]?.includes(CANARY), `${name}: it was sent`)
      t.notOk((ran.stdout + ran.stderr).includes(BEGINNING), `${name}: ${ran.stdout.slice(-300)} ${ran.stderr}`)
      t.notOk(readFileSync(log, 'utf8').includes(BEGINNING), `${name}: the log`)
      const files = readdirSync(ws.path, { recursive: true, withFileTypes: true }).filter(
        file => file.isFile() && file.name !== 'key',
      )
      for (const file of files) {
        t.notOk(readFileSync(join(file.parentPath, file.name)).includes(BEGINNING), `${name}: ${file.name}`)
      }
      ws.remove()
    })
    await Promise.all(tried)
  })
}

/** Descendants of a process. */
function descendants(pid: number): readonly number[] {
  const parents = readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .map(name => ({ pid: Number(name), parent: Number(/\) . (\d+)/.exec(read(`/proc/${name}/stat`))?.[1] ?? 0) }))
  const found = [pid]
  for (const one of found) found.push(...parents.filter(({ parent }) => parent === one).map(child => child.pid))
  return found.slice(1)
}

function read(path: string): string {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return ''
  }
}

t.test(
  'nothing that we start holds a credential, seen from inside and from outside',
  { skip: needs('bubblewrap') },
  async t => {
    const ws = scratch({ key: KEY_FILE_CANARY })
    t.teardown(ws.remove)
    const look =
      'cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline; env; set; for f in /proc/self/fd/*; do readlink $f; done; sleep 2'
    for (const [source, secret] of [
      [['--api-key-env', 'CANARY_KEY'], CANARY],
      [['--api-key-file', join(ws.path, 'key')], KEY_FILE_CANARY],
    ] as const) {
      let turn = 0
      const answer: Answer = socket => {
        turn += 1
        const call = CALLS['openai-chat']('run', JSON.stringify({ argv: ['sh', '-c', look] }))
        socket.write(kept(turn === 1 ? call : TEXTS['openai-chat']('Done.')))
      }
      const server = await rawServer(answer)
      const [sample] = WIRE_SAMPLES.filter(({ wire }) => wire === 'openai-chat')
      if (sample === undefined) throw new Error('no sample')
      const further = [
        '--confine',
        'auto',
        '--allow-program',
        'sh',
        '--yes',
        '--hide',
        'key',
        '--header',
        'X-Second=SECOND_KEY',
      ]
      const argv = [harnessBin, ...words(sample, server.url, ws.path, ...source, ...further)]
      const env = { ...process.env, CANARY_KEY: CANARY, SECOND_KEY: CANARY }
      const child: ChildProcess = spawn(process.execPath, argv, { env, stdio: ['ignore', 'pipe', 'pipe'] })
      const { pid = 0 } = child
      let said = ''
      child.stdout?.on('data', (bytes: Buffer) => {
        said += bytes.toString('latin1')
      })
      child.stderr?.on('data', (bytes: Buffer) => {
        said += bytes.toString('latin1')
      })
      const ended = new Promise<number | null>(resolve => child.once('close', resolve))
      await eventually(() => descendants(pid).some(one => read(`/proc/${one}/cmdline`).startsWith('sleep')), 20_000)
      const outside = descendants(pid).map(one => read(`/proc/${one}/environ`) + read(`/proc/${one}/cmdline`))
      t.ok(outside.length >= 2, 'processes were there to look at')
      t.notOk(
        outside.some(text => text.includes(secret)),
        'from outside',
      )
      t.equal(await ended, 0, said)
      const result = server.requests[1]?.split('\r\n\r\n')[1] ?? ''
      t.ok(result.includes('PATH='), 'the command did look around')
      t.notOk(result.includes(secret), 'from inside')
      t.notOk(said.includes(secret), 'in the record')
      await server.close()
    }
  },
)
