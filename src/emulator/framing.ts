/**
 * The same event stream as other servers and proxies frame it (case H06). Pure.
 *
 * @see https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream
 */
import type { ScenarioFault } from './scenario.js'

type Framing = NonNullable<ScenarioFault['framing']>[number]

/** In the order they are put on: ends of lines last, since the others look for LF. */
const STEPS: readonly (readonly [Framing, (frame: string, index: number) => string])[] = [
  ['multiline', overSeveralLines],
  ['comments', (frame, index) => `: ping\nid: ${index}\nretry: 3000\n${frame}`],
  ['no-space', frame => frame.replace(/^([a-z]+): /gm, '$1:')],
  ['crlf', frame => frame.replaceAll('\n', '\r\n')],
  ['cr', frame => frame.replaceAll('\n', '\r')],
]

/** Every frame rewritten; what it says stays the same. */
export function reframe(frames: readonly string[], framing: readonly Framing[]): readonly string[] {
  const steps = STEPS.filter(([name]) => framing.includes(name))
  return frames.map((frame, index) => steps.reduce((text, [, step]) => step(text, index), frame))
}

/** Pretty-printed JSON, a line of it in each `data:`. */
function overSeveralLines(frame: string): string {
  return frame.replace(/^data: (\{.*)$/gm, (_line, json: string) =>
    JSON.stringify(JSON.parse(json), null, 2)
      .split('\n')
      .map(line => `data: ${line}`)
      .join('\n'),
  )
}
