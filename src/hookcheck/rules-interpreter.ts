/** Rules about what interpreters find and read by themselves: HC406, HC407 and HC409. */
import { mayBeCreated } from '../hooks/path-scrub.js'
import type { AuditContext, HookFacts } from './context.js'
import { faultText } from './fault-text.js'
import type { Reported, Rule } from './rule.js'
import { problemText } from './rules-command.js'

export const INTERPRETER_RULES: readonly Rule[] = [
  {
    id: 'HC406',
    title: 'Interpreter found through env',
    severity: 'warn',
    gate: 'raise',
    hook: throughEnv,
    why: 'What a terminal finds (a version manager, a package prefix) is missing or another one in the PATH of hooks.',
    fix: 'name the interpreter by its absolute path, on the first line or as the first word of the command',
    anchor: 'lintian: script-uses-bin-env; pre-commit resolves first lines itself',
  },
  {
    id: 'HC407',
    title: 'Library folder changeable',
    severity: 'error',
    hook: libraryFolders,
    why: 'A perfect script under a program that loads what others can write is worth nothing.',
    fix: 'use an interpreter of the system, or own the tree it loads from',
    anchor: 'sudo says of its digests that only the named file is covered',
  },
  {
    id: 'HC409',
    title: 'Interpreter reads start-up files or user packages',
    severity: 'warn',
    hook: startUpFiles,
    why: 'It runs code that the hooks file never mentions.',
    fix: 'zsh -f, csh -f, python -I, pwsh -NoProfile, or a HOME that is an empty folder of the operator',
    anchor: 'isolated mode of CPython; compaudit',
  },
]

function* throughEnv(hook: HookFacts, { reach, path: scrubbed }: AuditContext): Iterable<Reported> {
  for (const { wrapper, script, word, resolution } of hook.closure.lookUps) {
    if (wrapper !== 'env' || script === null) continue
    if (resolution.kind === 'problem') {
      const broken = resolution.matches.map(
        ({ path, problem }) => `${path}: ${problem === null ? 'taken' : problemText(problem)}`,
      )
      const passed = broken.length === 0 ? '' : `, which passes over ${broken.join(', ')}`
      const message = `${script} asks env for ${word}, which is not in the PATH of hooks (${scrubbed.path})${passed}`
      yield { path: script, about: word, severity: 'error', message }
      continue
    }
    const inside = resolution.chain.links.map(({ inspected }) => reach(inspected.walk)).find(found => found !== null)
    const message = `${script} asks env for ${word}, which is ${resolution.path} in the PATH of hooks`
    if (inside === undefined || inside === null)
      yield { path: script, about: word, message, fix: `write #!${resolution.path}` }
    else
      yield {
        path: script,
        about: word,
        severity: 'error',
        message: `${message}, where the agent can write (${inside.root})`,
      }
  }
}

function* libraryFolders(
  hook: HookFacts,
  { host, judge, reach, ids, trust, writeSet }: AuditContext,
): Iterable<Reported> {
  for (const { of, folder } of hook.closure.libraryFolders) {
    if (!folder.startsWith('/')) {
      yield {
        path: of,
        about: folder,
        message: `${of} looks for libraries in ${JSON.stringify(folder)}, which is relative to the working folder`,
      }
      continue
    }
    const { walk } = host.inspect(folder, '/')
    const inside = reach(walk)
    if (inside !== null)
      yield {
        path: of,
        step: folder,
        message: `${of} looks for libraries in ${folder}, where the agent can write (${inside.root})`,
      }
    else if (mayBeCreated(walk, trust, writeSet))
      yield {
        path: of,
        step: folder,
        message: `${of} looks for libraries in ${folder}, which is missing and which others can create`,
      }
    for (const fault of walk.end.kind === 'landed' ? judge(walk, 'searched').faults : [])
      yield { path: of, step: fault.facts.path, message: `${faultText(fault, ids)}, where ${of} looks for libraries` }
  }
}

function* startUpFiles(hook: HookFacts, { judge, reach, trust, writeSet, ids }: AuditContext): Iterable<Reported> {
  const runner = hook.closure.argv[0] ?? ''
  for (const { role, path, facts, inspected } of hook.closure.members) {
    if (role !== 'start-up') continue
    const { walk } = inspected
    const inside = reach(walk)
    const fault = judge(walk).faults[0]
    const open =
      inside !== null ? `the agent can write it (${inside.root})` : fault === undefined ? null : faultText(fault, ids)
    if (facts === null && open === null && !mayBeCreated(walk, trust, writeSet)) continue
    const state = facts === null ? 'would read' : 'reads'
    const message = `${runner} ${state} ${path} before the hook's own code`
    if (facts !== null && open === null) yield { path, message }
    else yield { path, severity: 'error', message: `${message}, and ${open ?? 'others can create it'}` }
  }
}
