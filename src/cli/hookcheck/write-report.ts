/** The report in the format that was asked for, to stdout or a file. Formats are loaded when they are written. */
import { basename, relative, resolve } from 'node:path'
import type { Report, Threshold } from '../../hookcheck/report.js'
import type { Rule } from '../../hookcheck/rule.js'
import { type Io, isTerminal } from '../io.js'
import type { Given } from '../parse.js'
import { wantsColor } from '../render.js'
import { type Format, formatOf } from './options.js'
import { putFile } from './put-file.js'
import { textReport } from './text.js'

/** As a repository names it: relative to here, or the last component where it lies elsewhere. */
export function nameOf(path: string, cwd: string): string {
  const name = relative(cwd, path)
  return name.startsWith('..') || name === '' ? basename(path) : name
}

export interface Written {
  readonly report: Report
  readonly threshold: Threshold
  readonly rules: readonly Rule[]
  readonly name: string
}

export async function writeReport(given: Given, written: Written, io: Io): Promise<void> {
  const format = formatOf(given)
  const output = given.one('--output')
  if (output !== undefined) {
    const text = [...(await formatted(format, written, false))].join('')
    putFile({ path: resolve(io.cwd, output), what: 'the report', mode: 0o666 }, text)
  }
  const shown = output === undefined ? format : 'text'
  writeAll(await formatted(shown, written, wantsColor(io.env, isTerminal(1))), io.out)
}

const BLOCK_CHARS = 64 * 1024

/** In blocks: a line each time costs more than the audit, and the whole at once is hundreds of MiB for ten thousand hooks. */
export function writeAll(chunks: Iterable<string>, sink: Io['out']): void {
  let block = ''
  for (const chunk of chunks) {
    block += chunk
    if (block.length < BLOCK_CHARS) continue
    sink.write(block)
    block = ''
  }
  sink.write(block)
}

/** Chunks, each ending in a newline. Formats are loaded when they are asked for. */
async function formatted(
  format: Format,
  { report, threshold, rules, name }: Written,
  color: boolean,
): Promise<Iterable<string>> {
  switch (format) {
    case 'text':
      return textReport(report, { color })
    case 'json':
      return [`${escapedJson(report)}\n`]
    case 'sarif': {
      const { sarifLog } = await import('./sarif.js')
      return [`${escapedJson(sarifLog(report, { rules, uri: name.split('/').map(encodeURIComponent).join('/') }))}\n`]
    }
    case 'github':
      return (await import('./github.js')).githubReport(report, name)
    case 'junit':
      return (await import('./junit.js')).junitReport(report, threshold)
  }
}

/** Control and direction characters as JSON escapes: the value is the same, and no terminal acts on it. */
function escapedJson(value: unknown): string {
  return JSON.stringify(value, null, 2).replace(/[^\P{Cc}\n]|[\p{Cf}\u2028\u2029]/gu, char =>
    [...char.split('')].map(unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`).join(''),
  )
}
