/**
 * The standing instruction: its layers in their fixed order (contract §18), their rendering, and the manifest that the
 * record carries instead of the text. Pure, and without a clock time in the text: two runs of one day over the same
 * workspace and inputs send the same first bytes, which is what lets a provider's cache answer.
 */
import { createHash } from 'node:crypto'
import { INSTRUCTION_BYTES_MAX } from '../bounds.js'
import { Refusal } from '../errors.js'
import type { ContextEntry } from '../events.js'
import type { ToolPort } from '../tools/port.js'
import type { AgentDocument } from './documents/agents.js'
import { type Documents, NO_DOCUMENTS } from './documents/documents.js'
import { DELEGATE_TEXT, type OwnedByLoop, toolText } from './tool-text.js'

/** A file given by the operator. `source` is the path as it was spelled. */
export interface ProvidedFile {
  readonly source: string
  readonly text: string
}

/** What the workspace says of itself. */
export interface WorkspaceFacts {
  /** Absolute, landed. */
  readonly path: string
  /** Null: no repository, or a head that names no branch. */
  readonly branch: string | null
  /** `AGENTS.md`, else `CLAUDE.md`, of the workspace root; null: neither, or not wanted. */
  readonly project: ProvidedFile | null
}

/** How processes stand in this run, as applied. */
export interface ExecutionFacts {
  readonly path: 'direct' | 'metaharness'
  /** Name of the boundary; null: nothing is launched. */
  readonly boundary: string | null
  readonly programs: readonly string[]
  /** Folders that processes may write, as the operator spelled them. */
  readonly writes: readonly string[]
  /** Hosts of the allow-list. Empty: no network. */
  readonly hosts: readonly string[]
}

export interface ContextParts {
  readonly tools: ToolPort
  /** `GLOB=SCOPE` as declared; empty or silent: not announced. */
  readonly writeScope: readonly string[]
  /** Skills, memories and agents to list; absent: none. */
  readonly documents?: Pick<Documents, 'skills' | 'memories' | 'agents'>
  /** What the loop adds to `tools`; absent: nothing. */
  readonly owned?: OwnedByLoop
  /** Of a delegate: the agent that it is, if any. Absent: it is none. */
  readonly child?: { readonly agent: AgentDocument | null }
  readonly operatorInstructions: ProvidedFile | null
  readonly provided: readonly ProvidedFile[]
  readonly workspace: WorkspaceFacts
  readonly execution: ExecutionFacts
  readonly platform: { readonly os: string; readonly arch: string }
  /** Wall clock; only its UTC date enters the text. */
  readonly now: Date
}

export interface StandingContext {
  /** What is sent. */
  readonly instruction: string
  /** What is recorded, in the same order. */
  readonly manifest: readonly ContextEntry[]
}

interface Layer extends Omit<ContextEntry, 'bytes' | 'sha256'> {
  readonly text: string
}

/** The instruction and its manifest; a thrown `over-bound` when the instruction passes 256 KiB. */
export function buildContext(parts: ContextParts): StandingContext {
  const layers = [...layersOf(parts).filter(layer => layer.text !== ''), ...childLayers(parts)]
  const instruction = layers.flatMap(layer => (layer.text === '' ? [] : [render(layer)])).join('\n')
  const bytes = Buffer.byteLength(instruction)
  if (bytes > INSTRUCTION_BYTES_MAX) {
    const said = `the instruction has ${bytes} bytes, over the bound of ${INSTRUCTION_BYTES_MAX}: give less context`
    throw new Refusal('over-bound', { name: 'instruction', limit: INSTRUCTION_BYTES_MAX, seen: bytes }, said)
  }
  return { instruction, manifest: layers.map(entryOf) }
}

function layersOf(parts: ContextParts): Layer[] {
  const { operatorInstructions, provided, workspace, now } = parts
  const captured_at = now.toISOString()
  const operator = { trust: 'operator', cache: 'session' } as const
  return [
    {
      id: 'harness.instructions',
      kind: 'harness_instructions',
      trust: 'harness',
      cache: 'static',
      text: toolText(parts.tools, {
        writeScope: parts.writeScope,
        documents: parts.documents ?? NO_DOCUMENTS,
        ...(parts.owned === undefined ? {} : { owned: parts.owned }),
      }),
    },
    ...(operatorInstructions === null
      ? []
      : [
          {
            id: 'operator.instructions',
            kind: 'operator_instructions',
            ...operator,
            source: operatorInstructions.source,
            text: operatorInstructions.text,
          } as const,
        ]),
    ...provided.map(
      ({ source, text }, index) =>
        ({ id: `operator.context.${index + 1}`, kind: 'provided_context', ...operator, source, text }) as const,
    ),
    {
      id: 'environment.workspace',
      kind: 'environment',
      trust: 'machine',
      cache: 'session',
      captured_at,
      text: workspaceText(parts),
    },
    ...(workspace.project === null
      ? []
      : [
          {
            id: 'project.instructions',
            kind: 'project_instructions',
            trust: 'workspace',
            cache: 'session',
            source: workspace.project.source,
            text: workspace.project.text,
          } as const,
        ]),
    {
      id: 'environment.execution',
      kind: 'environment',
      trust: 'machine',
      cache: 'session',
      captured_at,
      text: executionText(parts),
    },
  ]
}

/** What makes a delegate of it, behind what it shares with its parent. An agent is in the manifest even without a body. */
function childLayers({ child }: ContextParts): Layer[] {
  if (child === undefined) return []
  const { agent } = child
  const told = { id: 'delegate.instructions', kind: 'harness_instructions', trust: 'harness', cache: 'static' } as const
  const layers: Layer[] = [{ ...told, text: DELEGATE_TEXT }]
  if (agent === null) return layers
  const { name, file: source, model, effort, body: text } = agent
  const asked = { ...(model === undefined ? {} : { model }), ...(effort === undefined ? {} : { effort }) }
  const body = { id: 'delegate.agent', kind: 'operator_instructions', trust: 'operator', cache: 'session' } as const
  return [...layers, { ...body, source, agent: name, ...asked, text }]
}

function workspaceText({ workspace, platform, now }: ContextParts): string {
  return [
    `workspace: ${workspace.path}`,
    `platform: ${platform.os}/${platform.arch}`,
    `date: ${now.toISOString().slice(0, 10)} (UTC)`,
    ...(workspace.branch === null ? [] : [`git branch: ${workspace.branch}`]),
  ].join('\n')
}

function executionText({ execution, tools }: ContextParts): string {
  const { boundary, programs, writes, hosts } = execution
  const run = tools.entries.some(entry => entry.name === 'run')
  const writable = writes.length === 0 ? 'the workspace is read-only to them' : `they may write: ${writes.join(', ')}`
  return [
    `launch path: ${execution.path}`,
    `confinement: ${boundary ?? 'none'}`,
    `processes: ${run ? `${programs.join(', ')}; ${writable}` : 'none'}`,
    `network: ${hosts.length === 0 ? 'none' : hosts.join(', ')}`,
    'process environment: constructed',
    'measurement: not requested',
    `run: ${run ? 'published' : 'not published'}`,
    `observer: ${execution.path === 'metaharness' ? 'metaharness' : 'none'}`,
  ].join('\n')
}

/** Kinds whose source is told to the model: there it says which file the words are from. */
const SOURCED: ReadonlySet<ContextEntry['kind']> = new Set(['provided_context', 'project_instructions'])

function render({ kind, trust, source, text }: Layer): string {
  const from =
    source !== undefined && SOURCED.has(kind) ? ` source="${escapeText(source).replaceAll('"', '&quot;')}"` : ''
  return `<context kind="${kind}" trust="${trust}"${from}>\n${escapeText(text)}\n</context>`
}

/** So that no file can close its block or open one of another trust. */
function escapeText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}

/** Digest and size are of the layer's own text, before rendering. */
function entryOf({ text, ...layer }: Layer): ContextEntry {
  return { ...layer, bytes: Buffer.byteLength(text), sha256: createHash('sha256').update(text).digest('hex') }
}
