/** `harness workflow plan`: a flow is read as strictly as a walk reads it, and its order is printed. Exit status 0 printed, 1 refused. */
import { Refusal } from '../../errors.js'
import type { HarnessEvent } from '../../events.js'
import { vainRules } from '../../paths/write-scope.js'
import type { Flow } from '../../workflow/document.js'
import { planDot, planMermaid, planText } from '../../workflow/drawing.js'
import { planOf, stepsOf } from '../../workflow/plan.js'
import { openFlow } from '../flow-options.js'
import type { Io } from '../io.js'
import { tellWarnings } from '../tell-warnings.js'
import { escapeLines } from '../terminal-text.js'
import type { Invocation } from './invocation.js'

const FORMATS: Readonly<Record<string, (flow: Flow) => string>> = {
  text: planText,
  json: flow => JSON.stringify(planOf(flow)),
  mermaid: planMermaid,
  dot: planDot,
}

export async function workflowPlan({ given, words }: Invocation, io: Io): Promise<number> {
  const [stray] = words
  if (stray !== undefined) {
    const text = `unexpected word ${JSON.stringify(stray)}: name the flow with --flow FILE`
    throw new Refusal('bad-arguments', { argument: stray }, text)
  }
  const flow = openFlow(given, io.cwd)
  tellWarnings(scopeWarnings(flow), io)
  const format = given.has('--json') ? 'json' : (given.one('--format') ?? 'text')
  const text = FORMATS[format]?.(flow) ?? ''
  io.out.write(`${io.stdoutIsTerminal ? escapeLines(text) : text}\n`)
  return 0
}

/** What a walk would warn of as each step begins. */
function scopeWarnings(flow: Flow): readonly HarnessEvent[] {
  return stepsOf(flow).flatMap(({ path, step }) =>
    step.kind === 'operator'
      ? []
      : vainRules(step.scope).map(
          why => ({ kind: 'warning', code: 'step-scope', message: `${path}: ${why}` }) as const,
        ),
  )
}
