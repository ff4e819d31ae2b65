/** The event union is closed. */
import type { HarnessEvent } from '../../../src/events.js'

export const unknown: HarnessEvent = { kind: 'tool-invented' }
