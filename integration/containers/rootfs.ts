/**
 * The userland that rows run in: a minimal Debian with what the image has (bubblewrap, git, tini) and with perl for the attempts,
 * and the node that runs this. Made once and kept, by what it is made of.
 */
import { createHash } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, mkdtempSync, realpathSync, renameSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { execa } from 'execa'
import { install, programPath } from './engines.js'

const PACKAGES = ['bubblewrap', 'ca-certificates', 'git', 'libatomic1', 'libstdc++6', 'perl-base', 'tini', 'util-linux']
const SUITE = 'bookworm'

/** Path of a tar file that engines import; it is kept for the next time. A text: why it cannot be made. */
export async function rowsRootfs(): Promise<{ readonly file: string } | string> {
  const lacking = programPath('mmdebstrap') === null ? await install(['mmdebstrap']) : null
  if (lacking !== null) return lacking
  const node = realpathSync(process.execPath)
  const key = createHash('sha256').update(JSON.stringify([PACKAGES, SUITE, node, process.version, statSync(node).size]))
  const file = join(keptFolder(), `rows-${key.digest('hex').slice(0, 16)}.tar`)
  return existsSync(file) ? { file } : await make(file, node)
}

/** Of ours alone: what is imported from here runs as root. */
export function keptFolder(): string {
  const folder = join(tmpdir(), `harness-rootfs-${process.getuid?.()}`)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const { uid, mode } = statSync(folder)
  if (uid !== process.getuid?.() || (mode & 0o022) !== 0) throw new Error(`${folder} belongs to somebody else`)
  return folder
}

async function make(file: string, node: string): Promise<{ readonly file: string } | string> {
  const work = mkdtempSync(join(dirname(file), 'making-'))
  try {
    const tar = join(work, 'rootfs.tar')
    const made = await execa('mmdebstrap', ['--variant=minbase', `--include=${PACKAGES.join(',')}`, SUITE, tar], {
      reject: false,
      stdin: 'ignore',
    })
    if (made.exitCode !== 0) return `mmdebstrap: ${made.stderr.trim().split('\n').at(-1)}`
    mkdirSync(join(work, 'usr/local/bin'), { recursive: true })
    cpSync(node, join(work, 'usr/local/bin/node'))
    await execa('tar', ['-C', work, '--owner=0', '--group=0', '-rf', tar, './usr/local/bin/node'])
    renameSync(tar, file)
    return { file }
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}
