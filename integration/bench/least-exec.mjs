/**
 * The least Node program that starts an argv, passes its streams through and mirrors its status: the baseline of
 * `harness exec`. The argv is the very one that our plan starts, without any of our checks.
 *
 *   node least-exec.mjs PLAN.json      {"file", "args", "env", "descriptors": [PATH, …]}
 *
 * `descriptors` are opened for the child from number 3 on.
 */
const { spawn } = process.getBuiltinModule('node:child_process')
const { openSync, readFileSync } = process.getBuiltinModule('node:fs')

const { file, args, env, descriptors } = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8'))
const opened = descriptors.map(path => openSync(path, path === '/dev/null' ? 'r+' : 'r'))
const child = spawn(file, args, { env, stdio: ['inherit', 'inherit', 'inherit', ...opened] })
child.on('exit', (status, signal) => {
  process.exitCode = signal === null ? status : 1
})
