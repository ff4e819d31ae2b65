/**
 * One whole sample of every kind of event, outcome record and session line, with every key that it can have. A kind
 * without its sample does not compile, and a sample that the published schema does not describe fails a test.
 */

import type { EndedRecord, LeftRecord, RefusedRecord } from '../../src/cli/outcome-sink.js'
import type { DoctorReport } from '../../src/confinement/doctor/report.js'
import type { HarnessEvent, HookDecision, Stop } from '../../src/events.js'
import type { AppliedConfinement, Ending, OutcomeRecord } from '../../src/outcome.js'
import type { HeaderLine, SessionRecord } from '../../src/session/records.js'

type ByKind<Union extends { readonly kind: string }> = {
  readonly [Kind in Union['kind']]: Required<Extract<Union, { readonly kind: Kind }>>
}

const SHA256 = 'a'.repeat(64)

const CONFINEMENT: AppliedConfinement = {
  boundary: 'bubblewrap',
  applied: ['no-network', 'tree-ends'],
  gaps: [{ guarantee: 'syscalls-filtered', why: 'not on this machine' }],
  limits: [
    { name: 'pids', value: 256, mechanism: 'cgroup-v2' },
    { name: 'memory', value: 1, mechanism: 'withheld', why: 'no cgroup' },
  ],
}

const OUTCOME: Required<OutcomeRecord> = {
  ending: { kind: 'exited', status: 0 },
  started_at: '2026-05-04T23:59:58.123Z',
  duration_ms: 1.5,
  confinement: CONFINEMENT,
  survivors_killed: null,
  output_held: false,
  peak_memory_bytes: 4_096,
  cpu_ms: 0.5,
  tree_left: true,
  stream_failures: [{ stream: 'stdout', errno: 'ENOSPC' }],
  network_denied: [{ host: 'example.org', port: null, why: 'host-not-allowed', times: 2 }],
  tampered: ['appeared: /w/.git/hooks/post-commit'],
  stdout_bytes: 3,
  stderr_bytes: 0,
}

export const STOPS: ByKind<Stop> = {
  completed: { kind: 'completed' },
  'max-turns': { kind: 'max-turns', limit: 3 },
  'max-input-tokens': { kind: 'max-input-tokens', limit: 10, reported: 12 },
  'max-output-tokens': { kind: 'max-output-tokens', limit: 10, reported: 12 },
  'max-cost': { kind: 'max-cost', limit_micro_usd: 10, spent_micro_usd: 12 },
  'budget-unobservable': { kind: 'budget-unobservable', name: 'max-cost', reason: 'no usage' },
  deadline: { kind: 'deadline', limit_ms: 1_000 },
  cancelled: { kind: 'cancelled', reason: 'cancelled by a signal' },
  'provider-incomplete': { kind: 'provider-incomplete', reason: 'max_output_tokens' },
  unstructured: { kind: 'unstructured', asked_again: 1 },
}

export const ENDINGS: ByKind<Ending> = {
  exited: { kind: 'exited', status: 0 },
  signalled: { kind: 'signalled', signal: 'SIGKILL', core: null },
  'timed-out': { kind: 'timed-out', limit_ms: 1_000 },
  cancelled: { kind: 'cancelled', by: 'esc' },
  bound: { kind: 'bound', name: 'output-total', limit: 10, seen: null },
  'not-started': {
    kind: 'not-started',
    code: 'cwd-missing',
    message: 'no such folder',
    errno: 'ENOENT',
    path: '/gone',
  },
}

export const DECISIONS: ByKind<HookDecision> = {
  proceed: { kind: 'proceed' },
  block: { kind: 'block', reason: 'not this one' },
  failed: { kind: 'failed', reason: 'it gave no answer' },
}

export const EVENTS: ByKind<HarnessEvent> = {
  started: {
    kind: 'started',
    run_id: '0123456789abcdef',
    model: 'm-1',
    published_tools: ['file_read'],
    operations: ['file.read'],
    withheld: [{ tool: 'run', reason: 'confinement is off' }],
    skills: ['review'],
    agents: ['writer'],
    memories: ['style'],
    profiles: [{ name: 'ci', source: '/etc/harness.toml', sha256: SHA256 }],
    context: [
      {
        id: 'agent.writer',
        kind: 'provided_context',
        trust: 'operator',
        cache: 'session',
        source: '/etc/agents/writer.md',
        captured_at: '2026-05-04T23:59:58Z',
        agent: 'writer',
        model: 'm-1',
        effort: 'low',
        bytes: 10,
        sha256: SHA256,
      },
    ],
    toolchains: [{ name: 'node', source: '/usr/bin/node', sha256: SHA256 }],
    driver: { program: '/opt/driver', sha256: 'a'.repeat(64) },
    mcp: [
      {
        connection: 'tickets',
        registry_sha256: SHA256,
        profile_sha256: SHA256,
        snapshot_sha256: SHA256,
        protocol_version: '2025-06-18',
      },
    ],
    credential_source: 'none',
    confinement: CONFINEMENT,
    path_scrubbed: [{ entry: '/tmp/bin', why: 'others can write it' }],
  },
  rates: { kind: 'rates', source: 'price list', as_of: '2026-01-31' },
  'flow-started': {
    kind: 'flow-started',
    flow: 'review',
    flow_id: '18eccf238d2f373f-00002809',
    steps: 3,
    resumed: { steps: 1, cut: ['root.fix'] },
  },
  'group-entered': { kind: 'group-entered', path: 'root', layers: 2, attempt: 1, of: 3 },
  'layer-ready': { kind: 'layer-ready', path: 'root', nodes: ['fix'] },
  'step-started': { kind: 'step-started', path: 'root.fix' },
  'step-finished': { kind: 'step-finished', path: 'root.fix', failed: false, note: 'fixed' },
  'node-skipped': { kind: 'node-skipped', path: 'root.ship', because: 'root.fix' },
  'group-repeating': { kind: 'group-repeating', path: 'root', attempt: 2, of: 3 },
  'handoff-incomplete': { kind: 'handoff-incomplete', path: 'root.plan', missing: ['risks'] },
  'transition-refused': { kind: 'transition-refused', path: 'root', moment: 'enter', attempt: 1, reason: 'not now' },
  'group-left': {
    kind: 'group-left',
    path: 'root.plan',
    failed: false,
    gave: { risks: 'none' },
    attempts: 1,
    exhausted: false,
  },
  'flow-finished': { kind: 'flow-finished', flow: 'review', ran: 3, failed: 0, skipped: 0, retreats: 0, clean: true },
  'flow-paused': {
    kind: 'flow-paused',
    flow: 'review',
    path: 'root.ask',
    reason: 'ship it?',
    reached: 2,
    failed: 0,
    skipped: 0,
    retreats: 1,
  },
  'turn-started': { kind: 'turn-started', turn: 1 },
  'turn-retried': { kind: 'turn-retried', turn: 1, attempt: 1, reason: 'overloaded' },
  'text-delta': { kind: 'text-delta', text: 'x' },
  'reasoning-delta': { kind: 'reasoning-delta', text: 'x' },
  'tool-arguments-delta': { kind: 'tool-arguments-delta', call_id: 'c1', delta: '{' },
  'tool-requested': {
    kind: 'tool-requested',
    call_id: 'c1',
    name: 'file_read',
    arguments: { path: 'a' },
    operation: 'file.read',
    subjects: ['file:a'],
  },
  'approval-required': { kind: 'approval-required', call_id: 'c1', name: 'file_write' },
  'approval-resolved': { kind: 'approval-resolved', call_id: 'c1', approved: false },
  'launch-started': {
    kind: 'launch-started',
    launch_id: 'l1',
    call_id: 'c1',
    purpose: 'tool',
    argv0: 'node',
    confinement: { boundary: CONFINEMENT.boundary, applied: CONFINEMENT.applied, gaps: CONFINEMENT.gaps },
  },
  'launch-ended': { kind: 'launch-ended', launch_id: 'l1', outcome: OUTCOME },
  'network-denied': {
    kind: 'network-denied',
    launch_id: 'l1',
    call_id: 'c1',
    host: 'example.org',
    port: 443,
    why: 'host-not-allowed',
  },
  'confinement-hint': { kind: 'confinement-hint', call_id: 'c1', rule: 'no-network', text: 'give --allow-host' },
  'hook-ran': {
    kind: 'hook-ran',
    point: 'before-call',
    call_id: 'c1',
    decision: { kind: 'block', reason: 'not this one' },
    name: 'hook-1',
    command0: '/etc/hooks/policy.sh',
    status: 2,
    signal: null,
    duration_ms: 1.5,
    timed_out: false,
    reason_source: 'stderr',
    note: null,
    survivors_killed: null,
    stdout_ignored: false,
  },
  'tool-completed': { kind: 'tool-completed', call_id: 'c1', failed: true, code: 'denied', reason: 'it was denied' },
  answered: { kind: 'answered', call_id: 'c1', value: { verdict: 'good' } },
  'delegate-started': { kind: 'delegate-started', call_id: 'c1', task: 'look at a' },
  delegated: { kind: 'delegated', call_id: 'c1', event: { kind: 'turn-started', turn: 1 } },
  'delegate-finished': { kind: 'delegate-finished', call_id: 'c1', stop: { kind: 'completed' }, turns: 1 },
  usage: {
    kind: 'usage',
    model: 'm-1',
    input_tokens: 3,
    output_tokens: 2,
    cached_input_tokens: 1,
    cache_creation_input_tokens: 0,
  },
  cost: { kind: 'cost', model: 'm-1', micro_usd: 12 },
  compacted: {
    kind: 'compacted',
    elided_results: 2,
    elided_bytes: 400,
    summarised_items: 3,
    bytes_before: 1_000,
    bytes_after: 300,
    summary_turn: true,
  },
  warning: { kind: 'warning', code: 'unpriced-model', message: 'no price' },
  'cancel-requested': { kind: 'cancel-requested', by: 'esc' },
  finished: { kind: 'finished', stop: { kind: 'completed' }, turns: 2 },
  failed: { kind: 'failed', code: 'overloaded', reason: 'it said so', turns: 1 },
  refused: { kind: 'refused', code: 'bad-arguments', reason: 'run needs --input' },
  session: { kind: 'session', id: '18d06ae681443bb4-0019ed82', path: '/s/18d06ae681443bb4-0019ed82.jsonl' },
}

export const RECORDS: readonly [Required<EndedRecord>, RefusedRecord, LeftRecord] = [
  { version: 1, ...OUTCOME, nowhere: [{ stream: 'stdout', bytes: 3 }] },
  { version: 1, refused: { code: 'program-missing', reason: 'no such program', details: { program: 'x' } } },
  { version: 1, left: { status: 130, reason: 'left' } },
]

export const HEADER: Required<HeaderLine> = {
  version: 2,
  id: '18d06ae681443bb4-0019ed82.d1',
  wire: 'openai-chat',
  model: 'm-1',
  base_url: 'http://127.0.0.1/v1',
  workspace: '/w',
  created_unix: 1_777_777_777,
  parent: '18d06ae681443bb4-0019ed82',
  forked_from: '18d06ae681443bb4-0019ed83',
}

export const LINES: ByKind<SessionRecord> = {
  'user-text': { kind: 'user-text', text: 'x' },
  'assistant-text': { kind: 'assistant-text', text: 'x' },
  'tool-call': {
    kind: 'tool-call',
    call_id: 'c1',
    name: 'file_read',
    arguments: { path: 'a' },
    text: '{"path":"\\u0061"}',
  },
  'tool-result': { kind: 'tool-result', call_id: 'c1', output: 'x', failed: false },
  opaque: {
    kind: 'opaque',
    wire: 'openai-responses',
    payload: { type: 'reasoning' },
    text: '{"type":"reasonin\\u0067"}',
  },
  turn: {
    kind: 'turn',
    turn: 1,
    model: 'm-1',
    usage: { input_tokens: 3, output_tokens: 2, cached_input_tokens: 1, cache_creation_input_tokens: 0 },
    cost: null,
  },
  withheld: { kind: 'withheld', withheld: [{ tool: 'run', reason: 'confinement is off' }] },
  resumed: {
    kind: 'resumed',
    wire: 'openai-chat',
    model: 'm-1',
    base_url: '',
    workspace: '/w',
    resumed_unix: 1_777_777_778,
    turns: 1,
    items: 0,
  },
  end: { kind: 'end', stop: { kind: 'completed' }, turns: 1, model: 'm-1', structured: { ok: true } },
}

/** A report of the doctor with one row of each kind. */
export const DOCTOR_REPORT: DoctorReport = {
  version: 1,
  asked: 'auto',
  boundary: 'bubblewrap',
  machine: {
    platform: 'linux',
    arch: 'x64',
    kernel: '6.1.0',
    node: 'v20.19.0',
    uid: 1000,
    bubblewrap: '0.8.0 at /usr/bin/bwrap',
    landlock_abi: 4,
  },
  boundaries: [{ boundary: 'bubblewrap', status: 'held', asked: true, why: 'a launch was made', fix: null }],
  guarantees: [
    {
      guarantee: 'no-network',
      status: 'absent',
      asked: true,
      why: 'got through: tcp',
      fix: 'report it',
      attempts: ['tcp'],
    },
  ],
  limits: [{ limit: 'pids', mechanism: 'cgroup-v2', status: 'held', asked: true, why: 'it was ended', fix: null }],
  machine_checks: [{ name: 'git', status: 'unknown', asked: false, why: 'not looked for', fix: 'install git' }],
  environments: [{ name: 'wsl2', seen: 'kernel 5-microsoft', meaning: 'a Linux of its own', fix: null }],
  verdict: 'absent',
  duration_ms: 900,
}
