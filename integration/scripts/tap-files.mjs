/**
 * Runs compiled tap files, a process each, and folds their TAP into counts.
 *
 * Not tap's own runner: that one loads itself into every Node a test starts, through NODE_OPTIONS, which changes and
 * slows exactly what these tests look at (what a child inherits, what a confined Node may write, how long a start takes).
 */
import { execa } from 'execa'
import { Parser } from 'tap-parser'

/** A file that takes longer than `ms` is ended and counts as failed. */
const FILE_MS_MAX = 600_000

/** Results of one file: its failures as text, its skips with their predicates, and the counts of its tests. */
export async function runFile(file, { cwd, env, ms = FILE_MS_MAX }) {
  const result = { file, passed: 0, failed: 0, skipped: 0, failures: [], skips: [] }
  const parser = new Parser()
  follow(parser, [], result)
  const ended = await execa(process.execPath, [file], {
    cwd,
    env,
    extendEnv: false,
    stdin: 'ignore',
    all: true,
    timeout: ms,
    forceKillAfterDelay: 5_000,
    reject: false,
    maxBuffer: 512 * 1024 * 1024,
  })
  parser.end(ended.stdout)
  // A file that crashed, timed out or broke its plan without a failing assertion is a failure of its own.
  const broken = ended.exitCode !== 0 || !parser.ok
  if (broken && result.failed === 0) {
    result.failed = 1
    const how = ended.timedOut ? `not done after ${ms} ms` : `ended with ${ended.exitCode ?? ended.signal}`
    result.failures.push(`${file}: ${how}\n${ended.stderr.slice(-4_000)}`)
  }
  if (result.passed + result.failed + result.skipped === 0) {
    result.failed = 1
    result.failures.push(`${file}: ran no test`)
  }
  return result
}

function follow(parser, path, result) {
  parser.on('child', child => follow(child, [...path, child.name], result))
  parser.on('assert', assertion => {
    const isTest = path.length === 0
    const skipped = assertion.skip !== false && assertion.skip !== undefined
    if (isTest && skipped) {
      result.skipped++
      result.skips.push(
        `${result.file} > ${assertion.name}: ${assertion.skip === true ? 'no reason given' : assertion.skip}`,
      )
    } else if (isTest && assertion.ok) result.passed++
    else if (isTest) result.failed++
    if (!assertion.ok && !skipped && !assertion.todo)
      result.failures.push(describe([...path, assertion.name], assertion.diag ?? {}))
  })
}

function describe(path, { diff, found, wanted, stack }) {
  const facts =
    diff ?? (found === undefined && wanted === undefined ? '' : `found ${show(found)}, wanted ${show(wanted)}`)
  return [path.join(' > '), String(facts ?? '').slice(0, 3_000), stack ? `at ${stack.split('\n')[0]}` : '']
    .filter(Boolean)
    .join('\n  ')
}

function show(value) {
  return JSON.stringify(value)?.slice(0, 500)
}

/** Runs `files`, at most `jobs` at a time, calling `done` as each ends. */
export async function runFiles(files, { jobs, done, ...options }) {
  const waiting = [...files]
  const worker = async () => {
    for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) done(await runFile(file, options))
  }
  await Promise.all(Array.from({ length: jobs }, worker))
}
