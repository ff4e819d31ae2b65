/** Starts `endpoint.mjs` and talks to its control port. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { projectRoot } from '../../test/support/root.js'

/** What the endpoint answers: `turns` calls of one tool, then a text. */
export interface Script {
  readonly turns: number
  readonly call: { readonly name: string; readonly arguments: Readonly<Record<string, unknown>> }
  readonly text: string
  /** Bytes of stream with reasoning in it before each turn's answer, about. Absent: none. */
  readonly thought?: number
}

export interface SeenRequest {
  /** Milliseconds, the endpoint's clock: the body was complete. */
  readonly at: number
  /** Milliseconds, the same clock: the reply was handed over. */
  readonly answered: number
  readonly body: string
}

export interface EndpointRecord {
  /** Connections opened since the script was set. */
  readonly sockets: number
  readonly requests: readonly SeenRequest[]
}

export interface Endpoint {
  /** For `--base-url`. */
  readonly baseUrl: string
  /** Sets the script and forgets what was seen. */
  play(script: Script): Promise<void>
  seen(): Promise<EndpointRecord>
  close(): void
}

/** Starts one; it dies with us, because it watches the stdin that we hold. */
export async function startEndpoint(env: Readonly<Record<string, string>>): Promise<Endpoint> {
  const program = join(projectRoot, 'integration/bench/endpoint.mjs')
  const child = spawn(process.execPath, [program], { env, stdio: ['pipe', 'pipe', 'inherit'] })
  const [line] = (await once(child.stdout, 'data')) as [Buffer]
  const ports = JSON.parse(line.toString('utf8')) as { readonly model: number; readonly control: number }
  const control = `http://127.0.0.1:${ports.control}/`
  return {
    baseUrl: `http://127.0.0.1:${ports.model}/v1`,
    async play(script) {
      const answer = await fetch(control, { method: 'PUT', body: JSON.stringify(script) })
      await answer.arrayBuffer()
    },
    seen: async () => (await (await fetch(control)).json()) as EndpointRecord,
    close: () => child.stdin.end(),
  }
}
