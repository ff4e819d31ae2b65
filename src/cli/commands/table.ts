/** Command name → what does it. Each is loaded when it is called: `exec` must not pay for what `run` needs. */
import type { HarnessCommand } from '../flags.js'
import type { CommandRunner } from './invocation.js'

export const COMMANDS_BY_NAME: Readonly<Record<HarnessCommand, () => Promise<CommandRunner>>> = {
  run: async () => (await import('./run.js')).run,
  demo: async () => (await import('./demo.js')).demo,
  chat: async () => (await import('./chat.js')).chat,
  'workflow-plan': async () => (await import('./workflow-plan.js')).workflowPlan,
  'workflow-run': async () => (await import('./workflow-run.js')).workflowRun,
  tools: async () => (await import('./tools.js')).tools,
  context: async () => (await import('./context.js')).context,
  exec: async () => (await import('./exec.js')).exec,
  explain: async () => (await import('./explain.js')).explain,
  doctor: async () => (await import('./doctor.js')).doctor,
  'check-path': async () => (await import('./check-path.js')).checkPath,
  emulate: async () => (await import('./emulate.js')).emulate,
  providers: async () => (await import('./providers.js')).providers,
  profiles: async () => (await import('./profiles.js')).profiles,
  sessions: async () => (await import('./sessions.js')).sessions,
  events: async () => (await import('./events.js')).events,
  completion: async () => (await import('./completion.js')).completion,
}
