/** What GitHub's own parser says of a workflow, and the scripts in it, for ShellCheck. */
import { mkdtempSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type * as WorkflowParser from '@actions/workflow-parser'
import { build } from 'esbuild'
import { execa } from 'execa'
import { parse } from 'yaml'
import { projectRoot } from '../../test/support/root.js'

let loaded: Promise<typeof WorkflowParser> | undefined

/** The package imports its schema without saying that it is JSON, which Node refuses and a bundler does not. */
async function bundled(): Promise<typeof WorkflowParser> {
  const folder = mkdtempSync(join(tmpdir(), 'harness-workflow-parser-'))
  try {
    const outfile = join(folder, 'parser.cjs')
    const stdin = { contents: "export * from '@actions/workflow-parser'", resolveDir: projectRoot }
    await build({ stdin, outfile, bundle: true, platform: 'node', format: 'cjs', logLevel: 'error' })
    return createRequire(outfile)(outfile) as typeof WorkflowParser
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** One line a problem: unknown keys, wrong types, contexts and functions that are not there. Empty: none. */
export async function workflowProblems(name: string, content: string): Promise<string[]> {
  loaded ??= bundled()
  const { parseWorkflow, convertWorkflowTemplate, NoOperationTraceWriter } = await loaded
  const { context, value } = parseWorkflow({ name, content }, new NoOperationTraceWriter())
  if (value !== undefined) await convertWorkflowTemplate(context, value)
  return context.errors.getErrors().map(({ message }) => message)
}

interface Step {
  readonly name?: string
  readonly run?: string
  readonly uses?: string
  readonly shell?: string
}

/** Every step of every job, in order, named by job and number. */
export function stepsOf(content: string): (Step & { readonly at: string })[] {
  const { jobs } = parse(content) as { jobs: Record<string, { steps?: Step[] }> }
  return Object.entries(jobs).flatMap(([job, { steps = [] }]) =>
    steps.map((step, index) => ({ ...step, at: `${job}, step ${index + 1}` })),
  )
}

/** What ShellCheck says of a script, in the form of compilers; empty: nothing. A script of a workflow has no first line that names a shell. */
export async function shellProblems(script: string, shell: 'bash' | 'sh' = 'bash'): Promise<string> {
  const words = ['--format=gcc', '--external-sources', `--shell=${shell}`, '-']
  const { stdout, stderr } = await execa('shellcheck', words, { input: script, reject: false })
  return `${stdout}${stderr}`
}
