/** `harness run`: one task, driven to an answer. Exit status 0 answered, 2 stopped for a named reason, 1 could not run. */
import { Refusal } from '../../errors.js'
import { runLoop } from '../../loop/engine.js'
import { withConversation } from '../conversation.js'
import { statusOf } from '../end-status.js'
import type { Io } from '../io.js'
import type { Invocation } from './invocation.js'

export async function run({ given, words }: Invocation, io: Io): Promise<number> {
  const input = given.one('--input')
  if (input === undefined || words.length > 0) throw noInput(words)
  return withConversation({ command: 'run', given, io }, async ({ options }) =>
    statusOf(await runLoop({ ...options, input, signal: io.stop })),
  )
}

function noInput(words: readonly string[]): Refusal {
  const stray = words[0]
  const said =
    stray === undefined
      ? 'run needs --input "the task"'
      : `unexpected word ${JSON.stringify(stray)}: put the task behind --input in one pair of quotes`
  return new Refusal('bad-arguments', stray === undefined ? { argument: '--input' } : { argument: stray }, said)
}
