/** The steps of a release, as the workflow runs them: which version is published, and what is attached to it. */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { execa } from 'execa'
import t from 'tap'
import { needs } from '../../test/support/needs.js'
import { projectRoot } from '../../test/support/root.js'
import { scratch } from '../support/harness.js'

const script = join(projectRoot, 'integration', 'scripts', 'release.mjs')
const { version } = JSON.parse(readFileSync(join(projectRoot, 'package.json'), 'utf8')) as { version: string }

t.test('a tag is the version, or nothing is released', async t => {
  const asked = (name: string) =>
    execa(process.execPath, [script, 'version'], {
      reject: false,
      env: { GITHUB_REF_TYPE: 'tag', GITHUB_REF_NAME: name },
    })
  t.match(await asked(`v${version}`), { exitCode: 0, stdout: `version=${version}\ntag=latest` })
  for (const name of [version, `v${version}-rc.1`, `v${version}0`, ''])
    t.match(await asked(name), { exitCode: 1, stderr: `is not v${version}` }, name)
})

t.test('what is attached: tarball, SBOMs, man pages, checksums', { skip: needs('npm') }, async t => {
  const place = scratch({})
  t.teardown(place.remove)
  const manifest = readFileSync(join(projectRoot, 'package.json'), 'utf8')
  const made = await execa(process.execPath, [script, 'assets', place.path], {
    reject: false,
    env: { GITHUB_SERVER_URL: 'https://forge.example', GITHUB_REPOSITORY: 'owner/name' },
  })
  t.equal(made.exitCode, 0, made.stderr)

  const tarball = `b10x-harness-${version}.tgz`
  const man = `b10x-harness-${version}-man.tar.gz`
  const names = readdirSync(place.path).filter(name => name !== 'SHA256SUMS')
  t.same(names.sort(), [man, tarball, 'sbom.cyclonedx.json', 'sbom.spdx.json'].sort())
  const sums = readFileSync(join(place.path, 'SHA256SUMS'), 'utf8').trim().split('\n')
  t.equal(sums.length, names.length)
  for (const [sum, name = ''] of sums.map(line => line.split('  ')))
    t.equal(
      createHash('sha256')
        .update(readFileSync(join(place.path, name)))
        .digest('hex'),
      sum,
      name,
    )

  const packed = await execa('tar', ['-xzOf', join(place.path, tarball), 'package/package.json'])
  t.match(JSON.parse(packed.stdout), { repository: { url: 'git+https://forge.example/owner/name.git' } })
  const pages = await execa('tar', ['-tzf', join(place.path, man)])
  t.match(pages.stdout, /^man\/harness\.1$/m)
  const bom = JSON.parse(readFileSync(join(place.path, 'sbom.cyclonedx.json'), 'utf8')) as {
    components: readonly { name: string }[]
    metadata: { component: { name: string } }
  }
  t.equal(bom.metadata.component.name, 'b10x-harness')
  const { dependencies } = JSON.parse(manifest) as { dependencies: Record<string, string> }
  const listed = new Set(bom.components.map(({ name }) => name))
  for (const name of Object.keys(dependencies))
    t.ok(listed.has(name.replace(/^@[^/]+\//, '')) || listed.has(name), name)
  t.notOk(listed.has('typescript'), 'what only builds is not in it')
})
