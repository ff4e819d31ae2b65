/** `harness explain`: how a command would be confined, without starting anything. */
import { chooseBoundary, factsForChoice } from '../../confinement/choose.js'
import { explainPolicy } from '../../confinement/explain.js'
import { readHostFacts } from '../../confinement/host-facts.js'
import { planLaunch } from '../../confinement/launch-plan.js'
import { landPolicy } from '../../confinement/policy.js'
import { Refusal } from '../../errors.js'
import { confineChoice, requestOf } from '../confinement-options.js'
import type { Io } from '../io.js'
import { printJson, printText } from '../print.js'
import type { Invocation } from './invocation.js'

export async function explain({ given, words }: Invocation, io: Io): Promise<number> {
  const choice = confineChoice('explain', given)
  // Named: the words are one of a model's commands; else they are the operator's own.
  const programs = given.all('--allow-program')
  const request = requestOf(given, io, programs.length === 0 ? null : programs)
  const facts = await factsForChoice(choice, await readHostFacts({ cgroupRoot: request.cgroupRoot }))
  const boundaries = chooseBoundary(choice, facts)
  if (boundaries instanceof Refusal) throw boundaries
  const policy = landPolicy(request, facts)
  const [boundary] = boundaries
  if (boundary === undefined) throw new Error('no boundary was chosen and none refused')
  const plan = planLaunch({ boundary, policy, facts, command: words })
  const { text, json } = explainPolicy(plan, policy)
  if (given.has('--json')) printJson(io, `${JSON.stringify(json)}\n`)
  else printText(io, text)
  return plan instanceof Refusal ? 1 : 0
}
