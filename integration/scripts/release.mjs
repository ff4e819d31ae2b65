/**
 * The steps of a release that are more than one command. `release.mjs version` prints the lines `version=` and `tag=` (npm's tag:
 * `next` for a version with a suffix, else `latest`) and refuses a pushed tag that is not that version. `release.mjs assets DIR`
 * fills DIR with what is published: tarball, SBOMs of what is installed with it, man pages, and the SHA-256 of each.
 *
 * GITHUB_REF_TYPE, GITHUB_REF_NAME, GITHUB_SERVER_URL and GITHUB_REPOSITORY are read as the workflow has them; without them
 * nothing is compared and the package names no repository. Exit status: 0 done, 1 not.
 */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..')
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

function fail(text) {
  process.stderr.write(`${text}\n`)
  process.exit(1)
}

function output(file, words) {
  const { status, stdout, stderr } = spawnSync(file, words, { cwd: root, encoding: 'utf8', maxBuffer: 1 << 26 })
  if (status !== 0) fail(`${file} ${words.join(' ')}: ${stderr}`)
  return stdout
}

function version() {
  const { GITHUB_REF_TYPE, GITHUB_REF_NAME } = process.env
  if (GITHUB_REF_TYPE === 'tag' && GITHUB_REF_NAME !== `v${manifest.version}`)
    fail(`the tag ${GITHUB_REF_NAME} is not v${manifest.version}, the version of package.json: make them the same`)
  process.stdout.write(`version=${manifest.version}\ntag=${manifest.version.includes('-') ? 'next' : 'latest'}\n`)
}

/** The tarball names the repository that it is built in: provenance is refused for a package that names another. */
function pack(folder) {
  output('npm', ['pack', '--ignore-scripts', '--pack-destination', folder])
  const { GITHUB_SERVER_URL, GITHUB_REPOSITORY } = process.env
  if (GITHUB_REPOSITORY === undefined) return
  const unpacked = mkdtempSync(join(tmpdir(), 'harness-release-'))
  output('tar', ['-xzf', join(folder, `b10x-harness-${manifest.version}.tgz`), '-C', unpacked])
  const repository = { type: 'git', url: `git+${GITHUB_SERVER_URL}/${GITHUB_REPOSITORY}.git` }
  writeFileSync(join(unpacked, 'package/package.json'), `${JSON.stringify({ ...manifest, repository }, null, 2)}\n`)
  output('npm', ['pack', '--ignore-scripts', '--pack-destination', folder, join(unpacked, 'package')])
  rmSync(unpacked, { recursive: true })
}

/**
 * The manifest and the lock without what only builds: `npm sbom --omit dev` leaves out what a package of ours shares with one of
 * those (npm 11).
 */
function productionTree() {
  // The folder's name is what npm calls the product.
  const folder = join(mkdtempSync(join(tmpdir(), 'harness-release-')), manifest.name)
  mkdirSync(folder)
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))
  const { '': own, ...installed } = lock.packages
  const kept = Object.entries(installed).filter(([, { dev }]) => dev !== true)
  const packages = { '': { ...own, devDependencies: {} }, ...Object.fromEntries(kept) }
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ ...manifest, devDependencies: {} }))
  writeFileSync(join(folder, 'package-lock.json'), JSON.stringify({ ...lock, packages }))
  return folder
}

function assets(folder) {
  mkdirSync(folder, { recursive: true })
  pack(folder)
  const tree = productionTree()
  for (const format of ['cyclonedx', 'spdx'])
    writeFileSync(
      join(folder, `sbom.${format}.json`),
      output('npm', ['--prefix', tree, 'sbom', '--package-lock-only', '--sbom-format', format]),
    )
  rmSync(dirname(tree), { recursive: true })
  output('tar', ['-czf', join(folder, `b10x-harness-${manifest.version}-man.tar.gz`), '-C', join(root, 'dist'), 'man'])
  const sums = readdirSync(folder)
    .filter(name => name !== 'SHA256SUMS')
    .sort()
    .map(
      name =>
        `${createHash('sha256')
          .update(readFileSync(join(folder, name)))
          .digest('hex')}  ${name}\n`,
    )
  writeFileSync(join(folder, 'SHA256SUMS'), sums.join(''))
  process.stdout.write(sums.join(''))
}

const [command, folder] = process.argv.slice(2)
if (command === 'version') version()
else if (command === 'assets' && folder !== undefined) assets(resolve(folder))
else fail('write: release.mjs version, or release.mjs assets DIR')
