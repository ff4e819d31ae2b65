/**
 * `npm run bench`: runs the rows, prints the table on stdout and progress on stderr.
 * Status 0 when no line is missed (a line that cannot be measured here says what is lacking), 1 otherwise.
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { availableParallelism, cpus, loadavg, release, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { type Endpoint, startEndpoint } from './endpoint.js'
import type { Bench, Found, Row } from './row.js'
import { ROWS } from './rows.js'
import { judge, type Line, missed, renderTable } from './table.js'

const OPTIONS = {
  only: { type: 'string', multiple: true },
  quick: { type: 'boolean', default: false },
  peers: { type: 'boolean', default: false },
  json: { type: 'string' },
  help: { type: 'boolean', short: 'h', default: false },
} as const

const HELP = `npm run bench -- [--only NAME]… [--quick] [--peers] [--json FILE]

  --only NAME   one row; repeatable
  --quick       fewer samples
  --peers       fetch what we are compared with into a cache folder of the system's temporary one
  --json FILE   write the same table as JSON

rows:
${ROWS.map(row => `  ${row.name.padEnd(12)}  ${row.about}`).join('\n')}
`

/** Samples never fewer than this, or the median of them says nothing. */
const SAMPLES_MIN = 3

function makeBench(scratch: string, { quick, peers }: { quick: boolean; peers: boolean }): Bench & { close(): void } {
  const home = join(scratch, 'home')
  // Constructed, so that neither the operator's configuration nor NODE_EXTRA_CA_CERTS (38 ms a start on Node 20) counts.
  const env = { PATH: process.env.PATH ?? '/usr/bin:/bin', HOME: home, LANG: 'C.UTF-8' }
  let started: Promise<Endpoint> | undefined
  const endpoint = () => {
    started ??= startEndpoint(env)
    return started
  }
  return {
    quick,
    peers,
    scratch,
    env,
    endpoint,
    rounds: samples => ({ warmUp: 2, samples: quick ? Math.max(SAMPLES_MIN, Math.ceil(samples / 3)) : samples }),
    progress: text => process.stderr.write(`${text}\n`),
    close: () => void started?.then(running => running.close()),
  }
}

async function linesOf(row: Row, bench: Bench): Promise<Line[]> {
  const lacking = row.needs()
  if (lacking !== false) return [{ kind: 'not-measured', name: row.name, predicate: lacking }]
  bench.progress(`${row.name}: ${row.about}`)
  try {
    return (await row.measure(bench)).map(lineOf)
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    return [{ kind: 'broke', name: row.name, why: why.replaceAll(/\s+/g, ' ').slice(0, 400) }]
  }
}

function lineOf(found: Found): Line {
  return 'predicate' in found ? { kind: 'not-measured', ...found } : judge(found)
}

/** Figures in ms and MiB are comparable only between two files that say the same here. */
function machine(): Record<string, string | number> {
  const processors = cpus()
  return {
    platform: process.platform,
    arch: process.arch,
    kernel: release(),
    node: process.version,
    cores: availableParallelism(),
    load: loadavg()[0] ?? -1,
    cpu: processors[0]?.model ?? 'unknown',
    uid: process.getuid?.() ?? -1,
  }
}

function chosen(only: readonly string[]): readonly Row[] {
  const unknown = only.filter(name => !ROWS.some(row => row.name === name))
  if (unknown.length > 0)
    throw new Error(`no row is named ${unknown.join(', ')}; known: ${ROWS.map(r => r.name).join(' ')}`)
  return only.length === 0 ? ROWS : ROWS.filter(row => only.includes(row.name))
}

/** Interleaving takes drift out of a ratio, not the noise of a machine where everything waits its turn. */
function warnWhenBusy(bench: Bench): void {
  const [load = 0] = loadavg()
  if (load <= availableParallelism() / 2) return
  bench.progress(
    `the load of this machine is ${load.toFixed(1)}: judge by the row \`floor\` what these figures are worth`,
  )
}

async function main(): Promise<number> {
  const { values } = parseArgs({ options: OPTIONS })
  if (values.help) {
    process.stdout.write(HELP)
    return 0
  }
  const rows = chosen(values.only ?? [])
  const scratch = await mkdtemp(join(tmpdir(), 'harness-bench-'))
  const bench = makeBench(scratch, values)
  try {
    await mkdir(join(scratch, 'home'))
    warnWhenBusy(bench)
    const lines: Line[] = []
    for (const row of rows) lines.push(...(await linesOf(row, bench)))
    process.stdout.write(renderTable(lines))
    if (values.json !== undefined) {
      await writeFile(
        values.json,
        `${JSON.stringify({ version: 1, machine: machine(), quick: values.quick, lines }, null, 2)}\n`,
      )
    }
    return missed(lines) ? 1 : 0
  } finally {
    bench.close()
    await rm(scratch, { recursive: true, force: true })
  }
}

try {
  process.exitCode = await main()
} catch (error) {
  process.stderr.write(`bench: ${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 1
}
