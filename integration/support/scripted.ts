/** An endpoint whose turns stand in the test. */
import type { Test } from 'tap'
import { parseScenario } from '../../src/emulator/scenario.js'
import { type Emulator, type EmulatorOptions, startEmulator } from '../../src/emulator/server.js'

export interface ScriptOptions extends Omit<EmulatorOptions, 'scenario'> {
  /** Absent: `scripted`. */
  readonly model?: string
  /** What comes when the turns are over. Absent: every further request is refused. */
  readonly then?: 'refuse' | 'repeat-last'
}

/** Read as a scenario file is; closed with the test, and before it where a test wants that. */
export async function scripted(
  t: Pick<Test, 'teardown'>,
  turns: readonly object[],
  { model = 'scripted', then = 'refuse', ...options }: ScriptOptions = {},
): Promise<Emulator> {
  const text = JSON.stringify({ version: 1, model, turns, then })
  const endpoint = await startEmulator({ scenario: parseScenario(text, 'inline.json'), ...options })
  t.teardown(() => endpoint.close())
  return endpoint
}

/** The words that send a run to `endpoint`, where the model is named `scripted`. */
export function toScripted({ baseUrl }: Pick<Emulator, 'baseUrl'>): string[] {
  return ['--base-url', baseUrl, '--model', 'scripted']
}
