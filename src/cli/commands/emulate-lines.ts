/** What `harness emulate` says, in words or under `--json`, and its wait for the end. */
import type { Io } from '../io.js'
import type { Given } from '../parse.js'
import { printJson, printText } from '../print.js'

/** Resolves when we are told to stop. */
export function stopped({ stop }: Pick<Io, 'stop'>): Promise<void> {
  return new Promise(resolve => {
    if (stop.aborted) resolve()
    else stop.addEventListener('abort', () => resolve(), { once: true })
  })
}

/** One thing as a line: JSON under `--json`, else words. */
export function say(io: Io, given: Given, json: object, text: string): void {
  if (given.has('--json')) printJson(io, `${JSON.stringify(json)}\n`)
  else printText(io, text)
}
