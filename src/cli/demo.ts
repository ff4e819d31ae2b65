/** `--provider demo`: the emulator in this process, on a loopback port, playing the built-in scenario. */
import { demoScenario } from '../emulator/demo-scenario.js'
import { type Emulator, startEmulator } from '../emulator/server.js'
import type { WireName } from '../wires/port.js'

/** The scenario fits itself to the tools that the first request publishes, and plays on any wire. */
export function startDemo(wire: WireName): Promise<Emulator> {
  return startEmulator({ scenario: demoScenario, wire })
}
