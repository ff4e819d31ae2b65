/** What bubblewrap says on its status descriptor: its init, and at the end the command's status (bwrap(1), `--json-status-fd`). */
import type { Socket } from 'node:net'
import { isJsonObject, type JsonObject } from '../json.js'
import { drained } from './drained.js'

/** Far above what bwrap writes; a program that gets at the descriptor fills no memory of ours. */
const STATUS_BYTES_MAX = 64 * 1024

export class BwrapStatus {
  /** Status of the command as bwrap tells it, null while and where it does not. */
  exitCode: number | null = null
  #text = ''

  /** @param onInit is told the init's pid as it is here, and the number of its pid namespace where bwrap says it. */
  constructor(
    private readonly pipe: Socket,
    private readonly onInit: (pid: number, namespace: string | null) => void,
  ) {
    pipe.on('data', (bytes: Buffer) => this.#told(bytes))
  }

  /** Once the launch has ended: takes in what bwrap has said last, at most as long as output is waited for. */
  drained(): Promise<void> {
    return drained(this.pipe)
  }

  /** One JSON object a line. */
  #told(bytes: Buffer): void {
    if (this.#text.length + bytes.length > STATUS_BYTES_MAX) return
    const lines = (this.#text + bytes.toString('latin1')).split('\n')
    this.#text = lines.pop() ?? ''
    for (const line of lines) {
      const said = parsed(line)
      if (typeof said?.['exit-code'] === 'number') this.exitCode = said['exit-code']
      const [init, namespace] = [said?.['child-pid'], said?.['pid-namespace']]
      if (typeof init === 'number') this.onInit(init, typeof namespace === 'number' ? String(namespace) : null)
    }
  }
}

function parsed(line: string): JsonObject | null {
  try {
    const value: unknown = JSON.parse(line)
    return isJsonObject(value) ? value : null
  } catch {
    return null
  }
}
