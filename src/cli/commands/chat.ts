/**
 * `harness chat`: every line of stdin is answered, in one conversation. A cancelled answer returns to the prompt, every other
 * stop ends the chat; `exit` and the end of stdin end it too (contract §2.1, decisions 7).
 *
 * At the prompt the terminal is in its own mode, with its own editing; keys are read while an answer is on its way.
 */
import { Refusal } from '../../errors.js'
import { escapeControls } from '../../loop/approval-text.js'
import { type Chat, openChat } from '../../loop/chat.js'
import type { LoopEnd } from '../../loop/run-state.js'
import { eitherSignal } from '../../supervise/on-abort.js'
import { type Conversation, withConversation } from '../conversation.js'
import { statusOf } from '../end-status.js'
import { type Io, isTerminal } from '../io.js'
import { type Came, LineReader } from '../line-reader.js'
import type { Given } from '../parse.js'
import type { Invocation } from './invocation.js'

const LEAVE = 'exit'

export async function chat({ given }: Invocation, io: Io): Promise<number> {
  return withConversation({ command: 'chat', given, io }, async conversation => {
    conversation.terminal?.rest()
    const opened = openChat(conversation.options)
    if (opened instanceof Refusal) return statusOf({ kind: 'refused', refusal: opened })
    return new Talk({ chat: opened, conversation, io, given }).toItsEnd()
  })
}

interface TalkSeams {
  readonly chat: Chat
  readonly conversation: Conversation
  readonly io: Io
  readonly given: Given
}

/** What the prompt came to: a line to answer, or the status to end with. */
type Prompted = { readonly kind: 'line'; readonly text: string } | { readonly kind: 'over'; readonly status: number }

class Talk {
  readonly #lines = new LineReader(process.stdin)
  readonly #prompts: boolean
  /** The beginning of a line that was typed ahead: shown once, since the terminal has not echoed it. */
  #begun = ''
  /** Of the last answer; null: there was none. */
  #last: LoopEnd | null = null

  constructor(private readonly seams: TalkSeams) {
    this.#prompts = !seams.given.has('--quiet') && !seams.given.has('--json')
  }

  async toItsEnd(): Promise<number> {
    for (;;) {
      const prompted = await this.#prompt()
      if (prompted.kind === 'over') return prompted.status
      const end = await this.#answer(prompted.text)
      this.#last = end
      if (!this.#goesOn(end)) return statusOf(end)
    }
  }

  /** A cancelled answer is not the end, unless what cancelled it was meant for the whole chat. */
  #goesOn(end: LoopEnd): boolean {
    if (end.kind !== 'finished') return false
    return end.stop.kind === 'completed' || (end.stop.kind === 'cancelled' && !this.seams.io.stop.aborted)
  }

  async #answer(text: string): Promise<LoopEnd> {
    const { chat, conversation, io } = this.seams
    const part = io.openPart()
    conversation.terminal?.work()
    try {
      return await chat.say(text, part.stop)
    } finally {
      conversation.terminal?.rest()
      this.#typedMeanwhile(part.stop.aborted)
      part.close()
      conversation.answered()
    }
  }

  /** What was typed while the answer came is for the next lines; a cancel drops it, as the terminal does at Ctrl-C. */
  #typedMeanwhile(cancelled: boolean): void {
    const { conversation, io } = this.seams
    const typed = conversation.terminal?.takeTyped() ?? new Uint8Array()
    if (cancelled && io.stdinIsTerminal) this.#lines.drop()
    else this.#begun = this.#lines.typed(typed)
  }

  async #prompt(): Promise<Prompted> {
    for (;;) {
      this.#show()
      const waited = await this.#line()
      if (waited.kind === 'ended') return { kind: 'over', status: statusOf(waited.end) }
      const { value } = waited
      if (value.kind === 'end') return { kind: 'over', status: await this.#over() }
      if (value.kind === 'unreadable') {
        const status = await this.#unreadable(value.why)
        if (status !== null) return { kind: 'over', status }
      } else if (value.kind === 'stopped') {
        // Ctrl-C at the prompt takes the line back, as in a shell.
        if (this.seams.io.stdinIsTerminal) this.#lines.drop()
        if (this.#prompts) this.seams.io.err.write('\n')
      } else if (value.text.trim() === LEAVE) return { kind: 'over', status: await this.#closed() }
      else if (value.text.trim() !== '') return { kind: 'line', text: value.text }
    }
  }

  #show(): void {
    if (this.#prompts) this.seams.io.err.write(`> ${this.seams.io.stdinIsTerminal ? escapeControls(this.#begun) : ''}`)
    this.#begun = ''
  }

  /** Where nobody is in front, INT at the prompt is meant for the chat. */
  async #line(): ReturnType<typeof this.seams.chat.wait<Came>> {
    const { chat, io } = this.seams
    const part = io.openPart()
    const again = (): void => this.#show()
    process.on('SIGCONT', again)
    try {
      return await chat.wait(io.stdinIsTerminal ? io.stop : part.stop, async signal => {
        const either = eitherSignal(signal, part.stop)
        return this.#lines.next(either.signal).finally(() => either.release())
      })
    } finally {
      process.removeListener('SIGCONT', again)
      part.close()
    }
  }

  /** The end of stdin. A terminal that is none any more was closed: that is no wish to end, but the loss of who had one. */
  async #over(): Promise<number> {
    const { chat, io } = this.seams
    if (this.#prompts) io.err.write('\n')
    if (!io.stdinIsTerminal || isTerminal(0)) return this.#closed()
    return statusOf(await chat.end({ kind: 'cancelled', reason: 'the terminal was closed' }))
  }

  /** The record of a chat that was asked nothing has an end too. */
  async #closed(): Promise<number> {
    return statusOf(this.#last ?? (await this.seams.chat.end({ kind: 'completed' })))
  }

  /** Null: whoever typed it can type it again. */
  async #unreadable(why: string): Promise<number | null> {
    const { chat, io } = this.seams
    const reason = `a line of stdin cannot be sent: ${why}`
    if (!io.stdinIsTerminal) return statusOf(await chat.end({ kind: 'failed', code: 'bad-arguments', reason }))
    io.err.write(`note: ${reason}\n`)
    return null
  }
}
