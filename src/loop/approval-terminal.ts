/** Asking over a pair of streams, normally `/dev/tty` opened by the command line. One question at a time. */
import type { Readable } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'
import type { ApprovalTerminal } from './approval.js'

/** A line longer than this is no answer; the rest is not kept. */
const LINE_CHARS_MAX = 1_024

/**
 * A terminal over `input` and `output`. One line answers one question; what came with it after its end is dropped. After
 * the end of `input` every question is answered with null. The input is read only while a question is up.
 */
export function lineTerminal(input: Readable, output: { write(text: string): unknown }): ApprovalTerminal {
  let ended = false
  const over = (): void => {
    ended = true
  }
  for (const event of ['end', 'close', 'error'] as const) input.on(event, over)

  return {
    ask: (question, signal) => {
      if (ended || signal.aborted) return Promise.resolve(null)
      return new Promise(resolve => {
        const decoder = new StringDecoder('utf8')
        let line = ''
        const settle = (answer: string | null): void => {
          input.off('data', onData)
          for (const event of ['end', 'close', 'error']) input.off(event, onEnd)
          signal.removeEventListener('abort', onEnd)
          input.pause()
          resolve(answer)
        }
        const onEnd = (): void => settle(null)
        const onData = (chunk: Buffer | string): void => {
          line = (line + (typeof chunk === 'string' ? chunk : decoder.write(chunk))).slice(0, LINE_CHARS_MAX)
          const end = line.search(/[\r\n]/)
          if (end >= 0) settle(line.slice(0, end))
        }
        output.write(question)
        input.on('data', onData)
        for (const event of ['end', 'close', 'error'] as const) input.on(event, onEnd)
        signal.addEventListener('abort', onEnd, { once: true })
        input.resume()
      })
    },
  }
}
