/**
 * The image that the Dockerfile describes, built where no registry of images is reached: its base is made from Debian's packages and
 * the node and npm of this machine, with the settings by which this machine reaches the package registries. That base
 * is kept by what it is made of.
 *
 * Every function that may not be able to says why as a text; only bugs are thrown.
 */
import { createHash } from 'node:crypto'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { execa } from 'execa'
import which from 'which'
import { projectRoot } from '../../test/support/root.js'
import { type Engine, install, programPath } from './engines.js'
import { keptFolder } from './rootfs.js'

export const BASE = 'localhost/node-base'
export const IMAGE = 'localhost/b10x-harness'

/** How an engine builds: the classic builder of Docker, BuildKit, or buildah, which is in podman. */
export type Builder = 'classic' | 'buildkit' | 'buildah'

export interface Built {
  readonly engine: Engine
  readonly ms: number
}

/** That of the Dockerfile's own base. */
const SUITE = 'trixie'
/** Beside what a minimal Debian has: the library that node is linked with. */
const PACKAGES = ['libstdc++6']
/** As Debian's slim images are. */
const SLIM = ['doc/*', 'man/*', 'info/*', 'locale/*'].map(what => `--dpkgopt=path-exclude=/usr/share/${what}`)
const COPYRIGHT = '--dpkgopt=path-include=/usr/share/doc/*/copyright'

/** What of the machine reaches the registries: text of an npmrc(5) and of an apt.conf(5), and authorities in PEM, each empty where there is none. */
interface Settings {
  readonly npm: string
  readonly apt: string
  readonly authorities: string
}

const AUTHORITIES = '/usr/local/etc/authorities.pem'

async function settings(): Promise<Settings> {
  const asked = async (name: string): Promise<string> =>
    (await execa('npm', ['config', 'get', name], { cwd: '/', reject: false })).stdout.trim()
  const [registry, cafile] = [await asked('registry'), await asked('cafile')]
  const files = [cafile, process.env.NODE_EXTRA_CA_CERTS ?? ''].filter(path => path.startsWith('/') && existsSync(path))
  const authorities = [...new Set(files.map(path => realpathSync(path)))]
    .map(path => readFileSync(path, 'utf8'))
    .join('\n')
  const { stdout } = await execa('apt-config', ['dump'], { reject: false })
  const apt = stdout.split('\n').filter(line => /^Acquire::(Check-|https?::|Retries|ForceIPv)/.test(line))
  return {
    npm: [
      ...(URL.canParse(registry) ? [`registry=${registry}`] : []),
      ...(authorities === '' ? [] : [`cafile=${AUTHORITIES}`]),
      '',
    ].join('\n'),
    apt: [...apt, ''].join('\n'),
    authorities,
  }
}

/** A tar file that engines import as `BASE`. */
export async function baseTar(): Promise<{ readonly file: string } | string> {
  const lacking = programPath('mmdebstrap') === null ? await install(['mmdebstrap']) : null
  if (lacking !== null) return lacking
  const npm = await which('npm', { nothrow: true })
  if (npm === null) return 'needs npm'
  const npmFolder = dirname(dirname(realpathSync(npm)))
  const reach = await settings()
  const made = [PACKAGES, SUITE, SLIM, process.version, readFileSync(join(npmFolder, 'package.json'), 'utf8'), reach]
  const key = createHash('sha256').update(JSON.stringify(made)).update(readFileSync(process.execPath)).digest('hex')
  const file = join(keptFolder(), `base-${key.slice(0, 16)}.tar`)
  return existsSync(file) ? { file } : await make(file, npmFolder, reach)
}

async function make(file: string, npmFolder: string, reach: Settings): Promise<{ readonly file: string } | string> {
  const work = mkdtempSync(join(dirname(file), 'making-'))
  try {
    const stage = join(work, 'stage')
    for (const folder of ['usr/local/bin', 'usr/local/lib/node_modules', 'usr/local/etc', 'etc/apt/apt.conf.d'])
      mkdirSync(join(stage, folder), { recursive: true })
    cpSync(realpathSync(process.execPath), join(stage, 'usr/local/bin/node'))
    cpSync(npmFolder, join(stage, 'usr/local/lib/node_modules/npm'), { recursive: true })
    writeFileSync(join(stage, 'usr/local/etc/npmrc'), reach.npm)
    writeFileSync(join(stage, AUTHORITIES), reach.authorities)
    writeFileSync(join(stage, 'etc/apt/apt.conf.d/90machine'), reach.apt)
    const links = ['npm', 'npx'].map(
      name => `ln -s ../lib/node_modules/npm/bin/${name}-cli.js "$1/usr/local/bin/${name}"`,
    )
    const hook = `cp -r --no-preserve=ownership "${stage}/." "$1/" && ${links.join(' && ')} && chroot "$1" useradd --create-home --user-group --uid 1000 node`
    const tar = join(work, 'base.tar')
    const words = [
      '--variant=minbase',
      `--include=${PACKAGES.join(',')}`,
      ...SLIM,
      COPYRIGHT,
      `--customize-hook=${hook}`,
    ]
    const ran = await execa('mmdebstrap', [...words, SUITE, tar], { reject: false, stdin: 'ignore' })
    if (ran.exitCode !== 0) return `mmdebstrap: ${ran.stderr.trim().split('\n').slice(-2).join(' ')}`
    renameSync(tar, file)
    return { file }
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

/** Builds `IMAGE` over `BASE` from this tree, as it is. A text: the end of what the builder said. */
export async function buildImage(engine: Engine, builder: Builder): Promise<Built | string> {
  const base = await baseTar()
  if (typeof base === 'string') return base
  const imported = await engine.command(['import', base.file, BASE])
  if (imported.status !== 0) return `import: ${imported.stderr}`
  const begun = performance.now()
  // Of what is built, a health check is told in Docker's format alone.
  const own = builder === 'buildah' ? ['--format', 'docker', ...engine.limits] : []
  const words = [
    'build',
    '--network',
    'host',
    ...own,
    '--build-arg',
    `BASE_IMAGE=${BASE}`,
    '--build-arg',
    'SOURCE_DATE_EPOCH=1',
  ]
  const { file, args, env } = engine.client([...words, '--tag', IMAGE, projectRoot])
  const { exitCode, all } = await execa(file, args, {
    env: { ...env, DOCKER_BUILDKIT: builder === 'buildkit' ? '1' : '0' },
    extendEnv: false,
    reject: false,
    stdin: 'ignore',
    all: true,
    timeout: 900_000,
  })
  if (exitCode !== 0) return `${builder}: ${all.split('\n').slice(-30).join('\n')}`
  return { engine, ms: Math.round(performance.now() - begun) }
}
