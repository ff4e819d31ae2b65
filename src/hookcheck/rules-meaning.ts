/** HC7xx: what a hook means (hookcheck.md §4.7). */
import {
  accidents,
  coverage,
  coverageOfFile,
  deadTools,
  dialects,
  doubles,
  openGates,
  sharedTime,
  swallows,
  timeouts,
} from './meaning-checks.js'
import type { Rule } from './rule.js'

export const MEANING_RULES: readonly Rule[] = [
  {
    id: 'HC701',
    title: 'Hook can never fire',
    severity: 'error',
    hook: deadTools,
    why: 'A gate that is never asked looks like a gate that never objects.',
    fix: 'write exact names, or leave "tools" out for every tool',
    anchor: 'check-hooks-apply of pre-commit; visudo(8) on unused aliases',
  },
  {
    id: 'HC702',
    title: 'Timeout out of range',
    severity: 'warn',
    hook: timeouts,
    file: sharedTime,
    why: 'A gate that is too slow refuses every call, and one whose start takes longer than its timeout never answers.',
    fix: 'ten times the 95th percentile (hookcheck --probe measures it)',
    anchor: 'OCI runtime specification, timeout of hooks',
  },
  {
    id: 'HC703',
    title: 'Gate on a point that fails open',
    severity: 'warn',
    hook: openGates,
    why: 'after-call comes when the call has happened, and a stop hook that fails lets the run end: nothing is prevented there.',
    fix: 'move what has to hold to before-call or transition',
    anchor: 'OCI runtime specification: poststop hooks only warn',
  },
  {
    id: 'HC704',
    title: 'Coverage gap',
    severity: 'warn',
    hook: function* (hook, audit) {
      yield* coverage(hook, audit)
      yield* doubles(hook, audit)
    },
    file: coverageOfFile,
    why: 'What is forbidden to file_write is done by run, and the other way round.',
    fix: 'name all of file_write, file_edit and run, or say in the name of the hook that it is for one ("run-only")',
    anchor: 'git hook list --show-scope',
  },
  {
    id: 'HC705',
    title: 'Script swallows failure',
    severity: 'warn',
    hook: swallows,
    why: 'The harness fails closed and the script undoes it: an error becomes a yes.',
    fix: 'let errors end the script with another status than 0 and 2; end with 2 only for a verdict',
    anchor: 'maintainer-script-ignores-errors of lintian',
  },
  {
    id: 'HC706',
    title: 'Status 2 by accident',
    severity: 'warn',
    hook: accidents,
    why: 'Status 2 blocks, so an error of the tool is taken for a verdict; the record then says that the reason is the default or from stderr.',
    fix: 'wrap it in a script that maps statuses and prints {"reason": "…"} with a verdict',
    anchor: 'exit statuses of grep(1), jq(1), make(1), sh(1)',
  },
  {
    id: 'HC707',
    title: 'Script speaks the dialect of another client',
    severity: 'warn',
    hook: dialects,
    why: 'Here the document has call.name and call.arguments, only the status decides, and 1 is a failed hook: at before-call that refuses the call, at stop it lets the run end, and the message is not a reason.',
    fix: 'read call.arguments, end with 2 and print {"reason": "…"} to block, end with 0 to go on',
    anchor: 'hookcheck --from claude names each difference for a configuration of that client',
  },
]
