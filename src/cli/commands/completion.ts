/** `harness completion SHELL`. */
import { completionScript } from '../completion/script.js'
import type { Io } from '../io.js'
import type { Invocation } from './invocation.js'

export async function completion({ words }: Invocation, io: Io): Promise<number> {
  io.out.write(completionScript(words[0] ?? ''))
  return 0
}
