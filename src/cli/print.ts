/**
 * What a command prints of files, models and tools: to the byte for a program that reads it, and without anything that a
 * terminal would act on where stdout is one.
 */
import type { Io } from './io.js'
import { escapeJson, escapeProse } from './terminal-text.js'

type Out = Pick<Io, 'out' | 'stdoutIsTerminal'>

/** JSON, of one document or of lines; on a terminal it is the same value in other escapes. */
export function printJson({ out, stdoutIsTerminal }: Out, json: string): void {
  out.write(stdoutIsTerminal ? escapeJson(json) : json)
}

export function printText({ out, stdoutIsTerminal }: Out, text: string): void {
  out.write(stdoutIsTerminal ? escapeProse(text) : text)
}
