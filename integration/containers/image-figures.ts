/**
 * `node dist/integration/containers/image-figures.js`: what the image costs beside its base, in the engine of Docker, as one JSON document.
 * Times are medians of runs that take turns. Takes root and some minutes; builds the image.
 */
import { execa } from 'execa'
import { type Engine, startEngine } from './engines.js'
import { BASE, buildImage, IMAGE } from './images.js'

const ROUNDS = 15

function median(values: readonly number[]): number {
  const sorted = [...values].sort((one, other) => one - other)
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
}

/** Bytes of an image as engines keep them and, by gzip, about as a registry does. */
async function sizes(engine: Engine, image: string): Promise<{ readonly unpacked: number; readonly packed: number }> {
  const inspected = await engine.command(['image', 'inspect', '--format', '{{.Size}}', image])
  const { file, args, env } = engine.client(['save', image])
  const line = '"$@" | gzip -6 | wc -c'
  const packed = await execa('sh', ['-c', line, 'sh', file, ...args], { env, extendEnv: false })
  return { unpacked: Number(inspected.stdout), packed: Number(packed.stdout) }
}

async function timed(engine: Engine, words: readonly string[]): Promise<number> {
  const begun = performance.now()
  const { status, stderr } = await engine.command(['run', '--rm', '--network', 'none', ...engine.limits, ...words])
  if (status !== 0) throw new Error(stderr)
  return performance.now() - begun
}

/** Processor time in seconds of a line of shell with all that it has waited for (`times`, POSIX). */
async function processorTime(engine: Engine, line: string): Promise<number> {
  const words = ['--network', 'none', '--entrypoint', 'sh', ...engine.limits, IMAGE, '-c', `${line} >/dev/null; times`]
  const { stdout } = await engine.command(['run', '--rm', ...words])
  const children = stdout.trim().split('\n').at(-1) ?? ''
  return [...children.matchAll(/(\d+)m([\d.]+)s/g)].reduce((sum, [, m, s]) => sum + Number(m) * 60 + Number(s), 0)
}

const STARTS = {
  'base: node --version': [BASE, 'node', '--version'],
  'image: --version': [IMAGE, '--version'],
  'image: doctor --quick': [IMAGE, 'doctor', '--quick'],
  'image: doctor': [IMAGE, 'doctor'],
  'image: demo': [IMAGE, 'demo'],
} as const

async function measured(engine: Engine): Promise<object> {
  const rows = Object.entries(STARTS).map(([name, words]) => ({ name, words, taken: [] as number[] }))
  for (let round = 0; round < ROUNDS; round++)
    for (const { words, taken } of rows) taken.push(await timed(engine, words))
  return {
    sizes: { base: await sizes(engine, BASE), image: await sizes(engine, IMAGE) },
    milliseconds: Object.fromEntries(rows.map(({ name, taken }) => [name, Math.round(median(taken))])),
    processor_seconds: {
      'doctor --quick': await processorTime(engine, 'harness doctor --quick'),
      doctor: await processorTime(engine, 'harness doctor'),
    },
  }
}

const engine = await startEngine('docker', { network: 'host' })
if (typeof engine === 'string') {
  process.stderr.write(`needs engines: ${engine}\n`)
  process.exit(1)
}
try {
  const built = await buildImage(engine, 'classic')
  if (typeof built === 'string') throw new Error(built)
  process.stdout.write(`${JSON.stringify(await measured(engine), null, 2)}\n`)
} finally {
  await engine.close()
}
