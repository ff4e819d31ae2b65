/** What the standing instruction is made from, read once before the run: the operator's files and the workspace's own. */
import { resolve } from 'node:path'
import { DOCUMENT_BYTES_MAX, PROJECT_INSTRUCTIONS_BYTES_MAX } from '../bounds.js'
import { isRefusal, Refusal } from '../errors.js'
import type { HarnessEvent } from '../events.js'
import type { ProvidedFile, WorkspaceFacts } from '../loop/context.js'
import type { Given } from './parse.js'
import { readText } from './run-options.js'
import type { WorkspaceReader } from './workspace-reader.js'

export interface OperatorFiles {
  readonly operatorInstructions: ProvidedFile | null
  readonly provided: readonly ProvidedFile[]
}

export function operatorFiles(given: Given, cwd: string): OperatorFiles {
  const instructions = given.one('--instructions-file')
  return {
    operatorInstructions: instructions === undefined ? null : providedFile(instructions, '--instructions-file', cwd),
    provided: given.all('--context').map(file => providedFile(file, '--context', cwd)),
  }
}

function providedFile(source: string, flag: string, cwd: string): ProvidedFile {
  const text = readText(resolve(cwd, source), flag)
  const bytes = Buffer.byteLength(text)
  if (bytes <= DOCUMENT_BYTES_MAX) return { source, text }
  throw new Refusal(
    'over-bound',
    { name: flag, limit: DOCUMENT_BYTES_MAX, seen: bytes },
    `${flag} ${source} has ${bytes} bytes, over the bound of ${DOCUMENT_BYTES_MAX}: give less`,
  )
}

export interface WorkspaceTexts {
  readonly facts: WorkspaceFacts
  /** One for each file of project instructions that is there and was not taken. */
  readonly warnings: readonly HarnessEvent[]
}

/** Project instructions and branch come through the same reach as the file tools: the workspace is not trusted. */
export function workspaceTexts(given: Given, path: string, read: WorkspaceReader): WorkspaceTexts {
  const { project, warnings } = given.has('--no-project-instructions') ? NONE_WANTED : projectInstructions(read)
  return { facts: { path, branch: branchOf(read), project }, warnings }
}

interface ProjectInstructions {
  readonly project: ProvidedFile | null
  readonly warnings: readonly HarnessEvent[]
}

const NONE_WANTED: ProjectInstructions = { project: null, warnings: [] }

/** `AGENTS.md`, else `CLAUDE.md`, of the root alone. One that is there and cannot be read is told, never passed over in silence. */
function projectInstructions(read: WorkspaceReader): ProjectInstructions {
  const warnings: HarnessEvent[] = []
  for (const source of ['AGENTS.md', 'CLAUDE.md']) {
    const bytes = read(source, PROJECT_INSTRUCTIONS_BYTES_MAX + 1)
    if (!isRefusal(bytes)) return { project: { source, text: boundedText(bytes) }, warnings }
    if (bytes.code !== 'missing') warnings.push(unread(source, bytes))
  }
  return { project: null, warnings }
}

function unread(source: string, why: Refusal): HarnessEvent {
  const message = `${source} of the workspace is not among the instructions: ${why.message}`
  return { kind: 'warning', code: 'document-refused', message }
}

/** Cut at a line end and said so, never silently. */
function boundedText(bytes: Buffer): string {
  if (bytes.length <= PROJECT_INSTRUCTIONS_BYTES_MAX) return bytes.toString('utf8')
  const end = bytes.lastIndexOf(0x0a, PROJECT_INSTRUCTIONS_BYTES_MAX - 1)
  const kept = bytes.subarray(0, end < 0 ? 0 : end + 1).toString('utf8')
  return `${kept}[cut here: the file is longer than ${PROJECT_INSTRUCTIONS_BYTES_MAX} bytes]\n`
}

/** From `.git/HEAD` without running git; null in a detached head or without a repository. */
function branchOf(read: WorkspaceReader): string | null {
  const head = read('.git/HEAD', 4_096)
  const match = isRefusal(head) ? null : /^ref: refs\/heads\/(\S+)\s*$/.exec(head.toString('utf8'))
  return match?.[1] ?? null
}
