/** `--provider demo`: the emulator in this process, on a loopback port, playing the built-in scenario. */
import { demoScenario } from '../emulator/demo-scenario.js'
import { type Emulator, startEmulator } from '../emulator/server.js'

/** The scenario fits itself to the tools that the first request publishes. */
export function startDemo(): Promise<Emulator> {
  return startEmulator({ scenario: demoScenario })
}
