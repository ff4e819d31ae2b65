/** HC5xx and HC6xx as data: environment and PATH, working folder and arguments (hookcheck.md §4.5, §4.6). */
import { dataArguments, modulesOfCwd, neighbours, projectTools, workingFolder } from './argument-checks.js'
import {
  addedNames,
  assignedVariables,
  descriptors,
  droppedEntries,
  functionValues,
  homes,
  type Inherited,
  riskyNames,
  shadowed,
} from './environment-checks.js'
import type { Rule } from './rule.js'

export interface EnvironmentFacts {
  readonly inherited: Inherited
  /** Names that every hook is given beside its own (`[hooks] env`). */
  readonly names: readonly string[]
  /** Descriptors above 2 without close-on-exec that this program was started with. */
  readonly descriptors: readonly number[]
  /** Why hooks get an empty private folder as HOME; null: they get the operator's. */
  readonly homeReplaced: string | null
}

/** Those that tell by where the code of a hook comes from that a run must not begin; they need no facts. */
const OF_LOCATION: ReadonlySet<string> = new Set(['HC504', 'HC601', 'HC602', 'HC603', 'HC604'])

/** The working folder, and what the arguments and the neighbours of a script lead to. */
export function locationRules(): readonly Rule[] {
  return environmentRules({ inherited: {}, names: [], descriptors: [], homeReplaced: null }).filter(({ id }) =>
    OF_LOCATION.has(id),
  )
}

export function environmentRules(facts: EnvironmentFacts): readonly Rule[] {
  return [
    {
      id: 'HC501',
      title: 'PATH has empty, "." or relative entries',
      severity: 'error',
      file: audit => droppedEntries('HC501', audit),
      why: 'All of them mean the working folder, or a look-up below it. The entry is left out of the PATH of hooks, so what was found through it is not found there.',
      fix: 'take the entry out of PATH, or write [hooks] path',
      anchor: 'SCAP rule root_path_no_dot; ignore_dot of sudoers(5)',
    },
    {
      id: 'HC502',
      title: 'PATH entry that the agent or others can write or create',
      severity: 'error',
      file: audit => droppedEntries('HC502', audit),
      why: 'Whoever can plant a name there decides what every later look-up finds, for the hook and for what it starts by name.',
      fix: 'take the entry out of PATH, or give the folder to root',
      anchor: 'chkpath -p; SCAP rules on group- and world-writable root path entries',
    },
    {
      id: 'HC503',
      title: 'Shadowed program name',
      severity: 'info',
      hook: shadowed,
      why: 'The operator thinks of the system program, and a shim in front of it is what runs.',
      fix: 'put system folders first, or write absolute paths',
      anchor: 'secure_path of sudoers(5)',
    },
    {
      id: 'HC504',
      title: 'Code-injecting variable let through',
      severity: 'error',
      lasting: 'always',
      hook: function* (hook, audit) {
        yield* functionValues(hook, facts.inherited)
        yield* assignedVariables(hook, audit)
      },
      why: 'With LD_PRELOAD, NODE_OPTIONS, BASH_ENV or GIT_* somebody else decides what the hook runs.',
      fix: 'take the name out of "env" and set the value inside the hook',
      anchor: 'the unsecure list of ld.so(8); env_delete of sudoers(5)',
    },
    {
      id: 'HC505',
      title: 'Redirecting or secret-bearing variable let through',
      severity: 'warn',
      file: () => riskyNames(facts.names),
      hook: (hook, audit) => addedNames(hook, audit, facts.inherited),
      why: 'Configuration folders, CA bundles, proxies, sockets and tokens change what the hook does, or leak to it and to its log.',
      fix: 'name fewer variables; let the hook read a file that is its own',
      anchor: 'env_check of sudoers(5); pkexec(1)',
    },
    {
      id: 'HC506',
      title: 'HOME or TMPDIR unsafe',
      severity: 'warn',
      file: audit => homes(audit, facts.homeReplaced),
      why: 'Python, git and node read code and commands below HOME; names in a shared folder can be planted before they are used.',
      fix: 'run with HOME outside every folder the agent writes',
      anchor: 'the unsecure list of ld.so(8) (TMPDIR)',
    },
    {
      id: 'HC507',
      title: 'Inherited descriptors',
      severity: 'warn',
      file: () => descriptors(facts.descriptors),
      why: 'A hook, or what it leaves behind, could hold a socket, a lock or a log of the program that starts the harness. The harness closes them at its start.',
      fix: 'start the harness without stray descriptors',
      anchor: 'closefrom of OpenSSH and sudo',
    },
    {
      id: 'HC601',
      title: 'Working folder unusable',
      severity: 'error',
      hook: workingFolder,
      why: 'A start in a folder that is gone fails as if the program were missing; a folder of the workspace can be removed or filled while the run goes on.',
      fix: 'leave "cwd" out (the folder of the hooks file), or write "/"',
      anchor: 'NetworkManager-dispatcher(8) runs scripts in /',
    },
    {
      id: 'HC602',
      title: 'Interpreter looks for modules in its working folder',
      severity: 'info',
      hook: modulesOfCwd,
      why: 'A module of that name in the working folder is loaded in the place of the one that was meant.',
      fix: 'run an absolute script, use the isolation flag, or take a working folder outside the write set',
      anchor: 'sys.path and -P in the manual of Python',
    },
    {
      id: 'HC603',
      title: 'Tool runs code or configuration of the project',
      severity: 'warn',
      hook: projectTools,
      why: 'The agent writes eslint.config.js or .git/config, and the hook, which is not confined, runs it: a way out of the boundary.',
      fix: 'run the tool inside the boundary (harness exec) and let the hook judge its result only',
      anchor: 'safe.directory of git-config(1); workspace trust of editors',
    },
    {
      id: 'HC604',
      title: 'Neighbours of a script changeable',
      severity: 'error',
      hook: neighbours,
      why: 'The program is a pristine interpreter and the script is untouched; the code comes in beside it.',
      fix: 'own the folder (chmod go-w) and keep the hook outside every folder the agent or others write',
      anchor: 'suexec requires the same of the containing folder',
    },
    {
      id: 'HC605',
      title: 'Data argument in the write set, or a secret in the argv',
      severity: 'warn',
      hook: dataArguments,
      why: 'The agent writes the rules it is judged by; arguments can be read by every user of the machine.',
      fix: 'keep rule files beside the hook, and pass secrets by a file',
      anchor: 'proc_pid_cmdline(5)',
    },
  ]
}
