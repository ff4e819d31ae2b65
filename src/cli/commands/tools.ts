/** `harness tools`: what a run with these options would publish, as one pretty JSON object (contract §2.2). */
import { randomHex } from '../../random.js'
import { catalogue } from '../../tools/catalogue.js'
import { catalogueAnswer } from '../../tools/verbs.js'
import { documentNames } from '../document-options.js'
import type { Io } from '../io.js'
import { printJson } from '../print.js'
import { openSurroundings, stagedFacts } from '../surroundings.js'
import { tellWarnings } from '../tell-warnings.js'
import type { Invocation } from './invocation.js'

export async function tools({ given }: Invocation, io: Io): Promise<number> {
  const runId = randomHex(8)
  const surroundings = await openSurroundings({ command: 'tools', given, io, runId, emit: () => {} })
  try {
    const { boundary, tools: port, reach, effects, programs, documents, warnings } = surroundings
    const answer = {
      workspace: reach.workspace.path,
      surface: port.surface,
      tools: port.specs,
      catalogue: catalogueAnswer(catalogue({ workspace: effects, programs }).entries),
      mcp: [],
      withheld: port.withheld,
      ...documentNames(documents),
      driver: stagedFacts(boundary?.policy).driver ?? null,
    }
    printJson(io, `${JSON.stringify(answer, null, 2)}\n`)
    for (const { tool, reason } of port.withheld) io.err.write(`note: ${tool} withheld: ${reason}\n`)
    tellWarnings(warnings, io)
    return 0
  } finally {
    await surroundings.close()
  }
}
