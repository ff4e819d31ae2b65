/** Hooks for tests: real programs on disk, already prepared, and a moment of a run that records what is emitted. */
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { HarnessEvent } from '../../src/events.js'
import type { HookPoint } from '../../src/hooks/hook-spec.js'
import type { HookMoment } from '../../src/hooks/port.js'
import type { PreparedHook } from '../../src/hooks/prepared.js'

export interface RecordedMoment extends HookMoment {
  readonly events: HarnessEvent[]
  readonly controller: AbortController
}

export function moment(over: Partial<HookMoment> = {}): RecordedMoment {
  const events: HarnessEvent[] = []
  const controller = new AbortController()
  return {
    turn: 1,
    model: 'm-1',
    delegate: null,
    signal: controller.signal,
    emit: event => events.push(event),
    events,
    controller,
    ...over,
  }
}

/** An executable file of `text` in `folder`; its path. */
export function program(folder: string, name: string, text: string): string {
  const path = join(folder, name)
  writeFileSync(path, text)
  chmodSync(path, 0o755)
  return path
}

/** A hook that starts `file` as it is, unjudged. */
export function prepared(file: string, on: HookPoint, over: Partial<PreparedHook> = {}): PreparedHook {
  return {
    name: 'hook-1',
    on,
    tools: null,
    command0: file,
    argv0: file,
    args: [],
    cwd: '/',
    timeoutMs: null,
    env: { PATH: '/usr/bin:/bin' },
    ready: () => ({ file, release: () => {} }),
    ...over,
  }
}

export function ran(events: readonly HarnessEvent[]): Extract<HarnessEvent, { kind: 'hook-ran' }>[] {
  return events.filter(event => event.kind === 'hook-ran')
}
